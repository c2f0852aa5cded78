"""What tests ask of certificates beyond verdicts: exact minima, refuting networks, intervals."""

from __future__ import annotations

import numpy as np

from changeproof import Network
from changeproof.certificates.bounds import first_layer_bounds, layer_bounds
from changeproof.certificates.box import ParameterBox, move_parameters
from changeproof.certificates.exact import MAX_NODES, Certificates
from changeproof.model import Floats


def worst_logits(box: ParameterBox, rows: Floats, *, max_nodes: int = MAX_NODES) -> Certificates:
    """Close in on the smallest logit of every row, decided or not.

    `lower` and `upper` of what is returned enclose the exact minimum over the box, and meet up
    to a small gap and single precision unless the nodes did not suffice or the solver failed.
    """
    answers = Certificates(box, rows)
    everything, never = np.ones(len(answers.rows), np.bool_), np.full(len(answers.rows), -np.inf)
    answers.attack(everything)
    answers.solve(everything, max_nodes, above=np.inf, below=never)
    return answers


def verdicts(answers: Certificates) -> list[str]:
    """Return of every row whether it is certified, refuted or unknown."""
    known = zip(answers.certified, answers.refuted, strict=True)
    return ["certified" if yes else "refuted" if no else "unknown" for yes, no in known]


def refuting_network(answers: Certificates, row: int) -> Network:
    """Return a network of the box that calls a refuted row adverse."""
    assert answers.refuted[row]
    box, flat = answers.box, answers.box.flat
    moved = np.empty(len(flat.parameters), np.float32)
    move_parameters(flat, box.radius, answers.rows[row], answers.directions[row], moved)
    weights, biases = [], []
    for n_in, n_out, start, _ in flat.layers.tolist():
        stop = start + n_in * n_out
        weights.append(moved[start:stop].reshape(n_out, n_in))
        biases.append(moved[stop : stop + n_out])
    return Network(tuple(weights), tuple(biases))


def interval_bounds(box: ParameterBox, rows: Floats) -> Floats:
    """Return what `neuron_bounds` would without carrying bounds backwards."""
    flat = box.flat
    bounds = np.empty((len(rows), 6, flat.n_neurons))
    for row, mine in zip(box.checked(rows), bounds, strict=True):
        first_layer_bounds(flat.turned, flat.layers, box.radius, row, mine)
        for layer in range(1, len(flat.layers)):
            layer_bounds(flat.turned, flat.layers, box.radius, layer, mine)
    return bounds
