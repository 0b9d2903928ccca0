"""What the program does not need is not imported, and is there when somebody asks for it."""

import subprocess
import sys

import kernelweave as kw
from kernelweave.cli.deferred import IDLE, Deferred, defer

PREDICT = """
import sys
from kernelweave.cli.entry import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
from kernelweave.cli.deferred import IDLE
for name in (*IDLE, "scipy.optimize", "scipy.interpolate", "matplotlib"):
    if name in sys.modules:
        print(name, len(vars(sys.modules[name])))
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


def test_predicting_asks_for_none_of_what_is_put_off(tmp_path):
    X, y = kw.datasets.make_splice(40, random_state=0)
    kw.save(kw.KernelClassifier("wd:3").fit(X, y), tmp_path / "sites.kw")
    (tmp_path / "new.fa").write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(X[:3].to_strings())))
    command = [sys.executable, "-c", PREDICT, "predict", "sites.kw", "new.fa", "--out", "out.tsv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    held = {name: int(size) for name, size in (line.split() for line in done.stdout.splitlines())}
    assert set(held) <= set(IDLE)
    assert all(size < 10 for size in held.values())  # stands for the module only
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 4
