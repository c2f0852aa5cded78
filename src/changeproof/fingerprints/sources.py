"""The code of modules as a hash, read from their files.

A piece depends on the module that makes it and on whatever that module imports of the same
package, so editing one method recomputes that method's pieces and no other.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from itertools import accumulate
from pathlib import Path

PACKAGE = __name__.split(".")[0]
INSTALLED = ("site-packages", "dist-packages")
SCRIPT = "__main__"


@cache
def code_digest(*modules: str) -> str:
    """Hash the code of modules and of all that they import of their own packages.

    Comments, docstrings and layout do not count. The answer is cached; see `source_digest`.
    """
    return source_digest(modules)


def source_digest(modules: Iterable[str]) -> str:
    """Hash the code of modules as it is on disk now, and of what they import.

    Of modules outside changeproof, what they import of changeproof counts as well, and for a
    file that is in no package the files beside it.
    """
    known: dict[str, str] = {}
    asked = list(modules)
    waiting = asked.copy()
    while waiting:
        name = waiting.pop()
        path = source_of(name)
        if name in known or path is None:
            continue
        # Our own __init__ only list what is there; what is used of it is imported by name.
        if _is_package(path) and name not in asked and name.split(".")[0] == PACKAGE:
            continue
        known[name], imports = _read(name, path, path.stat().st_mtime_ns)
        waiting += [found for found in imports if _belongs(found, name)]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def imports_of(module: str) -> list[str]:
    path = source_of(module)
    return [] if path is None else _read(module, path, path.stat().st_mtime_ns)[1]


def _is_package(path: Path) -> bool:
    return path.name == "__init__.py"


@cache
def _read(module: str, path: Path, written: int) -> tuple[str, list[str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = _imports(tree, module if _is_package(path) else module.rpartition(".")[0])
    for node in ast.walk(tree):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports


@cache
def _belongs(found: str, name: str) -> bool:
    top, package = found.split(".")[0], name.split(".")[0]
    if top in (package, PACKAGE):
        return True
    if package == PACKAGE:
        return False
    mine, theirs = source_of(package), source_of(top)
    if mine is None or theirs is None:
        return False
    if _is_package(mine) or is_installed(package):
        return False
    return theirs.parents[1 if _is_package(theirs) else 0] == mine.parent


def _imports(tree: ast.AST, package: str) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
                origin = ".".join([*parents, *([origin] if origin else [])])
            found += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return [name for name in found if name]


def source_of(module: str) -> Path | None:
    """Return the Python file of a module, if there is one.

    Where our own modules are is cached; people's may move while they work. A script that is
    run counts as no file: what a function of it does is not changed by the lines around it.
    """
    if module == SCRIPT:
        return None
    return _own_source(module) if module.split(".")[0] == PACKAGE else _source(module)


def is_installed(module: str) -> bool:
    """Return whether a module comes with Python or with a package that pip has installed."""
    top = module.split(".")[0]
    if top == SCRIPT or top in sys.stdlib_module_names:
        return top != SCRIPT
    path = source_of(module) or source_of(top)
    if path is None:  # compiled, or in no file at all
        spec = spec_on_disk(top)
        return spec is not None and spec.origin is not None
    return not set(INSTALLED).isdisjoint(path.parts)


def spec_on_disk(module: str) -> ModuleSpec | None:
    """Return what a fresh process would find under a name, whatever is loaded here."""
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for name in accumulate(module.split("."), "{}.{}".format):
        if spec is not None and path is None:
            return None
        specs = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next((each for each in specs if each is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def _source(module: str) -> Path | None:
    if module in sys.modules:
        origin = getattr(sys.modules[module], "__file__", None)
    else:
        spec = spec_on_disk(module)
        origin = spec.origin if spec is not None else None
    if origin is None or not origin.endswith(".py"):
        return None
    path = Path(origin)
    return path if path.is_file() else None


_own_source = cache(_source)
