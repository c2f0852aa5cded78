"""From what people write to what is meant: names with settings, import paths, entry points.

A reference is a built-in name, a name that was registered in code, the name of an entry point of an
installed package, or an import path such as "my_package.module:MyMethod". Settings may follow in
brackets: "robx-balanced(quantile=0.7)". Nothing is imported before it is asked for, so a broken
import does not affect the others.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from pydantic import ConfigDict, TypeAdapter, ValidationError

from changeproof.errors import InputError, described, keywords, one_line, unknown
from changeproof.fingerprints.things import class_fingerprint, thing_fingerprint

# The paper whose protocol this is; see CITATION.cff.
PAPER = (
    "Kostrzewa and Zięba, Robust to Which Model Change?, "
    "https://github.com/genwro-ai/robust-counterfactual-methods-audit"
)
NAME = re.compile(r"[a-z0-9-]+")
NAME_RULE = "expected lower-case letters, digits and hyphens only"
# What a setting has to be if its default is one and no annotation says more.
PLAIN_TYPES = (bool, int, float, str)
# The only import paths that may be followed, and why no others; None if all may.
_limit: ContextVar[tuple[Collection[str], str] | None] = ContextVar("limit", default=None)


class Configurable:
    """Something whose settings are the keyword arguments that made it.

    Subclasses keep every argument under an attribute of the same name. Arguments are checked
    against their annotations, such as ``Annotated[int, Field(ge=1)]``, before anything is made.
    `source` says where it is from: a publication, with a link where there is one, or a page.
    """

    name: str
    source: ClassVar[str] = ""
    _given: Mapping[str, Any] | None = None

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        checks = _checks(cls)  # type: ignore[arg-type]  # a class is hashable
        for name, value in settings.items():
            try:
                if name in checks:
                    checks[name].validate_python(_plain(value))
            except ValidationError as error:
                raise InputError(f"{_problem(name, error)}; got {value!r}") from None
        return super().__new__(cls)

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of the settings, in the order of the signature."""
        return list(_parameters(cls))

    def settings(self) -> dict[str, Any]:
        """Return the keyword arguments that rebuild this."""
        return {name: getattr(self, name) for name in self.setting_names()}

    def given_settings(self) -> dict[str, Any]:
        """Return the settings that were given by name or, made by hand, are not the defaults."""
        if self._given is not None:
            return dict(self._given)
        defaults = {name: each.default for name, each in _parameters(type(self)).items()}
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
        known = cls.setting_names()
        for key in settings:
            if key not in known:
                expected = f"expected one of: {', '.join(known)}" if known else "it has none"
                raise InputError(f"{name!r} has no setting {key!r}; {expected}")
        try:
            instance = cls(**settings)
        except InputError as error:
            raise InputError(f"{name!r}: {error}") from None
        except Exception as error:
            raise InputError(f"{name!r} cannot be made: {type(error).__name__}: {error}") from error
        instance.name, instance._given = name, dict(settings)
        return instance


def _parameters(cls: Any) -> dict[str, inspect.Parameter]:
    """Return the arguments of a class, with annotations as types where they can all be resolved."""
    if cls.__init__ is object.__init__:
        return {}
    try:
        found = inspect.signature(cls.__init__, eval_str=True).parameters
    except Exception:  # an author's annotations may raise anything
        found = inspect.signature(cls.__init__).parameters
    return dict(list(found.items())[1:])


@cache
def _checks(cls: type) -> dict[str, TypeAdapter[Any]]:
    """Return what checks the settings of a class: its annotations, or the types of its defaults."""
    config = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
    checks = {}
    for name, parameter in _parameters(cls).items():
        kind = parameter.annotation
        if kind is parameter.empty or isinstance(kind, str):
            kind = type(parameter.default)
            if kind not in PLAIN_TYPES:
                continue
        with suppress(Exception):  # what pydantic knows nothing about goes unchecked
            checks[name] = TypeAdapter(kind, config=config)
    return checks


