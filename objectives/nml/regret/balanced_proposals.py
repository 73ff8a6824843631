"""Proposals for the next column that keep the groups of the children's other parents balanced, by marking rows.

Drawing node i with r states changes the value guess of its children c: prod over c and over the groups g of prod_k
C(r_c, n_gk / u_c)^u_c. The groups are the configurations of the other drawn parents of c, and u_c is the number of
configurations of the parents of c that are drawn later. Near its mode, a factor behaves like prod_k n_gk^T with T =
-u n^2 (log C)''(n) at n = n_g / (r u_c). So the factor favours states of i that are balanced in the whole group,
although i is drawn block by block (a block is a configuration of its own parents). Where a group is a block, T
additional pseudo-counts in the block's urn achieve this.

Otherwise T rows of the group are marked for each state k before the rest is drawn, that is, they get this state in
advance. Each time an unmarked row is chosen with probability proportional to its block's urn for k, whose count for k
then increases by one. The weight sums over the latent marks with a backward kernel that redraws them given the data:
each time it marks either no row, or one of the `a` unmarked rows of group g in state k, with odds eps : (1 - eps) a r /
n_g. The forward kernel skips with probability eps too; without this, data with fewer than T rows of a state in a group
could never be drawn. For each unit of marking the ratio of the kernels is, with p the probability of the row that was
marked (p = n_g / r for a skip),

    backward / forward = (r / n_g) / p / (eps + (1 - eps) a r / n_g).

T is rarely an integer: the last unit has eps = 1 - (T - floor T). The factors are those of sequential imputation (Kong,
Liu & Wong 1994) with auxiliary variables.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from law_ray.typing import FloatArray, Int32Array
from objectives.nml.regret.draw_order import MAX_MARKED
from objectives.nml.regret.frontier import Schedule

_MIN_FRACTION = 2e-3
"""A last unit with a smaller fraction is left out (heuristic)."""
_SMALLEST, _LARGEST = 1e-200, 1e200
"""A product outside these bounds is moved to its logarithm, before it can underflow or overflow."""


class Groups(NamedTuple):
    """The groups of all groupings of a step, one grouping after the other; arrays over groups, or (group, state)."""

    rows: Int32Array
    tilts: FloatArray
    """T, summed over the factors of the group"""
    units: Int32Array
    """of marking, for every state"""
    fractions: FloatArray
    """of the last unit, 0 if it is whole"""
    first_pair: Int32Array
    active: Int32Array
    """the groups that have units left"""
    marks: Int32Array
    """rows marked by state"""
    states: Int32Array
    """rows by state, after the draw"""


class Pairs(NamedTuple):
    """The pairs of a group and a block with rows in common."""

    rows: Int32Array
    unmarked: Int32Array
    group: Int32Array
    block: Int32Array
    by_group: Int32Array
    """the pairs, sorted by group"""
    first_cell: Int32Array
    cells: Int32Array
    """the cells, sorted by pair"""


class Units(NamedTuple):
    """The units of marking of one particle: group and state, marks before it, and eps."""

    group_state: Int32Array
    before: Int32Array
    skip: FloatArray


def allocate(schedule: Schedule, n_rows: int) -> tuple[Groups, Pairs, Units]:
    """Return arrays that are large enough for every step."""
    n, r = schedule.pairs + 1, schedule.states
    n_units = n_rows + n * r

    def ints(size: int) -> Int32Array:
        return np.zeros(size, dtype=np.int32)

    floats = np.zeros((2, n))
    return (
        Groups(ints(n), floats[0], ints(n), floats[1], ints(n + 1), ints(n), ints(n * r), ints(n * r)),
        Pairs(ints(n), ints(n), ints(n), ints(n), ints(n), ints(n + 1), ints(schedule.most_groupings * schedule.cells)),
        Units(ints(n_units), ints(n_units), np.zeros(n_units)),
    )


@njit
def count_groups(counts, n_cells, numbers, sizes, groupings, groups, pairs):  # type: ignore[no-untyped-def]
    """Count the rows of the groups and of the pairs; return how many groups and how many pairs there are."""
    n_groups = n_pairs = 0
    block = numbers[0]
    for g in range(len(groupings)):
        group, pair = numbers[groupings[g, 0]], numbers[groupings[g, 1]]
        for i in range(n_groups, n_groups + sizes[groupings[g, 0]]):
            groups.rows[i] = 0
        for e in range(n_pairs, n_pairs + sizes[groupings[g, 1]]):
            pairs.rows[e] = 0
        for m in range(n_cells):
            i, e = n_groups + group[m], n_pairs + pair[m]
            groups.rows[i] += counts[m]
            pairs.rows[e] += counts[m]
            pairs.group[e] = i
            pairs.block[e] = block[m]
        n_groups += sizes[groupings[g, 0]]
        n_pairs += sizes[groupings[g, 1]]
    return n_groups, n_pairs


@njit
def set_tilts(r, tilt, sizes, groupings, factor_rows, missing, log_c, n_groups, n_pairs, groups, pairs, blocks):  # type: ignore[no-untyped-def]
    """Add pseudo-counts where a group is a block, and set the units of marking elsewhere; return the most units."""
    start = 0
    top = log_c.shape[1] - 1
    for g in range(len(groupings)):
        end = start + sizes[groupings[g, 0]]
        for i in range(start, end):
            groups.tilts[i] = 0.0
            groups.first_pair[i + 1] = 0
        for f in range(groupings[g, 2], groupings[g, 3]):
            row, u = factor_rows[f], missing[f]
            for i in range(start, end):
                mean = groups.rows[i] / (r * u)
                n = max(1, min(top - 1, int(mean)))
                if n < top:
                    curvature = log_c[row, n + 1] - 2 * log_c[row, n] + log_c[row, n - 1]
                    groups.tilts[i] -= tilt * u * min(mean, float(n)) ** 2 * curvature
        start = end
    for e in range(n_pairs):
        groups.first_pair[pairs.group[e] + 1] += 1
    for e in range(n_pairs):
        i, j = pairs.group[e], pairs.block[e]
        if groups.first_pair[i + 1] == 1 and pairs.rows[e] == blocks.rows[j]:
            for k in range(r):
                blocks.alpha[j * r + k] += groups.tilts[i]
            blocks.alpha_sum[j] += r * groups.tilts[i]
            groups.tilts[i] = 0.0
    most = 0
    for i in range(n_groups):
        units = int(groups.tilts[i])
        fraction = groups.tilts[i] - units
        limit = int(MAX_MARKED * groups.rows[i] / (r * len(groupings)))
        if units > limit:
            units, fraction = limit, 0.0
        if fraction > _MIN_FRACTION:
            units += 1
        else:
            fraction = 0.0
        groups.units[i], groups.fractions[i] = units, fraction
        most = max(most, units)
    return most


@njit
def sort_pairs(n_cells, numbers, sizes, groupings, n_groups, n_pairs, groups, pairs):  # type: ignore[no-untyped-def]
    """Sort the pairs by group and the cells by pair, with counting sorts."""
    for i in range(n_groups):
        groups.first_pair[i + 1] += groups.first_pair[i]
    for e in range(n_pairs):
        i = pairs.group[e]
        pairs.by_group[groups.first_pair[i]] = e
        groups.first_pair[i] += 1
        pairs.unmarked[e] = pairs.rows[e]
        pairs.first_cell[e + 1] = 0
    _shift(groups.first_pair, n_groups)
    first = 0
    for g in range(len(groupings)):
        pair = numbers[groupings[g, 1]]
        for m in range(n_cells):
            pairs.first_cell[first + pair[m] + 1] += 1
        first += sizes[groupings[g, 1]]
    for e in range(n_pairs):
        pairs.first_cell[e + 1] += pairs.first_cell[e]
    first = 0
    for g in range(len(groupings)):
        pair = numbers[groupings[g, 1]]
        for m in range(n_cells):
            e = first + pair[m]
            pairs.cells[pairs.first_cell[e]] = m
            pairs.first_cell[e] += 1
        first += sizes[groupings[g, 1]]
    _shift(pairs.first_cell, n_pairs)


@njit
def _shift(firsts, n):  # type: ignore[no-untyped-def]
    """Restore the start of every bin, in whose place a counting sort has left its end."""
    for i in range(n, 0, -1):
        firsts[i] = firsts[i - 1]
    firsts[0] = 0


@njit
def mark(rng, r, most, n_groups, numbers, sizes, groupings, groups, pairs, units, blocks, cells):  # type: ignore[no-untyped-def]
    """Mark rows, one unit in every group and state in turn; return the number of units and -log prod p r / n_g."""
    alpha, alpha_sum, share = blocks.alpha, blocks.alpha_sum, blocks.probability
    for i in range(n_groups * r):
        groups.marks[i] = 0
    for j in range(sizes[0]):
        for k in range(r):
            share[j * r + k] = alpha[j * r + k] / alpha_sum[j]
    n_active = n_units = 0
    for i in range(n_groups):
        if groups.units[i] > 0:
            groups.active[n_active] = i
            n_active += 1
    log_ratio, product = 0.0, 1.0
    for unit in range(most):
        still_active = 0
        for active in range(n_active):
            i = groups.active[active]
            mean = groups.rows[i] / r
            skip = min(0.5, (mean + 1.0) ** -1.5)  # eps, a heuristic: rare in large groups
            is_last = unit == groups.units[i] - 1
            if is_last and groups.fractions[i] > 0.0:
                skip = max(skip, 1.0 - groups.fractions[i])
            for turn in range(r):
                k = (turn + unit) % r
                total = 0.0
                for y in range(groups.first_pair[i], groups.first_pair[i + 1]):
                    e = pairs.by_group[y]
                    total += pairs.unmarked[e] * share[pairs.block[e] * r + k]
                if total <= 0.0:  # no row is left to mark, so both kernels skip with probability 1
                    continue
                units.group_state[n_units] = i * r + k
                units.before[n_units] = groups.marks[i * r + k]
                units.skip[n_units] = skip
                n_units += 1
                coin = rng.random()
                if coin < skip:
                    continue
                m, p = _pick((coin - skip) / (1.0 - skip) * total, i, k, r, groups, pairs, share, cells.unmarked)
                product *= total / (p * mean)
                if product > _LARGEST or product < _SMALLEST:
                    log_ratio += np.log(product)
                    product = 1.0
                cells.unmarked[m] -= 1
                cells.drawn[m * r + k] += 1
                first_group = first_pair = 0
                for g in range(len(groupings)):
                    pairs.unmarked[first_pair + numbers[groupings[g, 1], m]] -= 1
                    groups.marks[(first_group + numbers[groupings[g, 0], m]) * r + k] += 1
                    first_group += sizes[groupings[g, 0]]
                    first_pair += sizes[groupings[g, 1]]
                j = numbers[0, m]
                alpha[j * r + k] += 1.0
                alpha_sum[j] += 1.0
                for other in range(r):
                    share[j * r + other] = alpha[j * r + other] / alpha_sum[j]
            if not is_last:
                groups.active[still_active] = i
                still_active += 1
        n_active = still_active
    return n_units, log_ratio + np.log(product)


@njit
def _pick(level, i, k, r, groups, pairs, share, unmarked):  # type: ignore[no-untyped-def]
    """Find the cell of group i where the cumulative urn shares of the unmarked rows pass `level`; return it and p."""
    chosen, m, p = -1, -1, 1.0
    for y in range(groups.first_pair[i], groups.first_pair[i + 1]):
        e = pairs.by_group[y]
        if pairs.unmarked[e] > 0:
            chosen = e
            p = share[pairs.block[e] * r + k]
            if level < pairs.unmarked[e] * p:
                break
            level -= pairs.unmarked[e] * p
    level /= p
    for y in range(pairs.first_cell[chosen], pairs.first_cell[chosen + 1]):
        if unmarked[pairs.cells[y]] > 0:
            m = pairs.cells[y]
            if level < unmarked[m]:
                break
            level -= unmarked[m]
    return m, p


@njit
def log_redraw(n_units, r, groups, units):  # type: ignore[no-untyped-def]
    """Return -sum over the units of log(eps + (1 - eps) a r / n_g), once the data are drawn."""
    log_ratio, product = 0.0, 1.0
    for u in range(n_units):
        i = units.group_state[u]
        left = groups.states[i] - units.before[u]
        product *= units.skip[u] + (1.0 - units.skip[u]) * left * r / groups.rows[i // r]
        if product > _LARGEST or product < _SMALLEST:
            log_ratio -= np.log(product)
            product = 1.0
    return log_ratio - np.log(product)
