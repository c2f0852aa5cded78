"""What a kind of model can do, in one record that wrappers carry on."""

from __future__ import annotations

from dataclasses import dataclass

from changeproof.model import Access


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a learner and its models can do.

    A learner has one such record. One that wraps another takes that one's and changes what it
    changes: ``dataclasses.replace(learner.traits, decides_at_half=False)``.

    Parameters
    ----------
    offers
        What methods may use of its models.
    follows
        The fields of a recipe that training follows. Every learner follows the seed, the weights
        of the rows and the labels.
    has_seeds
        Whether another seed gives another model.
    has_parameters
        Whether `perturbed` can move a model's parameters a little.
    has_weights
        Whether `weights` tells a model's weights, and `with_weights` puts others in place.
    soft_labels
        Whether labels may lie between 0 and 1.
    weighs_rows
        Whether row weights may be other than whole numbers.
    original
        Whether it takes the original features by name, and so does not see any others.
    decides_at_half
        Whether its models call favourable what they think more likely than not.
    gives_scores
        Whether its models may give scores that are no probabilities.
    storable
        Whether its models can be kept in files. Only networks of ours can. Others would have to
        be unpickled; they are trained again.
    no_training
        Why it cannot train changed models; "" where it can.
    only_seed
        The one base seed that there is, where the base model is fitted already.
    """

    offers: Access = Access.PREDICTIONS
    follows: frozenset[str] = frozenset({"initialisation_seed", "row_weights", "labels"})
    has_seeds: bool = True
    has_parameters: bool = False
    has_weights: bool = False
    soft_labels: bool = False
    weighs_rows: bool = True
    original: bool = False
    decides_at_half: bool = True
    gives_scores: bool = False
    storable: bool = False
    no_training: str = ""
    only_seed: int | None = None
