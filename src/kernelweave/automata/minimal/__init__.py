"""The minimal automaton that changes in place."""
