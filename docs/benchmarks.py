"""The page of benchmarks, made from ``benchmarks/results/*.csv`` while the manual is built: no number is typed.

A comparison reads its result file and gives a `Pair` for each thing that both sides did; what was asked for stands
beside what was reached, met or not.  A summary and all comparisons stand on the page ``benchmarks``.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks/results"
PLACE = "% tables"
"""Where the tables go on the page, a comment of Markdown."""
WHOLE = 10
"""Ratios from which a sentence needs no digits behind the point."""
MACHINE = "two cores of an x86-64 processor"
Row = dict[str, str]


class Pair(NamedTuple):
    """One thing that both sides did: CPU seconds of each, how many times less ours are, and how many were asked for."""

    case: str
    peer: str
    ours: float
    theirs: float
    least: float | None

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def missed(self) -> bool:
        return self.least is not None and self.ratio < self.least


class Comparison(NamedTuple):
    """A question, the command that answers it, a note on how to read the answer, and the pairs of its result file."""

    title: str
    question: str
    command: str
    note: str
    pairs: Callable[[], Iterator[Pair]]


COMPARISONS: dict[str, Comparison] = {}


def comparison(title: str, question: str, command: str, note: str = "") -> Callable[[Any], Any]:
    """Enter a function that gives the pairs of a comparison, under its own name."""

    def enter(pairs: Callable[[], Iterator[Pair]]) -> Callable[[], Iterator[Pair]]:
        COMPARISONS[pairs.__name__] = Comparison(title, question, command, note, pairs)
        return pairs

    return enter


def read(name: str) -> list[Row]:
    """Return the lines of a result file."""
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def sides(name: str, key: tuple[str, ...], side: str, ours: str) -> Iterator[tuple[Row, Row, Row]]:
    """Give each line of another side with the line of ours that has the same key."""
    rows = read(name)
    own = {tuple(row[part] for part in key): row for row in rows if row[side] == ours}
    for row in rows:
        found = own.get(tuple(row[part] for part in key))
        if found is not None and "kernelweave" not in row[side] and row[side] != ours:
            yield row, found, row


# ------------------------------------------------------------------------------------------------- tables of numbers


@comparison(
    "One Gaussian kernel: oneDAL and SVC",
    "Dense rows with 50 features: how much less CPU than oneDAL (scikit-learn-intelex) and than "
    "`SVC(cache_size=2000)`, at objectives at least as good?",
    "python benchmarks/svm_vs_sklearn.py",
)
def svm_vs_sklearn() -> Iterator[Pair]:
    """Both peers did every problem."""
    for row in read("svm_vs_sklearn"):
        threads = "one thread" if row["threads"] == "1" else f"{row['threads']} threads"
        case = f"{int(row['n']):,} rows, C = {float(row['C']):g}, {threads}"
        for peer, name in (("onedal", "oneDAL"), ("svc", "SVC")):
            if number(row[f"{peer}_cpu"]) is not None:
                yield Pair(case, name, float(row["cpu"]), float(row[f"{peer}_cpu"]), 2.0)


@comparison(
    "Raw columns: SVC",
    "Linear classifiers on tables whose columns nobody scaled: certified to 1e-3 in at most twice the CPU seconds of "
    '`SVC(kernel="linear")` at its default tolerance?',
    "python benchmarks/raw_scales.py",
    "SVC ends before its gap is closed. On rows of 1e8 it does not end at all, and ours ends with a warning that names "
    "the scale.",
)
def raw_scales() -> Iterator[Pair]:
    """Where SVC came to an end."""
    for row in read("raw_scales"):
        if row["SVC gap"] != "stopped":
            yield Pair(row["problem"], "SVC", float(row["ours s"]), float(row["SVC s"]), 0.5)


@comparison(
    "403 kernels: a loop of SVC and HiGHS",
    "Kernels of single features and of all of wdbc, 1-norm: how much less CPU than a cutting-plane loop around SVC, to "
    "a gap of 1e-2?",
    "python benchmarks/mkl_speed.py",
    "The loop ends with its last cuts; its own gap is still open by 10 to 24 % there.",
)
def mkl_speed() -> Iterator[Pair]:
    """One line of ours at the tolerance of the loop."""
    for row, own, _ in sides("mkl_speed", ("n", "C", "tol"), "side", "kernelweave"):
        yield Pair(f"{row['n']} rows, C = {float(row['C']):g}", "SVC + HiGHS", cpu(own), cpu(row), 10.0)


@comparison(
    "403 kernels: an exact conic solver",
    "The same problems to a gap of 1e-4, beside Clarabel by way of cvxpy to its own tolerance.",
    "python benchmarks/mkl_speed.py --clarabel",
)
def mkl_exact() -> Iterator[Pair]:
    """Ours goes to a gap of 1e-4."""
    for row, own, _ in sides("mkl_exact", ("n", "C"), "side", "kernelweave"):
        yield Pair(f"{row['n']} rows, C = {float(row['C']):g}", "Clarabel", cpu(own), cpu(row), 20.0)


@comparison(
    "Groups of columns: celer and skglm",
    "A linear kernel for each column or group of columns, 1-norm: the same objective, in how much less CPU?",
    "python benchmarks/mkl_blocks.py",
    "Problems of a few milliseconds are where the others are ahead.",
)
def mkl_blocks() -> Iterator[Pair]:
    """Both peers, where they have the loss."""
    for row, own, _ in sides("mkl_blocks", ("case",), "method", "kernelweave"):
        yield Pair(f"{row['case']}: {row['n']} rows, {row['columns']} columns", row["method"], cpu(own), cpu(row), 1.0)


@comparison(
    "Hundreds of kernels: MKLpy and himalaya",
    "Held-out accuracy and CPU beside libraries that solve a related problem.",
    "python benchmarks/mkl_peers.py",
    "EasyMKL, AverageMKL and himalaya's ridge minimise other objectives, so only accuracy can be compared; it stands "
    "in brackets, and is not always ours that is higher.",
)
def mkl_peers() -> Iterator[Pair]:
    """Classification; the group lasso is a comparison of its own."""
    rows = [row for row in read("mkl_peers") if row["task"] == "classification"]
    own = {row["data"]: row for row in rows if row["method"] == "kernelweave L2"}
    for row in rows:
        ours = own[row["data"]]
        if not row["method"].startswith("kernelweave"):
            scores = f"accuracy {float(ours['accuracy']):.3f}, theirs {float(row['accuracy']):.3f}"
            yield Pair(f"{row['data']}, {row['kernels']} kernels ({scores})", row["method"], cpu(ours), cpu(row), None)


# --------------------------------------------------------------------------------------------------------- sequences

ASKED = {
    "wd-chunking": {"50000": 3.0}, "wd-auto": {"50000": 8.0, "100000": 10.0}, "spectrum": {"50000": 5.0},
    "mkl": {"10000": 3.0, "50000": 5.0},
}  # fmt: skip
TASKS = {
    "wd-chunking": "weighted degree 20, chunking", "wd-coordinate": "weighted degree 20, coordinate descent",
    "wd-auto": "weighted degree 20, auto", "spectrum": "spectrum 8", "mkl": "20 degrees, learned weights",
}  # fmt: skip


@comparison(
    "Splice sites: SHOGUN",
    "Simulated sites of 141 letters: how much less CPU than SHOGUN 6.1, SVMlight with linadd, at its gap of 1e-3?",
    "python benchmarks/seq_speed.py",
    "SHOGUN's times were taken once on such a machine (C++ with -O3 -march=native) and stand in the script; dual "
    "objectives agree to 1e-6.",
)
def seq_speed() -> Iterator[Pair]:
    """Lines at SHOGUN's tolerance for which it has a figure."""
    for row in read("seq_speed"):
        theirs = number(row["shogun_cpu"])
        if float(row["tol"]) == 1e-3 and theirs is not None:
            least = ASKED.get(row["task"], {}).get(row["n"])
            yield Pair(f"{TASKS[row['task']]}, {int(row['n']):,} rows", "SHOGUN", cpu(row), theirs, least)


