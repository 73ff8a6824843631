"""Draw from the posterior of the pairwise model (`law_ray.models.pairwise.ensemble`) by Gibbs sampling.

Given D, f is linear in F, and given F it is linear in D. So each has an exact Gaussian posterior given the other, and a
sweep draws one after the other. Both matrices have a prior of the form

    M[k, l] ~ N(b_k + b_l + sum_r s_r U[k, r] U[l, r], residual),    U[k, r], b_k ~ N(0, width_r),    s_r = +1 or -1,

a matrix of low rank and what deviates from it. `residual` and `width` are drawn too. A matrix of distances is nearly of
low rank, and so has far fewer unknowns than pairs: random orderings of nug22 (462 unknowns) are predicted with rank
correlation 0.86 after 300 values, against 0.37 with independent entries. U is drawn with the matrix integrated out,
given the data, which mixes well however small the residual is. Which b and s_r a chain has is its `Kind`. A chain that
knows D draws F alone. A sparse F has no low rank, and a residual times a local scale for each entry, a half-Cauchy
variable squared (the horseshoe), each drawn by two inverse gamma variables.

Below some number of values the posterior has many modes. Then chains disagree, and their disagreement is the
uncertainty. The noise of a chain is large at first and falls to its floor, which helps it to find a good mode.

Cost of a sweep, with n values and N = min(n, n_pairs): O(n N n_pairs + N^2 n_pairs + N^3).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from law_ray.kernels.weighted_precedence import symmetric
from law_ray.models.pairwise.chain import FIRST_NOISE, Chain, LowRank
from law_ray.models.pairwise.regression import Regression
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import algebra
from law_ray.utils.algebra import Matrix
from law_ray.utils.compiled import compiled

N_FLAT = 5
"""Sweeps of a chain before the low rank enters (heuristic)."""
N_ANNEALED = 100
"""Sweeps during which the noise is kept above a level that falls (heuristic)."""
LEAST_NOISE = 1e-5
"""The level after N_ANNEALED sweeps, a variance of standardized values; at the beginning it is FIRST_NOISE.

