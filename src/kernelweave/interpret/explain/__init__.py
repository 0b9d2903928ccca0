"""Which letters, words, arcs or columns of single rows decide, and what would change if one of them changed."""