def _problem(name: str, error: ValidationError) -> str:
    """Return in a sentence what is wrong with a setting, or with a value in it."""
    first = error.errors()[0]
    name += "".join(f"[{part}]" for part in first["loc"] if isinstance(part, int))
    words = first["msg"].removeprefix("Value error, ")
    if words.startswith("Input should "):
        return f"{name} {words.removeprefix('Input ')}"
    return f"{name}: {words[0].lower()}{words[1:]}"


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's, and lists as tuples, which fit every sequence."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def parsed(reference: str) -> tuple[str, dict[str, Any]]:
    """Return name and settings of a reference; settings are Python literals.

    >>> parsed("robx-balanced(quantile=0.7)")
    ('robx-balanced', {'quantile': 0.7})
    """
    name, bracket, rest = reference.partition("(")
    if not bracket:
        return reference.strip(), {}
    rest = rest.rstrip()
    settings = keywords(rest[:-1]) if rest.endswith(")") else None
    if settings is None:
        raise InputError(
            f"{reference!r}: expected a name, or name(setting=value) with plain values"
        )
    return name.strip(), settings


def without_settings(reference: str) -> str:
    """Return the name or import path alone; what is no reference stays as it is."""
    try:
        name = parsed(reference)[0]
    except InputError:
        return reference
    return name if re.fullmatch(r"[\w.:-]+", name) else reference


def spelled(name: str, settings: Mapping[str, Any]) -> str:
    """Write a reference; a value that cannot be written plainly is told apart by its hash."""
    if not settings:
        return name
    return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in settings.items())})"


def as_text(given: Any) -> Any:
    """Return a reference that a plan gives as a table as text; anything else as it is."""
    if not isinstance(given, Mapping):
        return given
    if not isinstance(given.get("name"), str):
        raise InputError(f"{dict(given)!r} has no 'name'; expected a name and settings")
    name, settings = parsed(given["name"])
    return spelled(name, settings | {k: v for k, v in given.items() if k != "name"})


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
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{kind} {reference!r} cannot be imported: {one_line(error)}") from error
    try:
        return attrgetter(attribute)(found)
    except AttributeError:
        raise InputError(f"{kind} {reference!r}: {module} has no {attribute!r}") from None


def _written(value: Any) -> str:
    try:
        if ast.literal_eval(repr(value)) == value:
            return repr(value)
    except (SyntaxError, ValueError):
        pass
    return repr(f"{type(value).__name__} {thing_fingerprint(value)[:8]}")


def _at(place: str) -> Any:
    """Return what is at a place of our own, module:attribute; it is imported when it is used."""
    module, _, attribute = place.partition(":")
    return attrgetter(attribute)(importlib.import_module(module))


T = TypeVar("T", bound=Configurable)
Class = TypeVar("Class", bound=type[Any])


