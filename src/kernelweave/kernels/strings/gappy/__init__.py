"""N-grams with gaps."""
