import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.graphs.equivalence import walk
from objectives.nml.regret.importance import combine, exact, plan, run
from objectives.nml.scores.multinomial import multinomial_regret, multinomial_regrets
from tests.oracles.graphs import dag_of, dags, random_dag, regret_by_sum

BRIDGE = dag_of(4, (0, 2), (1, 2), (2, 3))
"""A collider with a tail, which has no closed form."""


def estimate(*arguments, **options):
    prepared = plan(*arguments, **options)
    return combine(prepared, run(prepared, range(len(prepared.batches))))


def splits(n_rows: int) -> np.ndarray:
    """[m, a]: the maximum likelihood of all columns of m rows with a ones among them, and 0 for a > m."""
    n = np.arange(n_rows + 1)
    log_factorials = np.array([math.lgamma(k + 1) for k in n])
    logs = n * np.log(np.maximum(n, 1)) - log_factorials
    m, a = np.meshgrid(n, n, indexing="ij")
    return np.where(a <= m, np.exp(logs[a] + logs[np.maximum(m - a, 0)] - logs[m]), 0.0)


def binary_forest_regret(dag: np.ndarray, r: list[int], n_rows: int) -> float:
    """The sum over the counts of every internal node, from the leaves up; all internal nodes are binary."""
    table = splits(n_rows)
    log_c = multinomial_regrets(range(1, max(r) + 1), n_rows)

    def message(node: int) -> np.ndarray:
        """log of the sum over the node and its descendants, by the number of ones of its binary parent."""
        below = log_children(node)
        if not dag[node].any():
            return log_c[r[node] - 1] + log_c[r[node] - 1][::-1]
        top = below.max()
        sums = [
            np.convolve(table[m, : m + 1], table[n_rows - m, : n_rows - m + 1]) @ np.exp(below - top)
            for m in range(n_rows + 1)
        ]
        return top + np.log(sums)

    def log_children(node: int) -> np.ndarray:
        return sum((message(child) for child in np.flatnonzero(dag[node])), np.zeros(n_rows + 1))

    total = 0.0
    for root in np.flatnonzero(~dag.any(axis=0)):
        below = log_children(root)
        total += below.max() + math.log(table[n_rows] @ np.exp(below - below.max()))
    return total


@pytest.mark.parametrize(
    ("dag", "r", "n_rows"),
    [
        (BRIDGE, [2, 2, 3, 2], 4),
        (dag_of(4, (0, 1), (1, 2), (0, 3), (2, 3)), [2, 2, 2, 2], 5),
        (dag_of(5, (0, 2), (1, 2), (3, 4)), [2, 2, 2, 2, 2], 4),
        (dag_of(4, (0, 3), (1, 3), (2, 3)), [2, 2, 2, 2], 5),
    ],
)
def test_the_mean_estimate_is_the_sum_over_all_data(dag: np.ndarray, r: list[int], n_rows: int) -> None:
    ratios = np.exp([estimate(dag, r, n_rows, n_samples=400, seed=seed).value for seed in range(50)])
    ratios /= math.exp(regret_by_sum(dag, r, n_rows))
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert ratios.std(ddof=1) < 0.1


@pytest.mark.parametrize(
    ("dag", "r", "n_rows"),
    [
        (dag_of(5, (0, 1), (1, 2), (1, 3), (0, 4)), [2, 2, 3, 4, 5], 600),
        (dag_of(9, (0, 1), (1, 2), (1, 3), (1, 4), (0, 5), (5, 6), (5, 7), (5, 8)), [2, 2, 3, 4, 2, 2, 5, 3, 2], 600),
        (dag_of(4, (0, 1), (1, 2), (2, 3)), [2, 2, 2, 6], 1),
    ],
)
def test_binary_forests_agree_with_their_exact_sums(dag: np.ndarray, r: list[int], n_rows: int) -> None:
    found = estimate(dag, r, n_rows, target_se=0.02)
    assert abs(found.value - binary_forest_regret(dag, r, n_rows)) < 4 * found.standard_error + 1e-9
    assert found.standard_error < 0.04


