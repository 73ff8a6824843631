import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from law_ray.models.pairwise import templates
from law_ray.models.pairwise.grids import Grid, full_grids, grids_with_gaps
from law_ray.models.pairwise.templates import (
    MAX_WITH_GAPS,
    N_CLIMBS,
    NOISE_SHARES,
    Template,
    best,
    log_evidence,
    others,
)
from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import symmetric, value


def entries_of(D):
    """Return the entries above the diagonal, of mean square 1."""
    entries = D[np.triu_indices(len(D), 1)]
    return entries / np.sqrt(np.mean(entries**2))


def values_of(D, X, rng):
    """Return standardized values of assignments to places at the distances D."""
    F = symmetric(rng, len(D))
    y = np.array([value(F, D, 5.0, x) for x in X])
    return (y - y.mean()) / y.std()


def test_the_matrices_that_are_no_grids_are_a_cycle_and_neighbours():
    found = others(9)
    cycle, path = nx.cycle_graph(9), nx.path_graph(9)
    np.testing.assert_array_equal(found["cycle"], nx.floyd_warshall_numpy(cycle, range(9)))
    np.testing.assert_array_equal(found["neighbours on a line"], nx.to_numpy_array(path))
    np.testing.assert_array_equal(found["neighbours on a cycle"], nx.to_numpy_array(cycle))
    assert len(found) == 3


def test_the_evidence_is_that_of_the_gaussian_with_the_best_scale_and_noise():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(15, 6))

    def directly(z):
        def loss(log_scale, share):
            covariance = np.exp(log_scale) * (A @ A.T / 6 + share * np.eye(15))
            return -multivariate_normal(np.zeros(15), covariance).logpdf(z)

        return max(-minimize_scalar(loss, args=(share,)).fun for share in NOISE_SHARES)

    values = [A @ rng.normal(size=6) + deviation * rng.normal(size=15) for deviation in (0.01, 0.5, 5.0)]
    for first, second in itertools.pairwise(values):
        expected = directly(first) - directly(second)
        assert log_evidence(A, first) - log_evidence(A, second) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("of_items", [False, True])
@pytest.mark.parametrize("grid", [Grid((3, 4)), Grid((4, 3)), Grid((12,))])
def test_the_distances_that_the_values_were_made_of_are_found(grid, of_items):
    rng = np.random.default_rng(0)
    X = sample(12, 60, rng)
    found = best(invert(X) if of_items else X, values_of(grid.distances(), X, rng))
    assert (found.name, found.of_items, found.n) == (str(grid), of_items, 60)
    np.testing.assert_allclose(found.entries, entries_of(grid.distances()))


@pytest.mark.parametrize("name", ["cycle", "neighbours on a line", "neighbours on a cycle"])
def test_shapes_that_are_no_grids_are_found(name):
    rng = np.random.default_rng(0)
    X, D = sample(12, 60, rng), others(12)[name]
    found = best(X, values_of(D, X, rng))
    assert (found.name, found.of_items, found.penalty) == (name, False, 0.0)
    np.testing.assert_allclose(found.entries, entries_of(D))


@pytest.mark.parametrize("missing", [(0,), (5,), (0, 3)])
def test_cells_that_are_missing_are_found(missing):
    rng = np.random.default_rng(0)
    grid = Grid((3, 5), missing)
    X = sample(15 - len(missing), 200, rng)
    found = best(X, values_of(grid.distances(), X, rng))
    np.testing.assert_allclose(found.entries, entries_of(grid.distances()))
    assert "3 x 5" in found.name or "5 x 3" in found.name


@pytest.mark.parametrize("grid", [Grid((2, 8), steps=(2.0, 1.0)), Grid((3, 4), steps=(0.25, 1.0))])
def test_steps_of_other_lengths_are_found(grid):
    rng = np.random.default_rng(0)
    X = sample(grid.n_cells, 200, rng)
    found = best(X, values_of(grid.distances(), X, rng))
    np.testing.assert_allclose(found.entries, entries_of(grid.distances()))
    assert found.name == str(grid)


def test_the_evidence_of_a_matrix_does_not_depend_on_its_scale():
    rng = np.random.default_rng(0)
    X, D = sample(9, 30, rng), Grid((3, 3)).distances()
    side = templates._Side(False, invert(X), values_of(D, X, rng))
    assert side.evidence(D) == pytest.approx(side.evidence(7.0 * D))
    assert side.evidence(D) > side.evidence(Grid((9,)).distances()) + 5.0


def test_climbs_only_improve_and_end_where_no_move_does():
    rng = np.random.default_rng(1)
    X, z = sample(11, 40, rng), rng.normal(size=40)
    side = templates._Side(False, invert(X), z - z.mean())
    start = side.judged(Grid((2, 6), (4,)))
    end = templates._climbed(start)
    assert end.evidence > start.evidence
    assert all(side.judged(move(end.grid)).evidence <= end.evidence for move in end.grid.moves())


def test_a_climb_ends_where_all_grids_are_as_good():
    """As those of one value are."""
    tried = []

    class Side:
        def judged(self, grid):
            tried.append(grid)
            assert len(tried) < 1000
            return templates._Judged(0.0, grid, self)

    start = templates._Judged(0.0, Grid((2, 6), (4,)), Side())
    assert templates._climbed(start) is start
    assert 0 < len(tried) <= len(list(start.grid.moves()))


