"""Sequential Monte Carlo over the internal nodes of a connected DAG: unbiased for exp(regret).

A particle is a data set of N rows whose columns are drawn node by node, reduced to the counts of its frontier
(`objectives.nml.regret.frontier`). The rows of block j (a configuration of the node's parents) get their states from a
Polya urn with pseudo-counts alpha_j, 1/2 each before they are tilted (`objectives.nml.regret.balanced_proposals`).
After the step the particle's weight is multiplied by

    prod_j ML_j / P(drawn rows of j | urn) x backward / forward of the marks x new / old value guess,

where ML_j = prod_k (n_jk / n_j)^n_jk. The value guess is prod over families not drawn yet, and over their parents'
configurations g so far, of C(r_c, n_g / u)^u, where each g still splits into u configurations. It is exact for a
childless node whose parents are all drawn. It telescopes, so the mean weight is unbiased whatever the guess. Particles
are resampled (systematically, when the effective sample size falls below half) as in Del Moral, Doucet & Jasra 2006.

The compiled loops use the caller's generator and a single thread.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from law_ray.typing import FloatArray, Int32Array
from law_ray.utils.compiled import compiled
from objectives.nml.regret import balanced_proposals, draw_order, frontier_tables
from objectives.nml.regret.frontier import Schedule
from objectives.nml.scores.contingency import n_log_n

STATE = np.uint16
"""The type of a state in a particle."""
MAX_STATES = np.iinfo(STATE).max + 1
"""Of a variable, so that STATE can hold each."""
_PSEUDO_COUNT = 0.5
"""Of every state in an urn before it is tilted: Jeffreys's prior."""
_SMALL_BLOCK = 8
"""Rows up to which a block draws from its urn row by row; a larger one draws probabilities from a Dirichlet first."""
_LEAST_GAMMA = 1e-300
"""A gamma variate that underflows is raised to this, so that a Dirichlet draw is never 0 / 0."""
_LARGEST = 1e200
"""A larger product is moved to its logarithm, before it can overflow."""


class Tables(NamedTuple):
    """log C(r, n) and n log n for n = 0..N, nats: (cardinalities, N + 1) and (N + 1,)."""

    log_c: FloatArray
    x_log_x: FloatArray


def tables(log_c: FloatArray) -> Tables:
    """Return the tables from log C(r, n), one row for each cardinality (`objectives.nml.scores.multinomial`)."""
    return Tables(np.ascontiguousarray(log_c), n_log_n(np.arange(log_c.shape[1])))


class _Blocks(NamedTuple):
    """Arrays over blocks, or (block, state)."""

    rows: Int32Array
    alpha_sum: FloatArray
    alpha: FloatArray
    probability: FloatArray
    drawn: Int32Array
    """rows by state that were drawn from the probabilities: without marked rows and small blocks"""
    total: Int32Array
    """rows by state"""


def draw(
    schedule: Schedule,
    tables: Tables,
    n_particles: int,
    rng: np.random.Generator,
    tilt: float = 1.0,
    resample_below: float = 0.5,
) -> tuple[float, float]:
    """Estimate exp(regret) without bias by one set of particles.

    The variance is the sum over resamplings and the end of 1 / ESS - 1 / n_particles. Cost: a step passes over the
    cells of every particle once for each state and labelling; memory as `bytes_per_particle` and `workspace_bytes` say.

    Args:
        schedule: the steps.
        tables: log C and n log n.
        n_particles: how many particles.
        rng: draws the rows and the ancestors.
        tilt: a factor on the exponents T; the estimate is unbiased for every value.
        resample_below: resample when the effective sample size is below this share of the particles; the estimate is
            unbiased for every value.

    Returns:
        The log of the estimate, in nats, and the variance of the estimate divided by its square.
    """
    n_rows = len(tables.x_log_x) - 1
    states = np.zeros((2, n_particles, schedule.slots, schedule.cells), dtype=STATE)
    counts = np.zeros((2, n_particles, schedule.cells), dtype=np.int32)
    n_cells = np.ones((2, n_particles), dtype=np.int64)
    counts[0, :, 0] = n_rows
    workspace = _allocate(schedule, n_rows)
    everyone = np.arange(n_particles)
    ancestors, gains = everyone, np.zeros(n_particles)
    log_weights = np.zeros(n_particles)
    log_estimate, variance = _initial_guess(schedule, tables.log_c), 0.0
    last = len(schedule.steps) - 1
    for t in range(last + 1):
        old, new = t % 2, 1 - t % 2
        _step(
            rng, schedule, t, tilt, tables, ancestors, (states[old], counts[old], n_cells[old]),
            (states[new], counts[new], n_cells[new]), gains, *workspace,
        )  # fmt: skip
        log_weights = log_weights + gains
        ancestors = everyone
        top = log_weights.max()
        weights = np.exp(log_weights - top)
        effective = weights.sum() ** 2 / (weights**2).sum()
        if t == last or effective < resample_below * n_particles:
            log_estimate += float(top) + math.log(weights.mean())
            variance += max(0.0, float(1 / effective - 1 / n_particles))
            log_weights = np.zeros(n_particles)
            levels = (everyone + rng.random()) / n_particles * weights.sum()
            ancestors = np.minimum(np.searchsorted(np.cumsum(weights), levels), n_particles - 1)
    return log_estimate, variance


