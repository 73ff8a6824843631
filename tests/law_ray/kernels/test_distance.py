import math

import numpy as np
import pytest
from scipy import stats

from law_ray.kernels.distance import DISTANCES, KERNELS, NEGLIGIBLE, n_pairs, position_distances, positions_of
from law_ray.space.permutations import enumerate_all, sample
from tests.oracles.distances import PLAIN_DISTANCES, edges

each_distance = pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)

ON_CYCLES = ("adjacency", "successor")  # distances between tours rather than between orderings

# Of distance, n_items and decay.
PLAIN_CORRELATION = {
    "position": lambda d, n, decay: math.exp(-decay * d / n),
    "hamming": lambda d, n, decay: math.exp(-decay * d),
    "kendall": lambda d, n, decay: ((n * (n - 1) / 2 - d) - d) / (n * (n - 1) / 2),
    "mallows": lambda d, n, decay: math.exp(-decay * d / n),
    "spearman": lambda d, n, decay: math.exp(-decay * d / n**2),
    "manhattan": lambda d, n, decay: math.exp(-decay * d / n),
}


def shuffles(n_items, count, seed):
    return sample(n_items, count, np.random.default_rng(seed))


def between(distance, X1, X2):
    return distance.between(positions_of(X1), positions_of(X2))


def gram(kernel, n_items, decay):
    candidates = enumerate_all(n_items)
    return kernel.correlations(n_items, decay)[between(kernel.distance, candidates, candidates)]


def test_both_tables_list_what_they_hold_by_its_name():
    assert all(distance.name == name for name, distance in DISTANCES.items())
    assert all(kernel.name == name for name, kernel in KERNELS.items())
    assert DISTANCES.keys() == PLAIN_DISTANCES.keys()
    assert KERNELS.keys() == PLAIN_CORRELATION.keys()


@each_distance
@pytest.mark.parametrize("n_items", [1, 2, 3, 7, 20])
def test_distances_are_those_of_the_plain_formula(distance, n_items):
    X1, X2 = shuffles(n_items, 5, 0), shuffles(n_items, 8, 1)
    distances = between(distance, X1, X2)
    assert distances.dtype == np.int32
    assert distances.tolist() == [[PLAIN_DISTANCES[distance.name](a, b) for b in X2.tolist()] for a in X1.tolist()]


@each_kernel
def test_distances_of_a_kernel_are_those_of_its_distance(kernel):
    q, P = positions_of(shuffles(7, 5, 0)), positions_of(shuffles(7, 8, 1))
    assert (kernel.distances(q, P) == kernel.distance.between(q, P)).all()


def identity(distance, permutation):
    """Return what two orderings have in common exactly if their distance is 0."""
    if distance.name == "adjacency":
        return frozenset(frozenset(pair) for pair in edges(permutation))
    return frozenset(edges(permutation)) if distance.name == "successor" else tuple(permutation)


@each_distance
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5])
def test_distance_is_symmetric_and_zero_only_between_equals(distance, n_items):
    candidates = enumerate_all(n_items)
    distances = between(distance, candidates, candidates)
    assert (distances == distances.T).all()
    identities = [identity(distance, permutation) for permutation in candidates.tolist()]
    equal = np.array([[first == second for second in identities] for first in identities])
    assert ((distances == 0) == equal).all()
    assert (distance.name in ON_CYCLES) or (equal == np.eye(len(candidates), dtype=bool)).all()


@each_distance
def test_distance_obeys_the_triangle_inequality_and_that_of_squares_as_a_root(distance):
    candidates = enumerate_all(5)
    distances = between(distance, candidates, candidates)
    lengths = np.sqrt(distances) if distance.name == "spearman" else distances
    for first in range(0, len(candidates), 7):
        assert (lengths <= lengths[:, [first]] + lengths[first] + 1e-12).all()


@each_distance
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_the_largest_distance_is_that_over_all_pairs_or_a_bound_for_tours_of_few_items(distance, n_items):
    candidates = enumerate_all(n_items)
    largest = between(distance, candidates, candidates).max()
    if distance.name in ON_CYCLES and n_items < 5:
        assert largest <= distance.largest(n_items)
    else:
        assert largest == distance.largest(n_items)


@each_distance
@pytest.mark.parametrize("n_items", [7, 12, 31, 48])
def test_the_largest_distance_is_that_of_an_ordering_to_its_reverse_or_to_a_cyclic_shift(distance, n_items):
    """For tours, which are equal to their shifts, it is that to one of some random orderings."""
    ordering = np.arange(n_items)
    others = np.array([ordering[::-1], np.roll(ordering, 1)])
    others = shuffles(n_items, 50, 2) if distance.name in ON_CYCLES else others
    assert between(distance, ordering[None], others).max() == distance.largest(n_items)
    assert between(distance, shuffles(n_items, 50, 0), shuffles(n_items, 50, 1)).max() <= distance.largest(n_items)


