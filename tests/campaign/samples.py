"""One small valid file, or several, for every reader and file kind, with the call that reads it.

for sample in samples().values():
    path = sample.place(folder, mutate(sample.data, random))
    try:
        found = sample.read(path)
    except (ValueError, OSError):
        continue            # one sentence that names the file
    sample.use(found)       # compiled loops run over what was let in
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from kernelweave.automata import Transducer, to_binary
from kernelweave.data import Alphabet
from kernelweave.data.kinds import blocks_of, kind_of, n_rows
from kernelweave.data.lattices.rows import Lattices
from kernelweave.estimators.files.lsgkm import read_lsgkm
from kernelweave.io.stream import stream

Read = Callable[[Path], Any]
MOST_ROWS = 12
"""Rows that `use` computes with: damage that repeats lines must not cost time."""

TEXTS: dict[str, tuple[str, str]] = {
    "labelled": ("sites.tsv", "1\tACGTACGT\ta\n-1\tGGGGAACC\tb\n1\tTTACGTAA\tc\n-1\tGGGCCCAT\td\n"),
    "words": ("mail.tsv", "yes\tto be or not\nno\tit's the question\nyes\tto see\n"),
    "table": ("table.csv", "id,height,width,label\nr1,1.5,2e-3,yes\nr2,-0.25,7,no\nr3,4,1e5,yes\n"),
    "quoted": ("table.tsv", '"a b"\tc\ty\n1\t"2"\t1\n3.5\t4\t0\n"5"\t6\t1\n'),
    "libsvm": ("rows.svm", "1 1:0.5 3:2e-1 7:1 # first\n-1 qid:3 2:1\n1 3:0.25 8:-4\n"),
    "fasta": ("two.fa", ">a label=1 first\nACGT\nACGA\n>b label=-1\nGGTTAC\nGA\n>c label=1\nACGTCACG\n"),
    "fastq": ("reads.fq", "@r1 label=1\nACGTACGT\n+\nIIIIIIII\n@r2 label=0\nGGGTTTAC\n+\nIIIII#II\n"),
    "jsonl": (
        "mail.jsonl",
        '{"id": "a", "text": "to be", "label": 1}\n{"id": "b", "text": "or \\u00fc", "label": 0}\n',
    ),
    "openfst": (
        "l.fst.txt",
        "k1\n0 1 to to 0.7\n0 1 two two 1.2\n1 2 be be 0\n0 2 <eps> <eps> 3\n2 0.5\n\nk2\n0 1 or or\n1\n",
    ),
    "att": ("l.att", "0 1 a 0.1\n0 2 b 2.3\n1 3 c 0\n2 3 d 0\n3\n"),
    "kaldi": ("l.lat", "u1\n0 1 4 0.5,20.25,1_1_2\n0 1 5 0.7,20,\n1 2 0 0,0,\n2 1,0.5,\n\nu2\n0 1 6 1,2,\n1 0,0,\n\n"),
    "plf": (
        "l.plf",
        "((('to',-0.2,1),('two',-1.7,1),),(('cats',0,1),),)\n()\n((('a',0,2),('b',-3,1),),(('c',0.5,1),),)\n",
    ),
    "plf table": ("l.plf.tsv", "-1\t((('it\\'s', -0.5, 1),(\"x\", -1, 2),),(('y', 0, 1),),)\tid1\ta b\n1\t\tid2\t\n"),
    "slf": (
        "l.slf",
        "# a comment\nVERSION=1.0\nUTTERANCE=\"u 1\" lmscale=2.0 wdpenalty=-0.5\nN=4 L=4\nI=0 t=0.0\nI=1\nI=2\nI=3\n"
        "J=0 S=0 E=1 W=!ENTER a=-3\nJ=1 S=1 E=2 W=to a=-3.5 l=-1\nJ=2 S=1 E=2 W=two a=-4 l=-2\nJ=3 S=2 E=3 W=!EXIT\n",
    ),
}  # fmt: skip
"""Name and content of text files, by format."""

LSGKM = (
    "svm_type c_svc\nkernel_type gkm_esttrunc\nL 4\nk 3\nd 1\nnorc 1\nnr_class 2\ntotal_sv 3\nrho 0.01\nlabel 1 -1\n"
    "nr_sv 2 1\nSV\n0.5 ACGTACGT\n0.25 ACGGACGA\n-0.75 TTTTGGCA\n"
)


@dataclass(frozen=True)
class Sample:
    """A valid file and how it is read.

    Parameters
    ----------
    name : of the reader or file kind
    file : name of the file, whose suffix may matter; for a store that of the file in its directory
    data : its bytes
    read : from the path to what the user gets; raises ValueError or OSError for a file that it refuses
    use : computes with what was read; may raise ValueError
    others : files of the same directory, by name, for a store
    """

    name: str
    file: str
    data: bytes
    read: Read
    use: Callable[[Any], Any]
    others: dict[str, bytes] = field(default_factory=dict)

    def place(self, folder: Path, data: bytes | None = None) -> Path:
        """Write the file, with other bytes where some are given, and return the path that is to be read."""
        home = folder / "rows.kws" if self.others else folder
        home.mkdir(exist_ok=True)
        for name, content in self.others.items():
            (home / name).write_bytes(content)
        (home / self.file).write_bytes(self.data if data is None else data)
        return home if self.others else home / self.file


@cache
def samples() -> dict[str, Sample]:
    """Return the samples by name.

    Examples
    --------
    >>> {"fasta", "npz", "model", "checkpoint", "store manifest", "lattices"} <= set(samples())
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        made = [*_texts(), *_archives(), *_saved(Path(folder)), *_stores(Path(folder)), *_models(Path(folder))]
    return {sample.name: sample for sample in made}


