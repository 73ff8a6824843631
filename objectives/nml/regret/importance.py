"""The NML regret of a discrete Bayesian network by sequential Monte Carlo: unbiased for exp(regret).

exp REG = sum over all data sets of the maximum likelihood. Three exact identities come first. The sum over the column
of a childless node i is prod_j C(r_i, n_ij), so only internal nodes are drawn. The regrets of connected components add.
All members of a Markov equivalence class have the same regret, so the cheapest one that a short search finds is drawn;
the search starts from a member that depends on the class alone. Isolated nodes and stars have closed forms
(`objectives.nml.scores.multinomial`).

The other components are estimated by batches of particles (`objectives.nml.regret.particles`). Each batch has a
generator of its own, so batches can run anywhere: `plan` decides all of them, `run` executes some, and `combine`
averages them, to the same value however they were divided.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.graphs.equivalence import canonical_member, walk
from objectives.nml.regret.draw_order import Component, OrderSearch
from objectives.nml.regret.estimate import RegretEstimate
from objectives.nml.regret.frontier import Schedule, schedule
from objectives.nml.regret.particles import Tables, bytes_per_particle, draw, tables, workspace_bytes
from objectives.nml.scores.multinomial import multinomial_regrets, star_regret

DEFAULT_TARGET = 0.1
"""The standard error, in nats, without a number of samples or a target."""

# Heuristics, unless a source is given.
_BATCH = 256
"""Particles of a batch; small batches divide better over processes."""
_SMALLEST_RUN = 256
"""The fewest particles of a component; a pilot is too short to justify fewer."""
_SMALLEST_BATCH = 16
"""The fewest particles of a batch that memory limits; fewer resample badly."""
_BATCH_BYTES = 200_000_000
"""Memory of the particles of a batch."""
_MAX_BYTES = 2_000_000_000
_MAX_SECONDS = 600.0
"""Evaluations that would take more than these are refused."""
_SECONDS_PER_VISIT = 2e-8
"""Of a cell, measured on one core."""
_MAX_MEMBERS = 200
"""Members of an equivalence class that the search for a cheap one tries."""
_PILOT_MARGIN = 1.5
"""Factor on a pilot's variance; few particles underestimate it more often than not."""
_PILOT, _BATCHES = 0, 1
"""The first words of the spawn keys of generators."""


class Part(NamedTuple):
    """One component to estimate."""

    schedule: Schedule
    seconds: float
    """the estimated time of one particle"""


@dataclass(frozen=True)
class Plan:
    """Everything that `run` and `combine` need; its pickle takes a few kilobytes."""

    n_rows: int
    states: tuple[int, ...]
    """the different cardinalities, increasing"""
    exact: float
    """nats, the regret of the components that have a closed form"""
    parts: tuple[Part, ...]
    batches: tuple[tuple[int, int], ...]
    """the index of the part and the number of particles, for every batch"""
    seed: int


class BatchResult(NamedTuple):
    """The log of one batch's unbiased estimate, and the variance of the estimate divided by its square."""

    batch: int
    log_estimate: float
    variance: float


def plan(
    dag: BoolArray,
    cardinalities: Sequence[int] | IntArray,
    n_rows: int,
    n_samples: int | None = None,
    target_se: float | None = None,
    seed: int = 0,
) -> Plan:
    """Decide everything but the draws; it depends on the arguments alone.

    Cost: milliseconds to 0.3 s for the search and, without `n_samples`, a pilot of one small batch for every component
    without a closed form.

    Args:
        dag: (p, p) bool, dag[parent, child], acyclic.
        cardinalities: (p,) the numbers of states.
        n_rows: N.
        n_samples: the number of particles for every component without a closed form.
        target_se: the standard error, in nats, for which pilots choose the numbers of particles without `n_samples`;
            by default `DEFAULT_TARGET`.
        seed: of the generators of the pilots and the batches.

    Raises:
        InputError: if the evaluation would take more than about 10 minutes of one core or 2 GB.
    """
    states, closed, open_components = _divide(dag, cardinalities, n_rows)
    parts = [_part(component, r, states, n_rows) for component, r in open_components]
    draft = Plan(n_rows, states, closed, tuple(parts), (), seed)
    sizes = [n_samples] * len(parts) if n_samples is not None else _sizes(draft, target_se or DEFAULT_TARGET)
    _refuse_hopeless(parts, sizes, n_rows)
    batches = [batch for i, size in enumerate(sizes) for batch in _batches(i, size, _batch_size(parts[i]))]
    return replace(draft, batches=tuple(batches))


