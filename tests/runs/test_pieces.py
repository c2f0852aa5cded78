"""Pieces have names that people can read and any system can store."""

from __future__ import annotations

from dataclasses import replace

from changeproof.runs.pieces import FORMS, Kind, Piece

BASE = Piece(Kind.BASE, "loans", 2026, "f0")
BANK = replace(BASE, kind=Kind.BANK, fingerprint="f1", family="bootstrap", inputs=(BASE,))
ANSWERS = replace(
    BASE, kind=Kind.COUNTERFACTUALS, fingerprint="f2", method="kdtree", inputs=(BASE,)
)
SURVIVAL = replace(BANK, kind=Kind.SURVIVAL, fingerprint="f3", method="kdtree")


def test_labels_and_files_say_whose_a_piece_is() -> None:
    assert [piece.label for piece in (BASE, BANK, ANSWERS, SURVIVAL)] == [
        "loans 2026 base",
        "loans 2026 bank bootstrap",
        "loans 2026 counterfactuals kdtree",
        "loans 2026 survival kdtree under bootstrap",
    ]
    assert SURVIVAL.file_stem == "loans/2026/survival-kdtree-bootstrap.f3"
    assert [FORMS[piece.kind].suffix for piece in (BASE, ANSWERS)] == ["safetensors", "parquet"]


def test_references_become_parts_of_file_names() -> None:
    odd = replace(ANSWERS, method="my_package.module:MyMethod(a='x/y', b=0.5)")
    assert odd.file_stem == "loans/2026/counterfactuals-my_package-module-MyMethod-a-x-y-b-0-5.f2"
    assert len(replace(ANSWERS, method="m" * 300).file_stem) < 150


def test_what_a_piece_needs_is_everything_before_it() -> None:
    survival = replace(SURVIVAL, inputs=(ANSWERS, BANK))
    assert survival.needed == (ANSWERS, BASE, BANK)
    assert survival.job == BANK.job != ANSWERS.job
