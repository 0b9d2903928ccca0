from __future__ import annotations

import ast
import gzip
import math

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.automata import Transducer, to_binary
from kernelweave.data import Alphabet
from kernelweave.data.lattices.rows import Lattices
from kernelweave.io import lattices as door
from kernelweave.io.lattices import read_lattice_rows, read_lattices, sniff_lattices, write_lattices


def strings_of(X, row=0):
    """The strings of a lattice and their weights, by going along every path."""
    arcs = slice(X.arc_offsets[row], X.arc_offsets[row + 1])
    table = list(zip(*(x[arcs].tolist() for x in (X.source, X.target, X.labels, X.weights))))
    finals = X.finals[X.state_offsets[row] : X.state_offsets[row + 1]]
    found: dict[str, float] = {}
    going = [(0, (), 1.0)]
    while going:
        state, words, weight = going.pop()
        if finals[state] > 0:
            found[" ".join(words)] = found.get(" ".join(words), 0.0) + weight * finals[state]
        for source, target, label, w in table:
            if source == state:
                going.append((target, words if label < 0 else (*words, X.alphabet.letters[label]), weight * w))
    return found


@pytest.fixture
def file(tmp_path):
    def write(content, name="bad"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# --- what the formats mean ---------------------------------------------------------------------------------------

WANTED = {"to be": 0.5 * 0.25, "two be": 0.3 * 0.25, "be": 0.2 * 0.25}


def cost(p):
    return repr(-math.log(p))


SAME = {
    "openfst": (
        f"k\n0 1 to {cost(0.5)}\n0 1 two {cost(0.3)}\n0 1 <eps> {cost(0.2)}\n1 2 be {cost(0.5)}\n2 {cost(0.5)}\n"
    ),
    "kaldi": (
        f"k\n0 1 to 0,{cost(0.5)},1_2\n0 1 two {cost(0.3)},0,\n0 1 <eps> {cost(0.2)},0\n1 2 be {cost(0.5)},0,\n"
        f"2 0,{cost(0.5)},\n\n"
    ),
    "plf": (
        f"x\t((('to',{math.log(0.5)},1),(\"two\",{math.log(0.3)},1),('*EPS*',{math.log(0.2)},1),),"
        f"(('be',{math.log(0.25)},1),),)\tk\n"
    ),
    "slf": (
        f"VERSION=1.0\nUTTERANCE=k base=10\nN=3 L=4\nI=0 t=0\nI=1\nI=2 W=be\n"
        f"J=0 S=0 E=1 W=to a={math.log10(0.5)}\nJ=1 S=0 E=1 W=two l={math.log10(0.3)}\n"
        f"J=2 S=0 E=1 W=!NULL a={math.log10(0.2)}\nJ=3 S=1 E=2 a={math.log10(0.25)}\n"
    ),
}


@pytest.mark.parametrize("format", SAME)
@pytest.mark.parametrize("told", [True, False])
def test_the_same_lattice_in_every_format(file, format, told):
    data = read_lattice_rows(file(SAME[format]), format if told else "auto")
    assert data.format == format
    assert data.ids.tolist() == data.X.ids.tolist() == ["k"]
    assert (None if data.y is None else data.y.tolist()) == (["x"] if format == "plf" else None)
    found = strings_of(data.X)
    assert found.keys() == WANTED.keys()
    for words, weight in WANTED.items():
        assert found[words] == pytest.approx(weight, rel=1e-14)


@pytest.mark.parametrize("format", SAME)
def test_normalized_lattices_are_distributions(file, format):
    path = file(gzip.compress(SAME[format].encode()), "packed.gz")
    X = read_lattices(path, normalize=True)
    found = strings_of(X)
    assert found == pytest.approx({words: weight / 0.25 for words, weight in WANTED.items()}, rel=1e-13)
    again = read_lattices(path).normalized()
    np.testing.assert_allclose(X.weights, again.weights, rtol=1e-13)
    flat = strings_of(read_lattices(path, normalize=True, scale=0.5))
    total = sum(math.sqrt(weight) for weight in WANTED.values())
    assert flat == pytest.approx({words: math.sqrt(weight) / total for words, weight in WANTED.items()}, rel=1e-13)


def test_states_may_have_any_numbers_in_any_order(file):
    text = "900000000000 7 a 0\n7 3 b 0\n900000000000 3 c 0\n3 999999999999999 d 0\n999999999999999\n"
    X = read_lattices(file(text), "openfst")
    assert strings_of(X) == {"a b d": 1.0, "c d": 1.0}
    assert X.ids is None


def test_arcs_on_no_accepting_path_are_left_out(file):
    X = read_lattices(file("k\n0 1 a 0\n0 2 dead 0\n5 1 lost 0\n5 0 into 0\n1\n"))
    assert strings_of(X) == {"a": 1.0}
    assert X.weights.size == 1


def test_transducers_are_read_by_one_side(file):
    path = file("0 1 x y 0.5\n1 2 <eps> z\n2\n")
    assert strings_of(read_lattices(path)).keys() == {"y z"}
    assert strings_of(read_lattices(path, side="input")).keys() == {"x"}
    bare = file("0 1 1 2\n1\n")
    assert strings_of(read_lattices(bare)) == {"1": math.exp(-2)}
    assert strings_of(read_lattices(bare, kind="transducer")) == {"2": 1.0}


def test_labels_may_be_numbers_of_a_symbol_table(file):
    path, table = file("0 1 2 1.0\n1 2 0 0\n2 3 1 0\n3\n"), file("<eps> 0\nyes\t1\nno 2\n", "words.txt")
    for symbols in (table, {0: "<eps>", 1: "yes", 2: "no"}, ["<eps>", "yes", "no"]):
        assert strings_of(read_lattices(path, symbols=symbols)).keys() == {"no yes"}
    assert strings_of(read_lattices(path)).keys() == {"2 1"}
    assert strings_of(read_lattices(path, epsilon=())).keys() == {"2 0 1"}
    with pytest.raises(ValueError, match=r"bad:1: the lattice: the label '2' is not in the symbol table\."):
        read_lattices(path, symbols=["<eps>", "yes"])


def test_several_lattices_and_empty_ones(file):
    X = read_lattices(file("a\n0 1 x 0\n1\n\n\nnone\n\n7\n0\n"))
    assert X.ids.tolist() == ["a", "none", "7"]
    assert [strings_of(X, row) for row in range(3)] == [{"x": 1.0}, {}, {"": 1.0}]


def test_an_alphabet_can_be_given(file):
    path = file(SAME["openfst"])
    words = Alphabet.words(["two", "to", "be", "or"])
    assert read_lattices(path, alphabet=words).alphabet is words
    few = Alphabet.words(["to", "be"])
    with pytest.raises(
        ValueError, match=r"bad:3: lattice 'k': the word 'two' is unknown; the words alphabet has to be"
    ):
        read_lattices(path, alphabet=few)
    masked = read_lattices(path, alphabet=few, unknown="mask")
    assert (masked.labels == few.size).sum() == 1
    dna = read_lattices(file("0 1 A 0\n1 2 c 0\n2\n"), alphabet="dna")
    assert dna[0] == "AC"


def test_files_can_follow_one_another(file):
    one, two = file(SAME["slf"], "one"), file(SAME["slf"].replace("=k", "=other"), "two")
    X = read_lattices([one, two])
    assert X.ids.tolist() == ["k", "other"]
    assert strings_of(X, 0) == strings_of(X, 1)
    with pytest.raises(ValueError, match=r"one:1: lattice 'k': the key 'k' was already used on line 1 of .*one; dup"):
        read_lattices([one, one])
    assert len(read_lattices([one, one], duplicates="allow")) == 2
    with pytest.raises(ValueError, match="No file to read"):
        read_lattices([])


# --- Kaldi and SLF -----------------------------------------------------------------------------------------------


def test_kaldi_lattices_that_are_not_compact(file):
    X = read_lattices(file("k\n0 1 17 yes 1,2\n1 2 18 <eps>\n2 0.5,0.25\n"))
    assert strings_of(X) == pytest.approx({"yes": math.exp(-3.75)})


def test_scales_of_recognisers(file):
    kaldi = file("k\n0 1 a 2,10,\n1\n", "kaldi")
    assert strings_of(read_lattices(kaldi, acoustic_scale=0.1, lm_scale=2)) == pytest.approx({"a": math.exp(-5)})
    slf = file("N=3 L=2 lmscale=2 acscale=0.1 wdpenalty=-1\nI=0\nI=1\nI=2\nJ=0 S=0 E=1 W=a a=-10 l=-2\nJ=1 S=1 E=2\n")
    assert strings_of(read_lattices(slf)) == pytest.approx({"a": math.exp(-1 - 4 - 1)})
    given = read_lattices(slf, acoustic_scale=1, lm_scale=0.5, word_penalty=0)
    assert strings_of(given) == pytest.approx({"a": math.exp(-11)})
    with pytest.raises(ValueError, match="read as kaldi, which has no option 'word_penalty'; it has symbols, epsilon"):
        read_lattices(kaldi, word_penalty=1)
    with pytest.raises(ValueError, match="acoustic_scale=nan is not a finite number"):
        read_lattices(kaldi, acoustic_scale=math.nan)
    with pytest.raises(ValueError, match="scale=0 is not a positive number"):
        read_lattices(kaldi, scale=0)


def test_words_on_nodes_of_slf(file):
    text = (
        '# words end where links do\nN=3 L=2 base=0\nI=0 W=der\nI=1 W=\\303\\274ber\nI=2 W="!NULL"\n'
        "J=0 START=0 END=1 a=0.5\nJ=1 S=1 E=2 a=0.25\n"
    )
    assert strings_of(read_lattices(file(text))) == pytest.approx({"der über": 0.125})


def test_the_examples_of_a_recogniser_tell_the_same_lattice(shared_data):
    folder = shared_data / "lattice"
    scales = {"acoustic_scale": 0.01, "lm_scale": 0.02}
    table = folder / "example_asr_lattice.words.txt"
    kaldi = read_lattices(folder / "example_asr_lattice.kaldi.txt", symbols=table, **scales)
    slf = read_lattices(folder / "example_asr_lattice.slf", word_penalty=0.0, **scales)
    assert kaldi.ids.tolist() == slf.ids.tolist() == ["utterance 123"]
    assert kaldi.weights.size == 37
    assert slf.weights.size == 39
    one, two = strings_of(kaldi), strings_of(slf)
    assert len(one) == 12
    assert one == pytest.approx(two, rel=1e-12)
    with pytest.raises(ValueError, match=r"kaldi.txt:2: lattice 'utterance 123': the weight exp\(-1432.27\) is zero"):
        read_lattices(folder / "example_asr_lattice.kaldi.txt", symbols=table)
    sure = read_lattices(folder / "example_asr_lattice.kaldi.txt", symbols=table, normalize=True)
    assert sure[0] == slf[0] == "it didn't elaborate"
    assert sure.total_weights() == pytest.approx(1.0)


# --- real files --------------------------------------------------------------------------------------------------


def test_snips_lattices(shared_data):
    path = shared_data / "lattice" / "snips_valid_lattices.fst.txt.gz"
    X = read_lattices(path)
    assert (len(X), X.weights.size) == (700, 16_913)
    assert X.ids[0] == "snips-valid-0000"
    blocks = gzip.decompress(path.read_bytes()).decode().split("\n\n")
    arcs = [line.split() for line in blocks[5].splitlines()[1:] if len(line.split()) == 5]
    row = X[5:6]
    told = sorted((int(s), int(t), word, math.exp(-float(c))) for s, t, word, _, c in arcs)
    words = [X.alphabet.letters[label] for label in row.labels]
    assert sorted(zip(row.source.tolist(), row.target.tolist(), words, row.weights.tolist())) == told
    assert read_lattices(path, normalize=True).total_weights() == pytest.approx(np.ones(700), rel=1e-12)


def test_fisher_lattices(shared_data):
    path = shared_data / "lattice" / "fisher_dev.plf.tsv.gz"
    data = read_lattice_rows(path)
    X = data.X
    lines = [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    assert len(X) == 3_979
    assert dict(zip(*(x.tolist() for x in np.unique(data.y, return_counts=True)))) == {-1: 3_500, 1: 479}
    assert data.ids.tolist() == [cells[2] for cells in lines]
    assert (X.total_weights() == 0).sum() == 16
    literals = [ast.literal_eval(cells[1] or "()") for cells in lines]
    assert X.weights.size == sum(len(node) for literal in literals for node in literal) == 122_139
    for row in range(0, len(X), 97):
        told = sorted((k, k + d, w, math.exp(s)) for k, node in enumerate(literals[row]) for w, s, d in node)
        one = X[row : row + 1]
        words = [X.alphabet.letters[label] for label in one.labels]
        assert sorted(zip(one.source.tolist(), one.target.tolist(), words, one.weights.tolist())) == told


def test_compound_splitting_lattices(shared_data):
    X = read_lattices(shared_data / "lattice" / "example_compound_split_de.plf")
    assert len(X) == 5
    assert X.ids is None
    assert "china" in X[0].split()
    assert len(strings_of(X, 1)) == 2 * 2 * 4


# --- writing -----------------------------------------------------------------------------------------------------

ROWS = [
    ([(0, 1, "it's", 0.5), (0, 2, '"\\', 0.5), (1, 2, None, 0.25)], {1: 0.75, 2: 1.0}),
    ([], {}),
    ([], {0: 1.0}),
    ([(0, 1, "über", 1.0)], {1: 1.0}),
    ([(0, 1, "a", 1e-300), (0, 1, "b", 3.0)], {1: 0.1}),
]


@pytest.mark.parametrize("name", ["x.fst.txt", "x.plf", "x.plf.tsv.gz", "x.fst.gz"])
def test_written_lattices_read_back(tmp_path, name):
    X = Lattices.from_arcs(ROWS, ids=["p", "q", "r", "s", "t"])
    y = [1, -1, 1, -1, 1] if "tsv" in name else None
    write_lattices(tmp_path / name, X, y)
    data = read_lattice_rows(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert data.X.alphabet == X.alphabet
    for row in range(len(X)):
        assert strings_of(data.X, row) == pytest.approx(strings_of(X, row), rel=1e-13)
    if ".plf" not in name or y:
        assert data.ids.tolist() == X.ids.tolist()
    assert (None if data.y is None else data.y.tolist()) == y


def test_what_cannot_be_written(tmp_path):
    X = Lattices.from_arcs([([(0, 1, "0", 1.0)], [1])])
    with pytest.raises(ValueError, match="The word '0' among words that are numbers would be read back as epsilon"):
        write_lattices(tmp_path / "x.fst", X)
    with pytest.raises(ValueError, match=r"known suffixes are \.plf \.plf\.tsv \.fst\.txt \.fst \.att"):
        write_lattices(tmp_path / "x.doc", X)
    with pytest.raises(ValueError, match="The format slf can be read but not written"):
        write_lattices(tmp_path / "x", X, format="slf")
    with pytest.raises(ValueError, match="OpenFst text has no place for labels"):
        write_lattices(tmp_path / "x.fst", X, [1])
    with pytest.raises(ValueError, match="id 'a b' of row 0 cannot be a key"):
        write_lattices(tmp_path / "x.fst", X, ids=["a b"])
    with pytest.raises(ValueError, match="There are 2 labels for 1 rows"):
        write_lattices(tmp_path / "x.plf", X, [1, 2])
    silent = Lattices.from_arcs([([(0, 1, "<eps>", 1.0)], [1])])
    with pytest.raises(ValueError, match="word '<eps>' cannot be written: this format reads it as epsilon"):
        write_lattices(tmp_path / "x.fst", silent)
    masked = Lattices.from_arcs([([(0, 1, "z", 1.0)], [1])], Alphabet.words(["a"]), "mask")
    with pytest.raises(ValueError, match="Masked words cannot be written"):
        write_lattices(tmp_path / "x.plf", masked)
    assert list(tmp_path.iterdir()) == []


def test_formats_are_told_by_content_then_by_name(file):
    assert {name: sniff_lattices(file(text)) for name, text in SAME.items()} == {name: name for name in SAME}
    assert sniff_lattices(file("k\n\n", "x.fst.txt")) == "openfst"
    assert set(door.lattice_formats()) == {*SAME, "fst"}


# --- binary files of OpenFst -------------------------------------------------------------------------------------


def binary(arc_type="log64", symbols=True):
    words = Alphabet.words(["be", "to", "two"])
    arcs = [(0, 1, "to", 0.5), (0, 1, "two", 0.3), (0, 1, None, 0.2), (1, 2, "be", 0.5)]
    machine = Transducer.from_arcs(arcs, finals={2: 0.5}, alphabet=words)
    if not symbols:
        machine = Transducer(
            machine.source, machine.target, machine.inputs, machine.outputs, machine.weights, machine.finals
        )
    return to_binary(machine, arc_type)


@pytest.mark.parametrize("arc_type", ["log64", "log", "standard"])
@pytest.mark.parametrize("packed", [False, True])
def test_binary_files_of_openfst_are_read_by_their_first_bytes(tmp_path, arc_type, packed):
    path = tmp_path / ("k.fst.gz" if packed else "k.fst")
    path.write_bytes(gzip.compress(binary(arc_type)) if packed else binary(arc_type))
    for X in (read_lattices(path), read_lattices([path], "fst"), kw.read(path).X):
        assert X.ids.tolist() == ["k"]
        assert strings_of(X) == pytest.approx(WANTED, rel=1e-12 if arc_type == "log64" else 1e-6)


def test_binary_files_without_symbols_are_spelled_by_a_table(tmp_path):
    path = tmp_path / "k.fst"
    path.write_bytes(binary(symbols=False))
    spelled = read_lattices(path, symbols=["<eps>", "be", "to", "two"], normalize=True)
    assert spelled.alphabet.letters == ("be", "to", "two")
    assert read_lattices(path).alphabet.letters == ("1", "2", "3")
    with pytest.raises(ValueError, match=r"k\.fst: lattice 'k': the label '3' is not in the symbol table"):
        read_lattices(path, symbols=["<eps>", "be", "to"])
