"""How good is law-auto where values are noisy, or where costs are nearly but not quite sums over pairs?

`python -m experiments.ours.imperfect` plays the runs that are missing, one per CPU, and writes results/imperfect.md. A
finished run is a row of results/imperfect.csv. `--runs 0` only reports on the rows that exist.

The problems are drawn from fixed seeds. A noisy one tells the optimiser a value with its standard error; the curve of a
run holds the true values of the orderings that it evaluated.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.held_out import symmetric
from experiments.runs import (
    CONTESTANTS,
    N_INIT,
    RUNS,
    WITHOUT_PAIRS,
    Budget,
    Run,
    complete,
    initial_permutations,
    planned,
    values_after,
)
from experiments.statistics import standard_error
from experiments.tasks import Row
from law_ray.methods.auto import DESIGN, law_auto
from law_ray.methods.registry import Method
from law_ray.optimizer import Optimizer
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.seeding import generator

METHODS = ("law-auto", WITHOUT_PAIRS, "law-est", "local-search")
AS_IF_EXACT = "law-auto with purposes of exact values"
"""On noisy problems: the points of its process do not all explore."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """The mean weighted tardiness of 20 jobs on one machine whose times are random, simulated a few times."""

    times: FloatArray
    due: FloatArray
    weights: FloatArray
    factors: FloatArray
    """(1000, n_items) of the times, in the simulations that make the true values"""

    budget = Budget(batch_size=5, rounds=14)
    n_simulated = 8

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Schedule":
        """Draw an instance."""
        times = rng.uniform(5.0, 50.0, 20)
        due, weights = rng.uniform(0.0, 0.8, 20) * times.sum(), rng.integers(1, 10, 20).astype(float)
        return cls(times, due, weights, _factors(1000, 20, np.random.default_rng(1)))

    @property
    def n_items(self) -> int:
        """The number of jobs."""
        return len(self.times)

    def _tardiness(self, factors: FloatArray, permutation: IntArray) -> FloatArray:
        late = np.cumsum((factors * self.times)[:, permutation], axis=1) - self.due[permutation]
        tardiness: FloatArray = (self.weights[permutation] * np.maximum(late, 0.0)).sum(axis=1)
        return tardiness

    def observed(self, permutation: IntArray, rng: np.random.Generator) -> tuple[float, float]:
        """Return the mean of a few simulations, and its standard error."""
        found = self._tardiness(_factors(self.n_simulated, self.n_items, rng), permutation)
        return float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))

    def truth(self, permutation: IntArray) -> float:
        """Return the mean of 1,000 simulations, the same for all orderings."""
        return float(self._tardiness(self.factors, permutation).mean())


def _factors(n: int, n_items: int, rng: np.random.Generator) -> FloatArray:
    return rng.lognormal(0.0, 0.4, (n, n_items))


@dataclass(frozen=True, eq=False)
class Layout:
    """An assignment of 12 items to a 3 x 4 grid with few flows, whose values may be noisy or not sums over pairs."""

    flows: FloatArray
    distances: FloatArray
    bent: bool
    """whether the cost is raised to the power 1.2, and a congested row of the grid costs extra"""
    error: float = 0.0
    """the standard deviation of the noise"""

    budget = Budget(batch_size=5, rounds=44)

    @classmethod
    def drawn(cls, rng: np.random.Generator, noise: float, bent: bool) -> "Layout":
        """Draw an instance; `noise` is its standard deviation relative to that of random orderings' costs."""
        places = np.stack(np.divmod(np.arange(12), 4), axis=1)
        distances = np.abs(places[:, None] - places[None]).sum(axis=2).astype(float)
        flows = symmetric(rng.integers(1, 10, (12, 12)) * (rng.random((12, 12)) < 0.5))
        exact, rng = cls(flows, distances, bent), np.random.default_rng(0)
        costs = [exact.truth(rng.permutation(exact.n_items)) for _ in range(1000)]
        return replace(exact, error=noise * float(np.std(costs)))

    def renumbered(self) -> "Layout":
        """Return the same layout with its places numbered at random, so that numbers say nothing about distances."""
        numbers = np.random.default_rng(2).permutation(self.n_items)
        return replace(self, distances=self.distances[np.ix_(numbers, numbers)])

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.flows)

    def truth(self, permutation: IntArray) -> float:
        """Return the cost of putting item permutation[k] to place k."""
        placed = self.flows[np.ix_(permutation, permutation)]
        cost = float((placed * self.distances).sum())
        if not self.bent:
            return cost
        of_rows = placed.sum(axis=1).reshape(3, 4).sum(axis=1)
        return cost**1.2 + 2.0 * float(of_rows.max())

    def observed(self, permutation: IntArray, rng: np.random.Generator) -> tuple[float, float]:
        """Return the cost with noise, and its standard error."""
        return self.truth(permutation) + self.error * float(rng.normal()), self.error