Chosen on nug22: with a floor of 1e-4 a chain cannot tell its optimum from values that are 6 units larger, and with 1e-6
it moves too slowly.
"""
LEAST_RESIDUAL = 1e-6
"""Of the prior of a matrix (heuristic)."""
N_DENSE = 20
"""Sweeps of a sparse chain before its local scales are drawn: before it knows anything they would stay where they begin
(heuristic)."""
MIN_SCALE, MAX_SCALE = 1e-6, 1e6
"""Of local scales (heuristic)."""
NOISE_SCALE = 1e-4
"""Twice the scale of the inverse gamma prior of the noise, whose shape is 1 (heuristic)."""


class Data(NamedTuple):
    """The values, and the orderings in both forms."""

    X: IntArray
    """(n, n_items) permutations"""
    q: IntArray
    """(n, n_items) positions"""
    z: FloatArray
    """(n,) standardized values"""
    known_noise: FloatArray
    """(n,) variances that come with the values"""

    @classmethod
    def of(cls, X: IntArray, z: FloatArray, known_noise: FloatArray) -> "Data":
        """Return the data, with the positions computed."""
        return cls(X, invert(X), z, known_noise)

    def swapped(self) -> "Data":
        """Return the data with items and positions exchanged."""
        return Data(self.q, self.X, self.z, self.known_noise)


class Draw(NamedTuple):
    """One (F, D) with the constant."""

    items: FloatArray
    """(n_items, n_items) F"""
    places: FloatArray
    """(n_items, n_items) D"""
    constant: float

    def swapped(self) -> "Draw":
        """Return the draw with items and positions exchanged."""
        return Draw(self.places, self.items, self.constant)


def sweep(chain: Chain, data: Data, rng: np.random.Generator) -> tuple[Chain, Draw]:
    """Draw F, then D unless the chain knows it, then the noise."""
    n_items = data.X.shape[1]
    data = data.swapped() if chain.swapped else data
    variances = chain.noise + data.known_noise
    regression = Regression.of(chain.places, data.q, data.z, variances)
    items, items_prior = _draw_matrix(regression, chain.items_prior, chain.sweeps, rng)
    drawn_last, places, places_prior = items, chain.places, chain.places_prior
    if not chain.kind.knows_places:
        regression = Regression.of(items, data.X, data.z, variances)  # the same f, summed over positions
        places, places_prior = _draw_matrix(regression, chain.places_prior, chain.sweeps, rng)
        drawn_last = places
    residuals = regression.deviations(drawn_last)
    excess = np.maximum(residuals**2 - data.known_noise, 0.0).sum()  # values with large errors of their own say little
    drawn = 0.5 * (excess + NOISE_SCALE) / rng.gamma(0.5 * len(data.z) + 1.0)
    noise = max(float(drawn), annealed(chain.sweeps))
    # D F is all that matters, so D is scaled to mean square 1 for the widths to mean the same in all chains. A known D
    # stays as it is, so that all draws have the same.
    scale = 1.0 if chain.kind.knows_places else float(np.sqrt(np.mean(places**2)))
    draw = Draw(
        symmetric(items, n_items) * (len(places) ** -0.5 * scale),
        symmetric(places / scale, n_items),
        regression.constant(drawn_last),
    )
    chain = replace(
        chain,
        places=places / scale,
        places_prior=places_prior.scaled(1.0 / scale),
        items_prior=items_prior.scaled(scale),
        noise=noise,
        sweeps=chain.sweeps + 1,
    )
    return chain, draw.swapped() if chain.swapped else draw


def advance(chain: Chain, data: Data, n_sweeps: int, rng: np.random.Generator) -> tuple[Chain, list[Draw]]:
    """Make `n_sweeps` sweeps; return the chain, rounded as in a journal, and the draws of all sweeps."""
    draws = []
    for _ in range(n_sweeps):
        chain, draw = sweep(chain, data, rng)
        draws.append(draw)
    return chain.rounded(), draws


def mean_items(chain: Chain, data: Data) -> Draw:
    """Return the posterior mean of F given the chain's D and priors, as a draw that needs no random numbers."""
    n_items = data.X.shape[1]
    data = data.swapped() if chain.swapped else data
    regression = Regression.of(chain.places, data.q, data.z, chain.noise + data.known_noise)
    prior = chain.items_prior
    mean = prior.mean() if chain.sweeps >= N_FLAT else np.zeros(len(chain.places))
    A, y = regression.compressed()
    scaled = prior.times_deviations(A)
    factor = _factor(scaled, prior.residual)
    correction = algebra.product(scaled.T, algebra.solve_both(factor, y - algebra.product(A, mean)))
    items = mean + prior.residual * prior.times_deviations(correction)
    constant = regression.constant(items)
    draw = Draw(symmetric(items, n_items) * len(items) ** -0.5, symmetric(chain.places, n_items), constant)
    return draw.swapped() if chain.swapped else draw


def annealed(sweeps: int) -> float:
    """Return the level above which the noise is kept: it falls geometrically from FIRST_NOISE to LEAST_NOISE."""
    share = min(1.0, (sweeps + 1) / N_ANNEALED)
    return FIRST_NOISE ** (1.0 - share) * LEAST_NOISE**share


def _factor(A: Matrix, residual: float) -> Matrix:
    """Return the lower Cholesky factor of residual A A' + I, the covariance of the values about the low rank."""
    covariance = algebra.add_to_diagonal(residual * (A @ A.T), 1.0)
    return algebra.cholesky(covariance.T)  # it is symmetric, and its transpose is stored by columns


def _draw_matrix(
    regression: Regression, prior: LowRank, sweeps: int, rng: np.random.Generator
) -> tuple[FloatArray, LowRank]:
    """Draw a matrix (n_pairs,) from its posterior, and its prior; in the first sweeps about 0, its prior as it is.

    By Matheron's rule: a draw from the prior and the noise, corrected by the residual that it leaves.
    """
    A, y = regression.compressed()
    scaled = prior.times_deviations(A)
    factor = _factor(scaled, prior.residual)
    mean = np.zeros(A.shape[1])
    low_rank = sweeps >= N_FLAT
    if low_rank and prior.signs:
        prior = _draw_columns(A, y, factor, prior, rng)
        mean = prior.mean()
    about_mean = rng.normal(size=len(mean)) * prior.residual**0.5
    misfit = y - algebra.product(A, mean) - algebra.product(scaled, about_mean) - rng.normal(size=len(y))
    about_mean += prior.residual * algebra.product(scaled.T, algebra.solve_both(factor, misfit))
    deviations = prior.times_deviations(about_mean)
    if low_rank:
        if prior.local_scales is not None and sweeps >= N_DENSE:
            local_scales = _draw_scales(prior.local_scales, deviations**2 / prior.residual, rng)
            prior, about_mean = replace(prior, local_scales=local_scales), deviations / np.sqrt(local_scales)
        residual = 0.5 * ((about_mean**2).sum() + 1.0) / rng.gamma(0.5 * len(mean) + 0.5)
        prior = replace(prior, residual=max(float(residual), LEAST_RESIDUAL))
    return mean + deviations, prior


