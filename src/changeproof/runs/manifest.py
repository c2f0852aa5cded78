"""What a run directory says of itself: what was asked, and what it is made of.

`plan.json` is the plan, with the fingerprints of its data. `manifest.json` lists every piece with
its file, and says of methods, families and the model what readers need to know. Both are written
before any work starts. Reading a run resolves, imports and fingerprints nothing: a directory may be
a stranger's, and what made it may be gone, or another version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from changeproof.changes import SUCCESSOR
from changeproof.datasets import FILE_ENDINGS, dataset_names
from changeproof.errors import InputError, one_line
from changeproof.files import safe_name, write_together
from changeproof.runs.pieces import Kind, Piece, PieceKey, first_choice, further_choice
from changeproof.runs.plan import Plan, check_names_something

PLAN, MANIFEST, DATA = "plan.json", "manifest.json", "data"
FORMAT, MANIFEST_FORMAT = 2, 1
# Tasks that are not embedded, and counterfactuals from elsewhere, as run directories keep them.
KEPT_TASK, KEPT_TABLE = FILE_ENDINGS[1], ".counterfactuals.parquet"


class Record(NamedTuple):
    """What `plan.json` says: the plan, and the fingerprints of its tasks."""

    plan: Plan
    tasks: dict[str, str]


@dataclass(frozen=True)
class Description:
    """What tables and pages say of a method, or of a family of change."""

    summary: str = ""
    source: str = ""
    sequence: bool = False
    real: bool = False
    months: float | None = None  # between two updates


@dataclass(frozen=True)
class Judged:
    """What is said of a model: what it is and where it is from, all in words.

    `shipped` is whether it is used as it is. Of such a model, `refit_by` is the learner that was
    named for its refits, if one was, and `no_refit` says why it cannot be fitted again.
    """

    name: str
    reference: str
    kind: str
    digest: str
    columns: str
    threshold: str
    shipped: bool = False
    refit_by: str = ""
    no_refit: str = ""

    @property
    def refitted(self) -> bool:
        """Whether a refit of it is made, to say how far it is from the model itself."""
        return self.shipped and not self.no_refit


@dataclass(frozen=True, eq=False)
class Manifest:
    """What a run is made of; methods and families by the names that tables show."""

    plan: Plan
    model: str  # what the kind of model is called
    keeps_models: bool  # as networks of ours are kept
    tasks: tuple[str, ...]
    methods: Mapping[str, Description]  # also counterfactuals from elsewhere
    families: Mapping[str, Description]
    pieces: tuple[Piece, ...]  # each after its inputs
    judged: Judged | None = None  # None in runs of earlier versions

    def without(self, pieces: Iterable[Piece], reason: str) -> Manifest | None:
        """Return the part of a run that needs none of these pieces.

        Methods and families that lack one anywhere are left out, with the reason. None if there is
        no method or no family left, or no base model.
        """
        lost = set(pieces)
        if any(piece.kind is Kind.BASE for piece in lost):
            return None
        families = {piece.family for piece in lost if piece.kind is Kind.BANK}
        beside = (Kind.RENEWALS, Kind.REFIT, Kind.IMPRECISE)  # what methods can do without
        answers = {
            first_choice(piece.method)
            for piece in lost
            if piece.kind not in beside and piece.family not in families
        }
        gone = families | (answers - {""})

        def is_gone(piece: Piece) -> bool:
            return first_choice(piece.method) in gone or piece.family in gone

        update: dict[str, Any] = {}
        left_out = dict.fromkeys(sorted(gone), reason)
        broken = {piece.kind for piece in lost if not is_gone(piece)}
        if Kind.RENEWALS in broken:
            update["renew"], left_out["renewals"] = None, reason
        if Kind.LIMIT in broken:
            update["limit"], left_out["the limit"] = False, reason
        if Kind.IMPRECISE in broken:
            update["imprecise"], left_out["imprecise following"] = False, reason
        if Kind.REASONS in broken:
            update["reasons"], left_out["reasons for decisions"] = False, reason
        judged = self.judged
        if Kind.REFIT in broken and judged is not None:
            judged, left_out["refit"] = replace(judged, no_refit=reason), reason
        part = replace(
            self,
            judged=judged,
            plan=self.plan.without(gone, left_out).model_copy(update=update),
            methods={name: each for name, each in self.methods.items() if name not in gone},
            families={name: each for name, each in self.families.items() if name not in gone},
            pieces=tuple(p for p in self.pieces if not (is_gone(p) or p.kind in broken)),
        )
        return part if part.methods and part.families else None


def task_file(name: str) -> str:
    return f"{DATA}/{safe_name(name, 'a dataset')}{KEPT_TASK}"


def table_file(name: str) -> str:
    return f"{DATA}/{safe_name(name, 'counterfactuals')}{KEPT_TABLE}"


def located(reference: str, folder: Path | None) -> str:
    """Return where a file of a plan is: in the run directory, or else as named."""
    inside = folder / reference if folder is not None else None
    return str(inside) if inside is not None and inside.exists() else reference


def write_manifest(folder: Path, manifest: Manifest, tasks: Mapping[str, str]) -> None:
    """Record a plan with the fingerprints of its tasks, and what the run is made of."""
    plan = {
        "format": FORMAT,
        "plan": manifest.plan.model_dump(mode="json"),
        "tasks": dict(tasks),
    }
    files = {
        folder / PLAN: (json.dumps(plan, indent=2) + "\n").encode(),
        folder / MANIFEST: _manifest_bytes(manifest, _hash(plan)),
    }
    write_together(files, folder)


def _manifest_bytes(manifest: Manifest, plan: str) -> bytes:
    place = {piece: place for place, piece in enumerate(manifest.pieces)}
    about = {
        "format": MANIFEST_FORMAT,
        "plan": plan,
        "model": manifest.model,
        "keeps_models": manifest.keeps_models,
        "judged": None if manifest.judged is None else asdict(manifest.judged),
        "tasks": list(manifest.tasks),
        "methods": {name: asdict(each) for name, each in manifest.methods.items()},
        "families": {name: asdict(each) for name, each in manifest.families.items()},
    }
    # A line for every piece.
    lines = ",\n".join(
        json.dumps(
            {
                "file": piece.file_stem,
                **piece.key._asdict(),
                "inputs": [place[needed] for needed in piece.inputs],
            }
        )
        for piece in manifest.pieces
    )
    head = json.dumps(about, indent=2).removesuffix("\n}")
    return f'{head},\n  "pieces": [\n{lines}\n  ]\n}}\n'.encode()


def read_record(folder: Path) -> Record:
    """Return what was asked of a run directory, and of which data."""
    path = folder / PLAN
    remedy = "if it is damaged, remove it and give the full command again: finished work is kept"
    content = _read(path, f"{folder} is not a run directory: it has no {PLAN}", f"; {remedy}")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is not a plan of this version of changeproof")
    for key in ("plan", "tasks"):
        if not isinstance(content.get(key), dict):
            raise InputError(f"{path}: {key} is missing, or not an object")
    check_names_something(str(path), content["plan"])
    plan = Plan.checked(content["plan"], where=str(path), record=True)
    _refuse_files_elsewhere(path, plan)
    return Record(plan, {name: str(value) for name, value in content["tasks"].items()})


def read_plan(folder: Path) -> Plan:
    return read_record(folder).plan


def read_manifest(folder: Path) -> Manifest:
    """Return what a run directory is made of; nothing that it names is imported."""
    path, plan = folder / MANIFEST, read_record(folder).plan
    remedy = f"; to have it written again, go on with: changeproof run --out {folder}"
    content = _read(path, f"{folder} has no {MANIFEST}{remedy}", remedy)
    try:
        if content["plan"] == plan_hash(folder):
            return _manifest(plan, content)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, InputError):
        raise InputError(f"{path} is damaged, or of another version{remedy}") from None
    raise InputError(f"{folder / PLAN} is not the plan that {path} was written for{remedy}")


def plan_hash(folder: Path) -> str:
    """Return a hash of the record of a plan, whatever its spaces; "" if there is none."""
    try:
        return _hash(json.loads((folder / PLAN).read_bytes()))
    except (OSError, ValueError, RecursionError):
        return ""


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read(path: Path, missing: str, damaged: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(missing) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}{damaged}") from None


def _manifest(plan: Plan, content: Any) -> Manifest:
    if content["format"] != MANIFEST_FORMAT:
        raise ValueError
    pieces: list[Piece] = []
    for line in content["pieces"]:
        piece = Piece(
            Kind(line["kind"]),
            safe_name(line["dataset"], "a dataset"),
            int(line["base_seed"]),
            safe_name(line["file"].rpartition(".")[2], "a piece"),
            str(line["method"]),
            str(line["family"]),
            inputs=tuple(pieces[place] for place in line["inputs"]),
        )
        if piece.file_stem != line["file"]:
            raise ValueError
        pieces.append(piece)
    manifest = Manifest(
        plan,
        str(content["model"]),
        bool(content["keeps_models"]),
        tuple(safe_name(name, "a dataset") for name in content["tasks"]),
        {str(name): Description(**each) for name, each in content["methods"].items()},
        {str(name): Description(**each) for name, each in content["families"].items()},
        tuple(pieces),
        _judged(content.get("judged")),
    )
    _check_pieces(manifest)
    return manifest


def _judged(content: Any) -> Judged | None:
    if content is None:
        return None
    texts = {name: str(value) for name, value in content.items() if name != "shipped"}
    return Judged(**texts, shipped=bool(content["shipped"]))


def _check_pieces(manifest: Manifest) -> None:
    """Refuse a manifest whose pieces are not those that follow from its plan."""
    plan = manifest.plan
    methods = (*plan.methods, *plan.counterfactuals)
    choices = range(2, plan.alternatives + 1)
    further = [further_choice(method, number) for method in plan.methods for number in choices]
    answers = (*methods, *further)
    families = (*plan.families, *([SUCCESSOR] if plan.successors else []))
    letters = (tuple(plan.counterfactuals) or methods) if plan.successors else ()
    refitted = manifest.judged is not None and manifest.judged.refitted
    expected = {
        Kind.BANK: [("", family) for family in families],
        Kind.COUNTERFACTUALS: [(method, "") for method in answers],
        Kind.SURVIVAL: [(method, family) for method in answers for family in families],
        Kind.LIMIT: [("", "")] if plan.limit else [],
        Kind.LETTERS: [(method, SUCCESSOR) for method in letters],
        Kind.RENEWALS: [(method, SUCCESSOR) for method in letters if plan.renew is not None],
        Kind.REFIT: [(method, "") for method in ("", *methods)] if refitted else [],
        Kind.REASONS: [("", "")] if plan.reasons else [],
        Kind.IMPRECISE: [(method, "") for method in answers] if plan.imprecise else [],
    }
    keys = {
        PieceKey(kind, dataset, seed, *which)
        for kind, several in expected.items()
        for which in several
        for dataset in manifest.tasks
        for seed in plan.base_seeds
    }
    listed = {piece.key for piece in manifest.pieces if piece.kind in expected}
    names = (set(manifest.methods), set(manifest.families), len(manifest.tasks))
    if names != (set(methods), set(families), len(plan.datasets)) or listed != keys:
        raise ValueError


def _refuse_files_elsewhere(path: Path, plan: Plan) -> None:
    """Refuse a record that names other files than the copies in its own directory."""
    tasks = [name for name in plan.datasets if name not in dataset_names()]
    named = [(name, task_file(Path(name).name.removesuffix(KEPT_TASK))) for name in tasks]
    named += [(file, table_file(name)) for name, file in plan.counterfactuals.items()]
    for file, own in named:
        if file != own:
            raise InputError(
                f"{path} names the file {file!r}, which is not a file of its run directory; "
                f"expected {own!r}"
            )