@comparison(
    "From strings to a trained machine: CountVectorizer and LinearSVC",
    "8-mers of 50,000 sequences, counted, scaled and learned from, to the same objective.",
    "python benchmarks/seq_peers.py",
)
def seq_peers() -> Iterator[Pair]:
    """Ours at two tolerances."""
    rows = read("seq_peers")
    (peer,) = [row for row in rows if row["side"] == "scikit-learn"]
    for row in rows:
        if row is not peer:
            yield Pair(f"to a gap of {row['side'].split()[1]}", "scikit-learn", cpu(row), cpu(peer), 3.0)


@comparison(
    "Gapped k-mers: LS-GKM",
    "Enhancers of 200 letters: how much less CPU than `gkmtrain` at its defaults, with a kernel that has its values?",
    "python benchmarks/gkm_speed.py --lsgkm DIR",
    "LS-GKM ran once on the same machine, on one thread, with 1 GB of cache; its runs are reused. The areas under the "
    "curve agree to 1e-4.",
)
def gkm_speed() -> Iterator[Pair]:
    """Training at each size."""
    asked = {"2000": 20.0, "10000": 100.0}
    for row, own, _ in sides("gkm_speed", ("n",), "side", "lsgkm-kernel"):
        if row["side"] == "LS-GKM":
            areas = f"auROC {float(own['auroc']):.4f}, theirs {float(row['auroc']):.4f}"
            case = f"training, {int(row['n']):,} rows ({areas})"
            yield Pair(case, "LS-GKM", cpu(own), cpu(row), asked.get(row["n"]))


