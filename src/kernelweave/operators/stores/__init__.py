"""Stores of sparse weights: explicit map, sorted arrays, tries, behind one contract."""

from kernelweave.operators.stores.base import SparseWeights
from kernelweave.operators.stores.explicit import ExplicitMap
from kernelweave.operators.stores.sorted import SortedArrays
from kernelweave.operators.stores.trie import Trie

STORES: dict[str, type] = {"map": ExplicitMap, "sorted": SortedArrays, "trie": Trie}
"""Every store by its name; each is built as ``Store(cells, shift_weights, size, mask)``."""

__all__ = ["STORES", "ExplicitMap", "SortedArrays", "SparseWeights", "Trie"]
