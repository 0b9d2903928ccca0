"""A row kind of its own, as somebody outside of the library would write it: labelled graphs, a kernel and a format."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from kernelweave import data, io, kernels
from kernelweave.data import RowKind
from kernelweave.io import Dataset, Format, open_aside
from kernelweave.io.dataset import label_text, parse_labels
from kernelweave.io.source import numbered_lines
from kernelweave.kernels import registry
from kernelweave.kernels.base import Kernel


@dataclass(frozen=True)
class Graph:
    """One letter for each vertex, and pairs of vertex numbers."""

    vertices: str
    edges: tuple[tuple[int, int], ...]


class Graphs:
    """Many graphs, indexed like an array of rows."""

    def __init__(self, graphs):
        self.graphs = list(graphs)

    @property
    def shape(self):
        return (len(self.graphs),)

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, key):
        return Graphs(self.graphs[row] for row in np.arange(len(self))[key])

    def __eq__(self, other):
        return isinstance(other, Graphs) and self.graphs == other.graphs

    __hash__ = None


class GraphKind(RowKind):
    """Graphs, made from lists of `Graph`."""

    name = noun = family = "graphs"
    rows = Graphs

    def convert(self, X, trained=None, by_name=False):
        graphs = isinstance(X, list) and X and all(isinstance(graph, Graph) for graph in X)
        return Graphs(X) if graphs else None

    def content(self, X):
        return sorted({letter for graph in X.graphs for letter in graph.vertices})

    def phrase(self, content):
        return f"graphs with vertices {' '.join(content)}"

    def facts(self, content):
        return {"vertices": content}

    def mismatch(self, given, trained, where):
        new = sorted(set(given) - set(trained))
        return f"The {where} has vertices {new[0]!r}, which the training graphs lack." if new else None

    def check(self, X, where):
        for row, graph in enumerate(X.graphs):
            if any(vertex >= len(graph.vertices) for edge in graph.edges for vertex in edge):
                raise ValueError(f"Graph {row} of the {where} has an edge to a vertex that does not exist.")

    def concatenate(self, parts):
        return Graphs(graph for part in parts for graph in part.graphs)

    def save(self, X):
        edges = [edge for graph in X.graphs for edge in graph.edges]
        return {
            "vertices": [graph.vertices for graph in X.graphs],
            "edges": np.array(edges, np.int64).reshape(-1, 2),
            "counts": np.array([len(graph.edges) for graph in X.graphs], np.int64),
        }

    def load(self, state):
        parts = np.split(state["edges"], np.cumsum(state["counts"])[:-1]) if len(state["counts"]) else []
        X = Graphs(Graph(v, tuple(map(tuple, part.tolist()))) for v, part in zip(state["vertices"], parts, strict=True))
        self.check(X, "file")
        return X


class EdgeHistogram(Kernel):
    """Inner product of the numbers of vertices and of edges by their letters."""

    def __init__(self, letters):
        self.letters = letters

    def prepare(self, X):
        code, size = {letter: place for place, letter in enumerate(self.letters)}, len(self.letters)
        out = np.zeros((len(X), size + size * size))
        for row, graph in enumerate(X.graphs):
            for letter in graph.vertices:
                out[row, code[letter]] += 1
            for a, b in graph.edges:
                low, high = sorted((code[graph.vertices[a]], code[graph.vertices[b]]))
                out[row, size + low * size + high] += 1
        return out

    def block(self, A, B, dtype=np.float64):
        return (A @ B.T).astype(dtype)

    def diagonal(self, A):
        return np.einsum("ij,ij->i", A, A)


def edge_histogram(k, x, y, i, j):
    """The slow twin: pairs of vertices and pairs of edges that look alike."""
    pairs = [sorted((g.vertices[a], g.vertices[b]) for a, b in g.edges) for g in (x, y)]
    pairs = [[tuple(sorted(pair)) for pair in some] for some in pairs]
    return float(sum(a == b for a in x.vertices for b in y.vertices) + sum(p == q for p in pairs[0] for q in pairs[1]))


LINE = re.compile(rb"[^\t\n]+\t[A-Z]+\t(?:[0-9]+-[0-9]+ ?)*\r?(?:\n|$)")


def read(path):
    """Read lines of label, letters of the vertices, and edges such as 0-1."""
    rows = [line.split("\t") for _, line in numbered_lines(path)]
    edges = [[tuple(map(int, edge.split("-"))) for edge in row[2].split()] for row in rows]
    X = Graphs(Graph(row[1], tuple(pairs)) for row, pairs in zip(rows, edges))
    return Dataset(X, parse_labels([row[0] for row in rows]), None, "graphs")


def write(path, X, y):
    """Write what `read` reads."""
    with open_aside(path) as file:
        for graph, label in zip(X.graphs, y):
            edges = " ".join(f"{a}-{b}" for a, b in graph.edges)
            file.write(f"{label_text(label)}\t{graph.vertices}\t{edges}\n".encode())


FORMAT = Format("graphs", ("graphs",), (".graphs",), lambda start: LINE.match(start) is not None, read, write)


@contextmanager
def registered():
    """Enter kind, kernel and format, and take them out again, so that other tests see the registries of the library."""
    data.register(GraphKind())
    kernels.register(EdgeHistogram, "edges")
    io.register(FORMAT)
    try:
        yield
    finally:
        del data.KINDS["graphs"], registry.KERNELS["EdgeHistogram"], registry.ALIASES["edges"], io.FORMATS["graphs"]


def some_graphs(n, seed=0):
    """Return random graphs, and whether they have a triangle of letters C, N, O."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for row in range(n):
        size = int(rng.integers(3, 8))
        vertices = "".join(rng.choice(list("CNO"), size))
        edges = {tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(size)}
        if row % 2:
            vertices, edges = "CNO" + vertices[3:], edges | {(0, 1), (1, 2), (0, 2)}
        graphs.append(Graph(vertices, tuple(sorted(edges))))
        labels.append(1 if row % 2 else -1)
    return Graphs(graphs), np.array(labels)
