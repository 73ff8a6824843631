"""The mixture: a sum of kernels on five distances, whose weights and decays the evidence chooses.

A point of the search space is a permutation, but what a permutation means hangs on the problem: an assignment, an order
of jobs, a tour. With d a distance of one kind and D the largest,

    k(x, x') = sum over kinds of  w e^(-decay d / unit) + w_1 (1 - d / D) + w_2 (1 - d / D)^2,

the polynomials for three kinds alone: a tour's length is linear in the neighbours that two tours share, the cost of a
quadratic assignment quadratic in the shared assignments.

| kind       | d                                              | unit    | polynomials |
|------------|------------------------------------------------|---------|-------------|
| position   | sum_i abs(p_i - q_i)                           | n_items | no          |
| hamming    | items that are elsewhere                       | 1       | yes         |
| precedence | pairs of items in the opposite order           | n_items | no          |
| adjacency  | n_items less the shared neighbours on a cycle  | 1       | yes         |
| successor  | n_items less the shared successors on a cycle  | 1       | yes         |

Every kind of distance is an integer, so a kernel is a table for each kind, and so are its derivatives: a fit costs one
Cholesky factor and one inverse an evaluation, whatever the number of parameters.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack
from scipy.optimize import minimize

from law_ray import moves
from law_ray.compiled import compiled
from law_ray.kernels import (
    NEGLIGIBLE,
    POSITION,
    FloatArray,
    discordant_pairs,
    hamming_distances,
    max_hamming_distance,
    max_position_distance,
    n_pairs,
    positions_of,
)
from law_ray.permutations import IntArray
from law_ray.scan import Int32Array

KINDS = ("position", "hamming", "precedence", "adjacency", "successor")
POLYNOMIAL = ("hamming", "adjacency", "successor")
DISTANCES = (
    POSITION.distances,
    hamming_distances,
    discordant_pairs,
    lambda q, P: moves.neighbour_distances(q, P, True),
    lambda q, P: moves.neighbour_distances(q, P, False),
)


def largest(kind: int, n_items: int) -> int:
    return (max_position_distance(n_items), max_hamming_distance(n_items), n_pairs(n_items), n_items, n_items)[kind]


def unit(kind: int, n_items: int) -> int:
    return (n_items, 1, n_items, 1, 1)[kind]


@dataclass(frozen=True)
class MixtureHyperparameters:
    """Of the mixture and the likelihood, in units of the normalised values.

    `components`: by kind [weight, decay], or [weight, decay, weight of degree 1, weight of degree 2].
    """

    components: dict[str, list[float]]
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        return sum(sum(c) - c[1] for c in self.components.values())


class Mixture:
    """The kernel of some kinds; distances of permutations are (n, n_kinds, m)."""

    def __init__(self, kinds: tuple[int, ...] = tuple(range(len(KINDS)))) -> None:
        self.kinds = np.array(kinds, dtype=np.int32)

    def distances(self, q: Int32Array, P: Int32Array) -> Int32Array:
        return np.stack([DISTANCES[kind](q, P) for kind in self.kinds], axis=1)

    def offsets(self, n_items: int) -> IntArray:
        return np.cumsum([0] + [largest(kind, n_items) + 1 for kind in self.kinds[:-1]])

    def table(self, n_items: int, hyperparameters: MixtureHyperparameters) -> "Tables":
        tables = []
        for kind in self.kinds:
            weight, decay, *polynomial = hyperparameters.components[KINDS[kind]]
            d = np.arange(largest(kind, n_items) + 1)
            table = np.exp(-decay / unit(kind, n_items) * d)
            table[table < NEGLIGIBLE] = 0.0
            table *= weight
            for degree, w in enumerate(polynomial, start=1):
                table += w * (1.0 - d / d[-1]) ** degree if d[-1] else w
            tables.append(table)
        return Tables(np.concatenate(tables), self.offsets(n_items))


@dataclass(frozen=True)
class Tables:
    """The values of the kernel at each distance of each kind, one after the other."""

    values: FloatArray
    offsets: IntArray

    def __getitem__(self, distances: Int32Array) -> FloatArray:
        return moves.look_up(self.values, self.offsets, distances)


# Log parameters of the fit: by kind weight, decay and, of polynomial kinds, two more weights; at the end the noise.
SIZES = [4 if name in POLYNOMIAL else 2 for name in KINDS]
ENDS = np.cumsum(SIZES)
STARTS_OF = ENDS - SIZES
N_PARAMETERS = int(ENDS[-1]) + 1
DECAYS = STARTS_OF + 1
WEIGHTS = np.setdiff1d(np.arange(N_PARAMETERS - 1), DECAYS)
import os
GAMMA, EPS = float(os.environ.get("GAMMA", "0.5")), float(os.environ.get("EPS", "1e-3"))
LEAST_WEIGHT, LEAST_NOISE = 1e-6, 1e-5


@compiled(fastmath=True)
def _covariance(distances, tables, offsets):  # type: ignore[no-untyped-def]
    n_kinds, n = distances.shape[0], distances.shape[1]
    A = np.zeros((n, n))
    for i in range(n):
        for c in range(n_kinds):
            for j in range(i + 1):
                A[i, j] += tables[np.uint64(offsets[c] + distances[c, i, j])]
    return A


@compiled(fastmath=True)
def _collect(distances, weights, offsets, size):  # type: ignore[no-untyped-def]
    """What each distance collects of the lower triangle of weights, the diagonal once and the rest twice."""
    n_kinds, n = distances.shape[0], distances.shape[1]
    collected = np.zeros(size)
    for i in range(n):
        for c in range(n_kinds):
            for j in range(i):
                collected[np.uint64(offsets[c] + distances[c, i, j])] += 2.0 * weights[i, j]
            collected[np.uint64(offsets[c] + distances[c, i, i])] += weights[i, i]
    return collected


class Evidence:
    """log p(y | X) + log prior of the log parameters, and its gradient."""

    def __init__(self, X, y, known_noise):
        self.n_items = X.shape[1]
        self.y, self.known_noise = y, known_noise
        q = positions_of(X)
        self.distances = np.stack([f(q, q) for f in DISTANCES])
        lengths = [largest(kind, self.n_items) + 1 for kind in range(len(KINDS))]
        self.offsets = np.cumsum([0, *lengths[:-1]])
        self.d = [np.arange(length) for length in lengths]
        self.s = [1.0 - d / max(d[-1], 1) for d in self.d]
        self.lower = np.full(N_PARAMETERS, np.log(LEAST_WEIGHT))
        self.upper = np.full(N_PARAMETERS, np.log(100.0))
        self.lower[DECAYS] = np.log(1e-3 / self.n_items)
        self.upper[DECAYS] = np.log(20.0)
        self.lower[-1], self.upper[-1] = np.log(LEAST_NOISE), np.log(2.0)
        self.prior_mean = np.full(N_PARAMETERS, np.log(0.1))
        self.prior_sd = np.full(N_PARAMETERS, 3.0)
        self.prior_mean[DECAYS] = np.log(3.0 / self.n_items)
        self.prior_sd[DECAYS] = 1.5
        self.prior_mean[-1], self.prior_sd[-1] = np.log(0.01), 2.0

    def tables(self, theta):
        """The tables, and each parameter's derivative as (kind, values)."""
        p = np.exp(theta)
        tables, derivatives = [], []
        for kind in range(len(KINDS)):
            own = p[STARTS_OF[kind] : ENDS[kind]]
            rate = own[1] / unit(kind, self.n_items)
            e = own[0] * np.exp(-rate * self.d[kind])
            table = e.copy()
            derivatives += [e, -rate * self.d[kind] * e]
            for degree, w in enumerate(own[2:], start=1):
                term = w * self.s[kind] ** degree
                table += term
                derivatives.append(term)
            tables.append(table)
        return tables, derivatives

    def __call__(self, theta):
        n = len(self.y)
        tables, derivatives = self.tables(theta)
        noise = np.exp(theta[-1])
        A = _covariance(self.distances, np.concatenate(tables), self.offsets)
        A[np.diag_indices(n)] += noise + self.known_noise
        # The lower triangle of A is the upper of its transpose, which LAPACK takes as it is.
        factor, info = lapack.dpotrf(A.T, lower=0, overwrite_a=1, clean=0)
        if info:
            raise LinAlgError("singular")
        solve_y, solve_1 = lapack.dpotrs(factor, np.column_stack([self.y, np.ones(n)]), lower=0)[0].T
        mean = solve_y.sum() / solve_1.sum()
        alpha = solve_y - mean * solve_1
        log_det = 2.0 * np.log(np.diag(factor)).sum()
        value = -0.5 * ((self.y - mean) @ alpha + log_det + n * np.log(2.0 * np.pi))
        inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
        weights = np.outer(alpha, alpha) - inverse.T
        collected = _collect(self.distances, weights, self.offsets, len(np.concatenate(tables)))
        parts = np.split(collected, self.offsets[1:])
        gradient = np.empty(N_PARAMETERS)
        kinds = np.repeat(np.arange(len(KINDS)), SIZES)
        for i, (kind, derivative) in enumerate(zip(kinds, derivatives, strict=True)):
            gradient[i] = 0.5 * parts[kind] @ derivative
        gradient[-1] = 0.5 * noise * np.trace(weights)
        away = (theta - self.prior_mean) / self.prior_sd
        if GAMMA > 0:
            away[WEIGHTS] = 0.0
            w = np.exp(theta[WEIGHTS])
            value -= GAMMA * np.log(w + EPS).sum()
            gradient[WEIGHTS] -= GAMMA * w / (w + EPS)
        return value - 0.5 * away @ away, gradient - away / self.prior_sd, mean


