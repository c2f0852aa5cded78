"""The figures for print: size, lettering, fonts, bytes, and everything odd in a table."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fontTools.ttLib import TTFont
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from changeproof.report.figures import FONT_TABLES, draw, encoded
from changeproof.report.printing import print_charts

METRICS = ["coverage", "base_validity", "empirical_robustness", "end_to_end_robustness", "distance"]
HAIR = 0.01
COMMITTED = Path(__file__).resolve().parents[3] / "results" / "paper"
ODD = [
    "cost_$5$_100%",
    "<script>alert(1)</script>",
    "_hidden",
    "$\\frac{$",
    "方法",
    "żółć & co",
    "x" * 120,
    "\\begin{document}",
    "a\x00b\nc",
]


def made(
    datasets: list[str], methods: list[str], families: list[str], *, spread: bool = True
) -> dict[str, pd.DataFrame]:
    """Return tables like those of a run, with numbers that mean nothing."""
    generator = np.random.default_rng(5)

    def numbers(rows: list[dict[str, str]]) -> pd.DataFrame:
        table = pd.DataFrame(rows)
        for metric in METRICS:
            values = generator.uniform(30, 100, len(rows))
            table[f"{metric}_mean"] = values / 50 if metric == "distance" else values
            table[f"{metric}_std"] = generator.uniform(0, 0.3, len(rows)) if spread else np.nan
        return table

    full = [{"dataset": d, "method": m} for d, m in product(datasets, methods)]
    by_family = [{**row, "family": family} for row, family in product(full, families)]
    magnitude = {
        f"{measure}_{which}": generator.uniform(0.01, 5, len(families))
        if which == "mean" or spread
        else np.full(len(families), np.nan)
        for measure in ("hard_disagreement_percent", "probability_mae")
        for which in ("mean", "std")
    }
    return {
        "full_results": numbers(full),
        "family_results": numbers(by_family),
        "life": lives(full, families[0], spread=spread),
        "change_magnitude": pd.DataFrame({"family": families, **magnitude}),
    }


def lives(full: list[dict[str, str]], family: str, *, spread: bool) -> pd.DataFrame:
    """Return shares that fall from update to update."""
    rows = []
    for number, row in enumerate(full):
        for update in range(1, 13):
            held = 100.0 * (1 - 0.01 * (number % 9)) ** update
            ends = (held - 3, min(held + 3, 100.0)) if spread else (np.nan, np.nan)
            shares = dict(zip(("mean", "low", "high"), (held, *ends), strict=True))
            named = {f"held_so_far_{part}": share for part, share in shares.items()}
            rows.append({**row, "family": family, "update": update, **named})
    return pd.DataFrame(rows)


NAMES = ("robustness", "decomposition", "tradeoff", "magnitude", "life")
each_figure = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def paper() -> dict[str, pd.DataFrame]:
    names = ("full_results", "family_results", "change_magnitude")
    tables = {name: pd.read_csv(COMMITTED / f"{name}.csv") for name in names}
    rows = tables["full_results"][["dataset", "method"]].to_dict("records")
    return {**tables, "life": lives(rows, "updates", spread=True)}


def drawing(name: str, tables: dict[str, pd.DataFrame]) -> Figure:
    """Draw a figure of some tables."""
    return draw(dict(print_charts(tables))[name])


def tradeoff(table: pd.DataFrame, **more: pd.DataFrame) -> Figure:
    return drawing("tradeoff", {"full_results": table, **more})


def heat_map(table: pd.DataFrame) -> Figure:
    return drawing("robustness", {"family_results": table})


@pytest.fixture(scope="module")
def figures(paper: dict[str, pd.DataFrame]) -> dict[str, Figure]:
    return {name: drawing(name, paper) for name in NAMES}


@pytest.fixture(scope="module")
def files(figures: dict[str, Figure]) -> Callable[[str, str], bytes]:
    """The bytes of a figure in a format, encoded once."""
    return cache(lambda name, kind: encoded(figures[name], kind))


def texts(figure: Figure) -> list[Text]:
    found = figure.findobj(lambda part: isinstance(part, Text) and bool(part.get_text().strip()))
    return [text for text in found if isinstance(text, Text) and text.get_visible()]


def drawn(figure: Figure) -> str:
    """Return everything that can be read on a figure."""
    return "\n".join(text.get_text() for text in texts(figure))


def cut_off(figure: Figure) -> float:
    """Return by how many inches something reaches over the edge of the figure."""
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return max(-box.x0, -box.y0, box.x1 - width, box.y1 - height, 0.0)


def shown_labels(axes: Axes) -> Iterator[list[Text]]:
    """Yield the labels of both axes, without ticks beyond the limits, which are not drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        yield [tick.label1 for tick in ticks if tick.label1.get_text()]


@each_figure
def test_legible_in_one_column(name: str, figures: dict[str, Figure]) -> None:
    figure = figures[name]
    width, height = figure.get_size_inches()
    assert width == 3.3
    assert 1 < height < 8.6
    assert {text.get_fontsize() for text in texts(figure)} <= {6.5, 7.0}
    assert cut_off(figure) < HAIR


