import itertools

import numpy as np

from law_ray.runs.objective import BlackBox
from law_ray.runs.report.sections.settled import adjacencies, placements, precedences
from law_ray.runs.report.view import View
from objectives import load
from tests.law_ray.runs.report.runs import made


def arcs(tour):
    return set(zip(tour.tolist(), np.roll(tour, -1).tolist(), strict=True))


def random_permutations(n_items, count):
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(n_items) for _ in range(count)])


def test_precedences_are_counted():
    permutations = random_permutations(5, 7)
    shares = precedences(permutations)
    for i, j in itertools.permutations(range(5), 2):
        before = [list(p).index(i) < list(p).index(j) for p in permutations]
        assert shares[i, j] == np.mean(before)
    assert np.isnan(np.diag(shares)).all()


def test_adjacencies_are_counted_on_the_closed_tour():
    permutations = random_permutations(6, 9)
    shares = adjacencies(permutations)
    for i, j in itertools.permutations(range(6), 2):
        beside = [{i, j} in [{p[k], p[k - 1]} for k in range(6)] for p in permutations.tolist()]
        assert shares[i, j] == np.mean(beside)


def test_placements_are_counted():
    permutations = random_permutations(4, 11)
    shares = placements(permutations)
    for i, k in itertools.product(range(4), range(4)):
        assert shares[i, k] == np.mean(permutations[:, k] == i)


def test_closed_tours_are_turned_towards_the_best(tmp_path):
    tour = BlackBox(load("tsp:plane7"))
    view = View.of(made(tmp_path, n_items=7, objective=tour.objective, method="random"), tour)
    best = view.run.best.permutation
    for own, shown in zip(view.permutations, view.aligned, strict=True):
        assert tour.key(own) == tour.key(shown)  # the same tour
        assert shown[0] == best[0]
        assert len(arcs(shown) & arcs(best)) >= len(arcs(shown[::-1]) & arcs(best))


def test_other_orderings_stay_as_they_are(tmp_path):
    view = View.of(made(tmp_path))
    assert (view.aligned == view.permutations).all()
