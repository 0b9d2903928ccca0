"""Pictures of explained rows: letters, tracks of a locus, words, arcs of lattices, columns."""
