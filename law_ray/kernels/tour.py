"""The tour kernel: it learns from the lengths of tours which items are alike.

Each item has a vector u, and two items are the more alike the nearer their vectors are: T(a, b) = exp(-|u_a - u_b|^2 /
2). (Zhang, Tao, Chen and Apley, "A latent variable approach to Gaussian process modeling with qualitative and
quantitative factors", Technometrics 2020, do so for single categorical variables.) Two tours are alike when they join
alike items. With M_x[a, b] = 1 where a and b are neighbours on the cycle of x, and 0 elsewhere,

    R(x, x') = sum_ab M_x[a, b] (T M_x' T)[a, b],    C(x, x') = R(x, x') / sqrt(R(x, x) R(x', x')),

and the covariance is w_1 C + w_2 C^2. It is positive semi-definite, as R is the inner product of M_x and M_x' under the
Kronecker product of T with itself. Where all vectors are far apart, R counts the neighbours that two tours share, as
the adjacency component of the additive kernel does. But 50 items have 1,225 pairs, and their vectors, of three numbers
each, are 150 parameters.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from law_ray.kernels import loops
from law_ray.typing import FloatArray, Int32Array, IntArray

ROOM = 64
"""Points that can be added without copying the images of the others; with 200 items, an image has 40,000 numbers."""


@dataclass(frozen=True)
class TourHyperparameters:
    """The hyperparameters of the tour kernel and the likelihood, in units of the standardized values."""

    weights: list[float]
    """w_1, w_2"""
    vectors: list[list[float]]
    """(n_items, n_dimensions)"""
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        return sum(self.weights)

    @cached_property
    def kernel(self) -> "TourKernel":
        """The kernel of these vectors; one object, since it keeps the images of its last points."""
        return TourKernel(np.array(self.vectors))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle or a copy has: not the kernel, whose images can take hundreds of megabytes."""
        return {name: value for name, value in vars(self).items() if name != "kernel"}

    def covariance(self, n_items: int) -> "Polynomial":
        """Return the covariance as a polynomial of the similarity."""
        return Polynomial(self.weights)

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them."""
        return {"weights": self.weights, "vectors": self.vectors, "noise": self.noise, "mean": self.mean}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        return cls(**record)


class Polynomial:
    """w_1 C + w_2 C^2 at similarities C of any shape."""

    def __init__(self, weights: list[float]) -> None:
        self.weights = np.array(weights)

    def __getitem__(self, similarities: FloatArray) -> FloatArray:
        values = similarities * self.weights[1]
        values += self.weights[0]  # in place: new memory for each step takes longer than the arithmetic
        values *= similarities
        return values


class Images(NamedTuple):
    """The images of some points, in arrays with room for more."""

    points: Int32Array
    """(n, n_items) positions"""
    matrices: FloatArray
    """(n_items^2, >= n) T M_x T / sqrt(R(x, x)); columns after the first n have no meaning"""
    own: FloatArray
    """(>= n,) R(x, x)"""


class TourKernel:
    """The similarity C for some vectors (n_items, n_dimensions), in the place of other kernels' distances."""

    def __init__(self, vectors: FloatArray) -> None:
        self.alike = alike(vectors)
        n_items = len(vectors)
        self._last = Images(np.empty((0, n_items), np.int32), np.empty((n_items**2, 0)), np.empty(0))
        self._most = self._last  # the images that others were taken from

    def distances(self, q: Int32Array, P: Int32Array) -> FloatArray:
        """Return the similarities C (m, n) of positions q (m, n_items) to P (n, n_items).

        Cost O(m n n_items), and O(n_items^3) for each image: those of q or P, whichever are fewer. The images of P are
        not recomputed where P are the points of the last call.
        """
        if len(q) < len(P) and P is not self._last.points:
            return np.ascontiguousarray(self._similarities(P, self._computed(q)).T)
        return self._similarities(q, self.images(P))

    def _similarities(self, q: Int32Array, images: Images) -> FloatArray:
        own = images.own[: len(q)] if q is images.points else self.own(q)
        halves = loops.gathered(images.matrices, joins(q), len(images.points))
        return 2.0 * halves / np.sqrt(own)[:, None]

    def images(self, P: Int32Array) -> Images:
        """Return the images of every point.

        Those of the last points are kept, and those of the points that most others begin with.
        """
        if self._last.points is not P:
            n_most, first = len(self._most.points), _n_in_common(P, self._most.points)
            self._last = self._computed(P, self._most, first)
            if first < len(P) and (first or len(P) >= n_most):
                self._most = self._last
        return self._last

    def _computed(self, P: Int32Array, known: Images | None = None, first: int = 0) -> Images:
        """Return the images of P, of which the first few are known; those are not copied while there is room."""
        n = len(P)
        if known is not None and n <= len(known.own) and first in (n, len(known.points)):
            images = Images(P, known.matrices, known.own)
        else:
            room = n + (ROOM if first else 0)
            images = Images(P, np.empty((P.shape[1] ** 2, room)), np.empty(room))
            if known is not None:
                images.matrices[:, :first], images.own[:first] = known.matrices[:, :first], known.own[:first]
        before, after = (items.astype(np.int32) for items in neighbours(P[first:]))
        loops.add_images(images.matrices, images.own, first, self.alike, before, after)
        return images

    def own(self, q: Int32Array) -> FloatArray:
        """Return R(x, x), (m,); O(n_items^2) each."""
        return loops.own(np.argsort(q, axis=1).astype(np.int32), self.alike)


def _n_in_common(P: Int32Array, others: Int32Array) -> int:
    """Return the number of points that both begin with."""
    n = min(len(P), len(others))
    differ = (P[:n] != others[:n]).any(axis=1)
    return int(differ.argmax()) if differ.any() else n


def alike(vectors: FloatArray) -> FloatArray:
    """Return T (n_items, n_items)."""
    squares = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    return np.exp(-0.5 * squares)


def images(alike: FloatArray, q: Int32Array) -> FloatArray:
    """Return T M_x T (m, n_items, n_items) of positions q (m, n_items)."""
    before, after = (items.astype(np.int32) for items in neighbours(q))
    return np.asarray(loops.images(alike, before, after))


def neighbours(q: Int32Array) -> tuple[IntArray, IntArray]:
    """Return the items before and after each item on the cycle, both (m, n_items)."""
    x, n_items = np.argsort(q, axis=1), q.shape[1]
    return np.take_along_axis(x, (q - 1) % n_items, axis=1), np.take_along_axis(x, (q + 1) % n_items, axis=1)


def joins(q: Int32Array) -> Int32Array:
    """Return where M_x is 1, as a * n_items + b of each item a and the item b after it: (m, n_items).

    M_x is symmetric, so that is one half of it. A sum over it, of a symmetric matrix, is twice the sum over these.
    """
    x = np.argsort(q, axis=1)
    return (x * q.shape[1] + np.roll(x, -1, axis=1)).astype(np.int32)
