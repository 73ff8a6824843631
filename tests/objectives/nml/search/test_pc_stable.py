import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from law_ray.errors import InputError
from objectives.nml.search import pc_stable as module
from objectives.nml.search.pc_stable import DegreesOfFreedom, g_squared, skeleton
from tests.oracles.graphs import dag_of

R = np.array([3, 2, 4, 3, 2])


def network_codes(n_rows: int, seed: int) -> np.ndarray:
    """Rows of a noisy network 0 -> 1 -> 2 <- 3, with 4 alone and one declared state of column 2 never seen."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, R, size=(n_rows, len(R)))
    codes[:, 1] = np.where(rng.random(n_rows) < 0.8, codes[:, 0] % 2, codes[:, 1])
    codes[:, 2] = np.where(rng.random(n_rows) < 0.8, np.minimum(codes[:, 1] + codes[:, 3], 2), codes[:, 2] % 3)
    return codes


def binary_codes(n_rows: int, p: int, seed: int) -> np.ndarray:
    """Rows of a dense random network of logistic nodes."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n_rows, p), dtype=np.int64)
    for child in range(p):
        parents = [parent for parent in range(child) if rng.random() < 0.5]
        logits = (2 * codes[:, parents] - 1) @ rng.normal(0, 1.2, len(parents))
        codes[:, child] = rng.random(n_rows) < 1 / (1 + np.exp(-logits))
    return codes


def g_squared_by_strata(
    codes: np.ndarray, r: np.ndarray, x: int, y: int, given: tuple[int, ...], dof: DegreesOfFreedom
) -> tuple[float, float]:
    """The test as a sum of scipy's over the observed strata, empty margins cut off."""
    statistic, degrees = 0.0, 0.0
    for stratum in np.unique(codes[:, given], axis=0):
        rows = codes[(codes[:, given] == stratum).all(axis=1)]
        table = np.zeros((r[x], r[y]))
        np.add.at(table, (rows[:, x], rows[:, y]), 1)
        table = table[table.any(axis=1)][:, table.any(axis=0)]
        if min(table.shape) > 1:
            result = chi2_contingency(table, correction=False, lambda_="log-likelihood")
            statistic += result.statistic
            degrees += result.dof
    if dof == "full":
        degrees = float((r[x] - 1) * (r[y] - 1) * np.prod(r[list(given)]))
    return statistic, degrees


@pytest.mark.parametrize("dof", ["full", "adjusted"])
@pytest.mark.parametrize("given", [(), (0,), (3, 4), (4, 0, 3)])
def test_g_squared_is_the_sum_of_scipys_tests(given: tuple[int, ...], dof: DegreesOfFreedom) -> None:
    codes = network_codes(90, 0)
    test = g_squared(codes, R, 1, 2, given, dof)
    statistic, degrees = g_squared_by_strata(codes, R, 1, 2, given, dof)
    assert test.statistic == pytest.approx(statistic, abs=1e-9)
    assert test.dof == degrees
    assert test.p_value == pytest.approx(chi2.sf(statistic, degrees), rel=1e-9)


def test_g_squared_without_freedom_finds_independence() -> None:
    constant = np.zeros((20, 2), dtype=np.int64)
    assert g_squared(constant, np.array([2, 2]), 0, 1).p_value == 1.0


def test_g_squared_is_the_same_when_strata_are_too_many_to_enumerate() -> None:
    codes = np.tile(network_codes(60, 1), 8)
    r = np.tile(R, 8)
    many = tuple(range(5, 40))  # copies of one table: the strata of its five columns
    few = (5, 6, 7, 8, 9)
    assert g_squared(codes, r, 1, 2, many)[:2] == pytest.approx(g_squared(codes, r, 1, 2, few)[:2])


@pytest.mark.parametrize("dof", ["full", "adjusted"])
@pytest.mark.parametrize("given", [(), (0,), (3, 4)])
def test_g_squared_is_the_same_when_only_the_cells_that_occur_are_counted(
    monkeypatch: pytest.MonkeyPatch, given: tuple[int, ...], dof: DegreesOfFreedom
) -> None:
    codes = network_codes(90, 3)
    expected = g_squared(codes, R, 1, 2, given, dof)
    monkeypatch.setattr(module, "MAX_CELLS", 1)
    assert g_squared(codes, R, 1, 2, given, dof) == pytest.approx(expected)


