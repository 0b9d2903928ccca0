"""The options of the commands, with their help, and how a file is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer


def option(panel: str, help: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option that is listed under a heading."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, show_default=False, **more)


DATA, LATTICES, LEARN, SCAN, SHOW = "Reading the data", "Reading lattices", "Learning", "Scanning", "Output"
FORMATS = "FASTA/FASTQ, label-TAB-sequence, JSON lines, CSV/TSV, npz, libsvm or lattices, plain or gzip"

Rows = Annotated[str, typer.Argument(metavar="DATA", help=f"File of rows: {FORMATS}.", show_default=False)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'train'.", show_default=False)]

Label = Annotated[
    str | None,
    option(DATA, "The labels: column (name, or number from 0), field, array or FASTA header key.", metavar="NAME"),
]
Labels = Annotated[
    str | None,
    option(DATA, "File with the labels: lines of id TAB label; of a label alone for rows without ids.", metavar="FILE"),
]
Negative = Annotated[
    str | None, option(DATA, "File with negative rows (label -1); those of DATA are positive (1).", metavar="FILE")
]
Id = Annotated[str | None, option(DATA, "Column or field with the ids of the rows.", "--id", metavar="NAME")]
Text = Annotated[str | None, option(DATA, "Field of JSON lines with the text; title,body joins two.", metavar="NAME")]
Format = Annotated[
    str | None,
    option(
        DATA,
        "fasta, fastq, labelled, jsonl, table, npz, libsvm, plf, openfst, kaldi, slf, sequences or lattices; found by "
        "looking at the file.",
        metavar="NAME",
    ),
]
Alphabet = Annotated[str | None, option(DATA, "dna, rna, protein, bytes, words or auto.", metavar="NAME")]
Unknown = Annotated[
    Literal["error", "mask"] | None,
    option(DATA, "Letters outside the alphabet: error, or mask (kept, but they match nothing).", metavar="HOW"),
]
Duplicates = Annotated[
    Literal["error", "allow"] | None, option(DATA, "Two rows of one id: error, or allow (both kept).", metavar="HOW")
]
Symbols = Annotated[str | None, option(LATTICES, "Symbol table, where the labels of arcs are numbers.", metavar="FILE")]
Scale = Annotated[
    float | None,
    option(LATTICES, "Multiply all scores by this; below 1 flattens the distributions.", metavar="NUMBER"),
]
RawWeights = Annotated[
    bool,
    option(
        LATTICES, "Keep weights as they are; else each lattice becomes the posterior of its strings.", "--raw-weights"
    ),
]

Kernel = Annotated[
    list[str] | None,
    option(
        LEARN,
        "rbf, rbf:0.5, rbf:width=2, poly:3, linear, laplacian, wd:20, spectrum:6, ngram:5, precomputed, ...; "
        "chosen by the kind of data if not given. Given several times, one weight is learned for each kernel.",
        metavar="KERNEL",
    ),
]
Method = Annotated[
    Literal["kernel", "mkl", "cgboost"] | None,
    option(
        LEARN,
        "kernel: one kernel (default); mkl: several, one weight each (default for several); cgboost: several, the "
        "cheap ones first, one coefficient for each kernel and row, few of them not zero.",
        "--model",
        metavar="NAME",
    ),
]
Penalty = Annotated[
    Literal["l1", "l2"] | None,
    option(LEARN, "For cgboost: l1 has few coefficients (default), l2 many small ones.", metavar="NORM"),
]
Termination = Annotated[
    str | None,
    option(
        LEARN,
        "For cgboost: TR1 no row with a loss asks for more, TR2 optimal (default), TR3 held-out rows stop improving, "
        "TR4 --max-iter rounds; several with commas.",
        metavar="RULES",
    ),
]
ValidationFraction = Annotated[
    float | None, option(LEARN, "For cgboost: share of the rows held out to judge the rounds (a fifth with TR3).")
]
Patience = Annotated[
    int | None,
    option(
        LEARN, "For cgboost: rounds without a better error on held-out rows that end TR3 (default 5).", min=1,
        metavar="N",
    ),
]  # fmt: skip
KernelOrder = Annotated[
    Literal["given", "cost"] | None,
    option(
        LEARN,
        "For cgboost: ask the kernels as given (default), or by cost, those that predict cheapest first; the optimum "
        "does not depend on it.",
        metavar="ORDER",
    ),
]
Positive = Annotated[bool, option(LEARN, "For cgboost: no coefficient may be negative.", "--positive")]
Norm = Annotated[
    float | None,
    option(
        LEARN,
        "Norm of the kernel weights: 1 chooses few kernels (default), 2 spreads the weight; with several views, "
        "one weight is learned for each view.",
        metavar="P",
    ),
]
Task = Annotated[
    Literal["classify", "regress", "novelty"],
    option(LEARN, "What to learn: classify (default), regress or novelty.", metavar="TASK"),
]
Cost = Annotated[
    float | None, option(LEARN, "Cost of an error; larger fits the rows more closely (default 1).", "--C", "-C")
]
Loss = Annotated[
    str | None,
    option(
        LEARN,
        "What an error costs (default hinge, to regress epsilon_insensitive); a parameter comes after a colon, as in "
        "smooth_hinge:2. A name that is unknown for the task is answered with the list.",
        metavar="LOSS",
    ),
]
Epsilon = Annotated[float | None, option(LEARN, "Errors up to this size are free, to regress (default 0.1).")]
Nu = Annotated[
    float | None, option(LEARN, "Share of the rows that may lie outside, for novelty and nu losses (default 0.5).")
]
ClassWeight = Annotated[
    Literal["balanced"] | None, option(LEARN, "balanced: rare classes count as much as frequent ones.", metavar="HOW")
]
Normalize = Annotated[
    Literal["none", "trace", "cosine", "variance"] | None,
    option(
        LEARN,
        "Scaling of the kernel: none, trace, cosine or variance. Default: cosine for sequences; trace with wd kernels, "
        "and for several kernels on tables; none for one kernel on a table.",
        metavar="HOW",
    ),
]
Standardize = Annotated[
    bool, option(LEARN, "Bring every column of a table to mean 0 and variance 1 first.", "--standardize")
]
Tol = Annotated[float | None, option(LEARN, "Relative duality gap at which to stop (default 0.001).")]
Solver = Annotated[
    str | None,
    option(
        LEARN,
        "How to solve it (default: what is quickest); svrg is for very many rows, with --loss logistic and --norm 2.",
        metavar="NAME",
    ),
]
MaxIter = Annotated[int | None, option(LEARN, "Most iterations (default no limit).")]
MemoryLimit = Annotated[
    str | None, option(LEARN, "Memory for the kernel matrix, such as 4GB (default half of the free).", metavar="SIZE")
]
Jobs = Annotated[int | None, option(LEARN, "Number of threads (default one for each core).")]

Scan = Annotated[bool, option(SCAN, "Score every window of the sequences instead of whole sequences.", "--scan")]
Window = Annotated[
    int | None, option(SCAN, "Letters of a window (default: the length of the training sequences).", min=1, metavar="N")
]
Step = Annotated[
    int | None, option(SCAN, "Letters from one window to the next (default 1).", "--step", min=1, metavar="N")
]
BothStrands = Annotated[bool, option(SCAN, "Score the reverse complement of each window as well.", "--both-strands")]
Anchor = Annotated[
    list[str] | None,
    option(
        SCAN,
        "Only windows that have these letters at a place counted from 0: AG@60. Given several times: any of them.",
        metavar="LETTERS@N",
    ),
]
Threshold = Annotated[
    float | None, option(SCAN, "Only windows with at least this decision value.", "--threshold", metavar="T")
]
Top = Annotated[int | None, option(SCAN, "Only the N best windows, best first.", "--top", min=1, metavar="N")]
SkipMasked = Annotated[
    bool, option(SCAN, "Leave out windows with letters outside the alphabet, such as N.", "--skip-masked")
]

ModelOut = Annotated[str, option(SHOW, "Model file to write.", "--out", "-o", metavar="MODEL")]
TableOut = Annotated[
    str | None, option(SHOW, "File to write (standard output if not given).", "--out", "-o", metavar="FILE")
]
Plot = Annotated[
    str | None, option(SHOW, "Draw ROC and precision-recall curves into a .png, .pdf or .svg.", metavar="FILE")
]
Resamples = Annotated[int, option(SHOW, "Test sets drawn for the bootstrap intervals (default 1000).", min=1)]
Json = Annotated[bool, option(SHOW, "Write one JSON object to standard output.", "--json")]
Quiet = Annotated[bool, option(SHOW, "No progress, no notes.", "--quiet", "-q")]
Debug = Annotated[bool, option(SHOW, "Show where an error came from.", "--debug")]


@dataclass(frozen=True)
class Reading:
    """How to read a file, as far as the command line says; None where it does not."""

    format: str | None = None
    alphabet: Any = None
    unknown: str | None = None
    duplicates: str | None = None
    label: str | None = None
    id: str | None = None
    text: str | None = None
    labels: str | None = None
    negative: str | None = None
    symbols: str | None = None
    scale: float | None = None
    raw_weights: bool = False

    def given(self) -> dict[str, Any]:
        """Return the options of the reader that were given."""
        text = self.text.split(",") if self.text else None
        names = ("alphabet", "unknown", "duplicates", "label", "id", "symbols", "scale")
        named = {key: getattr(self, key) for key in names} | {"normalize": False if self.raw_weights else None}
        return {key: value for key, value in {**named, "text": text}.items() if value is not None}
