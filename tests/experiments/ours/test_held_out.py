import itertools

import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.held_out import BUDGET, DRAWN, METHODS, PROBLEMS, play_alone, problem, report
from experiments.runs import COLUMNS, CONTESTANTS, Run
from experiments.tasks import read
from tests.experiments.committed import check_committed


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_the_same_every_time_and_takes_any_ordering(name):
    first, again = problem(name), problem(name)
    assert first.fingerprint == again.fingerprint
    X = [np.random.default_rng(seed).permutation(first.n_items) for seed in range(5)]
    values = [first(x) for x in X]
    assert values == [again(x) for x in X]
    assert len(set(values)) == (4 if name == "bandwidth" else 5)  # two orderings have the same bandwidth
    assert np.isfinite(values).all()


def test_the_problems_differ_and_the_methods_exist():
    assert len({problem(name).fingerprint for name in PROBLEMS}) == len(PROBLEMS)
    assert set(METHODS) <= set(CONTESTANTS)


def test_linear_ordering_follows_its_definition():
    found = problem("linear ordering")
    x = np.random.default_rng(0).permutation(found.n_items)
    assert found(x) == sum(found.gains[x[j], x[i]] for i, j in itertools.combinations(range(found.n_items), 2))


def test_tardiness_follows_its_definition():
    found = problem("weighted tardiness")
    x = np.random.default_rng(0).permutation(found.n_items)
    clock, total = 0.0, 0.0
    for job in x:
        clock += found.times[job]
        total += found.weights[job] * max(0.0, clock - found.due[job])
    assert found(x) == pytest.approx(total)


def test_bandwidth_follows_its_definition():
    found = problem("bandwidth")
    x = np.random.default_rng(0).permutation(found.n_items).tolist()
    edges = np.argwhere(found.adjacency)
    assert found(x) == max(abs(x.index(i) - x.index(j)) for i, j in edges)
    assert len(edges) > 0 and np.array_equal(found.adjacency, found.adjacency.T)


def test_a_run_leaves_a_row_of_the_whole_budget():
    (row,) = play_alone(Run(next(iter(DRAWN)), "random", 0, 0))
    assert tuple(row) == COLUMNS
    assert row["evaluations"] == BUDGET.evaluations()


def test_the_report_gives_means_relative_to_the_best_value_found():
    rows = [
        ("linear ordering", m, 0, r, 330, 1.0, f"30:300 100:{v}")
        for m, r, v in [("law-auto", 0, 100), ("law-auto", 1, 120), ("random", 0, 220)]
    ]
    text = report(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert "| law-auto | 2 | 110.00 +- 10.00 | 10.0% | 10.0% |" in text
    assert "| random | 1 | 220.00 | 120.0% | 120.0% |" in text
    assert "| law-auto | 1.00 |" in text


def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("held_out", report(read(RESULTS / "held_out.csv", COLUMNS)))
