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

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.regret.components import Part, cheapest, divide, tables_of
from objectives.nml.regret.estimate import RegretEstimate
from objectives.nml.regret.particles import MAX_STATES, bytes_per_particle, draw, workspace_bytes

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
_PATIENT_SECONDS = 60.0
"""Of one core, beyond which `DEFAULT_TARGET` is given up for what can be had in this time."""
_FEWEST = 64
"""Particles of a component, where time is short: the standard error of fewer says little about their error."""
_PILOT_MARGIN = 1.5
"""Factor on a pilot's variance; few particles underestimate it more often than not."""
_PILOT, _BATCHES = 0, 1
"""The first words of the spawn keys of generators."""


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


class OutOfReachError(InputError):
    """The regret would take more time or memory than there is.

    Args:
        reason: How much it would take.
        remedy: What to do about it.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}: {remedy}")
        self.reason = reason


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
            by default `DEFAULT_TARGET`, or what a minute of one core gives if that target takes longer.
        seed: of the generators of the pilots and the batches.

    Raises:
        OutOfReachError: if the evaluation would take more than about 10 minutes of one core or 2 GB.
    """
    states, closed, open_components = divide(dag, cardinalities, n_rows)
    parts = [cheapest(component, r, states, n_rows) for component, r in open_components]
    draft = Plan(n_rows, states, closed, tuple(parts), (), seed)
    sizes = [n_samples] * len(parts) if n_samples is not None else _sizes(draft, target_se)
    given = (("choose fewer n_samples", n_samples), ("leave target_se out", target_se))
    _refuse_hopeless(parts, sizes, n_rows, [remedy for remedy, value in given if value is not None])
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
    if not plan.parts:
        return RegretEstimate(value, 0.0, math.inf)
    n_particles = min(sum(size for owner, size in plan.batches if owner == i) for i in range(len(plan.parts)))
    return RegretEstimate(value, math.sqrt(variance), 1 / (variance + 1 / n_particles))


def exact(dag: BoolArray, cardinalities: Sequence[int] | IntArray, n_rows: int) -> RegretEstimate:
    """Return the regret of a DAG if all its components have a closed form.

    Raises:
        InputError: if one of them has none.
    """
    _, closed, open_components = divide(dag, cardinalities, n_rows)
    if open_components:
        raise InputError(
            f"a component of {len(open_components[0][1])} nodes is not a star and has no closed form: "
            "choose estimator='importance'"
        )
    return RegretEstimate(closed, 0.0, math.inf)


def _sizes(draft: Plan, target: float | None) -> list[int]:
    """The particles of every part that reach a standard error in the least time, by the variances of pilots.

    Without a target they reach `DEFAULT_TARGET`, or take `_PATIENT_SECONDS`; where these allow no pilot, all parts have
    equally many.
    """
    seconds = sum(part.seconds for part in draft.parts)
    if target is None and seconds * _SMALLEST_RUN > _PATIENT_SECONDS:
        return [max(_FEWEST, int(_PATIENT_SECONDS / seconds))] * len(draft.parts)
    sizes = _sizes_for(draft, target)
    needed = sum(part.seconds * size for part, size in zip(draft.parts, sizes, strict=True))
    if target is None and needed > _PATIENT_SECONDS:
        return [max(_SMALLEST_RUN, int(size * _PATIENT_SECONDS / needed)) for size in sizes]
    return sizes


def _sizes_for(draft: Plan, target: float | None) -> list[int]:
    pilots = [min(_BATCH // 2, _batch_size(part)) for part in draft.parts]
    _refuse_hopeless(draft.parts, pilots, draft.n_rows, [] if target is None else ["leave target_se out"])
    target = target or DEFAULT_TARGET
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
    return draw(plan.parts[part].schedule, tables_of(plan.states, plan.n_rows), n_particles, rng)


def _batch_size(part: Part) -> int:
    return min(_BATCH, max(_SMALLEST_BATCH, _BATCH_BYTES // bytes_per_particle(part.schedule)))


def _batches(part: int, size: int, largest: int) -> list[tuple[int, int]]:
    """Batches of at most `largest` particles, `size` together, whose sizes differ by at most one."""
    n = -(-size // largest)
    return [(part, (size + i) // n) for i in range(n)]


def _refuse_hopeless(parts: Sequence[Part], sizes: Sequence[int], n_rows: int, remedies: list[str]) -> None:
    """Raise OutOfReachError if the evaluation would take too much memory or time; `remedies` are what saves time."""
    for part, size in zip(parts, sizes, strict=True):
        if part.schedule.states > MAX_STATES:
            raise OutOfReachError(
                f"the regret of a variable with {part.schedule.states} states is out of reach", "group its states"
            )
        n_bytes = min(size, _batch_size(part)) * bytes_per_particle(part.schedule) + workspace_bytes(
            part.schedule, n_rows
        )
        if n_bytes > _MAX_BYTES:
            raise OutOfReachError(
                f"the regret would take {n_bytes / 1e9:.0f} GB", "use fewer rows or estimator='uniform'"
            )
    seconds = sum(part.seconds * size for part, size in zip(parts, sizes, strict=True))
    if seconds > _MAX_SECONDS:
        raise OutOfReachError(
            f"the regret would take about {seconds / 60:.0f} minutes",
            ", or ".join([*remedies, "use estimator='uniform'"]),
        )
