"""Normal vectors kept as automata."""