PROBLEMS: dict[str, Callable[[np.random.Generator], Any]] = {
    "noisy schedule": Schedule.drawn,
    "layout": lambda rng: Layout.drawn(rng, noise=0.0, bent=False),
    "renumbered layout": lambda rng: Layout.drawn(rng, noise=0.0, bent=False).renumbered(),
    "noisy layout": lambda rng: Layout.drawn(rng, noise=0.1, bent=False),
    "bent layout": lambda rng: Layout.drawn(rng, noise=0.0, bent=True),
}


def problem(name: str) -> Any:
    """Return one of PROBLEMS by its name. The layouts have the same flows."""
    return PROBLEMS[name](np.random.default_rng([2026, *name.split()[-1].encode()]))


PLAYERS = {
    **CONTESTANTS,
    AS_IF_EXACT: replace(
        CONTESTANTS["law-auto"],
        choose=partial(law_auto, design=replace(DESIGN, purposes_if_noisy=DESIGN.purposes, beta_if_noisy=DESIGN.beta)),
    ),
}
"""The methods by name."""


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=5, show_default=True, help="How many, from the first.")
def main(runs: int) -> None:
    """Play the missing runs, then write the report."""
    noisy = [name for name in PROBLEMS if name.startswith("noisy")]
    whole = planned(PROBLEMS, METHODS, runs) + planned(noisy, (AS_IF_EXACT,), runs)
    complete(whole, play_alone, report, RESULTS / "imperfect")


def play_alone(run: Run) -> list[Row]:
    """Return the row of a run."""
    return [play_observed(run, problem(run.problem), PLAYERS[run.method])]


def play_observed(run: Run, objective: Any, method: Method) -> Row:
    """Return the row of a run. Its curve holds the least true value among the orderings evaluated.

    Args:
        run: Which run.
        objective: It has `n_items`, a `budget`, and what a `Schedule` has: `observed` and `truth`.
        method: The method of the run.
    """
    budget, rng = objective.budget, generator(run.number, "observe", 0)
    initial = initial_permutations(run.problem, objective.n_items, run.initial_set)
    optimizer = Optimizer(objective.n_items, method, run.number, N_INIT, start=initial)
    curve: list[tuple[int, float]] = []
    seconds = 0.0
    for size in (N_INIT, *(budget.rounds * [budget.batch_size])):
        start = time.process_time()
        trials = optimizer.ask(size)
        seconds += time.process_time() - start
        for trial in trials:
            optimizer.tell(trial.id, *objective.observed(trial.permutation, rng))
        least = min(objective.truth(trial.permutation) for trial in trials)
        if not curve or least < curve[-1][1]:
            curve.append((len(optimizer.trials), least))
    improvements = " ".join(f"{count}:{value:.12g}" for count, value in curve)
    return {**run._asdict(), "evaluations": budget.evaluations(), "seconds": seconds, "curve": improvements}


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table per problem."""
    parts = [REPORT.format(machine=played_on(rows), init=N_INIT)]
    for name, of_problem in rows.groupby("problem", sort=False):
        budget, least = problem(str(name)).budget, np.inf
        found = {}
        for method, runs in of_problem.groupby("method", sort=False):
            found[method] = values_after(runs, [budget.evaluations(0.5), budget.evaluations()])
            least = min(least, found[method].min())
        lines = [
            [
                *(method, len(values)),
                *(plus_minus(column.mean(), standard_error(column)) for column in values.T),
                f"{values[:, 1].mean() / least - 1:.1%}",
            ]
            for method, values in sorted(found.items(), key=lambda each: each[1][:, 1].mean())
        ]
        header = [
            "method",
            "runs",
            f"after {budget.evaluations(0.5)}",
            f"after {budget.evaluations()}",
            "above the best",
        ]
        parts.append(f"\n## {name}\n\n{markdown.table(header, lines)}")
    return "".join(parts)


REPORT = """# Noisy values, and costs that are not sums over pairs

{machine} Regenerate with `python -m experiments.ours.imperfect`.

The least true value among the orderings evaluated, mean +- standard error over the runs, with batches of five after
{init} random orderings; and how far its mean at the end lies above the best that any run found.

- noisy schedule: the weighted tardiness of 20 jobs with random times, simulated 8 times, with standard errors.
- layout: 12 items on a grid of 3 x 4 places, flow times distance. Renumbered: with the places numbered at random, so
  that their numbers do not say that they are a grid. Noisy: with noise of a tenth of the deviation of random orderings'
  costs. Bent: the cost to the power 1.2, and extra cost for the busiest row of the grid.

On noisy problems all points that law-auto's process chooses explore. A further line shows what that is worth.
"""


if __name__ == "__main__":
    main()
