from __future__ import annotations

import re
from html import unescape

import pandas as pd
import pytest

from changeproof import Results, usual_method_names
from changeproof.report.formats import results_html
from changeproof.tables.registry import read_tables


@pytest.fixture(scope="module")
def tables(quick_run: Results) -> dict[str, pd.DataFrame]:
    return read_tables(quick_run.folder)


def test_the_main_tables_are_there_with_their_numbers(tables: dict[str, pd.DataFrame]) -> None:
    html = results_html(tables)
    assert html.count("<table") == html.count("</table>") == 8
    assert html.index("Results (rates in %") < html.index("Time per request")
    row = tables["full_results"].query("dataset == 'diabetes' and method == 'rbr'").iloc[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    first = cells.index("RBR", cells.index("Diabetes"))
    assert cells[first + 3] == f"{row['empirical_robustness_mean']:.1f}"
    assert cells[first + 5] == f"{row['distance_mean']:.3f}"


def test_whatever_is_in_a_name_is_text(tables: dict[str, pd.DataFrame]) -> None:
    evil = '<script>alert("1")</script>&' + 60 * "x"
    frame = tables["full_results"].replace({"kdtree": evil, "diabetes": evil + "d"})
    html = results_html({"full_results": frame})
    assert "<script" not in html
    assert unescape(html).count(evil) == 2 + len(usual_method_names())
    assert results_html({}) == ""
