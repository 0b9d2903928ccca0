"""Motifs: those with wildcards that tables over l-mers weigh most, and those that explained rows have in common."""

from kernelweave.interpret.motifs.top import marginals, needs_motifs, top_motifs, turned

__all__ = ["marginals", "needs_motifs", "top_motifs", "turned"]
