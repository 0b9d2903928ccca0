"""Reading and writing lattices in any format: OpenFst (binary and text), AT&T text, PLF, Kaldi text, HTK SLF."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.errors import Message
from kernelweave.data.lattices.build import Table
from kernelweave.data.lattices.rows import EPSILON, Lattices
from kernelweave.data.rows import IDS, codes_in, offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.letters import check_unknown
from kernelweave.io.blocks import Symbols
from kernelweave.io.dataset import Dataset, check_options, parse_labels
from kernelweave.io.machines import MAX_SCORE, Machine, build, shown
from kernelweave.io.registry import BY_MAGIC, FORMATS, Format, Sniff, by_suffix, register
from kernelweave.io.source import head

Paths = PathLike | Sequence[PathLike]


NUMBERS = ("acoustic_scale", "lm_scale", "word_penalty")


def register_lattices(
    name: str,
    suffixes: tuple[str, ...],
    sniff: Sniff,
    machines: Callable[..., list[Machine]],
    write: Callable[..., None] | None,
    breadth: int,
    sniff_alone: Sniff | None = None,
) -> None:
    """Enter a format of lattices; `sniff_alone` tells its files from those of other kinds where `sniff` cannot."""
    read = partial(read_lattice_rows, format=name)
    alone = sniff if sniff_alone is None else sniff_alone
    register(Format(name, ("lattices",), suffixes, alone, read, write, breadth, sniff_named=sniff, machines=machines))


def lattice_formats() -> dict[str, Format]:
    """Return the formats that list lattices arc by arc, by name."""
    return {name: known for name, known in FORMATS.items() if known.machines is not None}


def read_lattices(
    path: Paths,
    format: str = "auto",
    alphabet: str | Alphabet | None = None,
    symbols: Symbols | None = None,
    normalize: bool = False,
    scale: float = 1.0,
    **options: Any,
) -> Lattices:
    """Read lattices: distributions over strings as recognisers, taggers and translators write them.

    Parameters
    ----------
    path : a file, plain or compressed, or a list of files whose lattices follow one another
    format : "openfst" (and AT&T text), "fst" (binary files of OpenFst), "plf", "kaldi" or "slf"; "auto" looks at the
        content
    alphabet : an Alphabet (that of the training set, say) or the name of one; None to learn the words
    symbols : symbol table where labels are numbers: a file of words and numbers, number -> word, or a list of words
    normalize : whether each lattice becomes the posterior distribution of its strings, with total weight one.  Without
        it a weight is exp(score) as it stands in the file; scores too large or small for that are errors
    scale : what all scores are multiplied by; below one flattens a distribution
    options : unknown="error" or "mask" for words that the alphabet lacks, duplicates="error" or "allow" for keys, and
        those of the format: epsilon (words that stand for nothing), side (OpenFst) and kind (its text), acoustic_scale
        and lm_scale (Kaldi, SLF), word_penalty (SLF)

    Returns
    -------
    Lattices whose `ids` are the keys of the file

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fst.txt"
    >>> _ = path.write_text("u1\\n0 1 yes 0.2\\n0 1 yeah 1.7\\n1\\n\\nu2\\n0 1 no 0\\n1\\n")
    >>> X = read_lattices(path, normalize=True)
    >>> X, X.ids.tolist(), X.weights.round(2).tolist()
    (<2 lattices, words, 1 to 2 arcs>, ['u1', 'u2'], [0.18, 0.82, 1.0])
    """
    return read_lattice_rows(path, format, alphabet, symbols, normalize, scale, **options).X


def read_lattice_rows(
    path: Paths,
    format: str = "auto",
    alphabet: str | Alphabet | None = None,
    symbols: Symbols | None = None,
    normalize: bool = False,
    scale: float = 1.0,
    unknown: str = "error",
    duplicates: str = "error",
    **options: Any,
) -> Dataset:
    """Read lattices as `read_lattices` does, and the labels of formats that have them (tables of PLF).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.plf.tsv"
    >>> _ = path.write_text("-1\\t((('yes', 0, 1),),)\\tu1\\n")
    >>> data = read_lattice_rows(path)
    >>> data.X[0], data.y.tolist(), data.ids.tolist(), data.format
    ('yes', [-1], ['u1'], 'plf')
    """
    check_unknown(unknown)
    check_options(duplicates=(duplicates, ("error", "allow")))
    if not 0 < scale <= MAX_SCORE:
        raise ValueError(f"scale={scale!r} is not a positive number.")
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("No file to read lattices from: the list is empty.")
    machines: list[Machine] = []
    for one in paths:
        name = sniff_lattices(one) if format == "auto" else format
        machines += _read(one, name, symbols=symbols, **options)
    chosen = Alphabet.named(alphabet) if isinstance(alphabet, str) and alphabet != "words" else alphabet
    letters = _letters(paths, machines, chosen if isinstance(chosen, Alphabet) else None, unknown)
    ids = _ids(machines, duplicates)
    X = Lattices.from_table(*_table(machines, letters, normalize, scale), letters, ids)
    return Dataset(X, _labels(machines), ids, name)


def write_lattices(path: PathLike, X: Lattices, y: Any = None, format: str | None = None, ids: Any = None) -> None:
    """Write lattices in the format named, or that of the suffix of the file: OpenFst text or PLF; .gz compresses.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kernelweave.data.lattices.rows import Lattices
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.plf"
    >>> write_lattices(path, Lattices.from_arcs([([(0, 1, "yes", 1.0)], [1])]))
    >>> path.read_text()
    "((('yes',0.0,1),),)\\n"
    """
    if format is None:
        written = [known for known in lattice_formats().values() if known.write is not None]
        fitting = [known.name for known in by_suffix(path) if known in written]
        if not fitting:
            suffixes = " ".join(suffix for known in written for suffix in known.suffixes)
            raise ValueError(f"{path} has no suffix of a format for lattices; known suffixes are {suffixes}.")
        format = fitting[0]
    writer = _format(format).write
    if writer is None:
        raise ValueError(f"The format {format} can be read but not written.")
    writer(path, X, y, ids)


def sniff_lattices(path: PathLike) -> str:
    """Return the name of the lattice format of a file, by its content first and its suffix second."""
    start, known = head(path), lattice_formats()
    text = b"\0" not in start
    for name, format in known.items():
        if format.sniff_named is not None and (text or format.breadth == BY_MAGIC) and format.sniff_named(start):
            return name
    if text:
        for format in by_suffix(path):
            if format.name in known:
                return format.name
    raise ValueError(f"{path} holds no lattices in a known format; known are {', '.join(known)}.")


def _format(name: str) -> Format:
    known = lattice_formats()
    if name not in known:
        raise ValueError(f"There is no lattice format {name!r}; known are {', '.join(known)}.")
    return known[name]


def _read(path: PathLike, name: str, **options: Any) -> list[Machine]:
    """Read one file with those options that are given; one that the format lacks is an error."""
    reader = cast(Callable[..., list[Machine]], _format(name).machines)
    given = {key: value for key, value in options.items() if value is not None}
    known = [key for key in inspect.signature(reader).parameters if key != "path"]
    for key, value in given.items():
        if key not in known:
            raise ValueError(f"{path} is read as {name}, which has no option {key!r}; it has {', '.join(known)}.")
        if key in NUMBERS and not (isinstance(value, float | int) and abs(value) <= MAX_SCORE):
            raise ValueError(f"{key}={value!r} is not a finite number.")
    return reader(path, **given)


def _letters(paths: list[PathLike], machines: list[Machine], alphabet: Alphabet | None, unknown: str) -> Alphabet:
    """Return the alphabet; raise at the first word that can be no letter, or that the alphabet lacks."""
    words = {word for machine in machines for word in machine.words if word}
    torn = "has a blank or half a character"
    bad: dict[str, str | Message] = {word: torn for word in words if word.split() != [word] or _is_torn(word)}
    if alphabet is not None and unknown == "error":
        said = list(words)
        lacking = {word for word, code in zip(said, codes_in(alphabet, said)) if code == alphabet.size}
        bad |= dict.fromkeys(lacking - bad.keys(), Message("is unknown; {expected}", expected=alphabet.expected))
    if bad:
        machine, arc = next((m, arc) for m in machines for arc, word in enumerate(m.words) if word in bad)
        word = machine.words[arc]
        reason = Message("the word {word} {reason}", word=shown(word), reason=bad[word])
        raise machine.fault(machine.lines[arc], reason)
    if alphabet is None and not words:
        raise ValueError(f"{paths[0]} holds no words from which to learn an alphabet; name one.")
    return Alphabet.words(sorted(words)) if alphabet is None else alphabet


def _table(machines: list[Machine], alphabet: Alphabet, normalize: bool, scale: float) -> Table:
    """Return the arrays of `Lattices`, arcs and states in the order of the file."""
    built = [build(machine, normalize, scale) for machine in machines]
    words = [word for one in built for word in one.words]
    known = [word for word in set(words) if word]
    codes = {"": EPSILON} | dict(zip(known, codes_in(alphabet, known).tolist()))
    arcs = offsets_of(np.array([len(one.sources) for one in built]))
    states = offsets_of(np.array([one.n_states for one in built]))
    finals = np.zeros(states[-1])
    for first, one in zip(states.tolist(), built):
        for state, weight in one.finals.items():
            finals[first + state] = weight
    source = np.fromiter(chain.from_iterable(one.sources for one in built), np.int32, arcs[-1])
    target = np.fromiter(chain.from_iterable(one.targets for one in built), np.int32, arcs[-1])
    labels = np.fromiter(map(codes.__getitem__, words), np.int32, arcs[-1])
    weights = np.fromiter(chain.from_iterable(one.weights for one in built), np.float64, arcs[-1])
    return Table(source, target, labels, weights, arcs, finals, states)


def _is_torn(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return True
    return False


def _ids(machines: list[Machine], duplicates: str) -> np.ndarray | None:
    """Return the keys, None where no machine has one."""
    keys = [machine.key for machine in machines]
    if not any(keys):
        return None
    names = [f"row{i}" if key is None else key for i, key in enumerate(keys)]
    first: dict[str, Machine] = {}
    for name, machine in zip(names, machines):
        if first.setdefault(name, machine) is not machine and duplicates == "error":
            reason = f"the key {shown(name)} was already used on line {first[name].line} of {first[name].path}"
            remedy = Message("{reason}; {duplicates} keeps both", {"duplicates": "allow"}, reason=reason)
            raise machine.fault(machine.line, remedy)
    return np.array(names, dtype=IDS)


def _labels(machines: list[Machine]) -> np.ndarray | None:
    """Return the labels, None where no machine has one."""
    texts = [machine.label for machine in machines]
    if None in texts:
        without = next(machine for machine in machines if machine.label is None)
        if any(texts):
            raise without.fault(without.line, "it has no label, but lattices of other files have one")
        return None
    return parse_labels([text for text in texts if text is not None])
