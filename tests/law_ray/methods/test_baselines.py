import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.stats import chisquare

from law_ray import Optimizer
from law_ray.errors import UsedUpError
from law_ray.methods import baselines
from law_ray.methods.baselines import ALL_NEIGHBOURS, completed
from law_ray.methods.registry import METHODS
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import insertion_neighbours, reversal_neighbours, sample, swap_neighbours
from tests.oracles.contexts import context_after

MOVES = {
    "local-search": ALL_NEIGHBOURS,
    "local-search-swap": (swap_neighbours,),
    "local-search-insertion": (insertion_neighbours,),
    "local-search-reversal": (reversal_neighbours,),
}
slow = pytest.mark.slow
each_search = pytest.mark.parametrize("name", MOVES)


def around(point, name):
    """Return the neighbours of a point, one for each move."""
    return [tuple(p) for neighbours in MOVES[name] for p in neighbours(np.array([point]))[0].tolist()]


def tuples(permutations):
    return [tuple(p) for p in permutations.tolist()]


@each_search
def test_a_large_batch_is_first_the_free_neighbours_and_then_those_two_moves_away(name):
    X = sample(6, 4, np.random.default_rng(0))
    excluded = Exclusions(permutations=X)
    pending = np.array(around(X[2], name)[:4])  # the incumbent is X[2]
    for permutation in pending:
        excluded.add(permutation)
    near = set(around(X[2], name)) - set(tuples(X)) - set(tuples(pending))
    second = {p for centre in around(X[2], name) for p in around(centre, name)}
    batch = tuples(METHODS[name].choose(context_after(X, [3, 2, 1, 5], excluded), len(near) + 5))
    assert set(batch[: len(near)]) == near
    assert len(set(batch[len(near) :])) == 5
    assert set(batch[len(near) :]) <= second - near - set(tuples(X)) - set(tuples(pending))
    assert len(excluded) == len(set(tuples(X)) | set(tuples(pending)))  # left as it was


@pytest.mark.parametrize("seed", range(5))
def test_all_permutations_two_moves_away_come_before_those_three_moves_away_where_few_are_one_move_away(seed):
    start = (2, 0, 3, 1)
    near = set(around(start, "local-search-swap"))
    second = {p for centre in near for p in around(centre, "local-search-swap")} - near - {start}
    context = context_after([start], [1], seed=seed)
    batch = tuples(METHODS["local-search-swap"].choose(context, len(near) + len(second)))
    assert set(batch[: len(near)]) == near
    assert set(batch) == near | second


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ("local-search", "local-search-swap") else slow) for name in MOVES]
)
def test_each_move_to_a_free_neighbour_is_equally_likely(name):
    X = np.array([[2, 0, 3, 1], [0, 2, 3, 1]])  # the second is a neighbour of the first
    moves = [p for p in around(X[0], name) if p != tuple(X[1])]
    drawn = [tuples(METHODS[name].choose(context_after(X, [1, 2], seed=seed), 1))[0] for seed in range(3000)]
    distinct = sorted(set(moves))
    expected = np.array([moves.count(p) for p in distinct])
    counts = [drawn.count(p) for p in distinct]
    assert sum(counts) == len(drawn)
    assert chisquare(counts, expected / expected.sum() * len(drawn)).pvalue > 1e-3


@pytest.mark.parametrize(("y", "incumbent"), [([1, 3, 1, 2], 2), ([4, 3, 3, 3], 3), ([0, 3, 1, 2], 0), ([7], 0)])
def test_the_incumbent_is_the_last_point_that_was_not_worse_than_all_before(y, incumbent):
    X = sample(12, len(y), np.random.default_rng(1))
    batch = tuples(METHODS["local-search-swap"].choose(context_after(X, y), 20))
    assert set(batch) <= set(around(X[incumbent], "local-search-swap"))


