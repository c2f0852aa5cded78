"""changeproof: will this counterfactual still hold after the model changes?

>>> import changeproof as cp
>>> results = cp.evaluate("diabetes", "mlp", ["kdtree", "robx-robust"])
>>> results.table()

What there is, is listed in `__init__.pyi`. Names are imported when they are first used, so that
importing the package costs nothing.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