@each_figure
def test_letters_do_not_overlap(name: str, figures: dict[str, Figure]) -> None:
    figure = figures[name]
    figure.draw_without_rendering()
    for axes in [axes for axes in figure.axes if axes.axison]:
        for labels in shown_labels(axes):
            upright = [text for text in labels if text.get_visible() and not text.get_rotation()]
            for one, other in pairwise(text.get_window_extent() for text in upright):
                assert one.x1 < other.x0 or one.y0 > other.y1 or other.y0 > one.y1
    titles = [text.get_window_extent() for text in texts(figure) if text.get_weight() == "bold"]
    for one, other in combinations(titles, 2):
        assert not one.overlaps(other)


@each_figure
def test_pdf_has_its_fonts_inside(
    name: str, files: Callable[[str, str], bytes], figures: dict[str, Figure]
) -> None:
    pdf = files(name, "pdf")
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf
    descriptors = re.findall(rb"/Type /FontDescriptor.*?>>", pdf, flags=re.DOTALL)
    assert descriptors
    fonts = [re.search(rb"/FontFile2 (\d+) 0 R", descriptor) for descriptor in descriptors]
    shapes = 0
    for font in fonts:
        assert font is not None
        stream = re.search(
            rb"\n%s 0 obj\n.*?stream\r?\n(.*?)\r?\nendstream" % font[1], pdf, flags=re.DOTALL
        )
        assert stream is not None
        content = zlib.decompress(stream[1])
        # The first bytes of a TrueType font.
        assert content[:4] == b"\x00\x01\x00\x00"
        # What a reader needs to draw a glyph by its number, and nothing that takes long to cut.
        inside = TTFont(io.BytesIO(content))
        assert {"glyf", "head", "hhea", "hmtx", "loca", "maxp"} <= set(inside.keys()) <= FONT_TABLES
        glyphs = [inside["glyf"][glyph] for glyph in inside.getGlyphOrder()]
        shapes += sum(glyph.numberOfContours != 0 for glyph in glyphs)
    assert shapes >= len(set(filter(str.isalpha, drawn(figures[name]))))


@each_figure
def test_svg_needs_no_font_and_png_is_fine_enough(
    name: str, files: Callable[[str, str], bytes]
) -> None:
    svg = files(name, "svg")
    tags = {element.tag.split("}")[-1] for element in ElementTree.fromstring(svg).iter()}
    assert "path" in tags
    assert not tags & {"text", "script", "image"}
    assert b"<dc:date>" not in svg
    png = files(name, "png")
    assert int.from_bytes(png[16:20], "big") == 990


@each_figure
def test_same_tables_same_bytes(
    name: str, files: Callable[[str, str], bytes], paper: dict[str, pd.DataFrame]
) -> None:
    again = drawing(name, paper)
    for kind in ("pdf", "svg", "png"):
        assert encoded(again, kind) == files(name, kind)


def test_bytes_depend_on_no_hash_seed_and_no_settings(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 30\nfont.family: serif\nsvg.fonttype: none\n"
    )
    program = (
        "import hashlib, pandas as pd\n"
        "from changeproof.report.figures import draw, encoded\n"
        "from changeproof.report.printing import print_charts\n"
        f"table = pd.read_csv({str(COMMITTED / 'full_results.csv')!r})\n"
        "figure = draw(dict(print_charts({'full_results': table}))['tradeoff'])\n"
        "print([hashlib.sha256(encoded(figure, kind)).hexdigest() for kind in ('pdf', 'svg')])\n"
    )
    found = set()
    for seed, folder in (("1", Path.cwd()), ("2", tmp_path)):
        environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed, "PATH": ""}
        environment["HOME"] = str(Path.home())  # where matplotlib has its list of fonts
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1


def test_the_numbers_are_those_of_the_table(paper: dict[str, pd.DataFrame]) -> None:
    table = paper["family_results"]
    figure = heat_map(table)
    dataset, methods = "heloc", list(dict.fromkeys(table["method"]))
    families = list(dict.fromkeys(table["family"]))
    panel = next(axes for axes in figure.axes if axes.get_title(loc="left") == "HELOC")
    cells = {
        (round(text.get_position()[1]), round(text.get_position()[0])): text.get_text()
        for text in panel.texts
    }
    assert len(cells) == 72
    for row in table[table["dataset"] == dataset].to_dict("records"):
        place = methods.index(row["method"]), families.index(row["family"])
        assert cells[place] == f"{row['empirical_robustness_mean']:.0f}"


