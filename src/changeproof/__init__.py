"""changeproof: will this counterfactual still hold after the model changes?

>>> import changeproof
>>> results = changeproof.run(changeproof.Plan.preset("quick"), "runs/quick")
>>> changeproof.build_tables(results)["full_results"]

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from changeproof.adapters.alibi import from_alibi as from_alibi
    from changeproof.adapters.dice import from_dice as from_dice
    from changeproof.adapters.tables import people_in as people_in
    from changeproof.adapters.tables import read_counterfactuals as read_counterfactuals
    from changeproof.changes import builtin_family_names as builtin_family_names
    from changeproof.changes import family_names as family_names
    from changeproof.changes import get_family as get_family
    from changeproof.changes.architecture import Architecture as Architecture
    from changeproof.changes.bank import Bank as Bank
    from changeproof.changes.bank import build_bank as build_bank
    from changeproof.changes.bootstrap import Bootstrap as Bootstrap
    from changeproof.changes.data_addition import DataAddition as DataAddition
    from changeproof.changes.data_deletion import DataDeletion as DataDeletion
    from changeproof.changes.extension import family as family
    from changeproof.changes.extension import register_family as register_family
    from changeproof.changes.family import BaseModel as BaseModel
    from changeproof.changes.family import Family as Family
    from changeproof.changes.family import Variant as Variant
    from changeproof.changes.label_update import LabelUpdate as LabelUpdate
    from changeproof.changes.magnitude import change_magnitudes as change_magnitudes
    from changeproof.changes.new_initialization import NewInitialization as NewInitialization
    from changeproof.changes.parameter_perturbation import (
        ParameterPerturbation as ParameterPerturbation,
    )
    from changeproof.changes.training_configuration import (
        TrainingConfiguration as TrainingConfiguration,
    )
    from changeproof.checks.check import check_family as check_family
    from changeproof.checks.check import check_method as check_method
    from changeproof.datasets.builtin import dataset_names as dataset_names
    from changeproof.datasets.builtin import load_task as load_task
    from changeproof.datasets.custom import own_task as own_task
    from changeproof.datasets.dataset_file import load_dataset as load_dataset
    from changeproof.datasets.feature import Feature as Feature
    from changeproof.datasets.find import find_task as find_task
    from changeproof.datasets.task import Split as Split
    from changeproof.datasets.task import Task as Task
    from changeproof.errors import InputError as InputError
    from changeproof.evaluation.factuals import evaluation_factuals as evaluation_factuals
    from changeproof.evaluation.metrics import Metrics as Metrics
    from changeproof.evaluation.metrics import measure as measure
    from changeproof.evaluation.survival import survival as survival
    from changeproof.evaluation.uncertainty import share_interval as share_interval
    from changeproof.evaluation.uncertainty import summarise as summarise
    from changeproof.explanation import Explanation as Explanation
    from changeproof.explanation import explain as explain
    from changeproof.front_door import audit as audit
    from changeproof.front_door import evaluate as evaluate
    from changeproof.methods import builtin_method_names as builtin_method_names
    from changeproof.methods import get_method as get_method
    from changeproof.methods import make_method as make_method
    from changeproof.methods import method_names as method_names
    from changeproof.methods.apds import APDS as APDS
    from changeproof.methods.betarce import BetaRCE as BetaRCE
    from changeproof.methods.extension import method as method
    from changeproof.methods.extension import register_method as register_method
    from changeproof.methods.given import GivenCounterfactuals as GivenCounterfactuals
    from changeproof.methods.kdtree import KDTree as KDTree
    from changeproof.methods.method import Candidates as Candidates
    from changeproof.methods.method import Context as Context
    from changeproof.methods.method import Counterfactuals as Counterfactuals
    from changeproof.methods.method import Factuals as Factuals
    from changeproof.methods.method import Method as Method
    from changeproof.methods.rbr import RBR as RBR
    from changeproof.methods.rnce import RNCE as RNCE
    from changeproof.methods.roar_lime import RoarLime as RoarLime
    from changeproof.methods.robx import RobXBalanced as RobXBalanced
    from changeproof.methods.robx import RobXRobust as RobXRobust
    from changeproof.methods.tuning import tune as tune
    from changeproof.methods.wachter import Wachter as Wachter
    from changeproof.model import Access as Access
    from changeproof.models.estimator import EstimatorLearner as EstimatorLearner
    from changeproof.models.find import find_learner as find_learner
    from changeproof.models.function import FunctionLearner as FunctionLearner
    from changeproof.models.learner import Learner as Learner
    from changeproof.models.module import ModuleLearner as ModuleLearner
    from changeproof.models.network import NetworkLearner as NetworkLearner
    from changeproof.networks.network import Network as Network
    from changeproof.networks.stack import NetworkStack as NetworkStack
    from changeproof.networks.training import TrainingData as TrainingData
    from changeproof.networks.training import TrainingRecipe as TrainingRecipe
    from changeproof.networks.training import train as train
    from changeproof.paper.comparison import compare_with_paper as compare_with_paper
    from changeproof.runs.plan import Plan as Plan
    from changeproof.runs.runner import Observer as Observer
    from changeproof.runs.runner import PieceFailedError as PieceFailedError
    from changeproof.runs.runner import take_inventory as take_inventory
    from changeproof.runs.tables import build_tables as build_tables
    from changeproof.workflow import Results as Results
    from changeproof.workflow import run as run

__version__ = "0.1.0"

_HOMES = {
    "adapters.alibi": ("from_alibi",),
    "adapters.dice": ("from_dice",),
    "adapters.tables": ("people_in", "read_counterfactuals"),
    "changes": ("builtin_family_names", "family_names", "get_family"),
    "changes.architecture": ("Architecture",),
    "changes.bank": ("Bank", "build_bank"),
    "changes.bootstrap": ("Bootstrap",),
    "changes.data_addition": ("DataAddition",),
    "changes.data_deletion": ("DataDeletion",),
    "changes.extension": ("family", "register_family"),
    "changes.family": ("BaseModel", "Family", "Variant"),
    "changes.label_update": ("LabelUpdate",),
    "changes.magnitude": ("change_magnitudes",),
    "changes.new_initialization": ("NewInitialization",),
    "checks.check": ("check_family", "check_method"),
    "datasets.builtin": ("dataset_names", "load_task"),
    "datasets.custom": ("own_task",),
    "datasets.dataset_file": ("load_dataset",),
    "datasets.feature": ("Feature",),
    "datasets.find": ("find_task",),
    "datasets.task": ("Split", "Task"),
    "errors": ("InputError",),
    "evaluation.factuals": ("evaluation_factuals",),
    "evaluation.metrics": ("Metrics", "measure"),
    "evaluation.survival": ("survival",),
    "evaluation.uncertainty": ("share_interval", "summarise"),
    "explanation": ("Explanation", "explain"),
    "front_door": ("audit", "evaluate"),
    "methods": ("builtin_method_names", "get_method", "make_method", "method_names"),
    "methods.apds": ("APDS",),
    "methods.betarce": ("BetaRCE",),
    "methods.extension": ("method", "register_method"),
    "methods.given": ("GivenCounterfactuals",),
    "methods.kdtree": ("KDTree",),
    "methods.method": ("Candidates", "Context", "Counterfactuals", "Factuals", "Method"),
    "methods.rbr": ("RBR",),
    "methods.rnce": ("RNCE",),
    "methods.roar_lime": ("RoarLime",),
    "methods.robx": ("RobXBalanced", "RobXRobust"),
    "methods.tuning": ("tune",),
    "methods.wachter": ("Wachter",),
    "model": ("Access",),
    "models.estimator": ("EstimatorLearner",),
    "models.find": ("find_learner",),
    "models.function": ("FunctionLearner",),
    "models.learner": ("Learner",),
    "models.module": ("ModuleLearner",),
    "models.network": ("NetworkLearner",),
    "networks.network": ("Network",),
    "networks.stack": ("NetworkStack",),
    "networks.training": ("TrainingData", "TrainingRecipe", "train"),
    "paper.comparison": ("compare_with_paper",),
    "runs.plan": ("Plan",),
    "runs.runner": ("Observer", "PieceFailedError", "take_inventory"),
    "runs.tables": ("build_tables",),
    "workflow": ("Results", "run"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'changeproof' has no attribute {name!r}")
    value = getattr(import_module(f"changeproof.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
