"""The additive kernel: a sum over five distances, with weights chosen by evidence.

What an ordering means depends on the problem: it can be an assignment, an order of jobs or a tour. With d one of the
distances and D its largest value, the covariance of two orderings is the sum over the components of

    w exp(-decay d / unit) + w_1 (1 - d / D) + w_2 (1 - d / D)^2.

Only three components have the polynomials: a tour's length is linear in the neighbours that two tours share, and the
cost of a quadratic assignment is quadratic in the assignments that they share.

| component  | distance (see `distance`)                     | unit    | polynomials |
|------------|-----------------------------------------------|---------|-------------|
| position   | Spearman's footrule                           | n_items | no          |
| hamming    | items that have another position              | 1       | yes         |
| precedence | pairs of items in the opposite order          | n_items | no          |
| adjacency  | n_items less the neighbours shared on a cycle | 1       | yes         |
| successor  | n_items less the successors shared on a cycle | 1       | yes         |

All terms are positive semi-definite: for position, hamming and precedence see `distance`; the number of shared
neighbours or successors is an inner product, and so are its powers and its exponential. Every distance is an integer,
so the kernel is a table for each component.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from law_ray.kernels import loops
from law_ray.kernels.distance import DISTANCES, Distance
from law_ray.typing import FloatArray, Int32Array, IntArray

POSITION, HAMMING, PRECEDENCE, ADJACENCY, SUCCESSOR = range(5)
"""The numbers of the distances in the compiled loops."""


@dataclass(frozen=True)
class Component:
    """A term of the additive kernel: a distance, its number in the compiled loops, and the degree of its polynomial."""

    distance: Distance
    code: int
    degree: int
    """0 for no polynomial, else 2"""

    def terms(self, n_items: int, parameters: FloatArray) -> list[FloatArray]:
        """Return what each weight of [w, decay, w_1, w_2] adds to the kernel at each distance."""
        d = np.arange(self.distance.largest(n_items) + 1)
        similarity = 1.0 - d / max(d[-1], 1)
        return [
            parameters[0] * self.distance.exponential(n_items, parameters[1]),
            *(weight * similarity**degree for degree, weight in enumerate(parameters[2:], start=1)),
        ]


COMPONENTS = {
    "position": Component(DISTANCES["position"], POSITION, degree=0),
    "hamming": Component(DISTANCES["hamming"], HAMMING, degree=2),
    "precedence": Component(DISTANCES["precedence"], PRECEDENCE, degree=0),
    "adjacency": Component(DISTANCES["adjacency"], ADJACENCY, degree=2),
    "successor": Component(DISTANCES["successor"], SUCCESSOR, degree=2),
}


@dataclass(frozen=True)
class AdditiveHyperparameters:
    """The hyperparameters of the additive kernel and the likelihood, in units of the standardized values."""

    components: dict[str, list[float]]
    """by name [w, decay] or [w, decay, w_1, w_2]; components without a weight are left out"""
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        return float(sum(weight + sum(others) for weight, _, *others in self.components.values()))

    @property
    def kernel(self) -> "AdditiveKernel":
        """The sum of the components."""
        return AdditiveKernel(tuple(self.components))

    def covariance(self, n_items: int) -> "Tables":
        """Return the covariance at each distance of each component."""
        terms = (COMPONENTS[name].terms(n_items, np.array(own)) for name, own in self.components.items())
        return Tables.of([np.sum(each, axis=0) for each in terms])

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them."""
        return {"components": self.components, "noise": self.noise, "mean": self.mean}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        return cls(**record)


@dataclass(frozen=True)
class Tables:
    """The covariance at each distance of each component, one component after the other."""

    values: FloatArray
    offsets: IntArray
    """(n_components,) where each component begins in `values`"""

    def __getitem__(self, distances: Int32Array) -> FloatArray:
        """Return the kernel (m, n) at distances (m, n_components, n)."""
        return loops.look_up(self.values, self.offsets, distances)

    @classmethod
    def of(cls, tables: list[FloatArray]) -> Self:
        """Join the tables of the components."""
        return cls(np.concatenate(tables), np.cumsum([0, *(len(table) for table in tables[:-1])]))


class AdditiveKernel:
    """The sum of some of the COMPONENTS; the distances of orderings are (m, n_components, n)."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.codes = np.array([COMPONENTS[name].code for name in names], dtype=np.int32)

    def distances(self, q: Int32Array, P: Int32Array) -> Int32Array:
        """Return the distances of positions q (m, n_items) to P (n, n_items): (m, n_components, n)."""
        return np.stack([COMPONENTS[name].distance.between(q, P) for name in self.names], axis=1)
