"""Compiled code on disk: found when it is first needed, renewed when any of its parts changes, done without if it must.

numba's own cache looks for a writable directory when a function is *decorated*, raises where there is none, and renews
a function when its own file changes.  Here the directory is sought when a function is first called; where there is
none, or the disk is full, the work goes on uncached with one note; and a function is renewed when the file of any
jitted function that it calls, or a constant that it takes from elsewhere, changes.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

NOTE = (
    "Compiled code cannot be kept on disk ({why}), so that every process compiles it again; "
    "let the environment variable NUMBA_CACHE_DIR name a directory that can be written."
)
CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)

_listeners: dict[str, Callable[[], None]] = {}
_noted = False


def listen(name: str, listener: Callable[[], None] | None) -> None:
    """Let a function be called whenever code is about to be compiled, in place of the former one of that name."""
    if listener is None:
        _listeners.pop(name, None)
    else:
        _listeners[name] = listener


class DiskCache:
    """The disk cache of one dispatcher, opened at its first use."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._opened: Any = None

    def _cache(self) -> Any:
        if self._opened is None:
            try:
                self._opened = _StampedCache(self._function)
            except (OSError, RuntimeError) as error:
                self._give_up(error)
        return self._opened

    def _give_up(self, error: Exception) -> None:
        global _noted
        self._opened = NullCache()
        if not _noted:
            _noted = True
            why = error.strerror if isinstance(error, OSError) else "no directory can be written"
            warnings.warn(NOTE.format(why=why), UserWarning, stacklevel=2)

    @property
    def cache_path(self) -> str | None:
        """The directory, if there is one."""
        return self._cache().cache_path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled code for a signature; None, after calling the listeners, if it has to be compiled."""
        try:
            found = self._cache().load_overload(signature, context)
        except OSError as error:
            self._give_up(error)
            found = None
        if found is None:
            for listener in list(_listeners.values()):
                listener()
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep the compiled code for a signature."""
        try:
            self._cache().save_overload(signature, compiled)
        except OSError as error:
            self._give_up(error)

    def enable(self) -> None:
        """Use the cache (again)."""
        self._cache().enable()

    def disable(self) -> None:
        """Do without the cache."""
        self._cache().disable()

    def flush(self) -> None:
        """Empty the cache."""
        self._cache().flush()


class _Uncollected(event.Listener):
    """Lets the garbage collector rest while our functions are compiled: a twentieth of a first fit."""

    def __init__(self) -> None:
        self.depth, self.collecting = 0, False

    def on_start(self, event: Any) -> None:
        """Begin, at the first of our functions; those that it calls are compiled inside."""
        if self.depth or isinstance(getattr(event.data["dispatcher"], "_cache", None), DiskCache):
            if self.depth == 0:
                self.collecting = gc.isenabled()
                gc.disable()
            self.depth += 1

    def on_end(self, event: Any) -> None:
        """End with the function that began; also called where compilation fails."""
        if self.depth:
            self.depth -= 1
            if self.depth == 0 and self.collecting:
                gc.enable()


event.register("numba:compile", _Uncollected())


class _StampedCache(FunctionCache):
    """numba's cache of a function, with a stamp of all its parts instead of its own file's."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._cache_file = _Index(self._cache_path, self._impl.filename_base, _stamp(function))


class _Index(IndexDataCacheFile):
    """numba's index of the signatures of a function; one that cannot be read is like none.

    numba unpickles an index before it compares the stamp, so an index that an older version of this package left may
    name classes that are gone.
    """

    def _load_index(self) -> dict[Any, Any]:
        try:
            return super()._load_index()
        except (AttributeError, ImportError, pickle.UnpicklingError, EOFError):
            return {}


def _stamp(function: Callable[..., Any]) -> bytes:
    """Return a digest of the files of a function and of all jitted functions it calls, and of their constants."""
    digest = hashlib.sha256()
    for part in sorted(set(_parts(function, set()))):
        digest.update(part)
    return digest.digest()


def _parts(function: Callable[..., Any], seen: set[Any]) -> Iterator[bytes]:
    if function in seen:
        return
    seen.add(function)
    yield _file_digest(inspect.getfile(function))
    for name in function.__code__.co_names:
        value: Any = function.__globals__.get(name)
        if isinstance(value, CONSTANTS):
            yield f"{name}={value!r}".encode()
        elif hasattr(value, "py_func"):
            yield from _parts(value.py_func, seen)


_digests: dict[str, bytes] = {}


def _file_digest(path: str) -> bytes:
    """Return the digest of a source file, which does not change while this process runs."""
    if path not in _digests:
        with open(path, "rb") as file:
            _digests[path] = hashlib.sha256(file.read()).digest()
    return _digests[path]
