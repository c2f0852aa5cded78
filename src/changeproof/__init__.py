"""changeproof: will this counterfactual still hold after the model changes?

>>> import changeproof as cp
>>> results = cp.evaluate("diabetes", "mlp", ["kdtree", "robx-robust"])
>>> results.table()

What there is, is listed in `__init__.pyi`; the classes of built-in methods and families are there
in any case. Names are imported when they are first used: importing the package costs nothing.
"""

from typing import Any

import lazy_loader

__version__ = "0.3.0"

_listed, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __getattr__(name: str) -> Any:
    if name in __all__ or not name[0].isupper():
        return _listed(name)
    from changeproof.changes import REGISTRY as FAMILIES
    from changeproof.methods import REGISTRY as METHODS

    return METHODS.class_called(name) or FAMILIES.class_called(name) or _listed(name)
