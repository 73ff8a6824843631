import itertools
import math

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.nml.scores.multinomial import (
    multinomial_regret,
    multinomial_regrets,
    star_regret,
)
from tests.oracles.graphs import multinomial_regret_by_sum


@pytest.mark.parametrize(("r", "n"), [(1, 7), (2, 1), (2, 12), (3, 9), (4, 6), (5, 4), (6, 1)])
def test_multinomial_regret_is_the_direct_sum(r: int, n: int) -> None:
    assert multinomial_regret(r, n) == pytest.approx(multinomial_regret_by_sum(r, n), abs=1e-12)


def test_multinomial_regret_of_one_row_or_none_is_its_closed_form() -> None:
    assert multinomial_regret(7, 0) == 0.0
    assert multinomial_regret(7, 1) == pytest.approx(math.log(7))


def test_multinomial_regret_of_many_rows_is_the_binary_sum() -> None:
    from scipy.stats import binom

    n, h = 10_000, np.arange(10_001)
    direct = math.log(binom.pmf(h, n, h / n).sum())
    assert multinomial_regret(2, n) == pytest.approx(direct, abs=1e-9)


def test_the_table_holds_every_multinomial_regret() -> None:
    table = multinomial_regrets(range(1, 6), 40)
    for r, n in itertools.product(range(1, 6), range(41)):
        assert table[r - 1, n] == pytest.approx(multinomial_regret(r, n), abs=1e-12)


def test_a_long_table_loses_nothing_to_the_fourier_transform() -> None:
    table = multinomial_regrets(range(1, 7), 200_000)
    for r, n in itertools.product((2, 3, 6), (1, 31, 32, 33, 9_999, 131_072, 200_000)):
        assert table[r - 1, n] == pytest.approx(multinomial_regret(r, n), abs=1e-11)


def test_chosen_rows_are_those_of_the_whole_table() -> None:
    np.testing.assert_array_equal(multinomial_regrets([1, 2, 5], 30), multinomial_regrets(range(1, 6), 30)[[0, 1, 4]])


@pytest.mark.parametrize(("r", "n"), [(0, 3), (2, -1)])
def test_multinomial_regret_refuses_impossible_numbers(r: int, n: int) -> None:
    with pytest.raises(InputError, match=f"n_states={r}, n_rows={n}"):
        multinomial_regret(r, n)


def star_by_sum(root: int, leaves: np.ndarray, n_rows: int) -> float:
    """The root's states one after the other, in log space: the sum over n of m!/(n! (m-n)!) (n/N)^n ..."""
    n = np.arange(n_rows + 1)
    log_terms = n * np.log(np.maximum(n, 1) / n_rows) - np.array([math.lgamma(k + 1) for k in n]) + leaves
    total = log_terms
    for _ in range(root - 1):
        total = np.array([np.logaddexp.reduce(total[: m + 1] + log_terms[m::-1][: m + 1]) for m in n])
    return float(total[n_rows] + math.lgamma(n_rows + 1))


@pytest.mark.parametrize("root", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("leaf_states", [(), (2,), (3, 4), (5,) * 12])
@pytest.mark.parametrize("n_rows", [1, 2, 40, 600])
def test_star_is_the_sum_over_the_counts_of_its_root(root: int, leaf_states: tuple[int, ...], n_rows: int) -> None:
    leaves = sum((multinomial_regrets([r], n_rows)[0] for r in leaf_states), np.zeros(n_rows + 1))
    assert star_regret(root, leaves, n_rows) == pytest.approx(star_by_sum(root, leaves, n_rows), abs=1e-9)


@pytest.mark.parametrize("leaf_states", [(3,), (2, 3, 4), (6,) * 30])
def test_binary_star_of_many_rows_is_the_direct_sum(leaf_states: tuple[int, ...]) -> None:
    n_rows = 10_000
    leaves = sum(multinomial_regrets([r], n_rows)[0] for r in leaf_states)
    n = np.arange(n_rows + 1)
    log_factorials = np.array([math.lgamma(k + 1) for k in n])
    log_terms = n * np.log(np.maximum(n, 1) / n_rows) - log_factorials + leaves
    exact = np.logaddexp.reduce(log_terms + log_terms[::-1]) + log_factorials[-1]
    assert star_regret(2, leaves, n_rows) == pytest.approx(exact, abs=1e-7)


def test_star_of_one_leaf_is_one_variable_of_all_joint_states() -> None:
    n_rows = 3000
    leaves = multinomial_regrets([7], n_rows)[0]
    assert star_regret(5, leaves, n_rows) == pytest.approx(multinomial_regret(35, n_rows), abs=1e-9)


def test_star_without_leaves_is_its_root() -> None:
    assert star_regret(6, np.zeros(2001), 2000) == pytest.approx(multinomial_regret(6, 2000), abs=1e-10)


def test_the_regret_of_no_rows_is_exactly_zero() -> None:
    assert not multinomial_regrets(range(1, 41), 1000)[:, 0].any()
