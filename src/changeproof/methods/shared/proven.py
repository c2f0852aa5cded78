"""What methods share whose answers are proven to hold for every small change of a network."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.spatial import KDTree as SpatialTree

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.exact import MAX_NODES, proven_rows
from changeproof.methods.method import PARAMETERS, Method, People, Promise
from changeproof.model import Access, Booleans, Floats
from changeproof.networks.network import Network

PROVEN = Promise(
    "holds for every network whose weights and biases differ by at most {radius:g} from today's. "
    "This is proven exactly",
    PARAMETERS,
)


@dataclass(kw_only=True, eq=False, repr=False)
class CertifiedRows(Method):
    """A method that begins with the certified training rows; a row is good enough if it is one.

    Training rows count whatever their label: certified is what every network of the box accepts.
    """

    promise = PROVEN
    needs = Access.RELU_PARAMETERS

    radius: float = 0.005
    max_nodes: int = MAX_NODES

    def __post_init__(self) -> None:
        check_radius(self.radius)

    def _prepare(self) -> None:
        network, rows = self.context.model, self.context.task.rows("train")
        assert isinstance(network, Network)
        self._box = ParameterBox(network, self.radius)
        self._certified = rows[self._proven(rows)]
        self._tree = SpatialTree(self._certified) if len(self._certified) else None
        self._none_certified = f"no training row is certified favourable at radius {self.radius:g}"

    def _proven(self, rows: Floats) -> Booleans:
        return proven_rows(self._box, rows, max_nodes=self.max_nodes)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._proven(rows)
