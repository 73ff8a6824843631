import itertools
import math

import numpy as np
import pytest
from graphs import dag_of, log_likelihood_by_rows

from law_ray.errors import InputError
from objectives.regret import log_mean, multinomial_regret, multinomial_regrets, nml_regret


def multinomial_regret_by_sum(r: int, n: int) -> float:
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=r):
        if sum(counts) == n:
            ways = math.factorial(n) // math.prod(math.factorial(count) for count in counts)
            total += ways * math.prod((count / n) ** count for count in counts if count)
    return math.log(total)


def regret_by_sum(dag: np.ndarray, r: list[int], n_rows: int) -> float:
    """The sum over all data sets, as multisets of rows."""
    rows = list(itertools.product(*(range(states) for states in r)))
    total = 0.0
    for chosen in itertools.combinations_with_replacement(range(len(rows)), n_rows):
        repeats = np.unique(chosen, return_counts=True)[1]
        ways = math.factorial(n_rows) // math.prod(math.factorial(count) for count in repeats)
        total += ways * math.exp(log_likelihood_by_rows(np.array([rows[i] for i in chosen]), dag))
    return math.log(total)


@pytest.mark.parametrize(("r", "n"), [(1, 7), (2, 1), (2, 12), (3, 9), (4, 6), (5, 4), (6, 1)])
def test_multinomial_regret_is_the_direct_sum(r: int, n: int) -> None:
    assert multinomial_regret(r, n) == pytest.approx(multinomial_regret_by_sum(r, n), abs=1e-12)


def test_multinomial_regret_of_one_row_or_none() -> None:
    assert multinomial_regret(7, 0) == 0.0
    assert multinomial_regret(7, 1) == pytest.approx(math.log(7))


def test_multinomial_regret_of_many_rows_is_the_binary_sum() -> None:
    from scipy.stats import binom

    n, h = 10_000, np.arange(10_001)
    direct = math.log(binom.pmf(h, n, h / n).sum())
    assert multinomial_regret(2, n) == pytest.approx(direct, abs=1e-9)


def test_the_table_holds_every_multinomial_regret() -> None:
    table = multinomial_regrets(5, 40)
    for r, n in itertools.product(range(1, 6), range(41)):
        assert table[r - 1, n] == pytest.approx(multinomial_regret(r, n), abs=1e-12)


@pytest.mark.parametrize(("r", "n"), [(0, 3), (2, -1)])
def test_multinomial_regret_refuses_impossible_numbers(r: int, n: int) -> None:
    with pytest.raises(InputError, match=f"n_states={r}, n_rows={n}"):
        multinomial_regret(r, n)


@pytest.mark.parametrize(
    ("dag", "r", "n_rows"),
    [
        (dag_of(3, (0, 1), (1, 2)), [2, 3, 2], 4),
        (dag_of(3, (1, 0), (1, 2)), [2, 3, 2], 4),
        (dag_of(3, (0, 2), (1, 2)), [2, 2, 3], 4),
        (dag_of(3, (0, 1), (0, 2), (1, 2)), [2, 3, 2], 3),
        (dag_of(3), [2, 3, 4], 3),
        (dag_of(2, (0, 1)), [2, 9], 3),  # more states than a packed word holds
        (dag_of(4, (0, 1), (1, 2), (2, 3)), [2, 2, 2, 2], 4),
        (dag_of(4, (0, 2), (1, 2), (2, 3)), [2, 2, 2, 2], 4),
    ],
)
def test_uniform_estimate_has_the_exact_mean(dag: np.ndarray, r: list[int], n_rows: int) -> None:
    exact = regret_by_sum(dag, r, n_rows)
    estimate = nml_regret(dag, r, n_rows, "uniform", 400_000, np.random.default_rng(11))
    error = math.expm1(estimate.value - exact)  # the mean of the weights is unbiased
    assert abs(error) < 4 * estimate.standard_error
    assert estimate.standard_error < 0.02


def test_uniform_estimate_of_isolated_nodes_adds_their_exact_regrets() -> None:
    r = [2, 3]
    estimate = nml_regret(dag_of(2), r, 5, n_samples=200_000, rng=np.random.default_rng(1))
    exact = sum(multinomial_regret(states, 5) for states in r)
    assert abs(math.expm1(estimate.value - exact)) < 4 * estimate.standard_error < 0.1


def test_the_state_of_the_generator_decides_the_value() -> None:
    dag = dag_of(4, (0, 1), (1, 2), (3, 2))

    def value(seed: int) -> float:
        return nml_regret(dag, [3, 2, 4, 3], 500, n_samples=200, rng=np.random.default_rng(seed)).value

    assert value(5) == value(5)
    assert value(5) != value(6)


def test_log_mean_agrees_with_the_direct_formulas() -> None:
    weights = np.random.default_rng(0).gamma(3, size=1000)
    estimate = log_mean(np.log(weights) - 5000)
    assert estimate.value == pytest.approx(math.log(weights.mean()) - 5000)
    assert estimate.standard_error == pytest.approx(weights.std() / weights.mean() / math.sqrt(1000))
    assert estimate.effective_samples == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_log_mean_of_one_dominating_weight_has_one_effective_sample() -> None:
    estimate = log_mean(np.array([0.0, -800.0, -900.0]))
    assert estimate.effective_samples == pytest.approx(1)
    assert estimate.value == pytest.approx(-math.log(3))


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ((dag_of(2), [2, 2], 10, "importent"), "'importent' is unknown: choose uniform"),
        ((dag_of(2), [2, 2, 2], 10), r"\(2, 2\)"),
        ((dag_of(2, (0, 1), (1, 0)), [2, 2], 10), "cycle"),
        ((dag_of(2), [2, 2], 0), "n_rows=0"),
        ((dag_of(2), [2, 2], 10, "uniform", 0), "n_samples=0"),
    ],
)
def test_bad_input_is_named(arguments: tuple, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        nml_regret(*arguments, rng=np.random.default_rng(0))