def bytes_per_particle(schedule: Schedule) -> int:
    """Return the memory that `draw` takes for each particle."""
    return 2 * schedule.cells * (2 * schedule.slots + 4)


def workspace_bytes(schedule: Schedule, n_rows: int) -> int:
    """Return the memory that `draw` takes for all particles together."""
    cells, pairs, r = schedule.cells, schedule.pairs, schedule.states
    return 4 * (cells * (schedule.most_labellings + 9 * r + 7) + pairs * (6 * r + 16)) + 16 * n_rows


def _allocate(schedule: Schedule, n_rows: int):  # type: ignore[no-untyped-def]
    """The workspace of `_step`, which serves one particle after another."""
    n, r = schedule.cells, schedule.states
    rows, drawn, total = (np.zeros(size, dtype=np.int32) for size in (n, n * r, n * r))
    blocks = _Blocks(rows, np.zeros(n), np.zeros(n * r), np.zeros(n * r), drawn, total)
    labels, cells = frontier_tables.allocate(schedule)
    return labels, cells, blocks, *balanced_proposals.allocate(schedule, n_rows)


def _initial_guess(schedule: Schedule, log_c: FloatArray) -> float:
    """The value guess before any draw: sum_i q_i log C(r_i, N / q_i), nats."""
    n_rows = log_c.shape[1] - 1
    return math.fsum(
        q * float(np.interp(n_rows / q, np.arange(n_rows + 1), log_c[row]))
        for row, q in zip(schedule.node_rows, schedule.node_configurations, strict=True)
    )


@compiled(calls=(frontier_tables, balanced_proposals, draw_order))  # the last one for MAX_MARKED
def _step(rng, schedule, t, tilt, tables, ancestors, old, new, gains, labels, cells, blocks, groups, pairs, units):  # type: ignore[no-untyped-def]
    """Draw the node of step t for every particle, and set the gains of their log weights."""
    r, row, slot, first_label, last_label, kept, first_grouping, last_grouping = schedule.steps[t]
    labellings = schedule.labellings[first_label:last_label]
    groupings = schedule.groupings[first_grouping:last_grouping]
    numbers, sizes = labels.numbers, labels.sizes
    log_c, x_log_x = tables
    factors = schedule.factor_rows, schedule.missing
    for s in range(len(ancestors)):
        states, counts, n_cells = old[0][ancestors[s]], old[1][ancestors[s]], old[2][ancestors[s]]
        for i in range(len(labellings)):
            frontier_tables.label(states, n_cells, labellings[i], schedule.axes, i, labels)
        gain = -_fill_urns(counts, n_cells, r, log_c[row], x_log_x, numbers[0], sizes[0], blocks, cells)
        n_groups, n_pairs = balanced_proposals.count_groups(counts, n_cells, numbers, sizes, groupings, groups, pairs)
        gain -= _value_guess(groups.rows, 1, float(r), sizes, groupings, *factors, log_c)
        most = balanced_proposals.set_tilts(
            r, tilt, sizes, groupings, *factors, log_c, n_groups, n_pairs, groups, pairs, blocks
        )  # fmt: skip
        n_units = 0
        if most > 0:
            balanced_proposals.sort_pairs(n_cells, numbers, sizes, groupings, n_groups, n_pairs, groups, pairs)
            n_units, log_ratio = balanced_proposals.mark(
                rng, r, most, n_groups, numbers, sizes, groupings, groups, pairs, units, blocks, cells
            )
            gain += log_ratio
        gain += _draw_rows(rng, n_cells, r, numbers[0], sizes[0], x_log_x, blocks, cells)
        frontier_tables.count_states(n_cells, r, kept, numbers, sizes, groupings, groups.states, cells)
        gain += balanced_proposals.log_redraw(n_units, r, groups, units)
        gains[s] = gain + _value_guess(groups.states, r, 1.0, sizes, groupings, *factors, log_c)
        new[2][s] = frontier_tables.collect(
            n_cells,
            numbers[kept],
            labellings[kept],
            schedule.axes,
            r,
            slot,
            states,
            new[0][s],
            new[1][s],
            labels.firsts,
            cells,
        )