def examples() -> dict[str, tuple[str, bytes]]:
    """Return the name (with its suffix) and the bytes of one valid file for each reader and file kind."""
    return {name: (sample.file, sample.data) for name, sample in samples().items()}


def use_rows(data: Any) -> None:
    """Compute kernel values of the first rows, so that a compiled loop reads every letter, arc or entry of them."""
    X = getattr(data, "X", data)
    for block in (blocks_of(X) or {"": X}).values():
        kind = kind_of(block)
        some = kind.take(block, slice(0, min(n_rows(block), MOST_ROWS)))
        if kind.tabular:
            kernels = [kw.Linear(), kw.RBF(width=1.0)] if some.shape[1] < 1 << 20 else [kw.Linear()]
            if kind.name == "table" and not np.isfinite(getattr(some, "data", some) if _sparse(some) else some).all():
                continue  # estimators refuse it
        elif isinstance(some, Lattices):
            kernels = [kw.NGram(2)]
        else:
            kernels = [kw.Spectrum(2)]
        for kernel in kernels:
            found = kernel.prepare(some)
            kernel.block(found, found)


def use_model(rows: Any, model: Any) -> None:
    """Score rows; what comes out must be finite numbers."""
    scores = model.predict(rows) if not hasattr(model, "decision_function") else model.decision_function(rows)
    if not np.isfinite(scores).all() or len(scores) != len(rows):
        raise AssertionError("a model was let in that gives scores that are not finite numbers")


def _sparse(X: Any) -> bool:
    return not isinstance(X, np.ndarray)


def _texts() -> list[Sample]:
    found = [Sample(name, file, text.encode(), kw.read, use_rows) for name, (file, text) in TEXTS.items()]
    streamed = [("fasta", "fasta stream"), ("fastq", "fastq stream"), ("labelled", "labelled stream")]
    for name, other in streamed:
        file, text = TEXTS[name]
        found.append(Sample(other, file, text.encode(), partial(_stream, format=name), lambda blocks: None))
    for name in ("openfst", "kaldi", "plf", "slf"):
        file, text = TEXTS[name]
        read = partial(kw.read_lattices, format=name, normalize=True)
        found.append(Sample(f"{name} normalized", file, text.encode(), read, use_rows))
    words = Transducer.from_arcs(
        [(0, 1, "to", 0.5), (0, 1, None, 0.2), (1, 2, "be", 0.5)], [2], Alphabet.words(["be", "to"])
    )
    found.append(Sample("fst", "l.fst", to_binary(words), kw.read_lattices, use_rows))
    found.append(Sample("unnamed", "unnamed", TEXTS["att"][1].encode(), kw.read, use_rows))
    found.append(Sample("lsgkm", "gkm.model.txt", LSGKM.encode(), read_lsgkm, partial(use_model, _dna())))
    return found


def _stream(path: Path, format: str) -> list[Any]:
    return list(stream(path, format=format, unknown="mask"))


