"""Fused products, exponentials, logarithms and normal tails, the same on every processor.

The functions of the system's mathematical library differ by version and by processor in their
last digits; NumPy's differ by the width of the vectors. These are built from additions, products,
fused products, divisions and roots alone, which every processor rounds alike. They are exact to
about one unit in the last place, have no branches, and so vectorise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from changeproof.arithmetic.compiling import compiled
from changeproof.model import Floats

LOG2_E = 1.4426950408889634
# The natural logarithm of two in two parts; the first has zeros enough to be multiplied exactly.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding and taking away 1.5 x 2^52 rounds to a whole number, which stands in the lowest bits.
ROUNDER = 6755399441055744.0
SMALLEST_EXPONENT, LARGEST_EXPONENT = -745.2, 709.8
EXPONENT_TERMS = tuple(1.0 / math.factorial(n) for n in range(14))
LOGARITHM_TERMS = tuple(2.0 / (2 * n + 1) for n in range(12))
BIAS = 1023
# Bits of the root of one half: mantissas are taken between it and the root of two.
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
SMALLEST_NORMAL = 2.2250738585072014e-308
ROOT_TWO_PI = 2.5066282746310002
# Up to here a series gives the normal tail, from here on a continued fraction; beyond the last it
# is too small for a float64.
SERIES_END, TAIL_END = 2.0, 40.0
SERIES_TERMS, FRACTION_TERMS = 40, 150


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c with one rounding; for numbers of one kind, or lanes of them."""
    if not a == b == c:
        return None

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        number = kind.element if isinstance(kind, ir.VectorType) else kind
        name = "f64" if isinstance(number, ir.DoubleType) else "f32"
        name = f"v{kind.count}{name}" if isinstance(kind, ir.VectorType) else name
        fused = ir.FunctionType(kind, [kind] * 3)
        return builder.call(
            cgutils.get_or_insert_function(builder.module, fused, f"llvm.fma.{name}"), arguments
        )

    return a(a, b, c), code


def _bits_of(typing_context: Any, number: Any) -> Any:
    """Return the bits of a float64 as an int64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


def _from_bits(typing_context: Any, bits: Any) -> Any:
    """Return the float64 that has these bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


fma: Any = intrinsic(_fma)
bits_of: Any = intrinsic(_bits_of)
from_bits: Any = intrinsic(_from_bits)


@compiled
def exp(x: float) -> float:
    """Return the exponential function; 0 and infinity beyond what a float64 can hold."""
    bounded = LARGEST_EXPONENT if x > LARGEST_EXPONENT else x
    bounded = SMALLEST_EXPONENT if bounded < SMALLEST_EXPONENT else bounded
    shifted = fma(bounded, LOG2_E, ROUNDER)
    whole = shifted - ROUNDER
    rest = fma(whole, -LN2_LOW, fma(whole, -LN2_HIGH, bounded))
    total = EXPONENT_TERMS[13]
    total = fma(total, rest, EXPONENT_TERMS[12])
    total = fma(total, rest, EXPONENT_TERMS[11])
    total = fma(total, rest, EXPONENT_TERMS[10])
    total = fma(total, rest, EXPONENT_TERMS[9])
    total = fma(total, rest, EXPONENT_TERMS[8])
    total = fma(total, rest, EXPONENT_TERMS[7])
    total = fma(total, rest, EXPONENT_TERMS[6])
    total = fma(total, rest, EXPONENT_TERMS[5])
    total = fma(total, rest, EXPONENT_TERMS[4])
    total = fma(total, rest, EXPONENT_TERMS[3])
    total = fma(total, rest, EXPONENT_TERMS[2])
    total = fma(total, rest, 1.0)
    total = fma(total, rest, 1.0)
    # Two to the power of the whole number, in two factors so that neither leaves the range.
    power = bits_of(shifted) - bits_of(ROUNDER)
    half = power >> 1
    first, second = from_bits((half + BIAS) << 52), from_bits((power - half + BIAS) << 52)
    return float(total * first * second)