@comparison(
    "Gapped k-mers: scoring",
    "The same models: CPU for each sequence that is scored.",
    "python benchmarks/gkm_speed.py --lsgkm DIR",
    "Seconds are those of a million sequences.",
)
def gkm_scoring() -> Iterator[Pair]:
    """Scoring at each size; microseconds a row are seconds a million rows."""
    for row, own, _ in sides("gkm_speed", ("n",), "side", "lsgkm-kernel"):
        if row["side"] == "LS-GKM":
            ours, theirs = float(own["scoring_us"]), float(row["scoring_us"])
            yield Pair(f"model of {int(row['n']):,} rows", "LS-GKM", ours, theirs, 1000.0)


@comparison(
    "Gapped k-mers: tf-idf and LinearSVC",
    "The same enhancers by weighted 3- to 6-mers and a linear machine, the quick way that people take.",
    "python benchmarks/gkm_speed.py --lsgkm DIR",
    "It is quicker for a few thousand rows, and at 100,000 rows its area is the larger one.",
)
def gkm_tfidf() -> Iterator[Pair]:
    """Training at each size."""
    for row, own, _ in sides("gkm_speed", ("n",), "side", "counts"):
        if row["side"] == "tf-idf":
            areas = f"auROC {float(own['auroc']):.4f}, theirs {float(row['auroc']):.4f}"
            yield Pair(f"training, {int(row['n']):,} rows ({areas})", "tf-idf", cpu(own), cpu(row), 1.0)


@comparison(
    "Explained letters: gkmexplain",
    "Every letter of 100,000 sequences of 200 letters under one gapped k-mer model.",
    "python benchmarks/explain_speed.py --lsgkm DIR",
    "gkmexplain did 20 sequences, and its seconds are scaled to 100,000; its letters correlate with ours. For 20 "
    "sequences alone it needs no table, and is as quick.",
)
def explain_speed() -> Iterator[Pair]:
    """CPU for each row, times the rows of the larger run."""
    rows = read("explain_speed")
    (peer,) = [row for row in rows if row["side"] == "gkmexplain"]
    for own in rows:
        if own["side"] == "kernelweave":
            scale = float(own["rows"]) / float(peer["rows"])
            yield Pair(
                f"{int(own['rows']):,} sequences", "gkmexplain", float(own["cpu_s"]), float(peer["cpu_s"]) * scale, None
            )


# -------------------------------------------------------------------------------------------------- text and lattices


@comparison(
    "Text: scikit-learn and liblinear",
    "5-grams of 10,000 documents: counting, training, and the whole job.",
    "python benchmarks/text_speed.py",
    "Peers are stopped at a comparable objective. Lines named `at 0.0001` ask them for more digits than ours has.",
)
def text_speed() -> Iterator[Pair]:
    """Each part of the job; the tolerance of a peer is in its name."""
    asked = {"extraction": 8.0, "training": 1.0, "whole job": 5.0}
    rows = read("text_speed")
    own = {(row["part"], row["problem"]): row for row in rows if row["side"] in ("kernelweave", "kernelweave rows")}
    for row in rows:
        if "kernelweave" not in row["side"]:
            ours = own[row["part"], row["problem"]]
            yield Pair(f"{row['part']}: {row['problem']}", row["side"], cpu(ours), cpu(row), asked[row["part"]])


@comparison(
    "N-grams of Reuters: LIBSVM on demand",
    "Coordinate descent on the distinct n-grams against LIBSVM, which asks for kernel values.",
    "python benchmarks/text_reuters.py",
    "LIBSVM was stopped at its limit on the larger problems: its seconds are lower bounds there. The smallest problems "
    "are quicker by kernel values.",
)
def text_reuters() -> Iterator[Pair]:
    """Every n-gram kernel of both sets; 50 times less was asked for on 7-grams of all rows."""
    for name in ("subset", "rest", "full", "ten"):
        for row in read(f"text_reuters_{name}"):
            theirs, ours = number(row["libsvm"]), number(row["permuted"])
            if theirs is not None and ours is not None:
                least = 50.0 if (row["set"], row["kernel"]) == ("full", "7-gram") else None
                yield Pair(f"{row['set']} ({row['n']} rows), {row['kernel']}", "LIBSVM", ours, theirs, least)