@each_search
def test_in_batches_of_one_the_search_accepts_what_is_not_worse(name):
    """By a walk that applies the rule itself and keeps its own current point. The values have ties, and so plateaus."""
    optimizer = Optimizer(9, name, n_init=10)
    current, value, sideways, seen = None, np.inf, 0, set()
    for _ in range(150):
        (trial,) = optimizer.ask(1)
        proposed = tuple(trial.permutation.tolist())
        if trial.round > 0 and (free := set(around(current, name)) - seen):
            assert proposed in free
        seen.add(proposed)
        told = float(np.abs(np.diff(trial.permutation)).sum() // 3)
        if told <= value:
            sideways += trial.round > 0 and told == value
            current, value = trial.permutation, told
        optimizer.tell(trial.id, told)
    assert sideways > 0


@each_search
def test_all_allowed_neighbours_come_before_others(name):
    constraints = Constraints(7, [(0, 1), (1, 2), (3, 2)], {5: 6})
    X = constraints.sample(1, np.random.default_rng(2))
    near = {p for p in around(X[0], name) if constraints.allows(np.array([p]))[0]}
    batch = METHODS[name].choose(context_after(X, [1], constraints=constraints), len(near) + 3)
    assert set(tuples(batch)[: len(near)]) == near
    assert constraints.allows(batch).all()
    assert len(set(tuples(batch))) == len(near) + 3


@each_search
def test_permutations_of_one_key_count_once(name):
    excluded = Exclusions(lambda p: int(p[0]), np.array([[3, 0, 1, 2, 4, 5]]))
    batch = METHODS[name].choose(context_after([[3, 0, 1, 2, 4, 5]], [1], excluded), 5)
    assert sorted(batch[:, 0]) == [0, 1, 2, 4, 5]


@each_search
@pytest.mark.parametrize("batch_size", [1, 7, 23])
def test_the_whole_space_can_be_reached_in_one_batch_and_no_more(name, batch_size):
    everything = np.array(list(itertools.permutations(range(4))))
    X = everything[: 24 - batch_size]
    batch = METHODS[name].choose(context_after(X, np.ones(len(X))), batch_size)
    assert batch.dtype == np.int64
    assert sorted(tuples(batch)) == tuples(everything[24 - batch_size :])
    with pytest.raises(UsedUpError, match="used up"):
        METHODS[name].choose(context_after(X, np.ones(len(X))), batch_size + 1)


def test_where_no_neighbour_is_allowed_the_batch_is_random():
    between = Constraints(4, (), {1: 1, 2: 2})  # reversing all four items swaps these two
    batch = METHODS["local-search-reversal"].choose(context_after([[0, 1, 2, 3]], [1], constraints=between), 1)
    assert tuples(batch) == [(3, 1, 2, 0)]
    assert batch.dtype == np.int64


@each_search
@pytest.mark.parametrize("before", [(), [(0, 1), (4, 2)]])
def test_neighbours_that_are_made_part_by_part_are_those_that_are_made_at_once(name, before, monkeypatch):
    monkeypatch.setattr(baselines, "AT_ONCE", 7)
    constraints = Constraints(6, before)
    X = constraints.sample(2, np.random.default_rng(4))
    found = baselines._Around(X, MOVES[name])
    whole = np.concatenate([neighbours(X) for neighbours in MOVES[name]], axis=1).reshape(-1, 6)
    allowed = found.allowed(constraints)
    assert np.array_equal(allowed, np.flatnonzero(constraints.allows(whole)))
    assert np.array_equal(np.array(list(found.each(allowed[::-1]))), whole[allowed[::-1]])


def test_a_thousand_items_take_little_memory():
    X = sample(1_000, 1, np.random.default_rng(5))
    tracemalloc.start()
    batch = METHODS["local-search"].choose(context_after(X, [1]), 3)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(set(tuples(batch))) == 3
    assert most < 300_000_000


@pytest.mark.parametrize("given", [0, 2, 5])
def test_a_batch_is_completed_with_free_permutations_after_those_given(given):
    X, batch = np.split(sample(8, 1 + given, np.random.default_rng(3)), [1])
    whole = completed(batch, context_after(X, [1]), 5)
    assert (whole.shape, whole.dtype) == ((5, 8), np.int64)
    assert tuples(whole)[:given] == tuples(batch)
    assert len({*tuples(whole), *tuples(X)}) == 6


def test_a_batch_is_not_completed_with_what_it_already_has():
    everything = np.array(list(itertools.permutations(range(3))))
    whole = completed(everything[1:4], context_after(everything[:1], [1]), 5)
    assert sorted(tuples(whole)) == tuples(everything[1:])
