"""Letters: alphabets, sequences and the loops over their buffers."""