@each_kernel
@pytest.mark.parametrize(("n_items", "decay"), [(2, 1.0), (4, 0.3), (7, 2.5)])
def test_correlations_are_those_of_the_plain_formula(kernel, n_items, decay):
    distances = range(kernel.distance.largest(n_items) + 1)
    plain = [PLAIN_CORRELATION[kernel.name](d, n_items, decay) for d in distances]
    np.testing.assert_allclose(kernel.correlations(n_items, decay), plain, rtol=1e-13, atol=1e-15)


@each_kernel
@pytest.mark.parametrize("decay", [1e-5, 0.3, 50.0])
@pytest.mark.parametrize("n_items", [1, 2, 9, 30])
def test_correlations_fall_from_one_and_are_never_denormal(kernel, n_items, decay):
    correlations = kernel.correlations(n_items, decay)
    assert correlations[0] == 1.0
    assert (np.diff(correlations)[correlations[1:] != 0.0] < 0).all()
    assert (np.diff(correlations) <= 0).all()
    if kernel.name != "kendall":
        assert np.all((correlations == 0.0) | (correlations >= NEGLIGIBLE))


@pytest.mark.parametrize("n_items", [2, 5, 24])
def test_kendall_and_spearman_are_the_rank_correlations_of_scipy(n_items):
    for a, b in zip(shuffles(n_items, 6, 0), shuffles(n_items, 6, 1), strict=True):
        p, q = positions_of(a), positions_of(b)
        kendall, spearman = (KERNELS[name] for name in ("kendall", "spearman"))
        tau = kendall.correlations(n_items, 1.0)[kendall.distances(p[None], q[None])[0, 0]]
        assert tau == pytest.approx(stats.kendalltau(p, q).statistic, abs=1e-12)
        rho = 1 - 2 * spearman.distances(p[None], q[None])[0, 0] / spearman.distance.largest(n_items)
        assert rho == pytest.approx(stats.spearmanr(p, q).statistic, abs=1e-12)


@each_kernel
@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_gram_matrix_over_all_permutations_is_positive_semidefinite(kernel, n_items):
    for decay in (1e-5, 0.1, 0.5, 2.0, 10.0, 50.0):
        assert np.linalg.eigvalsh(gram(kernel, n_items, decay)).min() > -1e-14 * math.factorial(n_items)


@each_kernel
@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_only_kendall_is_singular_and_of_the_rank_of_its_pairs(kernel, n_items):
    rank = np.linalg.matrix_rank(gram(kernel, n_items, 10.0), hermitian=True)
    assert rank == (n_pairs(n_items) if kernel.name == "kendall" else math.factorial(n_items))


@pytest.mark.parametrize("name", ["position", "manhattan"])
@pytest.mark.parametrize("decay", [0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_eigenvalues_over_all_permutations_are_within_the_papers_bounds(name, n_items, decay):
    eigenvalues = np.linalg.eigvalsh(gram(KERNELS[name], n_items, decay))
    rho = np.exp(-decay / n_items)
    spread = ((1 + rho) / (1 - rho)) ** n_items
    rounding = 1e-14 * len(eigenvalues)
    assert eigenvalues.min() > max(0.0, 1 / spread - rounding)
    assert eigenvalues.max() <= spread + rounding


@each_distance
def test_only_manhattan_depends_on_the_names_of_the_items(distance):
    candidates = enumerate_all(4)
    distances = between(distance, candidates, candidates)
    invariant = all(
        (between(distance, names[candidates], names[candidates]) == distances).all() for names in candidates
    )
    assert invariant == (distance.name != "manhattan")


@each_distance
def test_only_hamming_and_manhattan_do_not_depend_on_which_position_is_which(distance):
    candidates = enumerate_all(4)
    distances = between(distance, candidates, candidates)
    invariant = all(
        (between(distance, candidates[:, order], candidates[:, order]) == distances).all() for order in candidates
    )
    assert invariant == (distance.name in ("hamming", "manhattan"))


@each_distance
def test_distance_is_the_same_read_backwards_or_with_the_items_numbered_backwards(distance):
    X1, X2 = shuffles(9, 6, 0), shuffles(9, 6, 1)
    assert (between(distance, X1[:, ::-1], X2[:, ::-1]) == between(distance, X1, X2)).all()
    assert (between(distance, 8 - X1, 8 - X2) == between(distance, X1, X2)).all()


def test_position_distances_of_permutations_are_those_of_the_position_kernel():
    X1, X2 = shuffles(7, 4, 0), shuffles(7, 5, 1)
    assert (position_distances(X1, X2) == between(KERNELS["position"].distance, X1, X2)).all()
