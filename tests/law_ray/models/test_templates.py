import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from law_ray.models import templates
from law_ray.models.templates import NOISE_SHARES, best, log_evidence, matrices
from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import symmetric, value


def distances(graph):
    """Return the lengths of the shortest paths between all nodes, in their order."""
    return nx.floyd_warshall_numpy(graph, sorted(graph))


def contains(found, wanted):
    return any(np.array_equal(each, wanted) for _, each in found)


def test_the_matrices_are_the_distances_on_grids_and_on_a_cycle_and_the_neighbours():
    found = list(matrices(12))
    names = [name for name, _ in found]
    assert {"line", "grid of 3 x 4", "grid of 2 x 2 x 3", "cycle"} < set(names)
    assert names[-2:] == ["neighbours on a line", "neighbours on a cycle"]
    shapes = [(12,), (2, 6), (6, 2), (3, 4), (4, 3), (2, 2, 3), (2, 3, 2), (3, 2, 2)]
    expected = [distances(nx.grid_graph(shape[::-1])) for shape in shapes]
    expected += [distances(nx.cycle_graph(12)), nx.to_numpy_array(nx.path_graph(12))]
    expected.append(nx.to_numpy_array(nx.cycle_graph(12)))
    assert len(found) == len(expected)
    assert all(contains(found, each) for each in expected)


def test_a_hypercube_is_a_grid_of_two_in_every_direction():
    assert contains(matrices(16), distances(nx.hypercube_graph(4)))


@pytest.mark.parametrize(("n_items", "n_grids"), [(13, 1), (22, 3), (30, 13), (32, 16), (36, 26)])
def test_there_are_as_many_grids_as_ordered_factorisations(n_items, n_grids):
    assert len(list(matrices(n_items))) == n_grids + 3


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
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (12,)])
def test_the_distances_that_the_values_were_made_of_are_found(shape, of_items):
    rng = np.random.default_rng(0)
    D, F, X = distances(nx.grid_graph(shape[::-1])), symmetric(rng, 12), sample(12, 60, rng)
    y = np.array([value(F, D, 5.0, x) for x in X])
    found = best(invert(X) if of_items else X, (y - y.mean()) / y.std())
    assert found.of_items is of_items
    assert found.name == ("line" if shape == (12,) else f"grid of {shape[0]} x {shape[1]}")
    entries = D[np.triu_indices(12, 1)]
    np.testing.assert_allclose(found.entries, entries / np.sqrt(np.mean(entries**2)))


def test_of_many_values_some_from_all_over_are_used(monkeypatch):
    monkeypatch.setattr(templates, "MAX_VALUES", 60)
    rng = np.random.default_rng(0)
    D, F, X = distances(nx.grid_graph((4, 3))), symmetric(rng, 12), sample(12, 600, rng)
    z = rng.normal(size=600)
    used = np.unique(np.linspace(0, 599, 60).astype(int))
    z[used] = [value(F, D, 0.0, x) for x in X[used]]
    entries = D[np.triu_indices(12, 1)]
    np.testing.assert_allclose(best(X, z).entries, entries / np.sqrt(np.mean(entries**2)))


def test_the_best_is_of_largest_evidence_with_an_unknown_constant():
    """The constant is integrated out by centring the features: without that, other matrices would be the best."""
    changed = 0
    i, j = np.triu_indices(8, 1)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, z = sample(8, 12, rng), rng.normal(size=12)
        evidences = {}
        for centred in (True, False):
            for of_items, rows in ((False, invert(X)), (True, X)):
                for name, D in matrices(8):
                    A = D[rows[:, i], rows[:, j]]
                    A = A - A.mean(axis=0) if centred else A
                    evidences[centred, name, of_items] = log_evidence(A, z - z.mean())
        found = best(X, z)
        right, wrong = (max((e, *key[1:]) for key, e in evidences.items() if key[0] is c)[1:] for c in (True, False))
        assert (found.name, found.of_items) == right
        changed += right != wrong
    assert changed > 0


def test_constant_values_and_few_of_them_have_a_template():
    X = sample(9, 3, np.random.default_rng(0))
    assert best(X, np.zeros(3)).entries.shape == (36,)