class Registry(Generic[T]):
    """The names of one kind of thing, which `kind` is called in messages.

    Parameters
    ----------
    group
        The group of entry points in which packages offer theirs.
    builtin
        Names of what comes with the package, and where it is: module:attribute.
    accept
        Where the function is that turns what people brought, under some reference, into a class,
        or raises an `InputError`: module:attribute.
    """

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str], accept: str) -> None:
        self.kind, self.group = kind, group
        self._builtin, self._accept_at = dict(builtin), accept
        self._registered: dict[str, type[T]] = {}
        self._imported: dict[str, type[T]] = {}

    @property
    def builtin_names(self) -> tuple[str, ...]:
        """What comes with the package, in the order in which it was listed."""
        return tuple(self._builtin)

    @property
    def names(self) -> tuple[str, ...]:
        """The built-in names, then those of entry points and those registered in code."""
        own = [*sorted(self._entry_points()), *self._registered]
        # Each once: nothing replaces a built-in.
        return tuple(dict.fromkeys([*self._builtin, *own]))

    @overload
    def register(self, thing: Class, name: str | None = None) -> Class: ...
    @overload
    def register(self, thing: Callable[..., Any], name: str | None = None) -> type[T]: ...
    @overload
    def register(self, thing: None = None, name: str | None = None) -> Callable[[Class], Class]: ...
    def register(self, thing: Any = None, name: str | None = None) -> Any:
        """Give a class or a function a name that plans can use; also a decorator of a class.

        Without a name, a class is called by its own `name`, and a function by its Python name with
        hyphens for underscores. The last one of a name counts, as in a notebook. A function becomes
        a class; the class is returned.
        """
        if thing is None:
            return lambda decorated: self.register(decorated, name)
        chosen = name if name is not None else getattr(thing, "name", None)
        if chosen is None and inspect.isfunction(thing):
            chosen = name_of(thing)
        if not isinstance(chosen, str):
            raise InputError(f"{described(thing)} has no name; give one to register it")
        if not NAME.fullmatch(chosen):
            raise InputError(f"bad name {chosen!r} for a {self.kind}; {NAME_RULE}")
        if chosen in self._builtin:
            raise InputError(f"{chosen!r} is a built-in {self.kind}; choose another name")
        self._registered[chosen] = self._accept(thing, chosen)
        return self._registered[chosen]

    def get(self, name: str) -> type[T]:
        """Return the class of a name without settings, or say why there is none."""
        if name in self._builtin:
            found: type[T] = _at(self._builtin[name])
            return found
        if name in self._registered:
            return self._registered[name]
        if name not in self._imported:
            self._imported[name] = self._accept(self._load(name), name)
        return self._imported[name]

    def _accept(self, thing: Any, reference: str) -> type[T]:
        accepted: type[T] = _at(self._accept_at)(thing, reference)
        return accepted

    def class_called(self, name: str) -> type[T] | None:
        """Return the built-in class of that name, such as KDTree."""
        places = self._builtin.items()
        return next((self.get(key) for key, place in places if place.endswith(f":{name}")), None)

    def known(self, name: str) -> type[T] | None:
        """Return the class of a name if that takes no code of other people to be imported."""
        known = {*self._builtin, *self._registered, *self._imported}
        return self.get(name) if name in known else None

    def make(self, reference: str) -> T:
        """Return what a reference leads to, made with its settings and called by the reference."""
        name, settings = parsed(reference)
        cls = self.get(name)
        ordered = {key: settings[key] for key in cls.setting_names() if key in settings}
        return cls.named(spelled(name, ordered | settings), settings)

    def of(self, thing: Any) -> T:
        """Return what was given by reference, as an object, as a class or as a function."""
        if isinstance(thing, str):
            return self.make(thing)
        if isinstance(thing, Configurable):
            cls: Any = type(thing)
            given = thing.given_settings()
            return cls.named(spelled(cls.name, given), given)  # type: ignore[no-any-return]
        name = getattr(thing, "name", None) or (name_of(thing) if callable(thing) else self.kind)
        accepted = self._accept(thing, name)
        return accepted.named(accepted.name, {})

    def check(self, given: Sequence[str], *, resolve: bool = True) -> tuple[str, ...]:
        """Check references and put built-ins first, in their order; the others stay as given.

        Without `resolve`, people's own need not be there; only the form of references is checked.
        """
        names: dict[str, str] = {}
        for reference in given:
            name = parsed(reference)[0]
            if not resolve and not NAME.fullmatch(name):
                if ":" not in name:
                    raise self._unknown(name)
                check_path(self.kind, name)
            known = self.make(reference).name if resolve else reference
            if known in names:
                raise InputError(f"{self.kind} {known!r} is given more than once")
            names[known] = name
        order = {name: place for place, name in enumerate(self._builtin)}
        return tuple(sorted(names, key=lambda known: order.get(names[known], len(order))))

    def broken(self) -> dict[str, str]:
        """Return why entry points cannot be used, by name; the others are not listed."""
        reasons = {}
        for name, points in self._entry_points().items():
            if name in self._builtin:
                owner = _owner(points[0])
                reasons[f"{name} ({owner})"] = f"has the name of a built-in {self.kind}"
                continue
            try:
                self.get(name)
            except InputError as error:
                reasons[name] = str(error)
        return reasons

    def _load(self, reference: str) -> Any:
        if ":" in reference:
            return from_path(self.kind, reference)
        points = self._entry_points().get(reference)
        if points is None:
            raise self._unknown(reference)
        where = f"entry point {reference!r} of package {_owner(points[0])} ({points[0].value})"
        if len(points) > 1:
            owners = " and ".join(_owner(point) for point in points)
            raise InputError(
                f"{self.kind} {reference!r} is offered by the packages {owners}; "
                "name one by its import path instead"
            )
        if not NAME.fullmatch(reference):
            raise InputError(f"{where} has a bad name; {NAME_RULE}")
        try:
            return points[0].load()
        except (Exception, SystemExit) as error:
            raise InputError(f"{where} cannot be imported: {one_line(error)}") from error

    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        """Return entry points by name, each place once."""
        found: dict[str, dict[str, EntryPoint]] = {}
        for point in entry_points(group=self.group):
            found.setdefault(point.name, {}).setdefault(point.value, point)
        return {name: list(points.values()) for name, points in found.items()}

    def _unknown(self, reference: str) -> InputError:
        message = unknown(self.kind, reference, self.names)
        return InputError(
            f"{message}, or an import path such as my_package:My{self.kind.capitalize()}"
        )


