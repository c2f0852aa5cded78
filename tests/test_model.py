from __future__ import annotations

import pytest

from changeproof import Access


@pytest.mark.parametrize(
    ("needs", "offers", "fits"),
    [
        (Access.PREDICTIONS, Access.PREDICTIONS, True),
        (Access.PREDICTIONS, Access.RELU_PARAMETERS, True),
        (Access.GRADIENTS, Access.PREDICTIONS, False),
        (Access.GRADIENTS, Access.LINEAR, True),
        (Access.GRADIENTS, Access.RELU_PARAMETERS, True),
        (Access.LINEAR, Access.GRADIENTS, False),
        (Access.LINEAR, Access.RELU_PARAMETERS, False),
        (Access.RELU_PARAMETERS, Access.LINEAR, False),
        (Access.LINEAR | Access.RELU_PARAMETERS, Access.LINEAR, False),
    ],
)
def test_a_method_fits_if_a_model_offers_what_it_needs(
    needs: Access, offers: Access, fits: bool
) -> None:
    assert (needs in offers) is fits


def test_access_is_told_without_what_follows_from_it() -> None:
    assert [str(each) for each in Access.__members__.values()] == [
        "predictions",
        "gradients",
        "linear coefficients",
        "relu parameters",
        "votes of trees",
    ]
    assert str(Access.LINEAR | Access.RELU_PARAMETERS) == "linear coefficients and relu parameters"
    assert str(Access.PREDICTIONS | Access.GRADIENTS) == "gradients"
