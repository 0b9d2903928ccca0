"""Weighted transducers over the real numbers: build, combine, make small, and sum."""

from kernelweave.automata.algorithms.compose import compose
from kernelweave.automata.algorithms.determinize import determinize, is_deterministic
from kernelweave.automata.algorithms.epsilon import remove_epsilon
from kernelweave.automata.algorithms.minimize import minimize
from kernelweave.automata.algorithms.push import push
from kernelweave.automata.algorithms.rational import (
    closure,
    concatenate,
    connect,
    inverse,
    is_acyclic,
    project,
    scale,
    topological_sort,
    union,
)
from kernelweave.automata.base import EPSILON, Transducer
from kernelweave.automata.binary import from_binary, to_binary
from kernelweave.automata.build import acceptor, from_lattice, to_lattices
from kernelweave.automata.counting import gappy_ngram_counter, mismatch_counter, ngram_counter
from kernelweave.automata.intersect import intersection_pairs, intersection_total, intersection_totals
from kernelweave.automata.minimal.automaton import MinimalStore
from kernelweave.automata.pack import AcceptorTable, pack
from kernelweave.automata.text import from_text, to_text
from kernelweave.automata.trie import trie
from kernelweave.automata.weight import string_weight, total_weight

__all__ = [
    "EPSILON",
    "AcceptorTable",
    "MinimalStore",
    "Transducer",
    "acceptor",
    "closure",
    "compose",
    "concatenate",
    "connect",
    "determinize",
    "from_binary",
    "from_lattice",
    "from_text",
    "gappy_ngram_counter",
    "intersection_pairs",
    "intersection_total",
    "intersection_totals",
    "inverse",
    "is_acyclic",
    "is_deterministic",
    "minimize",
    "mismatch_counter",
    "ngram_counter",
    "pack",
    "project",
    "push",
    "remove_epsilon",
    "scale",
    "string_weight",
    "to_binary",
    "to_lattices",
    "to_text",
    "topological_sort",
    "total_weight",
    "trie",
    "union",
]