def test_two_columns_of_very_many_states_take_the_memory_of_their_rows() -> None:
    codes = np.repeat(np.random.default_rng(0).integers(0, 30_000, (20_000, 1)), 2, axis=1)
    tracemalloc.start()
    test = g_squared(codes, np.array([30_000, 30_000]), 0, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # all cells would take 7.2e9
    n = np.unique(codes[:, 0], return_counts=True)[1]
    assert test.statistic == pytest.approx(-2 * float(n @ np.log(n / n.sum())))
    assert test.dof == (len(n) - 1) ** 2


def pc_stable(codes: np.ndarray, r: np.ndarray, alpha: float, dof: DegreesOfFreedom) -> np.ndarray:
    """PC-stable from its definition, with scipy's tests."""
    p = len(r)
    edges = {frozenset(pair) for pair in itertools.combinations(range(p), 2)}
    for size in range(p - 1):
        near = {x: {y for y in range(p) if frozenset((x, y)) in edges} for x in range(p)}
        for x, y in itertools.permutations(range(p), 2):
            for condition in itertools.combinations(sorted(near[x] - {y}), size):
                statistic, degrees = g_squared_by_strata(codes, r, min(x, y), max(x, y), condition, dof)
                if degrees == 0 or chi2.sf(statistic, degrees) > alpha:
                    edges.discard(frozenset((x, y)))
    graph = np.zeros((p, p), dtype=bool)
    for x, y in edges:
        graph[x, y] = graph[y, x] = True
    return graph


@pytest.mark.parametrize("dof", ["full", "adjusted"])
@pytest.mark.parametrize("seed", [1, 2])
def test_skeleton_is_pc_stable(seed: int, dof: DegreesOfFreedom) -> None:
    codes = network_codes(150, seed)
    np.testing.assert_array_equal(skeleton(codes, R, 0.2, dof), pc_stable(codes, R, 0.2, dof))


@pytest.mark.parametrize("seed", [10, 16, 21, 36])
def test_skeleton_conditions_on_the_neighbours_of_either_end_at_the_start_of_the_size(seed: int) -> None:
    """On these data the neighbours of one end, or those left in the middle of a size, give another skeleton."""
    codes, r = binary_codes(150, 6, seed), np.full(6, 2)
    np.testing.assert_array_equal(skeleton(codes, r), pc_stable(codes, r, 0.05, "adjusted"))


def test_skeleton_finds_the_network() -> None:
    found = skeleton(network_codes(3000, 0), R, alpha=0.001)
    expected = dag_of(5, (0, 1), (1, 2), (3, 2))
    np.testing.assert_array_equal(found, expected | expected.T)


@settings(max_examples=15)
@given(st.permutations(range(5)), st.sampled_from(["full", "adjusted"]))
def test_skeleton_does_not_depend_on_the_order_of_the_columns(order: list[int], dof: DegreesOfFreedom) -> None:
    codes = network_codes(200, 5)
    plain = skeleton(codes, R, 0.3, dof)
    np.testing.assert_array_equal(skeleton(codes[:, order], R[order], 0.3, dof), plain[np.ix_(order, order)])


@pytest.mark.parametrize(
    ("options", "culprit"), [({"alpha": 0.0}, "alpha=0.0"), ({"alpha": 1.5}, "alpha=1.5"), ({"dof": "half"}, "half")]
)
def test_skeleton_refuses_unknown_options(options: dict, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        skeleton(network_codes(10, 0), R, **options)


def test_a_cause_of_too_many_effects_is_refused_before_its_sets_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cause = rng.integers(2, size=300)
    codes = np.column_stack([cause, *(cause ^ (rng.random(300) < 0.1) for _ in range(8))]).astype(np.int64)
    r = np.full(9, 2)
    assert skeleton(codes, r)[0, 1:].sum() >= 4
    monkeypatch.setattr(module, "MAX_TESTS", 100)
    with pytest.raises(InputError, match=r"would take up to .* tests, since a column has 8 neighbours: use"):
        skeleton(codes, r)
