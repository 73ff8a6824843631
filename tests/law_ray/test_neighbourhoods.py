import numpy as np
import pytest
from latents import covariances, some_latent
from mixtures import some_components
from plain import neighbours as swap_neighbours

from law_ray.constraints import Constraints
from law_ray.kernels import POSITION, positions_of
from law_ray.mixture import MixtureHyperparameters
from law_ray.neighbourhoods import N_AT_ONCE, Moves, Swaps, neighbourhood
from law_ray.permutations import insertion_neighbours, invert, reversal_neighbours, sample

MIXED = MixtureHyperparameters(some_components(np.random.default_rng(0)), 0.1, 0.0)
LATENT = some_latent(np.random.default_rng(0))
BEFORE = [(0, 1), (2, 1), (2, 3), (6, 0)]


def of(form, n_items=9, n=20):
    points = sample(n_items, n, np.random.default_rng(1))
    return points, neighbourhood(positions_of(points), form)


each = pytest.mark.parametrize("form", [POSITION, MIXED.kernel, LATENT.kernel], ids=["swaps", "mixture", "latent"])


def around(climber, form):
    """All neighbours by whole permutations."""
    if form is POSITION:
        return swap_neighbours(climber)
    return np.concatenate([kind(climber[None])[0] for kind in (swap_neighbours_of, insertion_neighbours, reversals)])


def swap_neighbours_of(climbers):
    return np.array([swap_neighbours(climber) for climber in climbers])


def reversals(climbers):
    return reversal_neighbours(climbers)


def after_all(moves, climber):
    q = positions_of(climber[None])[0]
    return np.array([invert(moves.after(q, move).astype(np.int64)) for move in moves.all])


def test_the_position_kernel_has_swaps_and_others_have_all_moves():
    assert isinstance(of(POSITION)[1], Swaps)
    assert isinstance(of(MIXED.kernel)[1], Moves)
    assert isinstance(of(LATENT.kernel)[1], Moves)


@each
def test_all_moves_together_lead_to_all_neighbours(form):
    _, moves = of(form)
    climber = np.random.default_rng(2).permutation(9)
    found = {tuple(p) for p in after_all(moves, climber).tolist()}
    assert found == {tuple(p) for p in around(climber, form).tolist()}


@each
def test_neighbours_of_several_at_once_are_those_of_each_move(form):
    _, moves = of(form)
    climbers = sample(9, 3, np.random.default_rng(4))
    which = np.random.default_rng(5).permutation(moves.all)[:20]
    found = moves.neighbours(positions_of(climbers), which)
    for climber, neighbours in zip(climbers, found, strict=True):
        np.testing.assert_array_equal(neighbours, after_all(moves, climber)[which])


@pytest.mark.parametrize("form", [POSITION, MIXED.kernel], ids=["swaps", "all moves"])
@pytest.mark.parametrize("n_items", [2, 9, 21])
def test_steps_try_every_move_before_they_repeat_themselves(form, n_items):
    _, moves = of(form, n_items)
    tried: list[int] = []
    while len(tried) < len(moves.all):
        which = moves.next()
        assert len(which) <= max(N_AT_ONCE, len(moves.all) * (form is POSITION))
        tried += which.tolist()
    assert set(tried) == set(moves.all.tolist())
    assert len(tried) - len(moves.all) < max(N_AT_ONCE, 1)


@each
@pytest.mark.parametrize("constraints", [Constraints(9), Constraints(9, BEFORE), Constraints(9, BEFORE, {5: 4, 7: 0})])
def test_moves_are_allowed_that_lead_to_allowed_orderings(form, constraints):
    _, moves = of(form)
    climbers = constraints.sample(5, np.random.default_rng(3))
    allowed = moves.allowed(constraints, positions_of(climbers), moves.all)
    for row, climber in zip(allowed, climbers, strict=True):
        assert row.tolist() == constraints.allows(after_all(moves, climber)).tolist()


def test_moves_that_touch_nothing_in_common_can_be_made_in_any_order():
    for form in (POSITION, MIXED.kernel):
        _, moves = of(form)
        q = positions_of(np.random.default_rng(4).permutation(9)[None])[0]
        rng = np.random.default_rng(5)
        apart = 0
        for first, second in rng.choice(moves.all, (300, 2)):
            if not moves.touched(first) & moves.touched(second):
                apart += 1
                one, other = moves.after(moves.after(q, first), second), moves.after(moves.after(q, second), first)
                assert one.tolist() == other.tolist()
        assert apart > 20


@pytest.mark.parametrize("h", [MIXED, LATENT], ids=["mixture", "latent"])
def test_sums_lengths_and_distances_are_those_of_whole_permutations(h):
    points, moves = of(h.kernel)
    rng = np.random.default_rng(6)
    climbers = sample(9, 3, rng)
    q, weights = positions_of(climbers), rng.normal(size=(3, 2, len(points)))
    table, distances = h.kernel.table(9, h), h.kernel.distances(q, positions_of(points))
    sums = moves.sums(q, distances, weights, table, moves.all)
    lengths = table[moves.lengths(q, moves.all)]
    for row, climber in enumerate(climbers):
        after = after_all(moves, climber)
        np.testing.assert_allclose(sums[row], covariances(h, after, points) @ weights[row].T, rtol=0, atol=1e-10)
        np.testing.assert_allclose(lengths[row], covariances(h, climber[None], after)[0], rtol=1e-12)
        found = moves.distances(q, distances, np.full(len(after), row), moves.all)
        expected = h.kernel.distances(positions_of(after), positions_of(points))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
