"""Lattices: many weighted automata in one table of arcs."""
