from __future__ import annotations

from typer.testing import CliRunner

from changeproof.cli import app
from changeproof.paper.diagnosis import diagnose_apds_radius


def test_a_radius_from_independent_networks_leaves_nothing() -> None:
    """The paper's appendix: radii of 0.621 to 0.706, and no counterfactual."""
    table = diagnose_apds_radius(["breast-cancer"], [2026], factuals=2)
    row = table.iloc[0]
    assert 0.55 < row["independent_radius"] < 0.8
    assert row["calibrated_radius"] < 0.01
    assert (row["requested"], row["found"]) == (2, 0)


def test_the_command_prints_the_table() -> None:
    options = ["diagnose", "apds-radius", "--datasets", "diabetes", "--base-seeds", "2027"]
    done = CliRunner().invoke(app, [*options, "--factuals", "1"])
    assert done.exit_code == 0, done.output
    assert "0.00" in done.stdout
    assert "diabetes" in done.stdout
