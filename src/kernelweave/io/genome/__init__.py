"""Genomes: the letters of any interval of long sequences, intervals of files of peaks, and both together as rows."""

from kernelweave.io.genome.reference import Genome

__all__ = ["Genome"]
