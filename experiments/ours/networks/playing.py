"""The runs of the experiment: which there are, and the row that each leaves."""

import itertools
import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.ours.networks.isolated import Learned, learn
from experiments.ours.networks.methods import METHODS, learner
from experiments.tasks import Row
from law_ray.optimizer import Optimizer
from law_ray.runs.reevaluation import N_FINALISTS
from law_ray.typing import BoolArray, IntArray
from law_ray.utils.seeding import generator
from objectives.nml import NML
from objectives.nml.data import exports
from objectives.nml.data.networks import sample_network
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import (
    StructuralHammingDistance,
    cpdag,
    distance_of_graphs,
    structural_hamming_distance,
)
from objectives.nml.scores.contingency import configurations, parents_of

FRESH_ROWS = 10_000
FRESH_SEED = 1_000_000
"""Added to the seed of a data set for that of its fresh rows."""
N_INIT, BATCH_SIZE = 20, 10
SEARCH_SE = 0.5
"""Standard error of the regret during a search, in nats (heuristic): networks differ by more, finalists are redrawn."""
FRESH_DRAWS = 10
"""The N_FINALISTS best are evaluated this many times more, and the best mean wins (heuristic)."""
PER = 1_000
"""Fresh rows whose log-likelihood is stored: rows of results keep three decimals."""
PSEUDO_COUNT = 0.5
"""Of each state in the probabilities that fresh rows are predicted with (Krichevsky & Trofimov 1981)."""
SHD = ("total", "skeleton", "orientation")
COLUMNS = (
    *("network", "n_rows", "seed", "method", "total", "standard_error"),
    *(f"shd_{part}" for part in SHD),
    *("held_out", "edges", "seconds", "stopped"),
)


class Run(NamedTuple):
    """What identifies a run: the first columns of its row."""

    network: str
    n_rows: int
    seed: int
    method: str

    def __str__(self) -> str:
        return " ".join(map(str, self))


class Effort(NamedTuple):
    """How much work a run may do."""

    evals: int
    """evaluations of law_ray"""
    limit: float
    """seconds after which a learner of another library is stopped"""


EFFORT = Effort(evals=100, limit=600.0)
"""Of the committed rows."""


def planned(networks: Iterable[str], n_rows: Iterable[int], methods: Sequence[str], seeds: int) -> list[Run]:
    """Return the runs, by seeds, and those of a network by the number of rows."""
    each = itertools.product(range(seeds), networks, sorted(n_rows), methods)
    return [Run(network, size, seed, method) for seed, network, size, method in each]


def play(run: Run, effort: Effort = EFFORT) -> list[Row]:
    """Return the row of a run."""
    table = sample_network(run.network, run.n_rows, run.seed)
    if METHODS[run.method].kind == "probable":
        return [probable(table, run)]
    learned = found(effort, run, table)
    if learned is None:
        return [{**dict.fromkeys(COLUMNS, np.nan), **run._asdict(), "seconds": effort.limit, "stopped": True}]
    return [{**run._asdict(), **measured(table, learned.dag, run), "seconds": learned.seconds, "stopped": False}]


def found(effort: Effort, run: Run, table: Table) -> Learned | None:
    """Return the network of a run; None if its learner was stopped. The time of our own methods is processor time."""
    method = METHODS[run.method]
    if method.kind == "truth":
        assert table.true_dag is not None
        return Learned(table.true_dag, 0.0)
    if method.kind == "learner":
        return learn(learner(run.method), table, effort.limit)
    start = time.process_time()
    if method.kind == "law":
        dag = law(table, method.score, run.seed, effort.evals)
    else:
        dag = greedy(table, method.score, run.seed)
    return Learned(dag, time.process_time() - start)


def greedy(table: Table, score: str, seed: int) -> BoolArray:
    """Return the best network of the greedy search, on a decomposable score or on the one that guides "nml".

    It is the first that `law` evaluates.
    """
    objective = NML(table, score)
    return objective.dag(_starts(objective, seed)[0])