@njit
def _value_guess(rows, width, spread, sizes, groupings, factor_rows, missing, log_c):  # type: ignore[no-untyped-def]
    """Sum u log C(r_c, n / u) over children and their groups, in nats; log C is interpolated linearly.

    rows: n, `width` numbers for every group; u is `spread` times `missing`.
    """
    value = 0.0
    start = 0
    top = log_c.shape[1] - 1
    for g in range(len(groupings)):
        end = start + sizes[groupings[g, 0]] * width
        for f in range(groupings[g, 2], groupings[g, 3]):
            row, u = factor_rows[f], missing[f] * spread
            part = 0.0
            for i in range(start, end):
                if u == 1.0:
                    part += log_c[row, rows[i]]
                else:
                    n = rows[i] / u
                    below = min(int(n), top - 1)
                    part += log_c[row, below] + (n - below) * (log_c[row, below + 1] - log_c[row, below])
            value += u * part
        start = end
    return value


@njit
def _fill_urns(counts, n_cells, r, log_c, x_log_x, block, n_blocks, blocks, cells):  # type: ignore[no-untyped-def]
    """Count the rows of the blocks and fill their urns; return the node's own value guess plus sum_j n_j log n_j."""
    for j in range(n_blocks):
        blocks.rows[j] = 0
        blocks.alpha_sum[j] = _PSEUDO_COUNT * r
    for i in range(n_blocks * r):
        blocks.alpha[i] = _PSEUDO_COUNT
        blocks.drawn[i] = 0
        blocks.total[i] = 0
    for m in range(n_cells):
        blocks.rows[block[m]] += counts[m]
        cells.unmarked[m] = counts[m]
    for i in range(n_cells * r):
        cells.drawn[i] = 0
    value = 0.0
    for j in range(n_blocks):
        value += log_c[blocks.rows[j]] + x_log_x[blocks.rows[j]]
    return value


@njit
def _draw_rows(rng, n_cells, r, block, n_blocks, x_log_x, blocks, cells):  # type: ignore[no-untyped-def]
    """Draw the unmarked rows from the urns; return sum_jk n_jk log n_jk - log P(drawn rows)."""
    alpha, alpha_sum, probability, drawn = blocks.alpha, blocks.alpha_sum, blocks.probability, blocks.drawn
    for j in range(n_blocks):
        if blocks.rows[j] > _SMALL_BLOCK:
            total = 0.0
            for k in range(r):
                probability[j * r + k] = max(rng.standard_gamma(alpha[j * r + k]), _LEAST_GAMMA)
                total += probability[j * r + k]
            for k in range(r):
                probability[j * r + k] /= total
    gain, product = 0.0, 1.0
    for m in range(n_cells):
        j = block[m]
        n = np.int64(cells.unmarked[m])  # so that binomial is compiled for one type
        if blocks.rows[j] > _SMALL_BLOCK:
            rest = 1.0
            for k in range(r):
                x = n  # the last state takes the rest
                if k < r - 1 and n > 0:
                    p = probability[j * r + k]
                    x = rng.binomial(n, min(1.0, p / rest)) if rest > 0.0 else np.int64(0)
                    rest -= p
                drawn[j * r + k] += x
                cells.drawn[m * r + k] += x
                n -= x
        else:
            for _ in range(n):
                level = rng.random() * alpha_sum[j]
                k = 0
                while k < r - 1 and level >= alpha[j * r + k]:
                    level -= alpha[j * r + k]
                    k += 1
                product *= alpha_sum[j] / alpha[j * r + k]
                if product > _LARGEST:
                    gain += np.log(product)
                    product = 1.0
                alpha[j * r + k] += 1.0
                alpha_sum[j] += 1.0
                cells.drawn[m * r + k] += 1
        for k in range(r):
            blocks.total[j * r + k] += cells.drawn[m * r + k]
    gain += np.log(product)
    for j in range(n_blocks):
        rows = 0
        for i in range(j * r, j * r + r):
            gain += x_log_x[blocks.total[i]]
            if drawn[i] > 0:
                gain += math.lgamma(alpha[i]) - math.lgamma(alpha[i] + drawn[i])
                rows += drawn[i]
        if rows > 0:
            gain += math.lgamma(alpha_sum[j] + rows) - math.lgamma(alpha_sum[j])
    return gain
