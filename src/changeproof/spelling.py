"""Settings in messages, as the interface in use spells them.

Messages name a setting as Python has it, in backticks: `missing='impute'` (see `errors.setting`).
Where somebody used the command line or a dataset file, its message is respelled once, on the way
out: --missing impute, or missing = "impute".
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

SETTINGS = re.compile(r"`([a-z_]+=[^`]*)`")
# Keys of a dataset file that have another name in Python.
KEYS = {"id_column": "id", "actions": "features"}


def as_options(text: str) -> str:
    """Return a message with settings as options of the command line.

    >>> as_options("ask for `missing='impute'`")
    'ask for --missing impute'
    """
    return _respelled(text, _option, " ")


def as_keys(text: str) -> str:
    """Return a message with settings as keys of a dataset file.

    >>> as_keys("ask for `id_column='applicant'`")
    'ask for id = "applicant"'
    """
    return _respelled(text, _key, ", ")


def _respelled(text: str, spell: Callable[[str, Any], str], between: str) -> str:
    def respell(found: re.Match[str]) -> str:
        try:
            call: Any = ast.parse(f"f({found[1]})", mode="eval").body
            named = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        except (SyntaxError, ValueError):
            return found[0]
        return between.join(spell(name, value) for name, value in named.items())

    return SETTINGS.sub(respell, text)


def _option(name: str, value: Any) -> str:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    several = isinstance(value, list | tuple)
    return f"{flag} {shlex.quote(','.join(map(str, value)) if several else str(value))}"


def _key(name: str, value: Any) -> str:
    return f"{KEYS.get(name, name)} = {json.dumps(value, ensure_ascii=False)}"
