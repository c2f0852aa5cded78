"""References with settings: "robx-balanced(quantile=0.7)", wherever a name is accepted."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

from changeproof.errors import InputError, one_line
from changeproof.fingerprints.things import class_fingerprint, thing_fingerprint

# What a value has to be if the default is one; whatever else a default is says nothing.
KINDS = (bool, Integral, Real, str)
# The paper whose protocol this is; see CITATION.cff.
PAPER = (
    "Kostrzewa and Zięba, Robust to Which Model Change?, "
    "https://github.com/genwro-ai/robust-counterfactual-methods-audit"
)
# The key of the name where a plan gives a reference as a table.
NAME = "name"
# The only import paths that may be followed, and why no others; None if all may.
_limit: ContextVar[tuple[Collection[str], str] | None] = ContextVar("limit", default=None)


class Configurable:
    """Something whose settings are the keyword arguments that made it.

    Subclasses keep every argument under an attribute of the same name. `source` says where it is
    from: a publication, with a link where there is one, or a page.
    """

    name: str
    source: ClassVar[str] = ""
    _given: Mapping[str, Any] | None = None

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of the settings, in the order of the signature."""
        return list(inspect.signature(cls).parameters)

    def settings(self) -> dict[str, Any]:
        """Return the keyword arguments that rebuild this."""
        return {name: getattr(self, name) for name in self.setting_names()}

    def given_settings(self) -> dict[str, Any]:
        """Return the settings that were given by name or, made by hand, are not the defaults."""
        if self._given is not None:
            return dict(self._given)
        defaults = {k: v.default for k, v in inspect.signature(type(self)).parameters.items()}
        return {
            name: value
            for name, value in self.settings().items()
            if thing_fingerprint(value) != thing_fingerprint(defaults[name])
        }

    @property
    def fingerprint(self) -> str:
        """Hash of the code and of the settings."""
        return f"{class_fingerprint(type(self))} {thing_fingerprint(self.settings())}"

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"

    @classmethod
    def named(cls, name: str, settings: Mapping[str, Any]) -> Self:
        """Return one with these settings, under the name by which it was asked for."""
        known = inspect.signature(cls).parameters
        for key, value in settings.items():
            if key not in known:
                expected = f"expected one of: {', '.join(known)}" if known else "it has none"
                raise InputError(f"{name!r} has no setting {key!r}; {expected}")
            default = known[key].default
            kind = next((kind for kind in KINDS if isinstance(default, kind)), object)
            if not isinstance(value, kind) or (
                kind in (Integral, Real) and isinstance(value, bool)
            ):
                raise InputError(f"{name!r}: {key} has to be like {default!r}; got {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"{name!r}: {key} has to be a finite number; got {value!r}")
        try:
            made = cls(**settings)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{name!r} cannot be made: {type(error).__name__}: {error}") from error
        made.name, made._given = name, dict(settings)
        return made


def parsed(reference: str) -> tuple[str, dict[str, Any]]:
    """Return name and settings of a reference; settings are Python literals.

    >>> parsed("robx-balanced(quantile=0.7)")
    ('robx-balanced', {'quantile': 0.7})
    """
    name, bracket, rest = reference.partition("(")
    if not bracket:
        return reference.strip(), {}
    try:
        call = ast.parse(f"_({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise ValueError
        if any(word.arg is None for word in call.keywords):
            raise ValueError
        settings = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise InputError(
            f"{reference!r}: expected a name, or name(setting=value) with plain values"
        ) from None
    return name.strip(), settings


def spelled(name: str, settings: Mapping[str, Any]) -> str:
    """Write a reference; a value that cannot be written plainly is told apart by its hash."""
    if not settings:
        return name
    return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in settings.items())})"


def as_text(given: Any) -> Any:
    """Return a reference that a plan gives as a table as text; anything else as it is."""
    if not isinstance(given, Mapping):
        return given
    if not isinstance(given.get(NAME), str):
        raise InputError(f"{dict(given)!r} has no {NAME!r}; expected a name and settings")
    name, settings = parsed(given[NAME])
    return spelled(name, settings | {k: v for k, v in given.items() if k != NAME})


def check_path(kind: str, reference: str) -> tuple[str, str]:
    """Return module and attribute of an import path; nothing is imported."""
    module, _, attribute = reference.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *attribute.split(".")]):
        raise InputError(
            f"{kind} {reference!r} is not an import path; expected module:attribute, "
            f"for instance my_package.module:My{kind.capitalize()}"
        )
    return module, attribute


@contextmanager
def importing_only(paths: Collection[str], why: str) -> Iterator[None]:
    """Refuse every import path but these for a while; `why` ends the message."""
    token = _limit.set((paths, why))
    try:
        yield
    finally:
        _limit.reset(token)


def from_path(kind: str, reference: str) -> Any:
    """Return what an import path leads to, also in the working directory, as for `python -m`.

    Whatever a plan names is imported here and nowhere else, if `importing_only` allows it.
    """
    module, attribute = check_path(kind, reference)
    limit = _limit.get()
    if limit is not None and reference not in limit[0]:
        raise InputError(f"{kind} {reference!r} is not imported: {limit[1]}")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
        importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{kind} {reference!r} cannot be imported: {one_line(error)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f"{kind} {reference!r}: {module} has no {attribute!r}")
        found = getattr(found, part)
    return found


def _written(value: Any) -> str:
    try:
        if ast.literal_eval(repr(value)) == value:
            return repr(value)
    except (SyntaxError, ValueError):
        pass
    return repr(f"{type(value).__name__} {thing_fingerprint(value)[:8]}")
