"""Fused products, exponentials, logarithms, normal tails and equations, with the same digits.

The functions of the system's mathematical library differ by version and by processor in their
last digits; NumPy's differ by the width of the vectors. These are built from additions, products,
fused products, divisions and roots alone, which every processor rounds alike. They are exact to
about one unit in the last place, have no branches, and so vectorise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
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
# Of both series, the last term first.
EXPONENT_TERMS = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))
LOGARITHM_TERMS = tuple(2.0 / (2 * n + 1) for n in range(11, 0, -1))
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


def _bitcast(given: Any, wanted: Any, kind: Any) -> Any:
    def operation(typing_context: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            del context, signature
            return builder.bitcast(arguments[0], kind)

        return wanted(given), code

    return intrinsic(operation)


fma: Any = intrinsic(_fma)
bits_of: Any = _bitcast(types.float64, types.int64, ir.IntType(64))
from_bits: Any = _bitcast(types.int64, types.float64, ir.DoubleType())


@compiled
def exp(x: float) -> float:
    """Return the exponential function; 0 and infinity beyond what a float64 can hold."""
    bounded = LARGEST_EXPONENT if x > LARGEST_EXPONENT else x
    bounded = SMALLEST_EXPONENT if bounded < SMALLEST_EXPONENT else bounded
    shifted = fma(bounded, LOG2_E, ROUNDER)
    whole = shifted - ROUNDER
    rest = fma(whole, -LN2_LOW, fma(whole, -LN2_HIGH, bounded))
    total = EXPONENT_TERMS[0]
    for term in EXPONENT_TERMS[1:]:
        total = fma(total, rest, term)
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
    total = LOGARITHM_TERMS[0]
    for term in LOGARITHM_TERMS[1:]:
        total = fma(total, square, term)
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
    for i in range(numbers.size):
        results[i] = normal_tail(numbers[i])


@compiled
def fill_sigmoids(numbers: Any, results: Any) -> None:
    for i in range(numbers.size):
        results[i] = sigmoid(numbers[i])


@compiled
def fill_exponentials(numbers: Any, results: Any) -> None:
    for i in range(numbers.size):
        results[i] = exp(numbers[i])


@compiled
def fill_logarithms(numbers: Any, results: Any) -> None:
    for i in range(numbers.size):
        results[i] = log(numbers[i])


def _filled(fill: Callable[[Floats, Floats], None], numbers: Floats) -> Floats:
    results = np.empty(numbers.shape)
    fill(np.ascontiguousarray(numbers, np.float64).reshape(-1), results.reshape(-1))
    return results


# The same of every number of an array.
sigmoids = partial(_filled, fill_sigmoids)
exponentials = partial(_filled, fill_exponentials)
logarithms = partial(_filled, fill_logarithms)
normal_tails = partial(_filled, fill_normal_tails)


@compiled
def solve_positive(matrix: Any, right: Any) -> Any:
    """Return x with matrix x = right by Cholesky's factors; NaN if the matrix is not positive."""
    size = len(right)
    factor = np.zeros((size, size))
    solution = right.copy()
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[i, i] = math.sqrt(total)
            else:
                return np.full(size, np.nan)
    for i in range(size):
        for k in range(i):
            solution[i] -= factor[i, k] * solution[k]
        solution[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            solution[i] -= factor[k, i] * solution[k]
        solution[i] /= factor[i, i]
    return solution
