"""First-order methods on explicit features or on the smoothed dual."""
