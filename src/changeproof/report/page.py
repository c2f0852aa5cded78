"""A page that a person can open: one file, no network."""

from __future__ import annotations

import html
import io
import platform

import pandas as pd

from changeproof import __version__
from changeproof.protocol.files import write_whole
from changeproof.protocol.fingerprint import library_versions
from changeproof.protocol.results import Results
from changeproof.report import reading
from changeproof.report.figures import robustness_heat_map

FOLDER = "report"

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; }
.lead { color: GrayText; margin-top: .2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid; white-space: normal; }
td { border-bottom: 1px solid #8884; } td.text:last-child { white-space: normal; }
.text { text-align: left; }
figure { margin: 1rem 0; background: white; border-radius: .5rem; padding: .5rem; }
figure svg { width: 100%; height: auto; }
"""


def write_report(results: Results, tables: dict[str, pd.DataFrame]) -> None:
    """Write the page and its picture into the run directory."""
    folder = results.folder / FOLDER
    figure = robustness_heat_map(tables["family_results"])
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=150)
    write_whole(folder / "robustness.svg", svg.getvalue())
    write_whole(folder / "robustness.png", png.getvalue())
    page = render(results, tables, svg.getvalue().decode())
    write_whole(folder / "index.html", page.encode())


def render(results: Results, tables: dict[str, pd.DataFrame], svg: str) -> str:
    """Return the page as HTML."""
    plan = results.plan
    picture = svg[svg.index("<svg") :]
    versions = {"changeproof": __version__, "python": platform.python_version()}
    run = pd.DataFrame(
        {
            "what": ["datasets", "methods", "families", "base seeds", "factuals", "versions"],
            "value": [
                ", ".join(plan.datasets),
                ", ".join(plan.methods),
                ", ".join(plan.families),
                ", ".join(map(str, plan.base_seeds)),
                f"at most {plan.factuals} per base network",
                ", ".join(f"{k} {v}" for k, v in (versions | library_versions()).items()),
            ],
        }
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>changeproof report</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Will it still hold?</h1>
<p class="lead">Counterfactuals generated once, held fixed, and put to changed models.</p>
<h2>Results</h2>
<p>Rates in percent, mean ± standard deviation over base networks. Empirical robustness is the
share of changed models under which a base-valid counterfactual still holds; end-to-end robustness
also charges a method for requests without one. Distance is the mean change per feature in units
of the feature's typical deviation.</p>
{_html_table(reading.results(tables["full_results"]), text=2)}
<h2>Robustness by kind of change</h2>
<figure role="img" aria-label="Heat map of empirical robustness; the table below holds its numbers">
{picture}
</figure>
{_html_table(reading.robustness_by_family(tables["family_results"]), text=2)}
<h2>How big the changes were</h2>
<p>Share of test predictions that change, and mean absolute difference of the probabilities,
against the base network.</p>
{_html_table(reading.magnitudes(tables["change_magnitude"]), text=1)}
<h2>Datasets and base networks</h2>
{_html_table(reading.datasets(tables["dataset_summary"]), text=1)}
<h2>Time per request, in a full batch</h2>
{_html_table(reading.milliseconds(tables["generation_seconds"]), text=1)}
<h2>What was run</h2>
{_html_table(run, text=2)}
<p>All tables are in the folder <code>tables</code> beside this one, as CSV.</p>
</body>
</html>
"""


def _html_table(frame: pd.DataFrame, text: int) -> str:
    """Return a table whose first columns hold text."""
    kinds = [' class="text"' if i < text else "" for i in range(frame.shape[1])]
    head = "".join(
        f'<th scope="col"{kind}>{html.escape(str(name).replace("_", " "))}</th>'
        for kind, name in zip(kinds, frame.columns, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{html.escape(str(value))}</td>"
            for kind, value in zip(kinds, row, strict=True)
        )
        + "</tr>\n"
        for row in frame.itertuples(index=False)
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'
