"""People's own methods: from a class, or from a function of ten lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from changeproof.errors import InputError, described
from changeproof.methods import REGISTRY
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.model import Access
from changeproof.plugins import PluginKind

Function = Callable[..., Any]


class FunctionMethod(Method):
    """A method that is a function of the context and the factuals."""

    function: ClassVar[Function]

    def _search(self, factuals: Factuals) -> Candidates:
        answer = self.function(self.context, factuals)
        if isinstance(answer, Candidates):
            return answer
        try:
            return Candidates(np.asarray(answer, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(
                f"method {self.name!r} returned {described(answer)}; expected an array of shape "
                f"{factuals.rows.shape} (NaN where there is no answer) or Candidates"
            ) from None


def method(
    name: str, *, summary: str | None = None, needs: Access = Access.PREDICTIONS
) -> Callable[[Function], type[Method]]:
    """Turn a function into a method of that name, and register it.

    The function is given the `Context` (task, base model and base seed) and a batch of
    `Factuals`. It returns an array with a candidate per row, NaN where it found none, or
    `Candidates` where it has reasons or diagnostics to tell.

    Parameters
    ----------
    name
        Lower-case letters, digits and hyphens.
    summary
        One line for lists; the first line of the function's docstring by default.
    needs
        What the function uses of the model.

    Examples
    --------
    >>> @cp.method("halfway")
    ... def halfway(context, factuals):
    ...     rows = context.task.rows("train")
    ...     goal = rows[context.model.favourable(rows)].mean(axis=0)
    ...     return (factuals.rows + goal) / 2
    """

    def decorate(function: Function) -> type[Method]:
        return REGISTRY.register(
            KIND.from_function(function, name, summary=summary, needs=needs), name
        )

    return decorate


register_method = REGISTRY.register


def _check(method: type[Method]) -> None:
    if not isinstance(method.needs, Access):
        raise InputError(f"needs is {method.needs!r}; expected an Access")
    try:
        method.tuning_candidates()
    except Exception as error:
        raise InputError(
            f"tuning_candidates() of {method.__name__} failed with {type(error).__name__}: "
            f"{error}; every setting needs a default"
        ) from error


KIND = PluginKind(Method, FunctionMethod, "context, factuals", _check)
