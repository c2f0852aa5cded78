"""Fingerprints: everything that went into a piece, hashed.

Code is part of it. A piece depends on the module that makes it and on whatever that module
imports of the same package, so editing one method recomputes that method's pieces and no other.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("highspy", "numba", "numpy", "pandas", "scikit-learn", "scipy", "torch")


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that results depend on."""
    return {name: version(name) for name in LIBRARIES}


def fingerprint(**ingredients: Any) -> str:
    """Hash the ingredients of a piece and the libraries in use."""
    content = {"libraries": library_versions(), **ingredients}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def code_digest(*modules: str) -> str:
    """Hash the code of modules and of all that they import of their own packages.

    Comments, docstrings and layout do not count.
    """
    known: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = _source(name)
        # A package's __init__ only lists what is there; what is used of it is imported by name.
        listing = path is not None and path.name == "__init__.py" and name not in modules
        if name in known or path is None or listing:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known[name] = ast.dump(_without_docstrings(tree))
        waiting += [found for found in _imports(tree) if _same_package(found, name)]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _same_package(found: str, name: str) -> bool:
    return found.split(".")[0] == name.split(".")[0]


@cache
def _source(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return tree