def _draw_scales(scales: FloatArray, squares: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw local scales, squares of half-Cauchy variables, given the squares of entries of variance `scales`.

    By an auxiliary variable for each (Makalic and Schmidt, IEEE Signal Processing Letters 23, 2016).
    """
    auxiliary = (1.0 + 1.0 / scales) / rng.gamma(1.0, size=len(scales))
    drawn: FloatArray = (1.0 / auxiliary + 0.5 * squares) / rng.gamma(1.0, size=len(scales))
    return np.clip(drawn, MIN_SCALE, MAX_SCALE)


def _draw_columns(A: Matrix, y: FloatArray, factor: Matrix, prior: LowRank, rng: np.random.Generator) -> LowRank:
    """Draw U, row by row, and the widths of its columns, with the matrix integrated out.

    Given the other rows, the matrix of low rank is linear in one row of U.

    Args:
        A: (n, n_pairs) whitened features.
        y: (n,) whitened values.
        factor: (n, n) Cholesky factor of the covariance of y about A times the matrix of low rank.
        prior: The prior so far.
        rng: Draws.
    """
    columns = prior.columns.copy()
    n_items, rank = columns.shape
    A_T = np.ascontiguousarray(algebra.numpy_of(algebra.solve(factor, A)).T)
    residuals = algebra.solve_few(factor, y) - prior.mean() @ A_T
    order, normals = rng.permutation(n_items), rng.normal(size=(n_items, rank))
    _draw_rows(columns, np.array(prior.signs, dtype=np.float64), 1.0 / prior.widths, A_T, residuals, order, normals)
    widths = 0.5 * ((columns**2).sum(axis=0) + 1.0 / rank) / rng.gamma(0.5 * n_items + 0.5, size=rank)
    return replace(prior, columns=columns, widths=widths)


@compiled()
def _draw_rows(
    columns: FloatArray,
    signs: FloatArray,
    precisions: FloatArray,
    A_T: FloatArray,
    residuals: FloatArray,
    order: IntArray,
    normals: FloatArray,
) -> None:
    """Draw the rows of U, one given the others, O(n_items^2 rank n); changes `columns` and `residuals` in place.

    Args:
        columns: (n_items, rank) U.
        signs: (rank,) as of `LowRank`.
        precisions: (rank,) of the prior of the entries.
        A_T: (n_pairs, n) whitened features.
        residuals: (n,) whitened values less those of the matrix of low rank.
        order: (n_items,) in which rows are drawn.
        normals: (n_items, rank) standard normal numbers.
    """
    (n_items, rank), n = columns.shape, len(residuals)
    features = np.empty((rank, n))  # what a row of U is multiplied by
    for turn in range(n_items):
        k = order[turn]
        features[:] = 0.0
        for other in range(n_items):
            if other == k:
                continue
            i, j = min(k, other), max(k, other)
            pair = i * (2 * n_items - i - 1) // 2 + j - i - 1
            for r in range(rank):
                factor = 1.0 if signs[r] == 0.0 else signs[r] * columns[other, r]
                for t in range(n):
                    features[r, t] += factor * A_T[pair, t]
        precision = features @ features.T
        target = features @ residuals + precision @ columns[k]
        for r in range(rank):
            precision[r, r] += precisions[r]
        root = np.linalg.cholesky(precision)
        row = np.linalg.solve(root.T, np.linalg.solve(root, target) + normals[turn])
        residuals -= (row - columns[k]) @ features
        columns[k] = row