def run(plan: Plan, batch_indices: Iterable[int]) -> list[BatchResult]:
    """Execute some of the batches; the result of a batch depends on the plan and its index alone."""
    results = []
    for index in batch_indices:
        part, n_particles = plan.batches[index]
        log_estimate, variance = _draw(plan, part, n_particles, (_BATCHES, index))
        results.append(BatchResult(index, log_estimate, variance))
    return results


def combine(plan: Plan, results: Iterable[BatchResult]) -> RegretEstimate:
    """Return the estimate from the results of all batches, in any order.

    Raises:
        InputError: if a batch has no result.
    """
    by_index = {result.batch: result for result in results}
    if sorted(by_index) != list(range(len(plan.batches))):
        raise InputError(f"{len(by_index)} of {len(plan.batches)} batches have a result: run each of them once")
    value, variance = plan.exact, 0.0
    for part in range(len(plan.parts)):
        mine = [(size, by_index[i]) for i, (owner, size) in enumerate(plan.batches) if owner == part]
        log_estimates = np.array([result.log_estimate for _, result in mine])
        top = float(log_estimates.max())
        shares = np.array([size for size, _ in mine]) * np.exp(log_estimates - top)
        value += top + math.log(shares.sum() / sum(size for size, _ in mine))
        variance += float((shares / shares.sum()) ** 2 @ np.array([result.variance for _, result in mine]))
    n_particles = min(
        (sum(size for owner, size in plan.batches if owner == i) for i in range(len(plan.parts))), default=0
    )
    effective = 1 / (variance + 1 / n_particles) if plan.parts else math.inf
    return RegretEstimate(value, math.sqrt(variance), effective)


def exact(dag: BoolArray, cardinalities: Sequence[int] | IntArray, n_rows: int) -> RegretEstimate:
    """Return the regret of a DAG if all its components have a closed form.

    Raises:
        InputError: if one of them has none.
    """
    _, closed, open_components = _divide(dag, cardinalities, n_rows)
    if open_components:
        raise InputError(
            f"a component of {len(open_components[0][1])} nodes is not a star and has no closed form: "
            "choose estimator='importance'"
        )
    return RegretEstimate(closed, 0.0, math.inf)


def _divide(
    dag: BoolArray, cardinalities: Sequence[int] | IntArray, n_rows: int
) -> tuple[tuple[int, ...], float, list[tuple[BoolArray, list[int]]]]:
    """The different cardinalities, the sum of the closed forms, and the other components with their cardinalities."""
    states = tuple(sorted({int(r) for r in cardinalities}))
    closed, open_components = 0.0, []
    member = canonical_member(np.asarray(dag, dtype=bool))
    for nodes in _components(member):
        r = [int(cardinalities[node]) for node in nodes]
        component = member[np.ix_(nodes, nodes)]
        centre = _star_centre(component)
        if centre is None:
            open_components.append((component, r))
        else:
            closed += _star(r, centre, states, n_rows)
    return states, closed, open_components


def _components(dag: BoolArray) -> list[list[int]]:
    """The nodes of every connected component, increasing."""
    adjacent = dag | dag.T
    left, found = set(range(len(dag))), []
    while left:
        reached = [min(left)]
        for node in reached:  # the list grows during the loop
            left.discard(node)
            reached += [
                other for other in np.flatnonzero(adjacent[node]).tolist() if other in left and other not in reached
            ]
        found.append(sorted(reached))
    return found


def _star_centre(dag: BoolArray) -> int | None:
    """The centre of a connected DAG that is equivalent to a star, as a single node is but a collider is not."""
    degrees = (dag | dag.T).sum(axis=0)
    is_tree = degrees.sum() == 2 * (len(dag) - 1)
    if not is_tree or dag.sum(axis=0).max() > 1 or degrees.max() < len(dag) - 1:
        return None
    return int(degrees.argmax())