@pytest.mark.parametrize("n_leaves", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_stars_are_exact_whatever_their_root(n_leaves: int, reverse: bool) -> None:
    r, n_rows = [3, 4, *[2] * n_leaves], 6 - min(n_leaves, 2)
    edges = [(1, 0) if reverse else (0, 1), *((0, leaf) for leaf in range(2, len(r)))]
    if n_leaves == 5:
        r, n_rows = [2, 2, 2, 2, 2, 1, 1], 4
    found = exact(dag_of(len(r), *edges), r, n_rows)
    assert found.value == pytest.approx(regret_by_sum(dag_of(len(r), *edges), r, n_rows), abs=1e-9)
    assert (found.standard_error, found.effective_samples) == (0.0, math.inf)
    assert estimate(dag_of(len(r), *edges), r, n_rows) == found


def test_isolated_nodes_add_their_regrets() -> None:
    r = [2, 3, 9]
    found = estimate(dag_of(3), r, 1000)
    assert found.value == pytest.approx(sum(multinomial_regret(states, 1000) for states in r), abs=1e-9)


def test_the_regrets_of_components_add() -> None:
    r = [2, 2, 3, 2]
    twice = np.kron(np.eye(2, dtype=bool), BRIDGE)
    both = plan(np.pad(twice, (0, 3)) | dag_of(11, (8, 9)), [*r, *r, 3, 4, 5], 500, n_samples=300)
    one = estimate(BRIDGE, r, 500, n_samples=300, seed=1)
    found = combine(both, run(both, range(len(both.batches))))
    edge = multinomial_regret(12, 500) + multinomial_regret(5, 500)
    error = math.hypot(found.standard_error, 2 * one.standard_error)
    assert abs(found.value - 2 * one.value - edge) < 4 * error
    assert found.standard_error == pytest.approx(math.sqrt(2) * one.standard_error, rel=0.5)
    assert len(both.parts) == 2


@settings(max_examples=25, deadline=None)
@given(dags(6), st.data())
def test_equivalent_dags_have_identical_estimates(dag: np.ndarray, data: st.DataObject) -> None:
    r = data.draw(st.lists(st.integers(1, 4), min_size=len(dag), max_size=len(dag)))
    other = data.draw(st.sampled_from(list(itertools.islice(walk(dag, np.random.default_rng(0)), 20))))
    assert estimate(other, r, 40, n_samples=20, seed=3) == estimate(dag, r, 40, n_samples=20, seed=3)


def test_the_value_does_not_depend_on_how_the_batches_are_divided() -> None:
    dag = random_dag(7, 0.4, np.random.default_rng(1))
    arguments = dag, [2, 3, 2, 4, 2, 3, 2], 300
    prepared = plan(*arguments, n_samples=1500, seed=8)
    whole = combine(prepared, run(prepared, range(len(prepared.batches))))
    again = pickle.loads(pickle.dumps(plan(*arguments, n_samples=1500, seed=8)))
    results = [result for first in (2, 0, 1) for result in run(again, range(first, len(again.batches), 3))]
    assert len(prepared.batches) > 3
    assert combine(again, pickle.loads(pickle.dumps(results))) == whole
    assert whole != estimate(*arguments, n_samples=1500, seed=9)


def test_there_are_as_many_particles_as_requested() -> None:
    for n_samples in (1, 7, 256, 1001):
        assert sum(size for _, size in plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=n_samples).batches) == n_samples


def test_every_batch_must_be_run_once() -> None:
    prepared = plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=1000)
    with pytest.raises(InputError, match="3 of 4 batches"):
        combine(prepared, run(prepared, range(3)))


@pytest.mark.parametrize("target_se", [0.02, 0.05])
def test_the_standard_error_meets_the_target_and_the_spread_of_repeats(target_se: float) -> None:
    dag = random_dag(9, 0.35, np.random.default_rng(4))
    r = [2, 3, 2, 4, 3, 2, 3, 2, 3]
    found = [estimate(dag, r, 2000, target_se=target_se, seed=seed) for seed in range(30)]
    reported = math.sqrt(np.mean([each.standard_error**2 for each in found]))
    assert reported < 1.3 * target_se
    assert 1 / 1.6 < np.std([each.value for each in found], ddof=1) / reported < 1.6


@pytest.mark.parametrize(("n_rows", "largest"), [(1, 5), (2, 40), (30, 40)])
def test_the_regret_of_a_wide_frontier_is_within_its_bounds(n_rows: int, largest: int) -> None:
    """30 parents of one child: their configurations outgrow 64 bits. Only the child is not drawn."""
    p = 31
    dag = dag_of(p, *((parent, p - 1) for parent in range(p - 1)))
    found = estimate(dag, [largest] * p, n_rows, n_samples=64)
    # the child adds at most log r a row to independent columns
    independent = (p - 1) * multinomial_regret(largest, n_rows)
    error = 4 * found.standard_error + 1e-9
    assert independent - error < found.value < independent + n_rows * math.log(largest) + error
    if n_rows == 1:
        assert found.value == pytest.approx(p * math.log(largest), abs=1e-9)


def test_hopeless_and_inexact_evaluations_are_refused() -> None:
    dense = np.triu(np.ones((40, 40), dtype=bool), 1)
    with pytest.raises(InputError, match="minutes: choose a larger target_se"):
        plan(dense, [3] * 40, 10_000, n_samples=10_000_000)
    with pytest.raises(InputError, match="GB: use fewer rows"):
        plan(dense, [3] * 40, 3_000_000, n_samples=64)
    with pytest.raises(InputError, match=r"component of 4 nodes .* choose estimator='importance'"):
        exact(BRIDGE, [2, 2, 3, 2], 50)
