"""Pages of the documentation that are read off the code: names, commands, methods and families."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import typer

import changeproof as cp
from changeproof import cli
from changeproof.commands.console import broken_example, examples_and_text

# The public names by the room that they are from, in the order of the pages.
ROOMS = {
    "Front door": (
        "front_door",
        "workflow",
        "notebook",
        "explanation",
        "letters",
        "report",
        "tracking",
        "errors",
    ),
    "Data": ("datasets", "feasible"),
    "Models": ("model", "models", "networks"),
    "Methods": ("methods", "adapters"),
    "Changes": ("changes",),
    "Evaluation": ("evaluation", "gating", "paper"),
    "Runs": ("runs", "tables", "checks"),
}


def public_names() -> dict[str, list[str]]:
    """Return what `import changeproof` offers, by the room in which it is."""
    stub = Path(cp.__file__).with_suffix(".pyi")
    found: dict[str, list[str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            room = node.module.partition(".")[0]
            found.setdefault(room, []).extend(alias.name for alias in node.names)
    missing = set(found) - {room for rooms in ROOMS.values() for room in rooms}
    if missing:
        raise LookupError(f"no page of the reference has the rooms {sorted(missing)}")
    return found


def directive(name: str) -> str:
    """Return the line that documents a public name."""
    thing = getattr(cp, name)
    if not inspect.isclass(thing):
        return f".. autofunction:: changeproof.{name}\n"
    if issubclass(thing, Exception):
        return f".. autoexception:: changeproof.{name}\n"
    return f".. autoclass:: changeproof.{name}\n   :members:\n"


def write_reference(folder: Path) -> None:
    """Write a page per group of public names."""
    folder.mkdir()
    found = public_names()
    pages = []
    for title, rooms in ROOMS.items():
        offered = [name for room in rooms for name in found.get(room, [])]
        page = title.lower().replace(" ", "-")
        pages.append(page)
        body = "\n".join(directive(name) for name in offered)
        text = f"# {title}\n\n```{{eval-rst}}\n.. currentmodule:: changeproof\n\n{body}```\n"
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
    listed = "\n".join(pages)
    text = (
        "# Python reference\n\nWhat `import changeproof as cp` offers, from the docstrings. Names "
        f"are imported when they are first used.\n\n```{{toctree}}\n{listed}\n```\n"
    )
    (folder / "index.md").write_text(text, encoding="utf-8")


def write_commands(path: Path) -> None:
    """Write a page with all commands and their options."""
    main = typer.main.get_command(cli.app)
    examples, words = examples_and_text(main.help or "")
    text = ["# Command line\n", *_called(examples), f"{words}\n"]
    for name, command in getattr(main, "commands", {}).items():
        inner = getattr(command, "commands", None)
        several = {name: command} if inner is None else {f"{name} {n}": c for n, c in inner.items()}
        text += [_command(*each) for each in several.items()]
    path.write_text("\n".join(text), encoding="utf-8")


def _command(name: str, command: Any) -> str:
    """Return the section of one command."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join(["changeproof", name, *(p.name.upper() for p in arguments), "[OPTIONS]"])
    examples, words = examples_and_text(command.help or "")
    lines = ["| | |", "|---|---|"]
    for each in command.params:
        if getattr(each, "hidden", False) or each.name == "help":
            continue
        called = each.name.upper() if each in arguments else ", ".join(each.opts)
        value = getattr(each, "metavar", None) if each not in arguments else None
        called = f"`{called} {value}`" if value else f"`{called}`"
        lines.append(f"| {called} | {_cell(_told(each))} |")
    shown = [f"```console\n{usage}\n```", *_called(examples), _escaped(words)]
    return "\n\n".join([f"## {name}", *shown, "\n".join(lines), ""])


def _called(examples: list[str]) -> list[str]:
    """Return calls as blocks to copy."""
    return ["```console\n" + "\n".join(broken_example(each, 88)) + "\n```\n" for each in examples]


def _told(parameter: Any) -> str:
    """Return the help of a parameter, with its default."""
    default = parameter.default
    shown = "" if callable(default) or default in (None, False, (), []) else f"`{default}`"
    stated = getattr(parameter, "show_default", None)
    shown = stated if isinstance(stated, str) else shown
    extra = "Required." if parameter.required else f"Default: {shown}." if shown else ""
    return " ".join(part for part in (_escaped(parameter.help or ""), extra) if part)


def _escaped(text: str) -> str:
    """Return text in which nothing is markup but what is meant to be."""
    for sign in ("\\", "<", ">", "*", "_", "[", "]"):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("--", "\\-\\-")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write_named(path: Path) -> None:
    """Write a page with the methods and families that come with the package."""
    methods = [(name, cp.get_method(name)) for name in cp.builtin_method_names()]
    families = [(name, cp.get_family(name)) for name in cp.builtin_family_names()]
    told = [
        f"| `{name}` | {_cell(found.summary)} | {found.needs} | {_source(found.source)} |"
        for name, found in methods
    ]
    happens = [
        f"| `{name}` | {_cell(found.summary)} | {_source(found.source)} |"
        for name, found in families
    ]
    text = [
        "# Methods and families",
        "Settings follow a name in brackets: `robx-balanced(quantile=0.7)`. The settings are those "
        "of the classes in the [reference](reference/methods.md). `changeproof list methods -v` "
        "and `changeproof list families -v` print this page in the terminal.",
        "## Methods",
        "\n".join(["| name | counterfactual | needs | from |", "|---|---|---|---|", *told]),
        "## Families of change",
        "The first eight are the paper's.",
        "\n".join(["| name | changed models | from |", "|---|---|---|", *happens]),
        "",
    ]
    path.write_text("\n\n".join(text), encoding="utf-8")


def _source(text: str) -> str:
    """Return where something is from, with a link to the page or the site that it names."""
    paper, _, address = text.partition(", https://")
    if address:
        return f"[{paper}](https://{address})"
    words, _, page = text.rpartition(", ")
    if page.endswith(".md"):
        return f"[{words}]({page})"
    return re.sub(r"(https://[^\s)]+)", r"<\1>", text)
