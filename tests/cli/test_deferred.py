"""What the program does not need is not imported, and is there when somebody asks for it."""

import subprocess
import sys

import pytest

import kernelweave as kw
from kernelweave.cli.deferred import IDLE, Deferred, defer

SHOWN = """
import sys
from kernelweave.cli.deferred import IDLE
for name in (*IDLE, "ssl", "scipy.optimize", "scipy.interpolate", "sklearn.metrics", "matplotlib", "dask"):
    if name in sys.modules:
        print(name, len(vars(sys.modules[name])))
"""
PREDICT = f"""
from kernelweave.cli.entry import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
{SHOWN}
"""


def test_a_deferred_module_is_the_module_once_it_is_asked(monkeypatch):
    monkeypatch.delitem(sys.modules, "this_is_nowhere", raising=False)
    monkeypatch.delitem(sys.modules, "sched", raising=False)
    defer("this_is_nowhere", "sched", "sched")
    assert "this_is_nowhere" not in sys.modules
    stands = sys.modules["sched"]
    assert isinstance(stands, Deferred)
    import sched

    assert stands.scheduler is sched.scheduler is sys.modules["sched"].scheduler
    assert not isinstance(sys.modules["sched"], Deferred)


def test_a_deferred_part_of_a_package_is_found_there(monkeypatch):
    import xml

    monkeypatch.delitem(sys.modules, "xml.sax.xmlreader", raising=False)
    monkeypatch.delitem(sys.modules, "xml.sax", raising=False)
    monkeypatch.delattr(xml, "sax", raising=False)
    defer("xml.sax")
    assert xml.sax is sys.modules["xml.sax"]
    assert isinstance(xml.sax, Deferred)
    assert xml.sax.InputSource.__name__ == "InputSource"
    assert not isinstance(xml.sax, Deferred)


MODELS = {
    "kernel": lambda X, y: kw.KernelClassifier("wd:3").fit(X, y),
    "probabilities": lambda X, y: kw.KernelClassifier("spectrum:2", loss="logistic").fit(X, y),
    "calibrated": lambda X, y: kw.calibrate(kw.search(kw.KernelClassifier("wd:2"), X, y, {"C": [1.0]}, cv=2), y),
    "many kernels": lambda X, y: kw.MKLClassifier([kw.Spectrum(2), kw.WeightedDegree(3)]).fit(X, y),
}


def modules(command, cwd):
    """Return the modules that a program tells of, and how much is in each."""
    done = subprocess.run([sys.executable, "-c", *command], cwd=cwd, capture_output=True, text=True, check=True)
    return {name: int(size) for name, size in (line.split() for line in done.stdout.splitlines())}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_predicting_asks_for_none_of_what_is_put_off(make, tmp_path):
    X, y = kw.datasets.make_splice(40, random_state=0)
    kw.save(make(X, y), tmp_path / "sites.kw")
    (tmp_path / "new.fa").write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(X[:3].to_strings())))
    held = modules([PREDICT, "predict", "sites.kw", "new.fa", "--out", "out.tsv"], tmp_path)
    brought = modules(["import sklearn.base\n" + SHOWN], tmp_path)  # older versions ask for more by themselves
    assert set(held) <= set(IDLE) | set(brought)
    assert all(size < 10 for name, size in held.items() if name not in brought)  # stands for the module only
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 4
