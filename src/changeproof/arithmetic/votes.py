"""What votes say of a share of models, the same on every machine.

After some votes, and with Jeffreys' prior, the share of all models that accept has a Beta
distribution with half-integer parameters. Its distribution function is a product of whole numbers,
roots and pi, times a sum of positive terms. Without a prior there is a binomial tail, a sum of
positive terms as well. In decimal arithmetic, whose every operation is rounded as its standard
says, no library and no processor has a say in either.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache
from math import comb

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628621")
HALF = Decimal("0.5")
DIGITS = 50
# Terms that are smaller than this, beside their sum, are left out; steps, beside where they lead.
SMALL, SMALL_STEP = Decimal("1e-42"), Decimal("1e-30")
# Halving alone would need fewer.
MOST_STEPS = 1000


@lru_cache(maxsize=4096)
def share_bound(confidence: float, accepted: int, asked: int) -> float:
    """Return the share of models that is exceeded with a confidence, after some votes.

    It is exact but for its last rounding.
    """
    with localcontext(Context(prec=DIGITS)):
        # As a difference of binary numbers, which is what settings are.
        wanted, scale = Decimal(1.0 - confidence), _scale(accepted, asked)
        low, high = Decimal(0), Decimal(1)
        if not 0 < wanted < 1:
            return float(min(max(wanted, low), high))
        new = share = (accepted + HALF) / (asked + 1)
        for _ in range(MOST_STEPS):
            excess = _probability(share, accepted, asked, scale) - wanted
            low, high = (low, share) if excess > 0 else (share, high)
            # Newton's step, or half of what is left where that leads out of it.
            new = share - excess / _density(share, accepted, asked, scale)
            if not low < new < high:
                new = (low + high) / 2
            if abs(new - share) <= SMALL_STEP * min(new, 1 - new):
                break
            share = new
        return float(new)


@lru_cache(maxsize=4096)
def least_share(confidence: float, accepted: int, asked: int) -> float:
    """Return a lower bound on the share of models that accept, from independent votes.

    It is Clopper and Pearson's, with the confidence whatever the share is. It holds for the mean
    of the models' chances to accept also where these differ from vote to vote, as of models of
    several kinds: beyond one vote more than the mean, sums of such votes have smaller tails than
    the binomial (Hoeffding, 1956, theorem 5). Of one accepting vote that does not follow, and the
    bound is that of the sum of all chances. The confidence must be at least 3/4.
    """
    if not 0.75 <= confidence < 1.0:
        raise ValueError(f"expected a confidence from 0.75 to below 1; got {confidence}")
    with localcontext(Context(prec=DIGITS)):
        doubt = Decimal(1) - Decimal(confidence)
        if accepted <= 1:
            return float(doubt / asked) if accepted else 0.0
        low, high = Decimal(0), Decimal(1)
        while high - low > SMALL_STEP:
            share = (low + high) / 2
            low, high = (low, share) if _tail(share, accepted, asked) > doubt else (share, high)
        # Not the middle: a bound is no higher than it may be.
        return float(low)


@lru_cache(maxsize=4096)
def needed_share(chance: float, accepted: int, asked: int) -> float:
    """Return the share of models that makes so many accepting votes or more this likely.

    Votes are independent. It is exact but for its last rounding, which is up.
    """
    if not 0.0 < chance < 1.0 or not 0 < accepted <= asked:
        raise ValueError(
            f"expected a chance between 0 and 1, and 1 to {asked} votes; got {chance}, {accepted}"
        )
    with localcontext(Context(prec=DIGITS)):
        wanted, low, high = Decimal(chance), Decimal(0), Decimal(1)
        while high - low > SMALL_STEP:
            share = (low + high) / 2
            low, high = (share, high) if _tail(share, accepted, asked) < wanted else (low, share)
        return float(high)


def _tail(share: Decimal, accepted: int, asked: int) -> Decimal:
    """Return the chance of so many accepting votes or more, each with the same chance."""
    odds = share / (1 - share)
    term = share**accepted * (1 - share) ** (asked - accepted) * comb(asked, accepted)
    total = term
    for votes in range(accepted, asked):
        term *= odds * (asked - votes) / (votes + 1)
        total += term
    return total


def _scale(accepted: int, asked: int) -> Decimal:
    """Return the Beta function of both parameters."""
    rejected, product = asked - accepted, PI
    for k in range(accepted):
        product *= (k + HALF) / (k + 1)
    for k in range(rejected):
        product *= (k + HALF) / (accepted + k + 1)
    return product


def _density(share: Decimal, accepted: int, asked: int, scale: Decimal) -> Decimal:
    rest = 1 - share
    return share**accepted * rest ** (asked - accepted) / (share * rest).sqrt() / scale


def _probability(share: Decimal, accepted: int, asked: int, scale: Decimal) -> Decimal:
    if share <= 0 or share >= 1:
        return Decimal(int(share >= 1))
    if share * (asked + 3) > accepted + 1 + HALF:
        # The sum is short on this side of the middle only.
        return 1 - _probability(1 - share, asked - accepted, asked, scale)
    first = accepted + HALF
    term = total = Decimal(1)
    k = 0
    while term > SMALL * total:
        k += 1
        term *= share * (asked + k) / (first + k)
        total += term
    return _density(share, accepted, asked, scale) * share * (1 - share) / first * total
