"""Alphabets, sequences, lattices, named views and synthetic data."""

from kernelweave.data import datasets
from kernelweave.data.alphabet import Alphabet
from kernelweave.data.lattices import Lattices
from kernelweave.data.sequences import Sequences
from kernelweave.data.views import Views, select

__all__ = ["Alphabet", "Lattices", "Sequences", "Views", "datasets", "select"]
