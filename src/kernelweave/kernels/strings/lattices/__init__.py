"""Expected counts on lattices."""
