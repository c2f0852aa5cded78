"""Files: written whole or not at all; read as TOML, with one line for what is wrong."""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from changeproof.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

TEMPORARY = ".unfinished-"
Checked = TypeVar("Checked", bound="BaseModel")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # No two processes choose the same name, on whatever machine they are.
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    temporary.write_bytes(content)
    temporary.replace(path)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a file that somebody wrote; `what` names its kind in messages."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {what} {path}: {error.strerror}") from None
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
        return f"unknown key {key!r}; expected one of: {', '.join(model.model_fields)}"
    if first["type"] == "missing":
        return f"the key {key!r} is missing"
    if isinstance(cause := first.get("ctx", {}).get("error"), InputError):
        return f"{key}: {cause}" if key else str(cause)
    return f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}; got {first['input']!r}"
