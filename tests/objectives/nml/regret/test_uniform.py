import math

import numpy as np
import pytest
from scipy.stats import binom, chisquare, ks_2samp

from objectives.nml.regret import uniform
from objectives.nml.regret.elimination import eliminate, plan
from objectives.nml.regret.uniform import draw_by_counts, draw_by_rows, draw_log_likelihoods
from objectives.nml.scores.contingency import max_log_likelihood
from tests.oracles.graphs import dag_of, random_dag

GRAPHS = {
    "tree": dag_of(6, (0, 1), (1, 2), (1, 3), (3, 4), (3, 5)),
    "loops": dag_of(6, (0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 3)),
    "dense": random_dag(6, 0.8, np.random.default_rng(0)),
}
CARDINALITIES = {
    "small": np.array([2, 3, 4, 2, 3, 5]),
    "large": np.array([2, 11, 3, 9, 2, 2]),  # more states than a packed word holds
}


def by_counts(dag: np.ndarray, r: np.ndarray, n_rows: int, n_samples: int, seed: int) -> np.ndarray:
    steps = plan(dag, r.tolist(), eliminate(dag, r.tolist()))
    return draw_by_counts(steps, int(r.max()), n_rows, n_samples, np.random.default_rng(seed))


def by_numpy(dag: np.ndarray, r: np.ndarray, n_rows: int, n_samples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sets = (rng.integers(0, r, size=(n_rows, len(r))) for _ in range(n_samples))
    return np.array([max_log_likelihood(codes, r, dag) for codes in sets])


@pytest.mark.parametrize("n_rows", [1, 7, 60, 900, 5000])  # all the ways to split a count
@pytest.mark.parametrize("states", CARDINALITIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_counts_and_rows_have_the_same_distribution(graph: str, states: str, n_rows: int) -> None:
    dag, r = GRAPHS[graph], CARDINALITIES[states]
    counts = by_counts(dag, r, n_rows, 1500, 1)
    rows = draw_by_rows(dag, r, n_rows, 1500, np.random.default_rng(2))
    assert ks_2samp(counts.round(9), rows.round(9)).pvalue > 0.001


@pytest.mark.parametrize("graph", GRAPHS)
def test_rows_have_the_distribution_of_whole_data_sets(graph: str) -> None:
    dag, r = GRAPHS[graph], CARDINALITIES["small"]
    rows = draw_by_rows(dag, r, 40, 1500, np.random.default_rng(3))
    assert ks_2samp(rows.round(9), by_numpy(dag, r, 40, 1500, 4).round(9)).pvalue > 0.001


def test_rows_renumber_configurations_without_changing_the_distribution() -> None:
    """A family of 2^9 configurations over 20 rows."""
    dag, r = dag_of(10, *((parent, 9) for parent in range(9))), np.full(10, 2)
    rows = draw_by_rows(dag, r, 20, 2000, np.random.default_rng(5))
    assert ks_2samp(rows.round(9), by_numpy(dag, r, 20, 2000, 6).round(9)).pvalue > 0.001


@pytest.mark.parametrize(("n_rows", "r"), [(30, 3), (64, 7), (200, 2), (5000, 4), (40, 12)])
def test_a_single_column_splits_into_binomial_counts(n_rows: int, r: int) -> None:
    steps = uniform._binomials(r, n_rows), uniform._packed_splits()
    rng = np.random.default_rng(7)
    counts = np.zeros(1 + r, dtype=np.int32)
    counts[0] = n_rows
    drawn = np.empty((20_000, r), dtype=np.int64)
    for sample in range(len(drawn)):
        uniform._split(rng, counts, 0, 1, 1, r, *steps)
        drawn[sample] = counts[1:]
    assert (drawn.sum(axis=1) == n_rows).all()
    for cell in (0, r // 2, r - 1):
        edges = np.unique(binom.ppf(np.linspace(0, 1, 12)[1:-1], n_rows, 1 / r))
        expected = np.diff(binom.cdf(np.r_[-1, edges, n_rows], n_rows, 1 / r))
        observed = np.bincount(np.searchsorted(edges, drawn[:, cell]), minlength=len(expected))
        kept = expected > 0
        assert chisquare(observed[kept], len(drawn) * expected[kept]).pvalue > 0.001


def test_draws_follow_wilks_theorem() -> None:
    """2 (log ML + N sum log r) is asymptotically chi-square with as many degrees of freedom as free parameters."""
    dag, r, n_rows = GRAPHS["loops"], CARDINALITIES["small"], 50_000
    draws = by_counts(dag, r, n_rows, 3000, 8) + n_rows * np.log(r).sum()
    k = sum((r[child] - 1) * math.prod(np.array(r)[dag[:, child]].tolist()) for child in range(len(r)))
    assert abs(draws.mean() - k / 2) < 4 * math.sqrt(k / 2 / 3000)
    assert draws.var() == pytest.approx(k / 2, rel=0.15)


def test_the_cheaper_sampler_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(uniform, "draw_by_counts", lambda *_: called.append("counts"))
    monkeypatch.setattr(uniform, "draw_by_rows", lambda *_: called.append("rows"))
    star = dag_of(31, *((parent, 30) for parent in range(30)))
    draw_log_likelihoods(star, np.full(31, 2), 100, 1, np.random.default_rng(0))
    draw_log_likelihoods(GRAPHS["tree"], CARDINALITIES["small"], 10_000, 1, np.random.default_rng(0))
    assert called == ["rows", "counts"]
    monkeypatch.setattr(uniform, "_MAX_CELLS", 10)  # its tables have 44 cells: too many, however many rows
    draw_log_likelihoods(GRAPHS["tree"], CARDINALITIES["small"], 10_000, 1, np.random.default_rng(0))
    assert called[2:] == ["rows"]


@pytest.mark.parametrize(("n_rows", "sampler"), [(9, "rows"), (10, "counts")])
def test_a_cell_costs_as_much_as_four_values(monkeypatch: pytest.MonkeyPatch, n_rows: int, sampler: str) -> None:
    """The tree has 44 cells. A row has 6 values to draw, and its terms, of 2 variables or 1, look at 12."""
    called = []
    monkeypatch.setattr(uniform, "draw_by_counts", lambda *_: called.append("counts"))
    monkeypatch.setattr(uniform, "draw_by_rows", lambda *_: called.append("rows"))
    draw_log_likelihoods(GRAPHS["tree"], CARDINALITIES["small"], n_rows, 1, np.random.default_rng(0))
    assert called == [sampler]


@pytest.mark.parametrize(("states", "size"), [(2, 1), (256, 1), (257, 2)])
def test_a_column_has_a_byte_for_each_value_where_its_states_fit_into_one(
    monkeypatch: pytest.MonkeyPatch, states: int, size: int
) -> None:
    columns = []
    monkeypatch.setattr(uniform, "_row_kernel", lambda rng, n_samples, *given: columns.append(given[0]))
    draw_by_rows(dag_of(2, (0, 1)), np.array([2, states]), 5, 1, np.random.default_rng(0))
    assert columns[0].itemsize == size


def test_equivalent_dags_draw_the_same_values() -> None:
    """Their moral graphs and their terms are the same."""
    r = CARDINALITIES["small"][:3]
    chains = [dag_of(3, (0, 1), (1, 2)), dag_of(3, (2, 1), (1, 0)), dag_of(3, (1, 0), (1, 2))]
    first, *others = (draw_log_likelihoods(dag, r, 5000, 20, np.random.default_rng(9)) for dag in chains)
    for draws in others:
        np.testing.assert_array_equal(draws, first)
