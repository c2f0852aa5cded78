from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import changeproof
from changeproof import (
    InputError,
    Plan,
    get_family,
    published_family_names,
    published_method_names,
    usual_method_names,
)
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import resolve
from changeproof.runs.work import pieces_of


def test_paper_preset_is_everything() -> None:
    plan = Plan.preset("paper")
    assert plan.datasets == ("breast-cancer", "diabetes", "wine-quality", "heloc")
    assert plan.families == published_family_names()
    assert plan.methods == published_method_names()
    assert plan.base_seeds == (2026, 2027, 2028, 2029, 2030)
    assert plan.factuals == 250


def test_quick_preset() -> None:
    plan = Plan.preset("quick")
    assert plan.datasets == ("breast-cancer", "diabetes")
    assert plan.methods == usual_method_names()
    assert set(plan.methods) - set(published_method_names()) == {"quorum"}
    assert plan.base_seeds == (2026,)
    assert plan.factuals == 25
    assert plan.families == published_family_names()


def test_beyond_preset_is_what_the_paper_does_not_have() -> None:
    plan = Plan.preset("beyond")
    assert plan.datasets == Plan.preset("paper").datasets
    assert plan.base_seeds == Plan.preset("paper").base_seeds
    assert plan.methods == usual_method_names()
    assert "recalibration" in plan.families
    assert not set(plan.families) & set(published_family_names())
    assert not any(get_family(name).sequence for name in plan.families)
    assert not plan.limit


def test_order_does_not_make_another_plan() -> None:
    one = Plan.preset("paper", methods=["kdtree", "wachter"], base_seeds=[2027, 2026])
    two = Plan.preset("paper", methods=["wachter", "kdtree"], base_seeds=[2026, 2027])
    assert one == two
    assert pieces_of(resolve(one)) == pieces_of(resolve(two))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"datasets": ["heloc", "adult"]},
            r"datasets: unknown dataset 'adult'; expected one of",
        ),
        ({"methods": ["dice"]}, r"methods: unknown method 'dice'; expected one of: .*kdtree"),
        ({"families": ["drift"]}, r"families: unknown family 'drift'; expected one of: new-init"),
        ({"methods": ["kdtree", "kdtree"]}, r"method 'kdtree' is given more than once"),
        ({"base_seeds": [1, 1]}, r"base seed 1 is given more than once"),
        ({"base_seeds": [-1]}, r"base_seeds.0: input should be greater .* to 0; got -1"),
        ({"base_seeds": []}, r"base_seeds: .* at least 1"),
        ({"rows": []}, r"rows: expected at least 1 row id, or no rows"),
        ({"rows": [3, 5, 3]}, r"rows: row 3 is given more than once"),
        ({"methods": []}, r"methods: .* at least 1"),
        ({"families": []}, r"families: expected at least 1 family, or successors"),
        ({"threshold": "high"}, r"threshold: threshold 'high' is not a number"),
        ({"renew": "kdtree"}, r"renewed under a successor, and there is none"),
        ({"factuals": -5}, r"factuals: input should be greater than or equal to 1; got -5"),
        ({"factuals": 0}, r"factuals: .*got 0"),
        ({"factuals": "many"}, r"factuals: input should be a valid integer; got 'many'"),
        ({"factuals": 2.5}, r"factuals: .* integer.*; got 2.5"),
        ({"factuals": True}, r"factuals: .* integer; got True"),
        ({"datasets": "heloc"}, r"datasets: .* tuple; got 'heloc'"),
        ({"sets": ["heloc"]}, r"unknown key 'sets'; expected one of: datasets, methods, families"),
    ],
)
def test_bad_values_are_named_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Plan.preset("paper", **changes)
    assert "\n" not in str(caught.value)


def test_unknown_preset() -> None:
    with pytest.raises(InputError, match="unknown preset 'huge'; expected one of: quick, paper"):
        Plan.preset("huge")


def test_plan_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('datasets = ["diabetes"]\nbase_seeds = [3, 1]\nfactuals = 9\n')
    plan = Plan.from_toml(path, methods=["kdtree"])
    assert plan == Plan(datasets=("diabetes",), base_seeds=(1, 3), factuals=9, methods=("kdtree",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('datasets = "diabetes"', r"mine\.toml: datasets: .*got 'diabetes'"),
        ("seeds = [1]", r"mine\.toml: unknown key 'seeds'"),
        ("realisable = true", r"mine\.toml: the key 'realisable' of .* is called 'feasible' now"),
        ("factuals = '3'", r"mine\.toml: factuals: .* integer; got '3'"),
        ("factuals = ", r"mine\.toml is not valid TOML"),
    ],
)
def test_bad_plan_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Plan.from_toml(path)


def test_missing_plan_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read plan file .*none\.toml: No such file"):
        Plan.from_toml(tmp_path / "none.toml")


def test_pieces_come_after_their_inputs_and_once() -> None:
    pieces = pieces_of(resolve(Plan.preset("paper", datasets=["diabetes"])))
    seen = set()
    for piece in pieces:
        assert set(piece.inputs) <= seen
        assert piece not in seen
        seen.add(piece)
    kinds = [piece.kind for piece in pieces]
    assert kinds.count(Kind.BASE) == 5
    assert kinds.count(Kind.BANK) == 40
    assert kinds.count(Kind.COUNTERFACTUALS) == 5 * len(published_method_names())


def test_tuning_always_uses_the_first_base_network() -> None:
    """So that a seed's results do not depend on the other seeds of a plan."""
    alone = pieces_of(resolve(Plan.preset("quick", base_seeds=[2028], methods=["wachter"])))
    together = pieces_of(
        resolve(Plan.preset("quick", base_seeds=[2026, 2028], methods=["wachter"]))
    )
    assert set(alone) < set(together)
    assert {p.base_seed for p in alone if p.kind is Kind.TUNING} == {2026}


def test_fingerprints_follow_what_goes_in() -> None:
    def of(kind: Kind, **changes: Any) -> set[str]:
        plan = Plan.preset("quick", datasets=["diabetes"], **changes)
        return {p.fingerprint for p in pieces_of(resolve(plan)) if p.kind is kind}

    assert of(Kind.BANK) == of(Kind.BANK, factuals=3, methods=["kdtree"])
    assert of(Kind.COUNTERFACTUALS).isdisjoint(of(Kind.COUNTERFACTUALS, factuals=3))
    assert of(Kind.COUNTERFACTUALS) == of(Kind.COUNTERFACTUALS, families=["bootstrap"])
    assert of(Kind.SURVIVAL) > of(Kind.SURVIVAL, families=["bootstrap"])


def test_rows_that_no_task_has_are_refused_before_any_work(tmp_path: Path) -> None:
    plan = Plan.preset("quick", datasets=["diabetes"], methods=["kdtree"], rows=[3, 999_999])
    with pytest.raises(InputError, match="rows: task 'diabetes' has no row 999999"):
        changeproof.run(plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()