def _star(r: Sequence[int], centre: int, states: tuple[int, ...], n_rows: int) -> float:
    """The regret of a star, in nats."""
    log_c = _tables(states, n_rows).log_c
    leaves = np.zeros(n_rows + 1)
    for node, cardinality in enumerate(r):
        if node != centre:
            leaves += log_c[states.index(cardinality)]
    return star_regret(r[centre], leaves, n_rows)


def _part(dag: BoolArray, r: Sequence[int], states: tuple[int, ...], n_rows: int) -> Part:
    """The component as the cheapest member of its class, and in the cheapest order, that a short random walk finds."""
    rng = np.random.default_rng(0)  # fixed, so that the choice depends on the class alone
    work, best, order = math.inf, _component(dag, r), []
    for tries, member in enumerate(itertools.islice(walk(dag, rng), _MAX_MEMBERS)):
        component = _component(member, r)
        search = OrderSearch(component, n_rows)
        for perturbed in (None, rng):
            found, candidate = search.order(perturbed, work)
            if found < work:
                work, best, order = found, component, candidate
        if tries * len(order) ** 2 > work:  # a longer search would cost more than it could save
            break
    rows = {cardinality: i for i, cardinality in enumerate(states)}
    return Part(schedule(best, order, rows, n_rows), work * _SECONDS_PER_VISIT)


def _component(dag: BoolArray, r: Sequence[int]) -> Component:
    def near(matrix: BoolArray) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(np.flatnonzero(row).tolist()) for row in matrix)

    return Component(near(dag.T), near(dag), tuple(r))


def _sizes(draft: Plan, target: float) -> list[int]:
    """The particles of every part that reach a standard error in the least time, by the variances of pilots."""
    pilots = [min(_BATCH // 2, _batch_size(part)) for part in draft.parts]
    _refuse_hopeless(draft.parts, pilots, draft.n_rows)
    variances = []
    for i, pilot in enumerate(pilots):
        variances.append(_PILOT_MARGIN * pilot * _draw(draft, i, pilot, (_PILOT, i))[1])
    total = sum(math.sqrt(v * part.seconds) for v, part in zip(variances, draft.parts, strict=True))
    return [
        max(_SMALLEST_RUN, math.ceil(math.sqrt(v / part.seconds) * total / target**2))
        for v, part in zip(variances, draft.parts, strict=True)
    ]


def _draw(plan: Plan, part: int, n_particles: int, key: tuple[int, int]) -> tuple[float, float]:
    """The log estimate and the variance from particles whose generator has the spawn key `key`."""
    rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=key))
    return draw(plan.parts[part].schedule, _tables(plan.states, plan.n_rows), n_particles, rng)


@lru_cache(maxsize=2)
def _tables(states: tuple[int, ...], n_rows: int) -> Tables:
    return tables(multinomial_regrets(states, n_rows))


def _batch_size(part: Part) -> int:
    return min(_BATCH, max(_SMALLEST_BATCH, _BATCH_BYTES // bytes_per_particle(part.schedule)))


def _batches(part: int, size: int, largest: int) -> list[tuple[int, int]]:
    """Batches of at most `largest` particles, `size` together, whose sizes differ by at most one."""
    n = -(-size // largest)
    return [(part, (size + i) // n) for i in range(n)]


def _refuse_hopeless(parts: Sequence[Part], sizes: Sequence[int], n_rows: int) -> None:
    """Raise InputError if the evaluation would take too much memory or time."""
    for part, size in zip(parts, sizes, strict=True):
        n_bytes = min(size, _batch_size(part)) * bytes_per_particle(part.schedule) + workspace_bytes(
            part.schedule, n_rows
        )
        if n_bytes > _MAX_BYTES:
            raise InputError(f"the regret would take {n_bytes / 1e9:.0f} GB: use fewer rows or estimator='uniform'")
    seconds = sum(part.seconds * size for part, size in zip(parts, sizes, strict=True))
    if seconds > _MAX_SECONDS:
        raise InputError(
            f"the regret would take about {seconds / 60:.0f} minutes: choose a larger target_se, fewer n_samples or "
            "estimator='uniform'"
        )