def probable(table: Table, run: Run) -> Row:
    """Return the row of the greedy network without its edges that are less probable than not.

    What is left stands in for no distribution, so it has no total. The seconds are those of the search and the chain.
    """
    assert table.true_dag is not None
    start = time.process_time()
    objective = NML(table, METHODS[run.method].score)
    ordering = _starts(objective, run.seed)[0]
    dag, probabilities = objective.dag(ordering), objective.edge_probabilities(ordering)
    graph = cpdag(dag) & (probabilities + probabilities.T >= exports.PROBABLE)
    seconds = time.process_time() - start
    return {
        **dict.fromkeys(COLUMNS, np.nan),
        **run._asdict(),
        **_shd(distance_of_graphs(graph, cpdag(table.true_dag))),
        "edges": int(np.triu(graph | graph.T).sum()),
        "seconds": seconds,
        "stopped": False,
    }


def law(table: Table, score: str, seed: int, evals: int) -> BoolArray:
    """Return the network that law_ray finds with a score, in this process.

    As `law_ray.minimize` does, but that the regret has a standard error of SEARCH_SE, and the best are evaluated again.
    """
    objective = NML(table, score, target_se=SEARCH_SE if score == "nml" else None)
    optimizer = Optimizer(
        objective.n_items,
        "law-auto",
        seed,
        N_INIT,
        key=objective.key,
        start=_starts(objective, seed),
        noisy=objective.noisy,
    )
    while trials := optimizer.ask_up_to(BATCH_SIZE, evals=evals):
        for trial in trials:
            value, error = _pair(objective(trial.permutation, generator(seed, "evaluate", trial.id)))
            optimizer.tell(trial.id, value, error)
    best = sorted((trial for trial in optimizer.trials if trial.known), key=lambda trial: trial.value)[:N_FINALISTS]
    if not objective.noisy:
        return objective.dag(best[0].permutation)
    means = [_mean(objective, trial.permutation, seed) for trial in best]
    return objective.dag(best[int(np.argmin(means))].permutation)


def _starts(objective: NML, seed: int) -> IntArray:
    return objective.starts(N_INIT, generator(seed, "starts", 0))


def _pair(value: float | tuple[float, float]) -> tuple[float, float | None]:
    return value if isinstance(value, tuple) else (value, None)


def _mean(objective: NML, permutation: IntArray, seed: int) -> float:
    """The mean value of an ordering over fresh draws, the same for all orderings."""
    draws = [_pair(objective(permutation, generator(seed, "again", i)))[0] for i in range(FRESH_DRAWS)]
    return float(np.mean(draws))


def measured(table: Table, dag: BoolArray, run: Run) -> Row:
    """Return the columns that compare a network with the others and with the truth, in nats and edges."""
    assert table.true_dag is not None
    parts = NML(table).parts_of(dag, generator(0, "score", 0))  # equivalent networks get equal totals
    distance = structural_hamming_distance(dag, table.true_dag)
    fresh = sample_network(run.network, FRESH_ROWS, run.seed + FRESH_SEED)
    order = [fresh.names.index(name) for name in table.names]
    return {
        "total": parts["total"],
        "standard_error": parts["standard_error"],
        **_shd(distance),
        "held_out": held_out(table, dag, np.asfortranarray(fresh.codes[:, order])),
        "edges": int(dag.sum()),
    }


def _shd(distance: StructuralHammingDistance) -> Row:
    return {f"shd_{part}": getattr(distance, part) for part in SHD}


def held_out(table: Table, dag: BoolArray, fresh: IntArray) -> float:
    """Return the mean log-likelihood of fresh rows (m, p), in nats for PER of them, given the probabilities of a table.

    A state k of a node has the probability (n_ijk + 1/2) / (n_ij + r_i / 2).
    """
    r = table.cardinalities
    both = np.asfortranarray(np.vstack([table.codes, fresh]))
    old = np.arange(len(both)) < len(table.codes)
    total = 0.0
    for child in range(len(dag)):
        states = int(r[child])
        labels, q = configurations(both, r, parents_of(dag, child), 10**6)
        cells = labels * states + both[:, child]
        counts = np.bincount(cells[old], minlength=q * states)
        of_parents = counts.reshape(q, states).sum(axis=1)
        new = ~old
        chances = (counts[cells[new]] + PSEUDO_COUNT) / (of_parents[labels[new]] + PSEUDO_COUNT * states)
        total += math.fsum(np.log(chances))
    return PER * total / len(fresh)
