"""L-mers of two rows compared 64 at once: a bit for each, and their numbers of matches as planes of bits."""
