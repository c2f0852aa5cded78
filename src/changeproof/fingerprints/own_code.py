"""The code of what people bring, as a hash: theirs may be in a notebook, or in no file at all.

Where there is a file, it counts as a whole. Where there is none, the compiled code counts, with
whatever it refers to. In both cases so do the values that a function carries along: its defaults
and what it closes over.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import joblib

from changeproof.fingerprints.fingerprint import pytorch_version, source_digest
from changeproof.fingerprints.modules import source_of

# By class: another definition is another class, and a file edited since is not what runs.
_digests: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def own_code(author: type) -> str:
    """Hash the code of a class that somebody brought, and of all classes that it is made from."""
    if author not in _digests:
        bases = [base for base in author.__mro__ if base.__module__ not in ("builtins", "abc")]
        files = source_digest(sorted({base.__module__ for base in bases}))
        carried = [line for base in bases for line in _lines(base, set())]
        text = "\n".join([files, *carried, pytorch_version()])
        _digests[author] = hashlib.sha256(text.encode()).hexdigest()
    return _digests[author]


def _lines(thing: Any, seen: set[int]) -> Iterator[str]:
    """Yield everything about a thing that makes its results what they are."""
    if isinstance(thing, staticmethod | classmethod):
        thing = thing.__func__
    if id(thing) in seen:
        return
    if isinstance(thing, FunctionType | type):
        seen.add(id(thing))
        yield f"{thing.__module__}.{thing.__qualname__}"
    if isinstance(thing, FunctionType):
        yield from _function(thing, seen)
    elif isinstance(thing, property):
        for part in (thing.fget, thing.fset):
            yield from _lines(part, seen)
    elif isinstance(thing, type):
        yield from _members(thing, seen)
    elif inspect.ismodule(thing):
        yield thing.__name__
    else:
        yield _value(thing)


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    for carried in (*_cells(function), *(function.__defaults__ or ()), function.__kwdefaults__):
        yield from _lines(carried, seen)
    if source_of(function.__module__) is None:
        for code in _codes(function.__code__):
            names = (code.co_names, code.co_varnames, code.co_freevars)
            yield f"{code.co_code.hex()} {names} {_constants(code)}"
            for name in _globals(code):
                if name in function.__globals__:
                    yield from _lines(function.__globals__[name], seen)


def _members(owner: type, seen: set[int]) -> Iterator[str]:
    in_a_file = source_of(owner.__module__) is not None
    for name, member in sorted(vars(owner).items()):
        works = isinstance(member, FunctionType | staticmethod | classmethod | property)
        if works or not (in_a_file or name.startswith("_")):
            yield name
            yield from _lines(member, seen)


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
    constants = [item for item in code.co_consts if not isinstance(item, CodeType)]
    return [
        str(sorted(map(repr, item))) if isinstance(item, frozenset) else repr(item)
        for item in constants
    ]


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable that has not been assigned yet
            continue


def _value(thing: Any) -> str:
    """Hash a value; of one that cannot be hashed only the type counts."""
    if thing is None or isinstance(thing, bool | int | float | str | bytes):
        return repr(thing)
    try:
        return str(joblib.hash(thing))
    except Exception:  # whatever pickling a stranger's object may raise
        return f"{type(thing).__module__}.{type(thing).__qualname__}"
