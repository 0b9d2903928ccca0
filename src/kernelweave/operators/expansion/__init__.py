"""What a fitted model predicts with."""
