"""Sequential Monte Carlo over the internal nodes of a connected DAG: unbiased for exp(regret).

A particle is a data set of N rows whose columns are drawn node by node, reduced to the counts of its frontier
(`objectives.frontier`). The rows of block j (a configuration of the node's parents) take their states from a
Polya urn with counts alpha_j, 1/2 each before the tilts of `objectives.marks`. After the step the particle's weight
is multiplied by

    prod_j ML_j / P(drawn rows of j | urn) x backward / forward of the marks x new / old value guess,

where ML_j = prod_k (n_jk / n_j)^n_jk. The value guess is prod over families not drawn yet of C(r_c, n_g / u)^u over
their parents' configurations g so far, u of which each g still splits into; it is exact for a childless node whose
parents are all drawn, and telescopes, so that the mean weight is unbiased whatever the guess. Particles are resampled
(systematically, when the effective sample size falls below half) as in Del Moral, Doucet & Jasra 2006.

The compiled loops use the caller's generator and a single thread.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from law_ray.compiled import compiled
from objectives import cells as frontier_cells
from objectives import marks
from objectives.cells import Int32Array
from objectives.contingency import n_log_n
from objectives.frontier import Schedule
from objectives.uniform import FloatArray

_SMALL_BLOCK = 8  # rows; such blocks draw from the urn row by row, larger ones from a Dirichlet first


class Tables(NamedTuple):
    """log C(r, n) and n log n for n = 0..N, nats: (cardinalities, N + 1) and (N + 1,)."""

    log_c: FloatArray
    x_log_x: FloatArray


def tables(log_c: FloatArray) -> Tables:
    """The tables from log C(r, n), a row a cardinality (`objectives.multinomial`)."""
    return Tables(np.ascontiguousarray(log_c), n_log_n(np.arange(log_c.shape[1])))


class _Blocks(NamedTuple):
    """Arrays over blocks, or (block, state)."""

    rows: Int32Array
    alpha_sum: FloatArray
    alpha: FloatArray
    probability: FloatArray
    drawn: Int32Array
    """without the marked rows"""
    total: Int32Array


def draw(
    schedule: Schedule,
    tables: Tables,
    n_particles: int,
    rng: np.random.Generator,
    tilt: float = 1.0,
    resample_below: float = 0.5,
) -> tuple[float, float]:
    """The log of an unbiased estimate of exp(regret), nats, and its variance over its square.

    The variance is sum over resamplings and the end of 1 / ESS - 1 / n_particles. The estimate is unbiased for every
    `tilt`, a factor on the exponents T, and every share of particles to resample below. Cost: a step passes over the
    cells of every particle once for each state and labelling; memory as `bytes_per_particle`, `workspace_bytes`.
    """
    n_rows = len(tables.x_log_x) - 1
    states = np.zeros((2, n_particles, schedule.slots, schedule.cells), dtype=np.uint16)
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
    """What a particle takes while `draw` runs."""
    return 2 * schedule.cells * (2 * schedule.slots + 4)


def workspace_bytes(schedule: Schedule, n_rows: int) -> int:
    """What `draw` takes for all particles together."""
    cells, pairs, r = schedule.cells, schedule.pairs, schedule.states
    widest = frontier_cells.widest(schedule)
    return 4 * (cells * (widest + 9 * r + 7) + pairs * (6 * r + 16)) + 16 * n_rows


def _allocate(schedule: Schedule, n_rows: int):  # type: ignore[no-untyped-def]
    n, r = schedule.cells, schedule.states
    rows, drawn, total = (np.zeros(size, dtype=np.int32) for size in (n, n * r, n * r))
    blocks = _Blocks(rows, np.zeros(n), np.zeros(n * r), np.zeros(n * r), drawn, total)
    labels, cells = frontier_cells.allocate(schedule)
    return labels, cells, blocks, *marks.allocate(schedule, n_rows)


def _initial_guess(schedule: Schedule, log_c: FloatArray) -> float:
    """The value guess before any draw: sum_i q_i log C(r_i, N / q_i), nats."""
    n_rows = log_c.shape[1] - 1
    return math.fsum(
        q * float(np.interp(n_rows / q, np.arange(n_rows + 1), log_c[row]))
        for row, q in zip(schedule.node_rows, schedule.node_configurations, strict=True)
    )


@compiled(calls=(frontier_cells, marks))
def _step(rng, schedule, t, tilt, tables, ancestors, old, new, gains, labels, cells, blocks, groups, pairs, units):  # type: ignore[no-untyped-def]
    """Draw the node of step t for every particle, and set its log weight."""
    r, row, slot, first_label, last_label, kept, first_grouping, last_grouping = schedule.steps[t]
    labellings = schedule.labellings[first_label:last_label]
    groupings = schedule.groupings[first_grouping:last_grouping]
    numbers, sizes = labels.numbers, labels.sizes
    log_c, x_log_x = tables
    factors = schedule.factor_rows, schedule.missing
    for s in range(len(ancestors)):
        states, counts, n_cells = old[0][ancestors[s]], old[1][ancestors[s]], old[2][ancestors[s]]
        for i in range(len(labellings)):
            frontier_cells.label(states, n_cells, labellings[i], schedule.axes, i, labels)
        gain = -_fill_urns(counts, n_cells, r, log_c[row], x_log_x, numbers[0], sizes[0], blocks, cells)
        n_groups, n_pairs = marks.count_groups(counts, n_cells, numbers, sizes, groupings, groups, pairs)
        gain -= _value_guess(groups.rows, 1, float(r), sizes, groupings, *factors, log_c)
        most = marks.set_tilts(
            r, tilt, sizes, groupings, *factors, log_c, n_groups, n_pairs, groups, pairs, blocks
        )  # fmt: skip
        n_units = 0
        if most > 0:
            marks.sort_pairs(n_cells, numbers, sizes, groupings, n_groups, n_pairs, groups, pairs)
            n_units, log_ratio = marks.mark(
                rng, r, most, n_groups, numbers, sizes, groupings, groups, pairs, units, blocks, cells
            )
            gain += log_ratio
        gain += _draw_rows(rng, n_cells, r, numbers[0], sizes[0], x_log_x, blocks, cells)
        frontier_cells.count_states(n_cells, r, kept, numbers, sizes, groupings, groups.states, cells)
        gain += marks.log_redraw(n_units, r, groups, units)
        gains[s] = gain + _value_guess(groups.states, r, 1.0, sizes, groupings, *factors, log_c)
        new[2][s] = frontier_cells.collect(
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
    """sum over children and their groups of u log C(r_c, n / u), nats; C is interpolated linearly on the log scale.

    rows: n, `width` numbers for every group; u: `spread` times what is `missing`.
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
    """Count the rows of the blocks and set up their urns; returns the node's own value guess plus sum_j n_j log n_j."""
    for j in range(n_blocks):
        blocks.rows[j] = 0
        blocks.alpha_sum[j] = 0.5 * r
    for i in range(n_blocks * r):
        blocks.alpha[i] = 0.5
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
    """Draw the unmarked rows from the urns; returns sum_jk n_jk log n_jk - log P(drawn rows)."""
    alpha, alpha_sum, probability, drawn = blocks.alpha, blocks.alpha_sum, blocks.probability, blocks.drawn
    for j in range(n_blocks):
        if blocks.rows[j] > _SMALL_BLOCK:
            total = 0.0
            for k in range(r):
                probability[j * r + k] = max(rng.standard_gamma(alpha[j * r + k]), 1e-300)
                total += probability[j * r + k]
            for k in range(r):
                probability[j * r + k] /= total
    gain, product = 0.0, 1.0
    for m in range(n_cells):
        j = block[m]
        n = np.int64(cells.unmarked[m])  # one signature of binomial
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
                if product > 1e200:
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
