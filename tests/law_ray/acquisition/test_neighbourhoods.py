import numpy as np
import pytest

from law_ray.acquisition.additive_moves import BACKWARD, REVERSAL, SWAP
from law_ray.acquisition.neighbourhoods import (
    N_AT_ONCE,
    AdditiveNeighbourhood,
    MixedNeighbourhood,
    SwapNeighbourhood,
    TourNeighbourhood,
    WeightedPrecedenceNeighbourhood,
    neighbourhood,
)
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.distance import KERNELS, POSITION_KERNEL, DistanceHyperparameters, positions_of
from law_ray.space.constraints import Constraints
from law_ray.space.permutations import insertion_neighbours, invert, reversal_neighbours, sample
from tests.oracles.additive import some_components
from tests.oracles.plain_law import PlainLaw
from tests.oracles.plain_law import neighbours as swap_neighbours
from tests.oracles.tour import covariances, some_tour
from tests.oracles.weighted_precedence import gram, some_weighted

POSITION = DistanceHyperparameters(1.3, 0.8, 0.1, 0.0)
ADDITIVE = AdditiveHyperparameters(some_components(np.random.default_rng(0)), 0.1, 0.0)
TOUR = some_tour(np.random.default_rng(0))
WEIGHTED = some_weighted(np.random.default_rng(0))
BEFORE = [(0, 1), (2, 1), (2, 3), (6, 0)]


def of(kernel, n_items=9, n=20):
    points = sample(n_items, n, np.random.default_rng(1))
    return points, neighbourhood(kernel, positions_of(points))


each = pytest.mark.parametrize(
    "kernel",
    [POSITION_KERNEL, ADDITIVE.kernel, TOUR.kernel, WEIGHTED.kernel],
    ids=["swaps", "additive", "tour", "weighted precedence"],
)


def around(climber, kernel):
    """Return all neighbours by whole permutations."""
    if kernel is POSITION_KERNEL:
        return swap_neighbours(climber)
    others = [neighbours_of(climber[None])[0] for neighbours_of in (insertion_neighbours, reversal_neighbours)]
    return np.concatenate([swap_neighbours(climber), *others])


def after_all(moves, climber):
    q = positions_of(climber[None])[0]
    return np.array([invert(moves.after(q, move).astype(np.int64)) for move in moves.all])


def test_the_position_kernel_has_swaps_and_other_kernels_have_all_moves():
    assert isinstance(of(POSITION_KERNEL)[1], SwapNeighbourhood)
    assert isinstance(of(ADDITIVE.kernel)[1], MixedNeighbourhood)
    assert isinstance(of(TOUR.kernel)[1], MixedNeighbourhood)
    assert isinstance(of(WEIGHTED.kernel)[1], MixedNeighbourhood)


class UnregisteredKernel:
    def distances(self, q, P):
        return np.zeros((len(q), len(P)))


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in KERNELS.values() if kernel != POSITION_KERNEL], ids=lambda k: k.name
)
def test_other_kernels_of_one_distance_have_no_moves_and_are_refused_by_name(kernel):
    with pytest.raises(NotImplementedError, match=f"no moves for the kernel {kernel.name}: use position, or add"):
        of(kernel)


def test_a_type_of_kernel_without_a_registered_neighbourhood_is_refused_by_name():
    message = (
        "no neighbourhood is registered for UnregisteredKernel: register one in law_ray.acquisition.neighbourhoods"
    )
    with pytest.raises(NotImplementedError, match=message):
        of(UnregisteredKernel())


def test_a_kernel_is_searched_once_a_neighbourhood_is_registered_for_its_type():
    class OtherKernel(UnregisteredKernel):
        pass

    @neighbourhood.register
    def _(kernel: OtherKernel, points: np.ndarray) -> SwapNeighbourhood:
        return SwapNeighbourhood(points)

    assert isinstance(of(OtherKernel())[1], SwapNeighbourhood)
    with pytest.raises(NotImplementedError):
        of(UnregisteredKernel())


@each
def test_all_moves_together_lead_to_all_neighbours(kernel):
    _, moves = of(kernel)
    climber = np.random.default_rng(2).permutation(9)
    found = {tuple(p) for p in after_all(moves, climber).tolist()}
    assert found == {tuple(p) for p in around(climber, kernel).tolist()}