@dataclass(frozen=True)
class PluginKind(Generic[T]):
    """What people may bring: a class of some kind, or a function that becomes one.

    Parameters
    ----------
    base, function_class
        What a class has to be a subclass of, and what a function becomes a subclass of.
    arguments
        What a function is called with, as people write it; from the third on it may take fewer.
    check
        Refuses a class of which something is missing.
    """

    base: Any
    function_class: type[T]
    arguments: str
    check: Callable[[type[T]], object]

    def accept(self, found: Any, reference: str) -> type[T]:
        """Return what a reference leads to as a class to make, or say why it cannot be one."""
        label = f"{self.base.__name__.lower()} {reference!r}"
        if inspect.isfunction(found):
            found = self.from_function(found, reference)
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise InputError(
                f"{label} is {described(found)}; expected a subclass of "
                f"changeproof.{self.base.__name__} or a function of ({self.arguments})"
            )
        if missing := sorted(getattr(found, "__abstractmethods__", ())):
            raise InputError(f"{label} does not define {', '.join(missing)}")
        try:
            made = found()
            self.check(found)
        except InputError as error:
            raise InputError(f"{label}: {error}") from error
        except Exception as error:
            what = f"{found.__name__}() failed with {one_line(error)}"
            raise InputError(f"{label}: {what}; every setting needs a default") from error
        for attribute in ("name", "summary"):
            if not isinstance(getattr(made, attribute, None), str):
                raise InputError(f"{label}: {found.__name__} sets no {attribute!r}")
        accepted: type[T] = found
        return accepted

    def from_function(self, function: Any, name: str, **contents: Any) -> type[T]:
        """Return a class whose work a function does.

        `contents` are attributes of the class; the docstring's first line is its summary, unless
        there is another.
        """
        label = f"{self.base.__name__.lower()} {name!r}"
        if not inspect.isfunction(function):
            raise InputError(f"{label} is {described(function)}; expected a function")
        signature = inspect.signature(function)
        most = len(self.arguments.split(", "))
        taken = next((count for count in (most, 2) if _takes(signature, count)), None)
        if taken is None:
            raise InputError(
                f"{label}: {function.__name__}{signature} cannot be called with ({self.arguments})"
            )
        if contents.get("summary") is None:
            lines = (function.__doc__ or "").strip().splitlines() or ["a function"]
            contents["summary"] = lines[0]
        copied = {key: getattr(function, key) for key in ("__doc__", "__module__", "__qualname__")}
        contents |= {"name": name, "function": staticmethod(function), "taken": taken}
        return type(function.__name__, (self.function_class,), copied | contents)


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def name_of(function: Any) -> str:
    """Return a function's Python name as one that plans can use."""
    return str(function.__name__).strip("<_>").lower().replace("_", "-")


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown"
