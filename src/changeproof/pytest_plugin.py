"""A fixture of pytest for one's own tests: does advice still keep the rules?

pytest finds it by itself where changeproof is installed. Nothing else is imported before a test
asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from changeproof.gating.judging import Gate
    from changeproof.runs.results import StoredResults

SECTION = "changeproof gate"


class GateCheck(Protocol):
    """Fail the test if a run breaks a rule; return the gate otherwise."""

    def __call__(
        self,
        run: str | Path | StoredResults,
        rules: str | Path | Mapping[str, Any] | Sequence[Any],
        *,
        strict: bool = False,
    ) -> Gate: ...


@pytest.fixture
def changeproof_gate(request: pytest.FixtureRequest) -> GateCheck:
    """Check a finished audit against rules: ``changeproof_gate("audit", "rules.toml")``.

    The test fails with the lines of the gate if a rule is broken, or if audit or rules cannot be
    read; with ``strict=True`` also if a rule is not decided. `run` is a run directory or results,
    `rules` what `changeproof.gate` takes. Relative paths begin at pytest's root directory.
    """

    def check(
        run: str | Path | StoredResults,
        rules: str | Path | Mapping[str, Any] | Sequence[Any],
        *,
        strict: bool = False,
    ) -> Gate:
        __tracebackhide__ = True
        from changeproof.errors import InputError
        from changeproof.gating.judging import gate
        from changeproof.gating.writing import words

        root = request.config.rootpath
        folder = root / run if isinstance(run, str | Path) else run.folder
        try:
            found = gate(folder, root / rules if isinstance(rules, str | Path) else rules)
        except InputError as error:
            pytest.fail(f"{SECTION}: {error}", pytrace=False)
        lines = "\n".join(words(found))
        if not found.passed(strict=strict):
            pytest.fail(f"{SECTION}, {folder}:\n{lines}", pytrace=False)
        request.node.add_report_section("call", SECTION, lines)
        return found

    return check
