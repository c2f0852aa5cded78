"""Numbers in the sentences of the docs are those of committed tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import changeproof as cp

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks" / "results"


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(ROOT / "results" / name)


def speed() -> Iterator[str]:
    trained = pd.read_csv(BENCHMARKS / "training.csv").set_index("dataset")
    ratio = trained["plain_ratio"]
    yield (
        f"train {ratio['breast-cancer']:.0f} times faster than in an ordinary PyTorch loop on "
        f"breast-cancer and {ratio['heloc']:.1f} times faster on heloc"
    )
    heloc = trained.loc["heloc"]
    yield f"{heloc['gflops']:.0f} GFLOP/s, or {100 * heloc['share_of_peak']:.0f} %"
    methods = pd.read_csv(BENCHMARKS / "methods.csv").set_index(["dataset", "method"])
    plain = methods["plain_ratio"]
    assert plain.idxmin()[1] == "rnce"
    yield f"{plain.min():.1f} times for RNCE"
    finished = plain.drop("apds", level="method")
    assert finished.idxmax() == ("heloc", "wachter")
    yield f"up to {finished.max():.0f} times for Wachter on heloc"
    searched = methods.xs("apds", level="method")
    assert (searched["plain_timeouts"] > 0).all()
    yield f"at least {searched['plain_ratio'].min():.0f} times for AP-Delta-S"
    assert methods["latency_median_ms"].max() < 30
    yield "answered in less than 30 ms (medians)"
    published = methods["published_ratio"]
    yield f"every method is at least {int(published.min())} times faster"
    yield f"AP-Delta-S {published['heloc', 'apds']:,.0f} times on heloc"
    (day,) = set(methods["date"]) | set(trained["date"])
    yield f"({day}, two cores"


def paper() -> Iterator[str]:
    numbers = read("paper/paper_comparison.csv")
    numbers = numbers[numbers["table"] == "full_results"]
    within = numbers["within"].astype(bool)
    assert (~within).sum() == 1 and numbers["explanation"][~within].notna().all()
    yield f"Of the {len(numbers)} numbers of the paper's table of results, {within.sum()} are"
    price = read("quorum/price.csv")
    mine = price["price_mean"][price["method"] == "quorum"]
    yield f"Its price over the limit is {mine.min():.2f} to {mine.max():.2f}"


def certificates() -> Iterator[str]:
    attacked = pd.read_csv(BENCHMARKS / "certificates.csv")
    assert attacked["broken"].sum() == 0
    (tries,) = set(attacked["attacks"])
    yield f"Attacks with {tries:,} tries per dataset"
    planted = pd.read_csv(BENCHMARKS / "planted_certificates.csv")
    assert planted["false"].sum() == 0 and planted["largest_weight"].max() == 1e6
    yield f"Of {planted['certificates'].sum():,} certificates"
    yield f"of {planted['networks'].sum():,} planted networks"


def recourse() -> Iterator[str]:
    results = read("recourse/full_results.csv").set_index(["dataset", "method"])
    certified = read("recourse/certified.csv").set_index(["dataset", "method"])
    assert certified.loc[("german-credit", "rnce"), "certified_share_mean"] == 100
    for method, words in (
        ("rnce", "holds in {:.0f} % of the changed models at a distance of {:.2f}"),
        ("robx-balanced", "RobX balanced's holds in {:.1f} % at {:.2f}"),
    ):
        row = results.loc[("german-credit", method)]
        yield words.format(row["end_to_end_robustness_mean"], row["distance_mean"])
    dice = read("recourse/dice.csv").set_index(["search", "limits"])
    random = dice.loc[("random", "for all")]
    yield f"breaks one in {random['broken']} of {random['answers']} answers (random search)"


def compared() -> Iterator[str]:
    yield f"{len(cp.builtin_family_names())} families of change"
    dice = read("recourse/dice.csv").set_index(["search", "limits"])
    random, genetic = dice.loc[("random", "for all")], dice.loc[("genetic", "for all")]
    yield f"{random['broken']} of {random['answers']} answers of its random search"
    yield f"{genetic['broken']} of {genetic['answers']} of its genetic search"
    single = dice.xs("per person", level="limits")
    assert single["broken"].sum() == 0
    yield f"none of {single['answers'].sum()} did"
    rivals = pd.read_csv(BENCHMARKS / "rivals.csv")
    (people,) = set(rivals["people"][rivals["tool"].isin(["dice", "rocelib"])].dropna())
    yield f"{people:.0f} people, one of our networks per table"


SENTENCES = {
    "docs/the-paper.md": [speed, paper],
    "docs/site/promises.md": [certificates],
    "docs/what-may-change.md": [recourse],
    "docs/compared.md": [compared],
}


@pytest.mark.parametrize("page", SENTENCES)
def test_sentences_have_the_numbers_of_tables(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for facts in SENTENCES[page]:
        for fact in facts():
            assert fact in text
