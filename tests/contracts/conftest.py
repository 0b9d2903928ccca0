"""Every fit of an estimator in these suites is judged: its certificate is recomputed from kernels and rows."""

from __future__ import annotations

import functools
import inspect

import pytest

import kernelweave as kw

ESTIMATORS = [one for name in kw.__all__ if isinstance(one := getattr(kw, name), type) and hasattr(one, "fit")]


def judged(fit):
    """Return a `fit` after which the judge must confirm the certificate."""

    @functools.wraps(fit)
    def checked(model, *args, **kwargs):
        given = inspect.signature(fit).bind(model, *args, **kwargs).arguments
        fitted = fit(model, *args, **kwargs)
        found = kw.verify(fitted, given["X"], given.get("y"), given.get("sample_weight"))
        assert found.confirmed, f"{model!r}: {found}"
        return fitted

    return checked


@pytest.fixture(autouse=True)
def every_fit_is_judged(monkeypatch):
    for make in ESTIMATORS:
        monkeypatch.setattr(make, "fit", judged(make.fit))
