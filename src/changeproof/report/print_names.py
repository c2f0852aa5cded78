"""What the paper calls its datasets, methods and families; every other name stays as it is."""

from __future__ import annotations

from collections.abc import Iterable

DATASETS = {
    "breast-cancer": "Breast Cancer",
    "diabetes": "Diabetes",
    "wine-quality": "Wine Quality",
    "heloc": "HELOC",
}
METHODS = {
    "apds": "APΔS",
    "betarce": "BetaRCE",
    "kdtree": "KD-tree",
    "rbr": "RBR",
    "rnce": "RNCE",
    "roar-lime": "ROAR-LIME",
    "robx-balanced": "RobX balanced",
    "robx-robust": "RobX robust-first",
    "wachter": "Wachter",
}
FAMILIES = {
    "new-initialization": "New initialization",
    "bootstrap": "Bootstrap",
    "data-deletion": "Data deletion",
    "data-addition": "Data addition",
    "label-update": "Label update",
    "training-configuration": "Training configuration",
    "architecture": "Architecture",
    "parameter-perturbation": "Parameter perturbation",
}
# As the heading of a narrow column, line by line.
FAMILY_HEADINGS = {
    "new-initialization": ("New", "init."),
    "bootstrap": ("Boot-", "strap"),
    "data-deletion": ("Data", "deletion"),
    "data-addition": ("Data", "addition"),
    "label-update": ("Label", "update"),
    "training-configuration": ("Training", "config."),
    "architecture": ("Archi-", "tecture"),
    "parameter-perturbation": ("Param.", "perturb."),
}


def in_order(names: Iterable[object]) -> list[str]:
    """Return the different names in the order in which they first occur."""
    return list(dict.fromkeys(str(name) for name in names))