@each_figure
@pytest.mark.parametrize(
    ("datasets", "methods", "families"),
    [(1, 1, 1), (3, 9, 8), (2, 30, 20)],
)
def test_any_number_of_things(name: str, datasets: int, methods: int, families: int) -> None:
    sizes = {"data": datasets, "method": methods, "change": families}
    names = [[f"{kind} {n}" for n in range(size)] for kind, size in sizes.items()]
    figure = drawing(name, made(*names, spread=False))
    assert cut_off(figure) < HAIR
    assert encoded(figure, "svg").startswith(b"<?xml")
    shown = drawn(figure)
    for wanted in names[2] if name == "magnitude" else names[0]:
        assert wanted in shown


@each_figure
def test_odd_names_are_drawn_as_they_are(name: str) -> None:
    figure = drawing(name, made(ODD[1:3], ODD, ODD))
    assert cut_off(figure) < HAIR
    shown = drawn(figure)
    expected = ["cost_$5$_100%", "_hidden", "$\\frac{$", "\\u65b9\\u6cd5", "żółć & co", "a\\x00b c"]
    for text in expected:
        assert text in shown
    for kind in ("pdf", "svg"):
        assert encoded(figure, kind)
    # Also in the hands of somebody who saves it in their own style.
    assert not any(text.get_parse_math() for text in texts(figure))
    figure.savefig(io.BytesIO(), format="svg")


@each_figure
def test_undefined_is_said(name: str) -> None:
    tables = made(["one", "two"], ["good", "bad"], ["a change"])
    for table in tables.values():
        if "method" in table:
            columns = ["empirical_robustness_mean", "empirical_robustness_std"]
            columns += ["distance_mean", "distance_std", "held_so_far_mean"]
            table.loc[table["method"] == "bad", columns] = np.nan
    some = drawn(drawing(name, tables))
    for table in tables.values():
        table.loc[:, table.columns.str.endswith(("_mean", "_std"))] = np.nan
    everything = drawing(name, tables)
    assert cut_off(everything) < HAIR
    assert encoded(everything, "svg").startswith(b"<?xml")
    if name == "robustness":
        assert "undefined" in some
        assert drawn(everything).count("\N{EN DASH}") == 5
    elif name != "magnitude":
        assert "Undefined" in some
        assert "bad on one; bad on two." in " ".join(some.split())
        assert "good, bad on one" in " ".join(drawn(everything).split())


def test_what_was_not_evaluated_is_left_blank() -> None:
    table = made(["one"], ["a", "b"], ["x", "y"])["family_results"].iloc[:3]
    figure = heat_map(table)
    assert len(figure.axes[0].texts) == 3
    assert "not evaluated" in drawn(figure)


def test_the_pale_line_joins_the_frontier() -> None:
    table = made(["d"], ["near", "worse", "middle", "same", "far", "none"], ["f"])["full_results"]
    table["distance_mean"] = [1.0, 1.5, 2.0, 2.0, 3.0, np.nan]
    table["empirical_robustness_mean"] = [50.0, 40.0, 80.0, 70.0, 100.0, np.nan]
    line = tradeoff(table).axes[-1].lines[0]
    assert line.get_xydata().tolist() == [[1.0, 50.0], [2.0, 80.0], [3.0, 100.0]]


def test_the_limit_is_a_line_of_its_own(paper: dict[str, pd.DataFrame]) -> None:
    rows = [
        (dataset, family, share, far + (family != "all") * 9.0)
        for dataset, far in (("heloc", 0.4), ("diabetes", 5.0))
        for family in ("all", "bootstrap")
        for share, far in ((100, far), (99, 0.9 * far), (95, 0.8 * far))
    ]
    limit = pd.DataFrame(rows, columns=["dataset", "family", "share", "distance_mean"])
    figure = tradeoff(paper["full_results"], limit=limit)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    line = panels["HELOC"].lines[-1].get_xydata()
    np.testing.assert_allclose(line, [[0.32, 95], [0.36, 99], [0.4, 100]])
    assert panels["Diabetes"].get_xlim()[1] > 5
    said = " ".join(drawn(figure).split())
    assert "No method can be left of this line, as far as a search that knows the" in said
    assert cut_off(figure) < HAIR
    assert "the limit" not in drawn(tradeoff(paper["full_results"]))


@pytest.mark.parametrize("name", ["robustness", "decomposition", "tradeoff"])
def test_settings_are_drawn_behind_the_name(name: str) -> None:
    methods = ["rbr(delta=0.1)", "rbr(delta=0.2)"]
    shown = drawn(drawing(name, made(["heloc"], methods, ["bootstrap"])))
    assert "RBR (delta=0.1)" in shown
    assert "RBR (delta=0.2)" in shown


def test_spread_is_drawn_where_there_is_one() -> None:
    with_spread, without = (
        tradeoff(made(["d"], ["m"], ["f"], spread=spread)["full_results"])
        for spread in (True, False)
    )

    def lengths(figure: Figure) -> list[float]:
        segments = [s for c in figure.axes[-1].collections for s in c.get_segments()]  # type: ignore[attr-defined]
        return [float(np.abs(segment[1] - segment[0]).sum()) for segment in segments]

    assert min(lengths(with_spread)) > 0
    assert max(lengths(without), default=0.0) == 0
