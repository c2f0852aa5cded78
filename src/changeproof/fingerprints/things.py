"""Anything that people bring, as a hash: methods, families, models, and their settings.

Where code is in a file, the file counts as a whole, with what it imports of its own package.
Where it is in none, as in a notebook, the compiled code counts with whatever it refers to. The
values that code carries along count in both cases: defaults, closures, the object of a bound
method, the arguments of a partial. What comes from an installed library counts by the library's
version.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from changeproof.fingerprints.sources import (
    PACKAGE,
    code_digest,
    is_installed,
    source_digest,
    source_of,
)

LIBRARIES = ("highspy", "numba", "numpy", "pandas", "scikit-learn", "scipy")
# By class: another definition is another class, and a file edited since is not what runs.
_classes: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def fingerprint(**ingredients: Any) -> str:
    """Hash the ingredients of a piece, which JSON can hold, and the libraries in use."""
    content = {"libraries": library_versions(), **ingredients}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def library_versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def class_fingerprint(author: type) -> str:
    """Hash the code of a method or family, and of all classes that it is made from."""
    if author.__module__.split(".")[0] == PACKAGE:
        return code_digest(author.__module__)
    if author not in _classes:
        bases = [base for base in author.__mro__ if base.__module__ not in ("builtins", "abc")]
        files = source_digest(sorted({base.__module__ for base in bases}))
        _classes[author] = _hash(
            [files, thing_fingerprint(bases), f"torch {package_version('torch')}"]
        )
    return _classes[author]


def thing_fingerprint(thing: Any) -> str:
    """Hash a value, a function or an object: all that makes its results what they are."""
    walk = _Walk()
    lines = list(walk.lines(thing))
    versions = [f"{name} {package_version(name)}" for name in sorted(walk.libraries)]
    return _hash([*lines, source_digest(sorted(walk.modules)), *versions])


def _hash(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@cache
def package_version(top: str) -> str:
    """Return the version of the package that a top-level module belongs to; "" without any."""
    try:
        return version(top)
    except PackageNotFoundError:
        owners = packages_distributions().get(top, ())
        return " ".join(f"{name} {version(name)}" for name in sorted(set(owners)))


class _Walk:
    """Walks through an object once, and records the modules and libraries that it uses."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.libraries: set[str] = set()
        self._seen: dict[int, Any] = {}

    def lines(self, thing: Any) -> Iterator[str]:
        """Yield everything about a thing that makes its results what they are."""
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            yield repr(thing)
            return
        if id(thing) in self._seen:
            yield "again"
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, staticmethod | classmethod):
            yield from self.lines(thing.__func__)
        elif isinstance(thing, FunctionType | type):
            yield f"{thing.__module__}.{thing.__qualname__}"
            if not self._from_library(thing.__module__):
                parts = self._function if isinstance(thing, FunctionType) else self._members
                yield from parts(thing)
        elif isinstance(thing, property):
            yield from self._each(thing.fget, thing.fset)
        elif isinstance(thing, MethodType):
            yield from self._each(thing.__func__, thing.__self__)
        elif isinstance(thing, functools.partial):
            yield from self._each(thing.func, *thing.args, thing.keywords)
        elif isinstance(thing, Mapping):
            for key in sorted(thing, key=repr):
                yield from self._each(key, thing[key])
        elif isinstance(thing, list | tuple):
            yield f"{type(thing).__name__} of {len(thing)}"
            yield from self._each(*thing)
        elif isinstance(thing, set | frozenset):
            yield str(sorted(map(repr, thing)))
        elif inspect.ismodule(thing):
            yield thing.__name__
        else:
            yield from self._object(thing)

    def _each(self, *things: Any) -> Iterator[str]:
        for thing in things:
            yield from self.lines(thing)

    def _from_library(self, module: str) -> bool:
        """Record where code is from; return whether it is a library, whose version counts."""
        if module.split(".")[0] != PACKAGE and is_installed(module):
            self.libraries.add(module.split(".")[0])
            return True
        self.modules.add(module)
        return False

    def _object(self, thing: Any) -> Iterator[str]:
        cls, state = type(thing), getattr(thing, "__dict__", None)
        yield from self.lines(cls)
        if hasattr(thing, "get_params"):
            yield from self.lines(thing.get_params(deep=False))
        elif state is not None and not self._from_library(cls.__module__):
            cached = functools.cached_property
            given = {k: v for k, v in state.items() if not isinstance(getattr(cls, k, 0), cached)}
            yield from self.lines(given)
        else:
            try:
                import joblib  # NumPy, when it is needed

                yield str(joblib.hash(thing))
            except Exception:  # whatever pickling a stranger's object may raise
                yield from self.lines(dict(state or {}))

    def _function(self, function: Any) -> Iterator[str]:
        carried = (*_cells(function), *(function.__defaults__ or ()))
        yield from self._each(*carried, function.__kwdefaults__)
        if source_of(function.__module__) is None:
            for code in _codes(function.__code__):
                names = (code.co_names, code.co_varnames, code.co_freevars)
                yield f"{code.co_code.hex()} {names} {_constants(code)}"
                for name in _globals(code):
                    if name in function.__globals__:
                        yield from self.lines(function.__globals__[name])

    def _members(self, owner: Any) -> Iterator[str]:
        if owner.__module__.split(".")[0] == PACKAGE:
            return
        in_a_file = source_of(owner.__module__) is not None
        for name, member in sorted(vars(owner).items()):
            works = isinstance(member, FunctionType | staticmethod | classmethod | property)
            if works or not (in_a_file or name.startswith("_")):
                yield name
                yield from self.lines(member)
        yield from self._each(*owner.__bases__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


def _globals(code: CodeType) -> list[str]:
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    return sorted({i.argval for i in dis.get_instructions(code) if i.opname in loads})


def _constants(code: CodeType) -> list[str]:
    """Return constants as text; the order in a set changes from process to process."""
    return [
        str(sorted(map(repr, item))) if isinstance(item, frozenset) else repr(item)
        for item in code.co_consts
        if not isinstance(item, CodeType)
    ]


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable that has not been assigned yet
            continue