@compiled
def log(x: float) -> float:
    """Return the natural logarithm of a finite number; minus infinity of 0, NaN below."""
    tiny = x < SMALLEST_NORMAL
    normal = x * 2.0**54 if tiny else x
    bits = bits_of(normal)
    power = (bits - ROOT_HALF_BITS) >> 52
    mantissa = from_bits(bits - (power << 52))
    exponent = float(power) - (54.0 if tiny else 0.0)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    total = LOGARITHM_TERMS[11]
    total = fma(total, square, LOGARITHM_TERMS[10])
    total = fma(total, square, LOGARITHM_TERMS[9])
    total = fma(total, square, LOGARITHM_TERMS[8])
    total = fma(total, square, LOGARITHM_TERMS[7])
    total = fma(total, square, LOGARITHM_TERMS[6])
    total = fma(total, square, LOGARITHM_TERMS[5])
    total = fma(total, square, LOGARITHM_TERMS[4])
    total = fma(total, square, LOGARITHM_TERMS[3])
    total = fma(total, square, LOGARITHM_TERMS[2])
    total = fma(total, square, LOGARITHM_TERMS[1])
    # With f = mantissa - 1, log(1 + f) = f - f ratio + ratio x (the terms from the second on).
    less = mantissa - 1.0
    small = fma(exponent, LN2_LOW, ratio * (square * total - less))
    result = fma(exponent, LN2_HIGH, less + small)
    result = -np.inf if x == 0.0 else result
    return result if x >= 0.0 else np.nan


@compiled
def log1p(x: float) -> float:
    """Return log(1 + x), also for small x."""
    total = 1.0 + x
    return log(total) + (x - (total - 1.0)) / total


@compiled
def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x))."""
    return float(1.0 / (1.0 + exp(-x)))


@compiled
def normal_tail(x: float) -> float:
    """Return the chance that a standard normal number is above x, to about 1e-14 of itself."""
    far = abs(x)
    far = TAIL_END if far > TAIL_END else far
    square = far * far
    # What the square lost in rounding would be multiplied by the exponential.
    lost = fma(far, far, -square)
    density = exp(-0.5 * square) * (1.0 - 0.5 * lost) / ROOT_TWO_PI
    if far < SERIES_END:
        term = total = far
        for n in range(1, SERIES_TERMS):
            term *= square / (2 * n + 1)
            total += term
        tail = 0.5 - density * total
    else:
        fraction = far
        for n in range(FRACTION_TERMS, 0, -1):
            fraction = far + n / fraction
        tail = density / fraction
    return float(1.0 - tail if x < 0.0 else tail)


@compiled
def fill_normal_tails(numbers: Any, results: Any) -> None:
    """Fill in the normal tails of a vector."""
    for i in range(numbers.size):
        results[i] = normal_tail(numbers[i])


@compiled
def fill_sigmoids(numbers: Any, results: Any) -> None:
    """Fill in the sigmoids of a vector."""
    for i in range(numbers.size):
        results[i] = sigmoid(numbers[i])


@compiled
def fill_exponentials(numbers: Any, results: Any) -> None:
    """Fill in the exponentials of a vector."""
    for i in range(numbers.size):
        results[i] = exp(numbers[i])


@compiled
def fill_logarithms(numbers: Any, results: Any) -> None:
    """Fill in the natural logarithms of a vector."""
    for i in range(numbers.size):
        results[i] = log(numbers[i])


def sigmoids(numbers: Floats) -> Floats:
    """Return the sigmoid of every number of an array."""
    return _filled(fill_sigmoids, numbers)


def exponentials(numbers: Floats) -> Floats:
    """Return the exponential of every number of an array."""
    return _filled(fill_exponentials, numbers)


def logarithms(numbers: Floats) -> Floats:
    """Return the natural logarithm of every number of an array."""
    return _filled(fill_logarithms, numbers)


def normal_tails(numbers: Floats) -> Floats:
    """Return the chance that a standard normal number is above each number of an array."""
    return _filled(fill_normal_tails, numbers)


def _filled(fill: Callable[[Floats, Floats], None], numbers: Floats) -> Floats:
    results = np.empty(numbers.shape)
    fill(np.ascontiguousarray(numbers, np.float64).reshape(-1), results.reshape(-1))
    return results