@comparison(
    "Rational kernels: OpenFst",
    "Values of an n-gram kernel between lattices, from prepared machines and by the whole chain: how much less CPU?",
    "python benchmarks/lattice_openfst.py",
    "Values agree to the digits of OpenFst's weights.",
)
def lattice_openfst() -> Iterator[Pair]:
    """The quickest way of each side, and the chain."""
    for task, ours in (("prepared", "kernelweave, one sweep"), ("chain", "kernelweave")):
        for row, own, _ in sides("lattice_openfst", ("task",), "who", ours):
            if row["task"] == task:
                case = f"{task}, {row['pairs']} pairs"
                yield Pair(case, row["who"], cpu(own), cpu(row), 10.0 if task == "prepared" else None)


# ----------------------------------------------------------------------------------------------------------- mixtures


@comparison(
    "Mixtures of kernel columns: HiGHS and Clarabel on all columns",
    "1,000 rows and 3,000 columns: column generation against solvers that get the whole problem.",
    "python benchmarks/boost_speed.py",
    "The 2-norm as it is written is hard for Clarabel; its dual form, which a user would have to derive, is the honest "
    "opponent.",
)
def boost_speed() -> Iterator[Pair]:
    """Both norms on both data sets."""
    asked = {"HiGHS, its choice": 10.0, "Clarabel, as written": 3.0, "Clarabel, dual": 3.0}
    for name, data in (("boost_speed", "MNIST"), ("boost_speed_covertype", "covertype")):
        for row, own, _ in sides(name, ("penalty", "C"), "side", "TR2"):
            if row["side"].startswith(("HiGHS", "Clarabel")):
                case = f"{data}, {row['penalty']}, C = {float(row['C']):g}"
                yield Pair(case, row["side"], cpu(own), cpu(row), asked.get(row["side"]))


# ----------------------------------------------------------------------------------------------------------- the page


def cpu(row: Row) -> float:
    """Return the CPU seconds of a line."""
    return float(row["cpu"])


def number(text: str) -> float | None:
    """Return a number of a result file, lower bounds (``>39``) without their sign; None where there is none."""
    try:
        return float(text.lstrip(">"))
    except ValueError:
        return None


def digits(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def span(one: Comparison) -> str:
    """Return the smallest and the largest ratio of a comparison."""
    ratios = [pair.ratio for pair in one.pairs()]
    return f"{digits(min(ratios))} to {digits(max(ratios))}"


def rounded(one: Comparison) -> str:
    """Return the same to the digits that a sentence needs."""
    ratios = [pair.ratio for pair in one.pairs()]
    return " to ".join(f"{ratio:,.0f}" if ratio >= WHOLE else f"{ratio:.2g}" for ratio in (min(ratios), max(ratios)))


def summary() -> list[str]:
    """Return the table of all comparisons."""
    lines = ["| comparison | times less CPU | pairs | aims met |", "| --- | --- | --- | --- |"]
    for name, one in COMPARISONS.items():
        pairs = list(one.pairs())
        aimed = [pair for pair in pairs if pair.least is not None]
        met = f"{sum(not pair.missed for pair in aimed)} of {len(aimed)}" if aimed else "none was set"
        lines.append(f"| [{one.title}](#{name.replace('_', '-')}) | {span(one)} | {len(pairs)} | {met} |")
    return lines


def section(name: str, one: Comparison) -> list[str]:
    """Return what a comparison says."""
    heads = [
        "| what | beside | ours, CPU s | theirs, CPU s | times less | asked for |",
        "| --- | --- | --: | --: | --: | --- |",
    ]
    rows = []
    for pair in one.pairs():
        asked = "" if pair.least is None else f"{pair.least:g}" + (", **missed**" if pair.missed else "")
        cells = [pair.case, pair.peer, digits(pair.ours), digits(pair.theirs), digits(pair.ratio), asked]
        rows.append(f"| {' | '.join(cells)} |")
    told = [f"`{one.command}`", "", *([one.note, ""] if one.note else [])]
    return [f"({name.replace('_', '-')})=", f"## {one.title}", "", one.question, "", *told, *heads, *rows, ""]


def page() -> list[str]:
    """Return the lines of the page below its head."""
    lines = [f"Machine: {MACHINE}.", "", *summary(), ""]
    for name, one in COMPARISONS.items():
        lines += section(name, one)
    return lines


def setup(app: Any) -> dict[str, Any]:
    """Put the tables where the page asks for them, and the span of a comparison where any page does."""
    from docutils import nodes

    def fill(app: Any, name: str, source: list[str]) -> None:
        if name == "benchmarks":
            source[0] = source[0].replace(PLACE, "\n".join(page()))

    def times_less(role: str, raw: str, text: str, *rest: Any) -> tuple[list[Any], list[Any]]:
        return [nodes.Text(rounded(COMPARISONS[text]))], []

    app.connect("source-read", fill)
    app.add_role("times-less", times_less)
    return {"parallel_read_safe": True}
