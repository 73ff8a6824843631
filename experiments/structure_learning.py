"""Table 2 of the paper, regenerated: what each method finds for four Bayesian networks under the paper's NML score.

`python -m experiments.structure_learning` runs what is missing of all methods, one run a CPU, and writes
results/structure_learning.md anew. A finished run is a row, or two, of results/structure_learning.csv; one that was
interrupted, or failed, begins again next time. `--seeds 0` reports the rows there are and the climbs, `--quick` plays
one round of one seed, apart from the results.

As in the paper: 10,000 rows of data, the skeleton of its independence tests, its estimate of the regret, batches of 20,
20 random orderings to begin with that all methods share and that begin the population of the genetic algorithm, which
is also given twice the evaluations; orderings are points of their own, even where their networks are equivalent. Beyond
the paper, law-auto with quotient NML of the ordering as its prior mean, which is given a few evaluations alone.

The rows of data are not the paper's, so a result is told by its gap to the best ordering known for the same data and
skeleton: of all that were found here, among them the best of 30 swap hill climbs on -log-likelihood + 0.6 x free
parameters, a quick stand-in for the score. The least of many noisy values flatters itself, so the orderings are scored
again, all with the same fresh seeds.
"""

import functools
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import markdown, paper
from experiments.markdown import plus_minus
from experiments.speed import machine
from experiments.tasks import Row, play_all, read
from law_ray.methods import METHODS
from law_ray.optimizer import Optimizer
from law_ray.permutations import IntArray, sample, swap_neighbours
from law_ray.seeding import generator
from objectives import load
from objectives.contingency import FamilyLikelihoods, free_parameters
from objectives.networks import NETWORKS
from objectives.structure import dag_from_order

RESULTS = Path(__file__).parent / "results"
N_INIT = BATCH_SIZE = 20
SEEDS = 5
TABLE_2 = ("ga", "q-ei", "q-est", "law-est")
CLIMB = "hill-climb"
GUIDED = "law-auto, prior mean"
PENALTY = 0.6  # nats a free parameter: what the regret costs a parameter at 10,000 rows, roughly
SHD = ("total", "skeleton", "orientation")
COLUMNS = (
    *("network", "method", "seed", "evaluations", "seconds", "found", "score", "standard_error", "neg_log_likelihood"),
    *(f"shd_{part}" for part in SHD),
    "permutation",
)


class Run(NamedTuple):
    network: str
    method: str
    seed: int

    def __str__(self) -> str:
        return " ".join(map(str, self))


@dataclass(frozen=True)
class Effort:
    """How much is done of everything."""

    evaluations: int  # of a run; the genetic algorithm goes on to twice as many
    guided: int  # of a run with a prior mean
    restarts: int  # of the hill climb
    fresh: int  # seeds of the scoring afterwards

    def budgets(self, method: str) -> list[int]:
        """After how many evaluations a run says what it has found."""
        if method == CLIMB:
            return [0]
        if method == GUIDED:
            return [self.guided]
        return [self.evaluations, 2 * self.evaluations] if method == "ga" else [self.evaluations]


PAPER = Effort(evaluations=620, guided=100, restarts=30, fresh=20)
QUICK, QUICK_EFFORT = Path("law-ray-runs") / "structure-learning-quick", Effort(40, 40, 1, 2)


@click.command()
@click.option("--networks", multiple=True, type=click.Choice(NETWORKS), default=NETWORKS, show_default=True)
@click.option(
    "--methods",
    multiple=True,
    type=click.Choice([*METHODS, GUIDED]),
    default=(*TABLE_2, "law-auto", GUIDED),
    show_default=True,
)
@click.option("--seeds", type=click.IntRange(0), default=SEEDS, show_default=True, help="How many, from 0.")
@click.option("--quick", is_flag=True, help="One round of one seed, reported in law-ray-runs.")
def main(networks: tuple[str, ...], methods: tuple[str, ...], seeds: int, quick: bool) -> None:
    """Run what is missing, then write the table."""
    folder, effort = RESULTS, PAPER
    if quick:
        folder, effort, seeds = QUICK, QUICK_EFFORT, 1
        (folder / "structure_learning.csv").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "structure_learning.csv"
    todo = missing(planned(networks, methods, seeds), read(file, COLUMNS), effort)
    failed = play_all(functools.partial(play, effort), todo, file)
    text = report(read(file, COLUMNS), effort)
    (folder / "structure_learning.md").write_text(text)
    click.echo(text if quick else f"{folder / 'structure_learning.md'}")
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above: start again to repeat them")


def planned(networks: tuple[str, ...], methods: tuple[str, ...], seeds: int) -> list[Run]:
    """The climbs, then all runs of one seed before those of the next; of a seed the large networks first."""
    large_first = sorted(networks, key=NETWORKS.index, reverse=True)
    climbs = [Run(network, CLIMB, 0) for network in large_first]
    return climbs + [Run(n, method, seed) for seed in range(seeds) for n in large_first for method in methods]


def missing(runs: list[Run], rows: pd.DataFrame, effort: Effort) -> list[Run]:
    """The runs that lack a row."""
    known = set(rows[[*Run._fields, "evaluations"]].itertuples(index=False, name=None))
    return [run for run in runs if any((*run, budget) not in known for budget in effort.budgets(run.method))]


