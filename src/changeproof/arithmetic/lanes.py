"""Sixty-four bytes of numbers at once: sixteen float32 or eight float64, in fixed lanes.

A sum that is spread over lanes has the same order on every processor: number i goes to lane
i modulo the number of lanes, and the lanes are added up in a fixed tree, the upper half to the
lower half again and again. How many registers the lanes take (one of 512 bits, two of 256, four
of 128) changes nothing but the speed.

    total = spread(zero)
    for i in range(0, n, count(array)):
        total = fma(load(array, i), load(other, i), total)
    result = tree_sum(total)

All of these are for compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from changeproof.arithmetic.compiling import compiled

BYTES = 64
# Whether one register holds all lanes. There are then 32 of them, and kernels keep more sums
# at once; which they keep at once changes nothing in any sum.
ONE_REGISTER = "+avx512f" in (config.CPU_FEATURES or binding.get_host_cpu_features().flatten())


class Lanes(types.Type):  # type: ignore[misc]
    """The type of a value that holds one number per lane."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.count = 8 * BYTES // dtype.bitwidth
        super().__init__(name=f"Lanes({dtype} x {self.count})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """One LLVM vector."""

    def __init__(self, dmm: Any, fe_type: Lanes) -> None:
        number = dmm.lookup(fe_type.dtype).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(number, fe_type.count))


def _count(typing_context: Any, array: Any) -> Any:
    count = Lanes(array.dtype).count

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del builder, arguments
        return context.get_constant(signature.return_type, count)

    return types.intp(array), code


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, vector: Any) -> Any:
    """Return the address of the element at the indices that follow the array."""
    array_type, *index_types = signature.args[: 1 + signature.args[0].ndim]
    array = context.make_array(array_type)(context, builder, arguments[0])
    indices = [
        context.cast(builder, index, kind, types.intp)
        for index, kind in zip(arguments[1:], index_types, strict=False)
    ]
    pointer = cgutils.get_item_pointer(
        context, builder, array_type, array, indices, wraparound=False
    )
    return builder.bitcast(pointer, vector.as_pointer())


def _load(array: Any, *indices: Any) -> Any:
    if array.ndim != len(indices):
        return None
    lanes = Lanes(array.dtype)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        pointer = _pointer(context, builder, signature, arguments, vector)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return lanes(array, *indices), code


def _load1(typing_context: Any, array: Any, i: Any) -> Any:
    return _load(array, i)


def _load2(typing_context: Any, array: Any, i: Any, j: Any) -> Any:
    return _load(array, i, j)


def _load_doubles(typing_context: Any, array: Any, i: Any) -> Any:
    lanes = Lanes(types.float64)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        doubles = context.get_value_type(lanes)
        stored = ir.VectorType(context.get_value_type(array.dtype), lanes.count)
        pointer = _pointer(context, builder, signature, arguments, stored)
        loaded = builder.load(pointer, align=array.dtype.bitwidth // 8)
        return loaded if array.dtype == types.float64 else builder.fpext(loaded, doubles)

    return lanes(array, i), code


def _store(array: Any, lanes: Any, *indices: Any) -> Any:
    if array.ndim != len(indices) or lanes != Lanes(array.dtype):
        return None

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        pointer = _pointer(context, builder, signature, arguments, vector)
        builder.store(arguments[-1], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, *indices, lanes), code


def _store1(typing_context: Any, array: Any, i: Any, lanes: Any) -> Any:
    return _store(array, lanes, i)


def _store2(typing_context: Any, array: Any, i: Any, j: Any, lanes: Any) -> Any:
    return _store(array, lanes, i, j)


def _spread(typing_context: Any, number: Any) -> Any:
    lanes = Lanes(number)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index, undefined = ir.IntType(32), ir.Constant(context.get_value_type(lanes), ir.Undefined)
        one = builder.insert_element(undefined, arguments[0], index(0))
        places = ir.Constant(ir.VectorType(index, lanes.count), [0] * lanes.count)
        return builder.shuffle_vector(one, undefined, places)

    return lanes(number), code


def _lane_by_lane(instruction: str) -> Any:
    def operation(typing_context: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            del context, signature
            return getattr(builder, instruction)(*arguments)

        return a(a, b), code

    return intrinsic(operation)


def _where_positive(typing_context: Any, gate: Any, lanes: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        zero = ir.Constant(context.get_value_type(lanes), None)
        # Or NaN, so that a network of NaN says NaN and not what its last bias says.
        positive = builder.fcmp_unordered(">", arguments[0], zero)
        return builder.select(positive, arguments[1], zero)

    return lanes(gate, lanes), code


def _tree_sum(typing_context: Any, lanes: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        (vector,), count = arguments, lanes.count
        while count > 1:
            count //= 2
            index = ir.VectorType(ir.IntType(32), count)
            undefined = ir.Constant(vector.type, ir.Undefined)
            halves = [
                builder.shuffle_vector(vector, undefined, ir.Constant(index, list(places)))
                for places in (range(count), range(count, 2 * count))
            ]
            vector = builder.fadd(*halves)
        return builder.extract_element(vector, ir.IntType(32)(0))

    return lanes.dtype(lanes), code


# How many lanes the numbers of an array have.
count: Any = intrinsic(_count)
# The lanes from an element of a vector, or of a matrix's row, on.
load: Any = intrinsic(_load1)
load_row: Any = intrinsic(_load2)
# Eight numbers of a vector of any kind, as float64.
load_doubles: Any = intrinsic(_load_doubles)
store: Any = intrinsic(_store1)
store_row: Any = intrinsic(_store2)
# The same number in every lane.
spread: Any = intrinsic(_spread)
plus: Any = _lane_by_lane("fadd")
times: Any = _lane_by_lane("fmul")
# The second argument where the first is positive, zero elsewhere.
where_positive: Any = intrinsic(_where_positive)
# The sum over all lanes, in the fixed tree.
tree_sum: Any = intrinsic(_tree_sum)


@compiled
def aligned_zeros(shape: tuple[int, ...], like: Any) -> Any:
    """Return zeros, of the kind of another array, that start where lanes do.

    Lanes that lie across two lines of the cache take twice as long to load.
    """
    size = 1
    for length in shape:
        size *= length
    spare = BYTES // like.itemsize
    memory = np.zeros(size + spare, like.dtype)
    start = (-memory.ctypes.data % BYTES) // like.itemsize
    return memory[start : start + size].reshape(shape)
