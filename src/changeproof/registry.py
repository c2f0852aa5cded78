"""Where names lead to: what comes with the package, and what people bring.

A reference is a built-in name, a name that was registered in code, the name of an entry point of an
installed package, or an import path such as "my_package.module:MyMethod". Settings may follow in
brackets. Nothing is imported before it is asked for, so a broken import does not affect the others.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from changeproof.errors import InputError, described, one_line, unknown
from changeproof.references import Configurable, check_path, from_path, parsed, spelled

T = TypeVar("T", bound=Configurable)
NAME = re.compile(r"[a-z0-9-]+")


class Registry(Generic[T]):
    """The names of one kind of thing.

    Parameters
    ----------
    kind
        What the things are called in messages.
    group
        The group of entry points in which packages offer theirs.
    builtin
        Name, and module and attribute, of what comes with the package.
    accept
        Makes what people brought usable, or refuses it with an `InputError`; is given the thing
        and the reference by which it was asked for.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        builtin: Mapping[str, tuple[str, str]],
        accept: Callable[[Any, str], type[T]],
    ) -> None:
        self.kind = kind
        self.group = group
        self._builtin = dict(builtin)
        self._accept = accept
        self._registered: dict[str, type[T]] = {}
        self._found: dict[str, type[T]] = {}

    @property
    def builtin_names(self) -> tuple[str, ...]:
        """What comes with the package, in the order in which it was listed."""
        return tuple(self._builtin)

    @property
    def names(self) -> tuple[str, ...]:
        """The built-in names, then those of entry points and those registered in code."""
        own = [*sorted(self._entry_points()), *self._registered]
        return tuple(dict.fromkeys([*self._builtin, *own]))

    def register(self, thing: Any, name: str) -> None:
        """Give a thing a name; the last one of that name counts, as in a notebook."""
        self._check_name(name)
        self._registered[name] = self._accept(thing, name)

    def enter(self, thing: Any, name: str | None, class_of: Callable[[Any, str], type]) -> Any:
        """Register a class, or a function as a class; return the class.

        Without a name, a class has its own and a function is called by its Python name.
        """
        chosen = name if name is not None else getattr(thing, "name", None)
        if inspect.isfunction(thing):
            chosen = chosen if chosen is not None else name_of(thing)
            thing = class_of(thing, chosen)
        if not isinstance(chosen, str):
            raise InputError(f"{described(thing)} has no name; give one to register it")
        self.register(thing, chosen)
        return thing

    def get(self, name: str) -> type[T]:
        """Return the class of a name without settings, or say why there is none."""
        if name in self._builtin:
            module, attribute = self._builtin[name]
            found: type[T] = getattr(importlib.import_module(module), attribute)
            return found
        if name in self._registered:
            return self._registered[name]
        if name not in self._found:
            self._found[name] = self._accept(self._looked_up(name), name)
        return self._found[name]

    def known(self, name: str) -> type[T] | None:
        """Return the class of a name if that takes no code of other people to be imported."""
        if name in self._builtin or name in self._registered or name in self._found:
            return self.get(name)
        return None

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
            given = thing.given_settings()
            made: Any = type(thing).named(spelled(type(thing).name, given), given)
            return made  # type: ignore[no-any-return]
        name = getattr(thing, "name", None) or (name_of(thing) if callable(thing) else self.kind)
        cls = self._accept(thing, name)
        return cls.named(cls.name, {})

    def check(self, given: Sequence[str], *, resolve: bool = True) -> tuple[str, ...]:
        """Check references and put built-ins first, in their order; the others stay as given.

        Parameters
        ----------
        resolve
            Whether what people brought has to be there; its form is checked in any case.
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
        order = [*self._builtin]
        return tuple(sorted(names, key=lambda reference: _place(names[reference], order)))

    def broken(self) -> dict[str, str]:
        """Return why entry points cannot be used, by name; the others are not listed."""
        reasons = {}
        for name, found in self._entry_points(everything=True).items():
            if name in self._builtin:
                owner = _owner(found[0])
                reasons[f"{name} ({owner})"] = f"has the name of a built-in {self.kind}"
                continue
            try:
                self.get(name)
            except InputError as error:
                reasons[name] = str(error)
        return reasons

    def _looked_up(self, reference: str) -> Any:
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
            raise InputError(f"{where} has a bad name; {_NAME_RULE}")
        try:
            return points[0].load()
        except (Exception, SystemExit) as error:
            raise InputError(f"{where} cannot be imported: {one_line(error)}") from error

    def _entry_points(self, *, everything: bool = False) -> dict[str, list[EntryPoint]]:
        """Return entry points by name, each place once; built-ins cannot be replaced."""
        found: dict[str, dict[str, EntryPoint]] = {}
        for point in entry_points(group=self.group):
            if everything or point.name not in self._builtin:
                found.setdefault(point.name, {}).setdefault(point.value, point)
        return {name: list(points.values()) for name, points in found.items()}

    def _check_name(self, name: str) -> None:
        if not NAME.fullmatch(name):
            raise InputError(f"bad name {name!r} for a {self.kind}; {_NAME_RULE}")
        if name in self._builtin:
            raise InputError(f"{name!r} is a built-in {self.kind}; choose another name")

    def _unknown(self, reference: str) -> InputError:
        message = unknown(self.kind, reference, self.names)
        return InputError(
            f"{message}, or an import path such as my_package:My{self.kind.capitalize()}"
        )


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


_NAME_RULE = "expected lower-case letters, digits and hyphens only"


def usable_class(
    found: Any, reference: str, base: Any, function_class: type, arguments: str
) -> Any:
    """Return what a reference leads to as a class to make, or say why it cannot be one.

    Parameters
    ----------
    base, function_class
        What a class has to be a subclass of, and what a function becomes a subclass of.
    arguments
        What a function is going to be called with, as people write it.
    """
    label = f"{base.__name__.lower()} {reference!r}"
    if inspect.isfunction(found):
        found = class_from(found, function_class, label, arguments, name=reference)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise InputError(
            f"{label} is {described(found)}; expected a subclass of changeproof.{base.__name__} "
            f"or a function of ({arguments})"
        )
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise InputError(f"{label} does not define {', '.join(missing)}")
    for attribute in ("name", "summary"):
        if not isinstance(getattr(found, attribute, None), str):
            raise InputError(f"{label}: {found.__name__} sets no {attribute!r}")
    try:
        found()
    except InputError as error:
        raise InputError(f"{label}: {error}") from error
    except Exception as error:
        what = f"{found.__name__}() failed with {one_line(error)}"
        raise InputError(f"{label}: {what}; every setting needs a default") from error
    return found


def class_from(function: Any, base: type, label: str, arguments: str, **contents: Any) -> Any:
    """Return a class whose work a function does.

    Parameters
    ----------
    label
        What the function is called in messages.
    arguments
        What it is going to be called with, as people write it; the last may be left out.
    contents
        Attributes of the class; without a `summary` it is the docstring's first line.
    """
    if not inspect.isfunction(function):
        raise InputError(f"{label} is {described(function)}; expected a function")
    names, signature = arguments.split(", "), inspect.signature(function)
    taken = next((n for n in (len(names), 2) if _takes(signature, n)), None)
    if taken is None:
        raise InputError(
            f"{label}: {function.__name__}{signature} cannot be called with ({arguments})"
        )
    if contents.get("summary") is None:
        lines = (function.__doc__ or "").strip().splitlines() or ["a function"]
        contents["summary"] = lines[0]
    copied = {key: getattr(function, key) for key in ("__doc__", "__module__", "__qualname__")}
    contents |= {"function": staticmethod(function), "taken": taken}
    return type(function.__name__, (base,), copied | contents)


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
