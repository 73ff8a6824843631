"""The mixture: a Gaussian process whose kernel is a sum over five distances, with weights chosen by evidence.

What a permutation means hangs on the problem: an assignment, an order of jobs, a tour. With d a distance of one kind
and D the largest, the covariance of two permutations is the sum over the kinds of

    w exp(-decay d / unit) + w_1 (1 - d / D) + w_2 (1 - d / D)^2,

the polynomials for three kinds alone: a tour's length is linear in the neighbours that two tours share, the cost of a
quadratic assignment quadratic in the assignments they share. All are positive semi-definite: for position, Hamming and
precedence by `kernels`, and shared neighbours or successors are an inner product, as its powers and exponential are.

| kind       | d                                             | unit    | polynomials |
|------------|-----------------------------------------------|---------|-------------|
| position   | sum_i abs(p_i - q_i), Spearman's footrule     | n_items | no          |
| hamming    | items that are elsewhere                      | 1       | yes         |
| precedence | pairs of items in the opposite order          | n_items | no          |
| adjacency  | n_items less the neighbours shared on a cycle | 1       | yes         |
| successor  | n_items less the successors shared on a cycle | 1       | yes         |

Every distance is an integer, so the kernel is a table for each kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from law_ray import moves
from law_ray.kernels import (
    NEGLIGIBLE,
    FloatArray,
    discordant_pairs,
    hamming_distances,
    max_hamming_distance,
    max_position_distance,
    n_pairs,
)
from law_ray.permutations import IntArray
from law_ray.scan import Int32Array, position_distances


@dataclass(frozen=True)
class Kind:
    """A kind of distance, numbered as in `moves`."""

    code: int
    distances: Callable[[Int32Array, Int32Array], Int32Array]
    max_distance: Callable[[int], int]
    order: int  # the unit is n_items^order
    degrees: int  # of the polynomials: 0 or 2


def _neighbour_distances(undirected: bool) -> Callable[[Int32Array, Int32Array], Int32Array]:
    return lambda q, P: moves.neighbour_distances(q, P, undirected)


KINDS = {
    "position": Kind(moves.POSITION, position_distances, max_position_distance, 1, 0),
    "hamming": Kind(moves.HAMMING, hamming_distances, max_hamming_distance, 0, 2),
    "precedence": Kind(moves.PRECEDENCE, discordant_pairs, n_pairs, 1, 0),
    "adjacency": Kind(moves.ADJACENCY, _neighbour_distances(True), lambda n_items: n_items, 0, 2),
    "successor": Kind(moves.SUCCESSOR, _neighbour_distances(False), lambda n_items: n_items, 0, 2),
}


@dataclass(frozen=True)
class MixtureHyperparameters:
    """Of the mixture and the likelihood, in units of the normalised values.

    `components`: by kind [w, decay] or [w, decay, w_1, w_2]; kinds without a weight are left out.
    """

    components: dict[str, list[float]]
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        return float(sum(weight + sum(others) for weight, _, *others in self.components.values()))

    @property
    def kernel(self) -> "Mixture":
        return Mixture(tuple(self.components))


@dataclass(frozen=True)
class Tables:
    """The values of a mixture at each distance of each kind, one kind after the other."""

    values: FloatArray
    offsets: IntArray

    def __getitem__(self, distances: Int32Array) -> FloatArray:
        """The kernel (m, n) at distances (m, n_kinds, n)."""
        return moves.look_up(self.values, self.offsets, distances)


class Mixture:
    """The kernel of some of the KINDS; the distances of permutations are (m, n_kinds, n)."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.codes = np.array([KINDS[name].code for name in names], dtype=np.int32)

    def distances(self, q: Int32Array, P: Int32Array) -> Int32Array:
        """Of positions q (m, n_items) to P (n, n_items)."""
        return np.stack([KINDS[name].distances(q, P) for name in self.names], axis=1)

    def table(self, n_items: int, hyperparameters: Any) -> Tables:
        tables = [
            np.sum(terms(KINDS[name], n_items, np.array(hyperparameters.components[name])), axis=0)
            for name in self.names
        ]
        return Tables(np.concatenate(tables), offsets_of(tables))


def terms(kind: Kind, n_items: int, parameters: FloatArray) -> list[FloatArray]:
    """What each weight of [w, decay, w_1, w_2] adds to the kernel at each distance."""
    d = np.arange(kind.max_distance(n_items) + 1)
    exponential = np.exp(-parameters[1] / n_items**kind.order * d)
    exponential[exponential < NEGLIGIBLE] = 0.0
    similarity = 1.0 - d / max(d[-1], 1)
    return [
        parameters[0] * exponential,
        *(weight * similarity**degree for degree, weight in enumerate(parameters[2:], start=1)),
    ]


def offsets_of(tables: list[FloatArray]) -> IntArray:
    """Where each begins in all of them together."""
    return np.cumsum([0, *(len(table) for table in tables[:-1])])