def play(effort: Effort, run: Run) -> list[Row]:
    """One run, as its rows: what it had found after each of its budgets."""
    objective = load(f"nml:{run.network}", score="nml-uniform", edges="skeleton", dof="full")
    if run.method != CLIMB:
        return search(run, objective, effort)
    start = time.process_time()
    best = climb(objective, effort.restarts, generator(run.seed, "climb", 0))
    key = {**run._asdict(), "evaluations": 0, "seconds": time.process_time() - start, "found": np.nan}
    return [{**key, **scored_again(objective, best, effort.fresh)}]


def search(run: Run, objective: Any, effort: Effort) -> list[Row]:
    """A run of a method; the objective is evaluated here, one ordering after another. Seconds are those of choosing."""
    method, prior_mean = ("law-auto", objective.prior_mean) if run.method == GUIDED else (run.method, None)
    optimizer = Optimizer(objective.n_items, method, run.seed, N_INIT, prior_mean=prior_mean)
    rows = []
    seconds = 0.0
    trials = optimizer.ask(N_INIT)  # random, and hangs on the seed alone
    while True:
        for trial in trials:
            optimizer.tell(trial.id, objective(trial.permutation, generator(run.seed, "evaluate", trial.id)))
        evaluations = len(optimizer.trials)
        if evaluations in effort.budgets(run.method):
            best = optimizer.best
            again = scored_again(objective, best.permutation, effort.fresh)
            key = {**run._asdict(), "evaluations": evaluations, "seconds": seconds, "found": best.value}
            rows.append({**key, **again})
        if evaluations >= max(effort.budgets(run.method)):
            return rows
        start = time.process_time()
        trials = optimizer.ask(BATCH_SIZE)
        seconds += time.process_time() - start


def climb(objective: Any, restarts: int, rng: np.random.Generator) -> IntArray:
    """The best end of steepest descents over swaps, from random orderings, on the stand-in for the score."""
    table = objective.table
    likelihoods = FamilyLikelihoods(table.codes, table.cardinalities)

    def stand_in(permutation: IntArray) -> float:
        dag = dag_from_order(objective.skeleton, permutation)
        return -likelihoods.dag(dag) + PENALTY * free_parameters(table.cardinalities, dag)

    ends = []
    for permutation in sample(objective.n_items, restarts, rng):
        value = stand_in(permutation)
        while True:
            neighbours = swap_neighbours(permutation[None])[0]
            values = np.array([stand_in(neighbour) for neighbour in neighbours])
            if values.min() >= value:
                break
            permutation, value = neighbours[values.argmin()], float(values.min())
        ends.append((value, permutation))
    return min(ends, key=lambda end: end[0])[1]


def scored_again(objective: Any, permutation: IntArray, fresh: int) -> Row:
    """The score's mean and standard error over fresh seeds, and how far the network is from the true one."""
    values = [objective(permutation, generator(i, "fresh", 0)) for i in range(fresh)]
    explained = objective.explain(permutation, generator(0, "fresh", 0))
    distance = explained["structural_hamming_distance"]
    return {
        "score": float(np.mean(values)),
        "standard_error": float(np.std(values, ddof=1) / np.sqrt(fresh)),
        "neg_log_likelihood": explained["neg_log_likelihood"],
        **{f"shd_{part}": distance[part] for part in SHD},
        "permutation": " ".join(map(str, permutation)),
    }


def report(rows: pd.DataFrame, effort: Effort) -> str:
    """A section for every network: the best ordering known, and the table of the methods beside the paper's."""
    parts = [
        "# Table 2 of the paper, run again\n",
        f"{machine(len(os.sched_getaffinity(0)))} Regenerate with `python -m experiments.structure_learning`.\n",
        "Means over the seeds +- their standard errors, in nats. Gap: the score of the best ordering found, less that "
        "of the best ordering known for the same data and skeleton; both are means over the same "
        f"{effort.fresh} fresh seeds, since the best value seen, the least of many noisy ones, is too low. The paper's "
        "figures are best values on other rows of data: compare methods within a column. SHD: structural Hamming "
        "distance to the true network. Seconds: processor time of choosing in a run, on one thread.\n",
    ]
    rows = rows.drop_duplicates([*Run._fields, "evaluations"])
    parts += [section(of_network) for _, of_network in rows.groupby("network", sort=False)]
    return "\n".join(parts)


def section(rows: pd.DataFrame) -> str:
    """What was found for one network: a line on the best ordering known, and a Markdown table of the methods."""
    network, best = rows["network"].iloc[0], rows.loc[rows["score"].idxmin()]
    figures = paper.figures()
    theirs = figures[figures["problem"] == f"nml:{network}"].set_index(["method", "evaluations"])
    rows = rows.assign(gap=rows["score"] - best["score"])
    header = ["method", "evaluations", "runs", "gap", "best value seen", "paper", "SHD", "seconds"]
    lines: list[list[Any]] = []
    for (method, evaluations), group in rows.groupby(["method", "evaluations"]):
        means = [plus_minus(group[column].mean(), group[column].sem(), 1) for column in ("gap", "found")]
        figure = theirs.reindex([(method, evaluations)]).iloc[0]
        published = plus_minus(figure["mean"], figure["standard_error"], 1)
        shd, seconds = group["shd_total"].mean(), group["seconds"].mean()
        lines.append([method, evaluations or "", len(group), *means, published, shd, seconds])
    known = f"The best ordering known has {plus_minus(best['score'], best['standard_error'], 1)} nats."
    return f"## {network}\n\n{known}\n\n{markdown.table(header, lines, 1)}"


if __name__ == "__main__":
    main()