N_FIT = 400  # points of the fit


def fit(X, y, rng, previous=None, known_noise=0.0, iterations=None):
    """MAP hyperparameters; y normalised."""
    n = len(y)
    known_noise = np.broadcast_to(known_noise, y.shape)
    evidence = Evidence(X, y, known_noise)

    def loss(theta):
        try:
            value, gradient, _ = evidence(theta)
        except LinAlgError:
            return 1e10, np.zeros(N_PARAMETERS)
        return -value / n, -gradient / n

    if previous is not None:
        starts = [_pack(previous, evidence)]
        iterations = iterations or 10
        if n <= 150 or rng.random() < 0.2:
            starts.append(evidence.prior_mean.copy())
            iterations = 30
    else:
        starts = [evidence.prior_mean.copy()]
        iterations = iterations or 100
    bounds = np.column_stack([evidence.lower, evidence.upper])
    fits = [
        minimize(loss, np.clip(s, evidence.lower, evidence.upper), jac=True, method="L-BFGS-B", bounds=bounds,
                 options={"maxiter": iterations})
        for s in starts
    ]
    theta = min(fits, key=lambda f: f.fun).x
    mean = evidence(theta)[2]
    return _unpack(theta, float(mean))


def _pack(h, evidence):
    theta = evidence.prior_mean.copy()
    theta[WEIGHTS] = np.log(LEAST_WEIGHT) + 3
    for kind, name in enumerate(KINDS):
        if name in h.components:
            theta[STARTS_OF[kind] : ENDS[kind]] = np.log(h.components[name])
    theta[-1] = np.log(h.noise)
    return theta


def _unpack(theta, mean, least_share=1e-3):
    p = np.exp(theta)
    total = p[WEIGHTS].sum()
    components = {}
    for kind, name in enumerate(KINDS):
        own = p[STARTS_OF[kind] : ENDS[kind]]
        if own.sum() - own[1] > least_share * total:
            components[name] = [float(v) for v in own]
    return MixtureHyperparameters(components, float(p[-1]), mean)


def fitted(X, y, rng, previous, standard_errors):
    from law_ray.gp import GaussianProcess, Normalisation

    normalise = Normalisation.of(y)
    h = fit(X, normalise(y), rng, previous, normalise.known_noise(standard_errors))
    return GaussianProcess(X, y, h, standard_errors, Mixture(tuple(KINDS.index(name) for name in h.components)))
