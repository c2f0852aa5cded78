"""The network of a box that likes a row least: a search for it, and a proof of what it can do.

For one row a network of the box is one direction per neuron (see `box.py`). The search goes where
gradients point, with all neurons at once, until nothing changes. What is found is written down in
single precision inside the box, and its logit is that of the written network.

The proof is a mixed-integer programme, solved by branching.

The variables are the activations of the hidden layers. In the first layer they are free between
their two ends. In a later layer, an activation lies between relu(low(h)) and relu(high(h)) of the
activations h before it (see `bounds.py`), where low and high are linear. The lower end takes
two linear constraints; the upper end takes a binary variable, a switch, where high(h) can have
either sign. In the last hidden layer only that end matters towards which the output's weight
pulls. Every constraint is wider by the neuron's error of rounding. So what any network of the box
computes is a solution, and every solution is nearly a network.

Switches are tried one after the other, in the branch with the lowest bound. HiGHS only proposes:
a branch is bounded by its multipliers in our own arithmetic (see `programme.py`), and its solution
is worth the logit of the network that comes closest. Where HiGHS fails, a branch stays open.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.bounds import ERROR, HIGH_MAX, HIGH_MIN, LOW_MAX, LOW_MIN
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.programme import Programme, Relaxation, Solution
from changeproof.model import Floats
from changeproof.networks.flat import layer_at, layer_sums
from changeproof.networks.kernels import copy_into

GRADIENT_STEPS = 20
# Excesses of activations below this share of the largest activation are those of a solver.
NEGLIGIBLE = 1e-8


def attack(box: ParameterBox, rows: Floats) -> tuple[Floats, Floats]:
    """Return logits [rows] that networks of the box reach, and their directions [rows, neurons]."""
    rows = box.checked(rows)
    directions = np.zeros((len(rows), box.flat.n_neurons))
    _attack(box.flat, box.radius, rows, directions)
    return box.logits_at(rows, directions), directions


@compiled
def _attack(network: Any, radius: float, rows: Any, directions: Any) -> None:
    """Turn all neurons against their gradient until none changes; keep the best directions."""
    centre, turned, layers = network
    values, slopes, here = np.empty((3, directions.shape[1]))
    for r in range(len(rows)):
        here[:] = 0.0
        best = moved_logit(turned, layers, radius, rows[r], here, values)
        for _ in range(GRADIENT_STEPS):
            neuron_slopes(centre, layers, radius, here, values, slopes)
            changed = False
            for i in range(len(here)):
                wanted = here[i] if slopes[i] == 0.0 else -np.sign(slopes[i])
                changed = changed or wanted != here[i]
                here[i] = wanted
            if not changed:
                break
            logit = moved_logit(turned, layers, radius, rows[r], here, values)
            if logit < best:
                best = logit
                copy_into(here, directions[r])


@compiled
def moved_logit(
    turned: Any, layers: Any, radius: float, row: Any, directions: Any, values: Any
) -> float:
    """Return the logit under directions; `values` receives all pre-activations."""
    for layer in range(len(layers)):
        n_in, n_out, _, first = layer_at(layers, layer)
        layer_sums(turned, layers, layer, row, values)
        size = 1.0
        for k in range(n_in):
            size += abs(row[k]) if layer == 0 else max(values[first - n_in + k], 0.0)
        for i in range(first, first + n_out):
            values[i] += directions[i] * radius * size
    return float(values[-1])


@compiled
def neuron_slopes(
    centre: Any, layers: Any, radius: float, directions: Any, values: Any, slopes: Any
) -> None:
    """Write how the logit moves with every neuron's activation (not yet through its own ReLU)."""
    slopes[:] = 0.0
    slopes[-1] = 1.0
    for layer in range(len(layers) - 1, 0, -1):
        n_in, n_out, start, first = layer_at(layers, layer)
        before = layers[layer - 1, 3]
        for i in range(n_out):
            if layer < len(layers) - 1 and values[first + i] <= 0.0:
                continue
            weights = centre[start + i * n_in : start + i * n_in + n_in]
            shift = directions[first + i] * radius
            for j in range(n_in):
                slopes[before + j] += slopes[first + i] * (weights[j] + shift)


class LogitRange(NamedTuple):
    """What is known of the smallest logit of one row.

    No network of the box gives a logit below `lower`; `upper` is the lowest that was seen, under
    the network of `directions`.
    """

    lower: float
    upper: float
    directions: Floats


