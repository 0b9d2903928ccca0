"""Genomes: the letters of any interval of long sequences, intervals of files of peaks, and both together as rows."""

from kernelweave.io.genome.intervals import Interval, read_intervals, write_intervals
from kernelweave.io.genome.negatives import matched
from kernelweave.io.genome.reference import Genome

__all__ = ["Genome", "Interval", "matched", "read_intervals", "write_intervals"]
