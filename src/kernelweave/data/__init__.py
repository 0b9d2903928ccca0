"""Alphabets, sequences, lattices, named views, synthetic data, and the registry of row kinds."""

from kernelweave.data.generators import datasets
from kernelweave.data.kinds import KINDS, Description, RowKind, register
from kernelweave.data.lattices.kind import Lattices
from kernelweave.data.selection import select
from kernelweave.data.stores import Stored
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.kind import Sequences
from kernelweave.data.tables import TableKind
from kernelweave.data.views import GramRows, Views

__all__ = [
    "KINDS",
    "Alphabet",
    "Description",
    "GramRows",
    "Lattices",
    "RowKind",
    "Sequences",
    "Stored",
    "TableKind",
    "Views",
    "datasets",
    "register",
    "select",
]
