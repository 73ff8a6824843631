"""DAGs and data for the tests, and likelihoods and regrets by direct sums."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from objectives.nml.regret.draw_order import Component


def dag_of(p: int, *edges: tuple[int, int]) -> np.ndarray:
    """The DAG over p nodes with these (parent, child) edges."""
    dag = np.zeros((p, p), dtype=bool)
    for parent, child in edges:
        dag[parent, child] = True
    return dag


def all_dags(p: int) -> Iterator[np.ndarray]:
    """Every DAG over p nodes, once."""
    pairs = list(itertools.combinations(range(p), 2))
    for choice in itertools.product((0, 1, 2), repeat=len(pairs)):
        edges = [(a, b) if way == 1 else (b, a) for (a, b), way in zip(pairs, choice, strict=True) if way]
        dag = dag_of(p, *edges)
        if not np.linalg.matrix_power(dag.astype(np.int64), p).any():
            yield dag


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 6) -> np.ndarray:
    """A strategy: any DAG over 2..max_nodes nodes."""
    p = draw(st.integers(2, max_nodes))
    order = np.array(draw(st.permutations(range(p))))
    upper = np.triu(np.array(draw(st.lists(st.booleans(), min_size=p * p, max_size=p * p))).reshape(p, p), 1)
    dag = np.zeros((p, p), dtype=bool)
    dag[np.ix_(order, order)] = upper
    return dag


def random_dag(p: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """A DAG along a random order, each edge with probability `density`."""
    order = rng.permutation(p)
    dag = np.zeros((p, p), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((p, p)) < density, 1)
    return dag


def component_of(dag: np.ndarray, r: list[int]) -> Component:
    """A connected DAG with the cardinalities r of its nodes, as the regret's modules take it."""
    parents, children = ([tuple(np.flatnonzero(row).tolist()) for row in matrix] for matrix in (dag.T, dag))
    return Component(tuple(parents), tuple(children), tuple(r))


def random_codes(n_rows: int, cardinalities: np.ndarray, seed: int) -> np.ndarray:
    """Rows of independent uniform states."""
    return np.random.default_rng(seed).integers(0, cardinalities, size=(n_rows, len(cardinalities)))


def log_likelihood_by_rows(codes: np.ndarray, dag: np.ndarray) -> float:
    """The maximum log-likelihood, summed over rows: the log frequency of the row's state given its parents."""
    total = 0.0
    for child in range(len(dag)):
        parents = np.flatnonzero(dag[:, child])
        for row in codes:
            same_parents = (codes[:, parents] == row[parents]).all(axis=1)
            total += np.log((codes[same_parents, child] == row[child]).mean())
    return total


def regret_by_sum(dag: np.ndarray, r: list[int], n_rows: int) -> float:
    """The NML regret in nats as the sum over all data sets, by the counts of all joint configurations."""
    rows = np.array(list(itertools.product(*(range(states) for states in r))))
    cuts = np.array(list(itertools.combinations(range(n_rows + len(rows) - 1), len(rows) - 1)))
    edges = np.hstack([np.full((len(cuts), 1), -1), cuts, np.full((len(cuts), 1), n_rows + len(rows) - 1)])
    counts = np.diff(edges, axis=1) - 1  # stars and bars
    log_factorials = np.cumsum(np.log(np.maximum(np.arange(n_rows + 1), 1)))
    logs = log_factorials[n_rows] - log_factorials[counts].sum(axis=1)
    for child in range(len(dag)):
        parents = np.flatnonzero(dag[:, child])
        for columns, sign in (([*parents, child], 1), (list(parents), -1)):
            configurations = np.unique(rows[:, columns], axis=0, return_inverse=True)[1].ravel()
            table = counts @ np.eye(configurations.max() + 1, dtype=np.int64)[configurations]
            logs = logs + sign * (table * np.log(np.maximum(table, 1))).sum(axis=1)
    return math.log(math.fsum(np.exp(logs)))


def multinomial_regret_by_sum(r: int, n: int) -> float:
    """The NML regret of one variable of r states over n rows, in nats, as the sum over all counts."""
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=r):
        if sum(counts) == n:
            ways = math.factorial(n) // math.prod(math.factorial(count) for count in counts)
            total += ways * math.prod((count / n) ** count for count in counts if count)
    return math.log(total)


FRAME = pd.DataFrame(
    {
        "colour": ["red", "blue", "red", "green"],
        "size": [10, 2, 2, 10],
        "on": [True, False, True, True],
        "grade": pd.Categorical(["b", "a", "b", "b"], categories=["b", "c", "a"]),
    }
)