def close_in(
    box: ParameterBox,
    row: Floats,
    bounds: Floats,
    known: LogitRange,
    max_nodes: int,
    *,
    above: float,
    below: float,
    gap: float,
) -> LogitRange:
    """Tighten what is known until one end is beyond a limit, or both meet up to a gap.

    It is enough to know that `lower` is above `above`, or `upper` below `below`. `bounds` are those
    of the row's neurons [6, neurons]; at most `max_nodes` branches are bounded.
    """
    programme, activations, switches = _worst_case_programme(box, bounds)
    relaxation, nodes = Relaxation(programme), 0
    lower, upper, directions = known
    # Bounds of branches, their numbers (which put equal bounds in order) and their switches.
    branches: list[tuple[float, int, dict[int, float]]] = [(lower, 0, {})]
    stuck = np.inf
    while branches and nodes < max_nodes:
        bound, _, turned = branches[0]
        enough = bound > above or bound >= upper - gap or upper < below
        if enough or bound >= stuck:
            break
        heappop(branches)
        nodes += 1
        for switch in switches:
            end = turned.get(switch.column)
            relaxation.restrict(switch.column, end or 0.0, 1.0 if end is None else end)
        solution = relaxation.minimum()
        bound = max(bound, solution.bound)
        if solution.values is not None:
            closest = _directions(box, row, np.append(solution.values[activations], 0.0))
            reached = float(box.logits_at(row[None], closest[None])[0])
            if reached < upper:
                upper, directions = reached, closest
            column = _switch_to_branch_on(switches, turned, solution)
            if column is not None:
                for end in (0.0, 1.0):
                    number = 2 * nodes + int(end)
                    heappush(branches, (bound, number, {**turned, column: end}))
                continue
        stuck = min(stuck, bound)
    open_bounds = [branch[0] for branch in branches[:1]]
    return LogitRange(max(lower, min([stuck, *open_bounds])), upper, directions)


class _Switch(NamedTuple):
    """The binary variable of a neuron, its activation, and what bounds that from above.

    With the switch at s, the activation is at most `most` s, and at most high(h) - `least` (1 - s)
    by the row of the programme.
    """

    column: int
    activation: int
    row: int
    least: float
    most: float


def _switch_to_branch_on(
    switches: list[_Switch], turned: dict[int, float], solution: Solution
) -> int | None:
    """Return the fractional switch to branch on, if one matters.

    With a switch between off and on, an activation may exceed relu(high(h)). The switch is chosen
    where that excess, times the multiplier, lowers the bound most; then by the excess itself.
    """
    best, column = (0.0, 0.0), None
    assert solution.values is not None
    for switch in switches:
        if switch.column in turned:
            continue
        off = -switch.least * (1.0 - solution.values[switch.column])
        excess = min(float(solution.values[switch.activation]), off)
        if excess > NEGLIGIBLE * switch.most:
            worth = max(0.0, -float(solution.multipliers[switch.row])) * excess
            if (worth, excess) > best:
                best, column = (worth, excess), switch.column
    return column


def _worst_case_programme(
    box: ParameterBox, bounds: Floats
) -> tuple[Programme, list[int], list[_Switch]]:
    """Build the programme; also return the columns of activations, neuron by neuron."""
    programme, radius, flat = Programme(), box.radius, box.flat
    least, most = np.maximum(bounds[LOW_MIN], 0.0), np.maximum(bounds[HIGH_MAX], 0.0)
    errors = bounds[ERROR]
    pulls = box.network.weights[-1][0].astype(np.float64) - radius
    last = len(flat.layers) - 2
    activations: list[int] = []
    switches: list[_Switch] = []
    for layer, (n_in, n_out, start, first) in enumerate(flat.layers[:-1].tolist()):
        inputs = activations[first - n_in : first]
        for i in range(n_out):
            neuron = first + i
            column = programme.add_column(least[neuron], most[neuron])
            activations.append(column)
            if layer == 0 or most[neuron] == 0.0:
                continue
            weights = flat.parameters[start + i * n_in : start + (i + 1) * n_in]
            bias = flat.parameters[start + n_out * n_in + i]
            if bounds[LOW_MAX, neuron] > 0.0 and (layer < last or pulls[i] > 0.0):
                values, end = [-1.0, *(weights - radius)], radius - bias + errors[neuron]
                programme.add_row([column, *inputs], values, at_most=end)
            if layer < last or pulls[i] < 0.0:
                below, columns, values = min(bounds[HIGH_MIN, neuron], 0.0), [column], [1.0]
                if below < 0.0:
                    switch = programme.add_column(0.0, 1.0)
                    programme.add_row([column, switch], [1.0, -most[neuron]], at_most=0.0)
                    columns, values = [column, switch], [1.0, -below]
                    place = len(programme.at_most)
                    switches.append(_Switch(switch, column, place, below, most[neuron]))
                values += [*(-weights - radius)]
                end = bias + radius - below + errors[neuron]
                programme.add_row([*columns, *inputs], values, at_most=end)
    for column, pull in zip(activations[-len(pulls) :], pulls, strict=True):
        programme.costs[column] = float(pull)
    programme.offset = float(flat.parameters[-1]) - radius - errors[-1]
    return programme, activations, switches


def _directions(box: ParameterBox, row: Floats, wanted: Floats) -> Floats:
    """Return directions under which the neurons come closest to wanted activations."""
    directions = np.empty(box.flat.n_neurons)
    inputs = row
    for layer, (_, n_out, _, first) in enumerate(box.flat.layers.tolist()):
        weight, bias = (
            parameters[layer].astype(np.float64)
            for parameters in (box.network.weights, box.network.biases)
        )
        middle = (weight * inputs).sum(axis=1) + bias
        reach = box.radius * (np.abs(inputs).sum() + 1.0)
        target = wanted[first : first + n_out]
        moves = np.where(target > 0.0, np.clip(target - middle, -reach, reach), -reach)
        directions[first : first + n_out] = moves / reach if reach > 0.0 else 0.0
        inputs = np.maximum(middle + moves, 0.0)
    return directions