def test_a_template_found_earlier_stays_where_none_is_better(monkeypatch):
    rng = np.random.default_rng(0)
    X, D = sample(12, 100, rng), symmetric(rng, 12)  # no distances of any shape
    z = values_of(D, X, rng)
    true, wrong = (Template.of(name, matrix, False, 50) for name, matrix in (("true", D), ("wrong", D[::-1, ::-1])))
    found = best(X, z, [wrong, true])
    assert (found.name, found.n) == ("true", 100)
    np.testing.assert_array_equal(found.entries, true.entries)
    assert best(X, z, [wrong]).name != "wrong"
    of_items = best(invert(X), z, [true._replace(of_items=True)])
    assert (of_items.name, of_items.of_items) == ("true", True)


def test_of_many_values_some_from_all_over_are_used(monkeypatch):
    monkeypatch.setattr(templates, "MAX_VALUES", 60)
    rng = np.random.default_rng(0)
    D, F, X = Grid((4, 3)).distances(), symmetric(rng, 12), sample(12, 600, rng)
    z = rng.normal(size=600)
    used = np.unique(np.linspace(0, 599, 60).astype(int))
    z[used] = [value(F, D, 0.0, x) for x in X[used]]
    np.testing.assert_allclose(best(X, z).entries, entries_of(D))


def test_the_best_is_of_largest_evidence_with_an_unknown_constant(monkeypatch):
    """The constant is integrated out by centring the features: without that, other matrices would be the best."""
    monkeypatch.setattr(templates, "_climbed", lambda judged: judged)
    changed = 0
    i, j = np.triu_indices(8, 1)
    matrices = {str(grid): grid.distances() for grid in full_grids(8)} | others(8)
    matrices |= {str(grid): grid.distances() for grid in grids_with_gaps(8)}
    penalties = {str(grid): grid.penalty(12) for grid in (*full_grids(8), *grids_with_gaps(8))}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, z = sample(8, 12, rng), rng.normal(size=12)
        evidences = {}
        for centred, (of_items, rows) in itertools.product((True, False), ((False, invert(X)), (True, X))):
            for name, D in matrices.items():
                A = D[rows[:, i], rows[:, j]] / np.sqrt(np.mean(D[i, j] ** 2))
                A = A - A.mean(axis=0) if centred else A
                evidences[centred, name, of_items] = log_evidence(A, z - z.mean()) - penalties.get(name, 0.0)
        found = best(X, z)
        right, wrong = (max((e, *key[1:]) for key, e in evidences.items() if key[0] is c) for c in (True, False))
        same = found.entries, entries_of(matrices[right[1]])  # shapes of other names may have the same distances
        assert found.of_items == right[2]
        np.testing.assert_allclose(*same)
        changed += right[1:] != wrong[1:]
    assert changed > 0


def test_with_many_items_there_are_full_grids_alone(monkeypatch):
    asked, climbs = [], []
    monkeypatch.setattr(templates, "grids_with_gaps", lambda n: asked.append(n) or iter(()))
    monkeypatch.setattr(templates, "_climbed", lambda judged: climbs.append(judged.grid.n_cells) or judged)
    for n_items in (MAX_WITH_GAPS, MAX_WITH_GAPS + 1):
        rng = np.random.default_rng(0)
        best(sample(n_items, 5, rng), rng.normal(size=5))
    assert asked == [MAX_WITH_GAPS]
    assert climbs == N_CLIMBS * [MAX_WITH_GAPS]


def test_with_many_items_the_grid_of_largest_evidence_is_found(monkeypatch):
    monkeypatch.setattr(templates, "MAX_WITH_GAPS", 11)
    rng = np.random.default_rng(0)
    grid = Grid((3, 4))
    X = sample(12, 60, rng)
    found = best(X, values_of(grid.distances(), X, rng))
    assert (found.name, found.of_items) == (str(grid), False)


def test_the_search_climbs_from_different_shapes(monkeypatch):
    starts = []
    monkeypatch.setattr(templates, "_climbed", lambda judged: starts.append(judged) or judged)
    rng = np.random.default_rng(0)
    X = sample(14, 60, rng)
    best(X, values_of(Grid((4, 4), (0, 15)).distances(), X, rng))
    assert len(starts) == N_CLIMBS == 4
    assert len({(start.grid.shape, start.side.of_items) for start in starts}) == 4


def test_a_template_found_earlier_has_the_penalty_that_it_was_found_with():
    rng = np.random.default_rng(0)
    X, grid = sample(12, 200, rng), Grid((3, 4))
    z = values_of(grid.distances(), X, rng)
    same = best(X, z)._replace(name="the same")
    assert same.penalty == 0.0
    assert best(X, z, [same._replace(penalty=1.0)]).name == "grid of 3 x 4"
    assert best(X, z, [same._replace(penalty=-1.0)]).name == "the same"
    gap = Grid((3, 4), (5,))
    X = sample(11, 200, rng)
    assert best(X, values_of(gap.distances(), X, rng)).penalty == gap.penalty(200) == pytest.approx(np.log(12))


def test_constant_values_and_few_of_them_have_a_template():
    X = sample(9, 3, np.random.default_rng(0))
    assert best(X, np.zeros(3)).entries.shape == (36,)
