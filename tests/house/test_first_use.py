"""What a new user meets: code that is compiled and kept, and a program that answers before it imports anything slow."""

from __future__ import annotations

import errno
import gc
import logging
import os
import subprocess
import sys
import warnings

import numba
import numpy as np
import pytest

import kernelweave as kw
from kernelweave._numba import cache, jit, listen

HEAVY = ("numba", "sklearn", "scipy", "highspy", "numpy", "pandas")
ANSWERS = {
    ("--version",): (0, "kernelweave "),
    ("predict", "nope.kw", "nope.fa"): (1, "error: nope.kw does not exist."),
    ("predict", "here.kw", "nope.fa"): (1, "error: nope.fa does not exist."),
    ("predict", "here.kw", "here.kw", "--top", "3"): (1, "error: --top is about windows"),
    ("evaluate", "here.kw", "here.kw", "--negative", "nope.fa"): (1, "error: nope.fa does not exist."),
    ("inspect", "nope.kw"): (1, "error: nope.kw does not exist."),
    ("train", "nope.tsv", "--out", "a.kw"): (1, "error: nope.tsv does not exist."),
    ("train", "here.kw", "--labels", "nope.tsv", "--out", "a.kw"): (1, "error: nope.tsv does not exist."),
    ("train", "--nope"): (2, "No such option"),
}


