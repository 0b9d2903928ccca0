"""What the variants of a genome change."""
