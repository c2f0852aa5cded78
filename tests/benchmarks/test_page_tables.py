"""Tables on pages of docs/ are those of committed results."""

from __future__ import annotations

import pytest

from benchmarks.page_tables import DOCS, TABLES, filled


@pytest.mark.parametrize("name", TABLES)
def test_a_page_shows_committed_results(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert filled(name, page) == page


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="expected one place for the table paper, found 0"):
        filled("faithful.md", "# Faithful by evidence")