def _archives() -> list[Sample]:
    from scipy import sparse

    X = np.arange(12.0).reshape(4, 3) - 5
    found = []
    for name, save in (("npz", np.savez), ("npz compressed", np.savez_compressed)):
        file = io.BytesIO()
        save(file, X=X, y=np.array([1, 0, 1, 0]), ids=np.array(list("abcd")))
        found.append(Sample(name, "table.npz", file.getvalue(), kw.read, use_rows))
    mapped = partial(kw.read, mmap=True)
    found.append(Sample("npz mapped", "table.npz", found[0].data, mapped, use_rows))
    file = io.BytesIO()
    np.savez(file, one=X, two=X[:, :2], y=np.array(["a", "b", "a", "b"]))
    found.append(Sample("npz views", "views.npz", file.getvalue(), kw.read, use_rows))
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array(X * (X > 0)), compressed=False)
    found.append(Sample("npz sparse", "sparse.npz", file.getvalue(), kw.read, use_rows))
    if find_spec("pyarrow") is not None:
        found.append(_parquet(X))
    return found


def _parquet(X: np.ndarray) -> Sample:
    import pyarrow as arrow
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(arrow.table({"a": X[:, 0], "b": X[:, 1], "label": [1, 0, 1, 0], "id": list("abcd")}), file)
    return Sample("parquet", "table.parquet", file.getvalue(), kw.read, use_rows)


def _dna() -> Any:
    return kw.Sequences.from_strings(["ACGTACGT", "GGGGAACC", "TTACGTAA", "GGGCCCAT"], "dna", ids=list("abcd"))


def _lattices() -> Any:
    arcs = [[(0, 1, "to", 0.7), (0, 1, "two", 0.3), (1, 2, "be", 1.0)], [(0, 1, "to", 1.0), (1, 2, "", 0.5)]]
    return Lattices.from_arcs([(arcs[0], [2]), (arcs[1], [2])], ids=["k1", "k2"])


def _saved(folder: Path) -> list[Sample]:
    found = []
    words = kw.Sequences.from_strings(["to be", "or not to be"], "words")
    for name, file, X in (("sequences", "dna.kwseq", _dna()), ("word sequences", "words.kwseq", words)):
        X.save(folder / file)
        found.append(Sample(name, file, (folder / file).read_bytes(), kw.read, use_rows))
    _lattices().save(folder / "l.kwlat")
    found.append(Sample("lattices", "l.kwlat", (folder / "l.kwlat").read_bytes(), kw.read, use_rows))
    return found


def _stores(folder: Path) -> list[Sample]:
    from scipy import sparse

    from kernelweave.data.stores import write_store
    from kernelweave.data.stores.manifest import MANIFEST

    table = np.arange(12.0).reshape(4, 3) - 5
    rows = {
        "store": (_dna(), [1, -1, 1, -1]), "lattice store": (_lattices(), ["x", "y"]),
        "table store": (table, table[:, 0]), "sparse store": (sparse.csr_array(table * (table > 0)), None),
    }  # fmt: skip
    found = []
    for name, (X, y) in rows.items():
        home = folder / f"{name}.kws"
        write_store(home, X, y)
        files = {path.name: path.read_bytes() for path in sorted(home.iterdir())}
        for file, data in files.items():
            others = {other: content for other, content in files.items() if other != file}
            kind = "manifest" if file == MANIFEST else "part"
            found.append(Sample(f"{name} {kind}", file, data, _open_store, use_rows, others))
    return found


def _open_store(path: Path) -> Any:
    data = kw.read(path)
    data.X.verify()
    return data.X[:]


def _models(folder: Path) -> list[Sample]:
    table, y = np.random.default_rng(0).normal(size=(16, 2)), np.arange(16) % 2
    X = _dna()
    made = {
        "model": (kw.KernelClassifier(kw.RBF(width=1.0)), table, y),
        "sequence model": (kw.KernelClassifier(kw.Spectrum(2)), X, [1, -1, 1, -1]),
        "mkl model": (kw.MKLClassifier([kw.Linear(), kw.RBF(width=1.0)]), table, y),
        "lattice model": (kw.KernelClassifier(kw.NGram(1)), _lattices(), ["x", "y"]),
    }
    found = []
    for name, (model, rows, labels) in made.items():
        kw.save(model.fit(rows, labels), folder / "model.kw")
        data = (folder / "model.kw").read_bytes()
        found.append(Sample(name, "model.kw", data, kw.load, partial(use_model, rows)))
    asked = kw.KernelClassifier(kw.RBF(width=1.0), checkpoint=(str(folder / "fit.kwc"), 0.0)).fit(table, y)
    resume = partial(_resume, asked, table, y)
    found.append(Sample("checkpoint", "fit.kwc", (folder / "fit.kwc").read_bytes(), resume, partial(use_model, table)))
    return found


def _resume(model: Any, X: Any, y: Any, path: Path) -> Any:
    """Fit with the checkpoint that is there."""
    return type(model)(**{**model.get_params(deep=False), "checkpoint": str(path)}).fit(X, y)
