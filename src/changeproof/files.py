"""Files: their names; written whole or not at all; read as TOML, with a line for what is wrong."""

from __future__ import annotations

import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from changeproof.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

TEMPORARY = ".unfinished-"
# What people call things, where it becomes a part of a path, on any system.
LONGEST_NAME = 80
_SAFE = re.compile(rf"[A-Za-z0-9](?:[A-Za-z0-9._-]{{0,{LONGEST_NAME - 2}}}[A-Za-z0-9_-])?")
# Larger tables would fill the memory; a small Parquet file can hold one.
MOST_ROWS, MOST_CELLS = 20_000_000, 400_000_000
Checked = TypeVar("Checked", bound="BaseModel")


def safe_name(name: Any, what: str) -> str:
    """Return a name that may become a part of a path, or refuse it; `what` is to be named."""
    if not isinstance(name, str) or not _SAFE.fullmatch(name):
        length = len(str(name))
        shown = repr(name) if length <= LONGEST_NAME else f"a text of {length} characters"
        raise InputError(
            f"{shown} cannot name {what}; expected at most {LONGEST_NAME} letters (a to z), "
            "digits, '-', '_' and '.', with a letter or digit first and no '.' last"
        )
    return name


def plain_name(text: str, otherwise: str) -> str:
    """Return a safe name that is like some text, such as the name of a file."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:LONGEST_NAME].rstrip(".")
    return plain or otherwise


def check_table_size(rows: int, columns: int, where: str) -> None:
    """Refuse a table that would fill the memory."""
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise InputError(
            f"{where} holds {rows:,} rows and {columns:,} columns; expected at most {MOST_ROWS:,} "
            f"rows, and {MOST_CELLS:,} values in all"
        )


def not_through_links(path: Path, root: Path) -> Path:
    """Return a path below a folder, or refuse it if it is, or leads through, a symbolic link.

    A run directory may be a stranger's. What is written or removed in it stays in it. The folder
    itself may be a link.
    """
    for part in (path, *path.parents):
        if part == root:
            return path
        if part.is_symlink():
            raise InputError(
                f"{part} is a symbolic link; nothing is written or removed through one in a run "
                "directory: put a file or a folder in its place, or remove it"
            )
    raise ValueError(f"{path} is not below {root}")


def write_whole(path: Path, content: bytes, root: Path | None = None) -> None:
    """Write a file so that nobody ever sees half of it; say in one line why it cannot be."""
    write_together({path: content}, root)


def check_can_write(path: Path) -> None:
    """Refuse, before long work for it starts, a file that could not be written at its end."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a directory")
    folder = next(each for each in path.absolute().parents if each.exists())
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: {folder} is not a directory")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: no permission to write in {folder}")


def write_together(contents: Mapping[Path, bytes], root: Path | None = None) -> None:
    """Write files so that nobody ever sees half of one, and none if there is no room for all.

    With a `root`, all are below it, and none is written through a symbolic link.
    """
    waiting: dict[Path, Path] = {}
    path = Path()
    if root is not None:
        for path in contents:
            not_through_links(path, root)
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            # No two processes choose the same name, on whatever machine they are.
            waiting[path] = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
            waiting[path].write_bytes(content)
        for path, temporary in waiting.items():
            temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        for temporary in waiting.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def clear_unfinished(folder: Path, *subfolders: str) -> None:
    """Remove what a killed process left half-written in a folder, and anywhere in subfolders."""
    for pattern in (f"{TEMPORARY}*", *(f"{name}/**/{TEMPORARY}*" for name in subfolders)):
        for path in folder.glob(pattern):
            not_through_links(path.parent, folder)
            with suppress(OSError):
                path.unlink()


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a file that somebody wrote; `what` names its kind in messages."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {what} {path}: {error.strerror}") from None
    except RecursionError:
        raise InputError(f"{what} {path} is not valid TOML: it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{what} {path} is not valid TOML: {error}") from None


def validated(
    model: type[Checked], values: Mapping[str, Any], where: str, context: Any = None
) -> Checked:
    """Return values as a pydantic model, or say in one line what does not fit."""
    from pydantic import ValidationError

    try:
        return model.model_validate(values, context=context)
    except ValidationError as error:
        raise InputError(f"{where}: {_one_line(error, model)}") from None


def _one_line(error: ValidationError, model: type[BaseModel]) -> str:
    first: Any = error.errors()[0]
    place = first["loc"]
    key = ".".join(map(str, [*place[:1], *(part for part in place[1:] if isinstance(part, int))]))
    if first["type"] == "extra_forbidden":
        known = (each.alias or name for name, each in model.model_fields.items())
        return f"unknown key {key!r}; expected one of: {', '.join(known)}"
    if first["type"] == "missing":
        return f"the key {key!r} is missing"
    if isinstance(cause := first.get("ctx", {}).get("error"), InputError):
        return f"{key}: {cause}" if key else str(cause)
    return f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}; got {first['input']!r}"
