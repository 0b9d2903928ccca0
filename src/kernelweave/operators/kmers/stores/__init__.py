"""Stores of sparse weights: explicit map, sorted arrays, tries, behind one contract."""

from kernelweave.operators.kmers.stores.base import SparseWeights
from kernelweave.operators.kmers.stores.map import MapStore
from kernelweave.operators.kmers.stores.sorted import SortedArrays
from kernelweave.operators.kmers.stores.trie import Trie

STORES: dict[str, type] = {"map": MapStore, "sorted": SortedArrays, "trie": Trie}
"""Every store by its name; each is built as ``Store(cells, shift_weights, size, mask)``."""

__all__ = ["STORES", "MapStore", "SortedArrays", "SparseWeights", "Trie"]