@pytest.mark.parametrize(
    ("type_", "kernel"),
    [
        (AdditiveNeighbourhood, ADDITIVE.kernel),
        (TourNeighbourhood, TOUR.kernel),
        (WeightedPrecedenceNeighbourhood, WEIGHTED.kernel),
    ],
)
def test_a_neighbourhood_of_given_moves_has_these_alone_in_their_order(type_, kernel):
    points, given = sample(9, 5, np.random.default_rng(1)), [[BACKWARD, 1, 3], [SWAP, 0, 4], [REVERSAL, 5, 8]]
    moves = type_(kernel, positions_of(points), np.array(given, dtype=np.int32))
    expected = [[0, 3, 1, 2, 4, 5, 6, 7, 8], [4, 1, 2, 3, 0, 5, 6, 7, 8], [0, 1, 2, 3, 4, 8, 7, 6, 5]]
    assert after_all(moves, np.arange(9)).tolist() == expected
    assert moves.neighbours(positions_of(np.arange(9)[None]), moves.next())[0].tolist() == expected


@each
def test_positions_after_a_move_are_as_small_as_those_before(kernel):
    _, moves = of(kernel)
    q = positions_of(np.random.default_rng(2).permutation(9)[None])[0]
    assert {moves.after(q, move).dtype for move in moves.all} == {q.dtype} == {np.dtype(np.int32)}


@each
def test_neighbours_of_several_climbers_are_those_of_each_move(kernel):
    _, moves = of(kernel)
    climbers = sample(9, 3, np.random.default_rng(4))
    which = np.random.default_rng(5).permutation(moves.all)[:20]
    found = moves.neighbours(positions_of(climbers), which)
    for climber, neighbours in zip(climbers, found, strict=True):
        np.testing.assert_array_equal(neighbours, after_all(moves, climber)[which])


@pytest.mark.parametrize(
    ("kernel", "at_once"),
    [(POSITION_KERNEL, 10_000), (ADDITIVE.kernel, N_AT_ONCE), (WEIGHTED.kernel, 30_000)],
    ids=["swaps", "all moves", "weighted precedence"],
)
@pytest.mark.parametrize("n_items", [2, 9, 21, 110])
def test_steps_try_every_move_before_they_repeat_themselves(kernel, at_once, n_items):
    _, moves = of(kernel, n_items)
    tried: list[int] = []
    while len(tried) < len(moves.all):
        which = moves.next()
        assert len(which) <= max(at_once, len(moves.all) / 80)
        tried += which.tolist()
    assert tried[: len(moves.all)] == moves.all.tolist()
    assert len(tried) - len(moves.all) < len(which)


@each
@pytest.mark.parametrize("constraints", [Constraints(9), Constraints(9, BEFORE), Constraints(9, BEFORE, {5: 4, 7: 0})])
def test_the_allowed_moves_are_those_that_lead_to_allowed_orderings(kernel, constraints):
    _, moves = of(kernel)
    climbers = constraints.sample(5, np.random.default_rng(3))
    allowed = moves.allowed(constraints, positions_of(climbers), moves.all)
    for row, climber in zip(allowed, climbers, strict=True):
        assert row.tolist() == constraints.allows(after_all(moves, climber)).tolist()


def test_moves_that_touch_nothing_in_common_can_be_made_in_any_order():
    for kernel in (POSITION_KERNEL, ADDITIVE.kernel):
        _, moves = of(kernel)
        q = positions_of(np.random.default_rng(4).permutation(9)[None])[0]
        rng = np.random.default_rng(5)
        apart = 0
        for first, second in rng.choice(moves.all, (300, 2)):
            if not moves.touched(first) & moves.touched(second):
                apart += 1
                one, other = moves.after(moves.after(q, first), second), moves.after(moves.after(q, second), first)
                assert one.tolist() == other.tolist()
        assert apart > 20


def plain_covariances(h, X1, X2):
    if h is WEIGHTED:
        return gram(h, X1, X2)
    return PlainLaw(X1[:0], np.zeros(0), h).prior(X1, X2) if h is POSITION else covariances(h, X1, X2)


@pytest.mark.parametrize(
    "h", [POSITION, ADDITIVE, TOUR, WEIGHTED], ids=["swaps", "additive", "tour", "weighted precedence"]
)
def test_sums_lengths_and_distances_are_those_of_whole_permutations(h):
    points, moves = of(h.kernel)
    rng = np.random.default_rng(6)
    climbers = sample(9, 3, rng)
    q, weights = positions_of(climbers), rng.normal(size=(3, 3, len(points)))
    covariance, distances = h.covariance(9), h.kernel.distances(q, positions_of(points))
    sums = moves.sums(q, distances, weights, covariance, moves.all)
    lengths = covariance[moves.lengths(q, moves.all)]
    for row, climber in enumerate(climbers):
        after = after_all(moves, climber)
        np.testing.assert_allclose(sums[row], plain_covariances(h, after, points) @ weights[row].T, rtol=0, atol=1e-10)
        np.testing.assert_allclose(lengths[row], plain_covariances(h, climber[None], after)[0], rtol=1e-12)
        found = moves.distances(q, distances, np.full(len(after), row), moves.all)
        expected = h.kernel.distances(positions_of(after), positions_of(points))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
