"""Alphabets, sequences, lattices, named views and synthetic data."""

from kernelweave.data.generators import datasets
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.data.views import Views, select

__all__ = ["Alphabet", "Lattices", "Sequences", "Views", "datasets", "select"]