def process(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, **options)


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_the_program_answers_before_it_imports_anything_slow(arguments, tmp_path):
    (tmp_path / "here.kw").write_text("")
    code, text = ANSWERS[arguments]
    script = (
        f"import sys\nfrom kernelweave.cli.app import main\nsys.argv = {['kernelweave', *arguments]}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print('code', end.code)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = process("-c", script, cwd=tmp_path)
    assert text in done.stdout + done.stderr
    assert done.stdout.splitlines()[-2:] == [f"code {code}", "[]"]


def test_the_package_runs_as_a_module():
    done = process("-m", "kernelweave", "--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"kernelweave {kw.__version__}")


@pytest.mark.parametrize("name", ["KernelClassifier", "KernelRegressor", "KernelNovelty"])
def test_learning_with_one_kernel_loads_nothing_for_many(name):
    rooms = ("kernelweave.solvers.boost", "kernelweave.solvers.mkl", "kernelweave.estimators.mkl", "highspy", "dnaio")
    done = process("-c", f"import sys, kernelweave as kw; kw.{name}(); print([m for m in {rooms} if m in sys.modules])")
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("collecting", [True, False])
def test_loading_leaves_the_garbage_collector_as_it_was(collecting):
    script = f"import gc, kernelweave as kw\n{'' if collecting else 'gc.disable()'}\nkw.RBF; print(gc.isenabled())"
    assert process("-c", script).stdout.strip() == str(collecting)


def twice(x):
    return 2 * x


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(cache, "_noted", False)


def test_without_a_directory_for_compiled_code_the_work_goes_on_with_one_note(fresh, monkeypatch):
    monkeypatch.setattr(cache.FunctionCache._impl_class, "_locator_classes", [])
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as told:
        assert [jit(twice)(21), jit(twice)(4.0)] == [42, 8.0]
    assert len(told) == 1


def test_on_a_full_disk_the_work_goes_on_with_one_note(fresh, monkeypatch, tmp_path):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache.IndexDataCacheFile, "save", full)
    with pytest.warns(UserWarning, match="No space left on device") as told:
        assert [jit(twice)(21), jit(twice)(4.0)] == [42, 8.0]
    assert len(told) == 1


def test_an_index_that_names_what_is_gone_is_like_none(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert jit(twice)(21) == 42
    (index,) = tmp_path.rglob("*.nbi")
    lines = index.read_bytes().split(b"\x80", 2)  # numba's version, then what it pickled
    index.write_bytes(lines[0] + b"\x80" + lines[1] + b"\x80\x04cnumba\nno_longer_there\n.")
    assert jit(twice)(21) == 42


def test_a_whole_fit_without_a_directory_gives_the_same_bits(tmp_path):
    script = (
        "import sys\nimport numpy as np\nimport kernelweave as kw\nfrom numba.core import caching\n"
        "if sys.argv[1] == 'without': caching.CacheImpl._locator_classes = []\n"
        "X = np.random.default_rng(0).normal(size=(40, 3))\n"
        "print(kw.KernelClassifier('rbf:0.2').fit(X, X[:, 0] > 0).decision_function(X).tobytes().hex())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    there, without = (process("-c", script, how, env=environment) for how in ("with", "without"))
    assert without.stdout == there.stdout != ""
    assert without.stderr.count("NUMBA_CACHE_DIR") == 1
    assert there.stderr == ""


def test_kept_code_is_renewed_when_a_function_it_calls_changes_in_another_file(tmp_path):
    (tmp_path / "outer.py").write_text(
        "from kernelweave._numba import jit, compiled_functions\nfrom inner import FACTOR, inner\n\n"
        "@jit\ndef outer(x):\n    return FACTOR * inner(x)\n\nprint(outer(1), compiled_functions()['__main__.outer'])\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for factor, added in ((10, 1), (10, 1), (10, 2), (20, 2)):
        (tmp_path / "inner.py").write_text(
            f"from kernelweave._numba import jit\n\nFACTOR = {factor}\n\n@jit\ndef inner(x):\n    return x + {added}\n"
        )
        done = process(str(tmp_path / "outer.py"), env={**environment, "PYTHONDONTWRITEBYTECODE": "1"})
        said.append(done.stdout.strip())
    assert said == ["20 (0, 1)", "20 (1, 0)", "30 (0, 1)", "60 (0, 1)"]


def test_the_garbage_collector_rests_while_code_is_compiled_and_no_longer(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    seen = []
    monkeypatch.setattr(cache.IndexDataCacheFile, "save", lambda *arguments: seen.append(gc.isenabled()))
    compiler = numba.core.compiler.compile_extra
    monkeypatch.setattr(
        numba.core.compiler, "compile_extra", lambda *a, **k: (seen.append(gc.isenabled()), compiler(*a, **k))[1]
    )
    assert jit(twice)(4) == 8
    assert seen == [False, True]
    with pytest.raises(numba.TypingError):
        jit(twice)("a" for _ in "b")
    assert gc.isenabled()


def test_listeners_hear_of_a_compilation_and_of_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    heard = []
    listen("test", lambda: heard.append(1))
    try:
        function = jit(twice)
        function(1)
        assert heard == [1]
        function(2), jit(twice)(3)  # compiled, and kept on disk
        assert heard == [1]
        function(0.5)
        assert heard == [1, 1]
    finally:
        listen("test", None)
    function(np.float32(1.0))
    assert heard == [1, 1]


def test_verbose_says_that_a_fit_compiles(caplog, monkeypatch, tmp_path):
    from kernelweave.estimators.fitting import show_compilation

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    with caplog.at_level(logging.INFO, logger="kernelweave"):
        show_compilation(0)
        jit(twice)(1)
        assert caplog.messages == []
        show_compilation(1)
        jit(twice)(2), jit(twice)(0.5), jit(twice)(np.float32(0.5))
        assert caplog.messages == ["compiling (once)"]


def test_the_progress_line_says_that_a_fit_compiles(capsys, monkeypatch, tmp_path):
    from kernelweave.cli.show import ProgressLine

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    with ProgressLine(False, []):
        jit(twice)(1), jit(twice)(0.5)
    jit(twice)(np.float32(1.0))
    assert capsys.readouterr().err.split("\n") == ["compiling    once; later runs start at once", ""]
    with ProgressLine(True, []), warnings.catch_warnings():
        jit(twice)(np.int8(1))
    assert capsys.readouterr().err == ""
