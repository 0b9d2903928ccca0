"""Modules that others import and hardly use, put off until somebody asks for what they hold.

`import sklearn` imports all of pandas and of scipy.stats, which is a third of the time that it takes to predict ten
rows; joblib brings asyncio with ssl, and scipy numpy.f2py.  None of them is asked for anything then.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

IDLE = ("pandas", "scipy.stats", "asyncio", "numpy.f2py")
"""Modules that predicting does not ask for anything."""


class Deferred(ModuleType):
    """Stands for a module, which is imported at the first question for what it holds."""

    def __getattr__(self, name: str) -> Any:
        """Import the module, and return what it holds."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def defer(*names: str) -> None:
    """Put off the import of modules that are installed and not yet imported.

    Examples
    --------
    >>> import sys
    >>> defer("nowhere.at_all", "colorsys"), "colorsys" in sys.modules  # the first is not installed
    (None, True)
    >>> import colorsys
    >>> colorsys.rgb_to_hls(0.0, 0.0, 1.0)[1]
    0.5
    """
    for name in names:
        try:
            spec = None if name in sys.modules else find_spec(name)
        except ModuleNotFoundError:  # nor what it is a part of
            continue
        if spec is not None:
            sys.modules[name] = made = Deferred(name)
            made.__spec__ = spec
            whole, _, part = name.rpartition(".")
            if whole:
                setattr(sys.modules[whole], part, made)
