import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from pgmpy.structure_score import BIC as PgmpyBIC  # noqa: N811
from pgmpy.structure_score import BDeu as PgmpyBDeu

from law_ray.errors import InputError
from objectives.nml.graphs.structure import cpdag
from objectives.nml.scores import decomposable
from objectives.nml.scores.decomposable import BIC, SCORES, BDeu, FactorisedNML, QuotientNML, log_normaliser
from objectives.nml.scores.multinomial import multinomial_regret, multinomial_regrets
from tests.oracles.graphs import all_dags, dag_of, log_likelihood_by_rows, random_codes, random_dag


def all_tables(n_rows: int, r: list[int]) -> Iterator[np.ndarray]:
    rows = list(itertools.product(*(range(states) for states in r)))
    for chosen in itertools.product(rows, repeat=n_rows):
        yield np.array(chosen)


@pytest.mark.parametrize("n_rows", [7, 300])  # families of more than 4 n_rows cells are counted by sorting
@pytest.mark.parametrize("name", ["bic", "bdeu"])
def test_bic_and_bdeu_are_the_negatives_of_pgmpys(name: str, n_rows: int) -> None:
    """BIC with states that are never seen; pgmpy 1.1's BDeu leaves them out, so there every state is seen."""
    rng = np.random.default_rng(n_rows)
    r = np.array([3, 2, 4, 2, 3, 2])
    if name == "bic":
        codes = random_codes(n_rows, r - (r > 2), 0)
    else:
        codes = random_codes(n_rows, r, 0)
        codes[:4] = np.arange(4)[:, None] % r
    names = [f"x{i}" for i in range(len(r))]
    frame = pd.DataFrame(codes, columns=names)
    states = {column: list(range(r[i])) for i, column in enumerate(names)}
    ours = SCORES[name](codes, r)
    theirs = PgmpyBIC(frame, state_names=states) if name == "bic" else PgmpyBDeu(frame, 1, state_names=states)
    for density in (0.2, 0.5, 0.9):
        dag = random_dag(len(r), density, rng)
        model = DAG()
        model.add_nodes_from(names)
        model.add_edges_from([(names[a], names[b]) for a, b in np.argwhere(dag).tolist()])
        assert ours.dag(dag) == pytest.approx(-theirs.score(model), abs=1e-8)


def test_fnml_of_a_family_normalises_over_the_columns_of_its_child() -> None:
    r, parents = np.array([2, 3, 3]), np.array([[0, 1], [0, 1], [1, 0], [0, 1], [1, 2]])
    total = 0.0
    for child in itertools.product(range(3), repeat=5):
        score = FactorisedNML(np.column_stack([parents, child]), r)
        total += math.exp(-score.family(2, (0, 1)))
    assert total == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("r", [[2, 3], [3, 2], [2, 2, 2]])
def test_qnml_of_a_complete_dag_normalises_over_the_tables(r: list[int]) -> None:
    """Its quotients telescope to the NML distribution of the joint variable."""
    complete = np.triu(np.ones((len(r), len(r)), dtype=bool), 1)
    total = sum(math.exp(-QuotientNML(codes, r).dag(complete)) for codes in all_tables(3, r))
    assert total == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("dag", [dag_of(3, (0, 1), (2, 1)), dag_of(3), dag_of(3, (2, 1), (0, 2), (0, 1))])
def test_bdeu_of_a_dag_normalises_over_the_tables(dag: np.ndarray) -> None:
    total = sum(math.exp(-BDeu(codes, [2, 3, 2], 0.7).dag(dag)) for codes in all_tables(3, [2, 3, 2]))
    assert total == pytest.approx(1, abs=1e-10)


def test_fnml_computes_its_regrets_when_they_are_first_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def regrets(states: list[int], n_rows: int) -> np.ndarray:
        asked.append(states)
        return multinomial_regrets(states, n_rows)

    monkeypatch.setattr(decomposable, "multinomial_regrets", regrets)
    score = FactorisedNML(random_codes(50, np.array([2, 5, 2]), 0), [2, 5, 2])
    assert asked == []
    score.family(1, (0,))
    score.family(0, (1, 2))
    assert asked == [[2, 5]]


def test_fnml_and_qnml_add_their_regrets_to_the_log_likelihood() -> None:
    r = np.array([7, 5, 4])
    codes = random_codes(50, r, 4)
    dag = dag_of(3, (0, 2), (1, 2))
    fit = -log_likelihood_by_rows(codes, dag)
    roots = multinomial_regret(7, 50) + multinomial_regret(5, 50)
    n_ij = np.bincount(5 * codes[:, 0] + codes[:, 1])
    factors = sum(multinomial_regret(4, int(n)) for n in n_ij)
    assert FactorisedNML(codes, r).dag(dag) == pytest.approx(fit + roots + factors, abs=1e-9)
    quotient = multinomial_regret(140, 50) - multinomial_regret(35, 50)
    assert QuotientNML(codes, r).dag(dag) == pytest.approx(fit + roots + quotient, abs=1e-9)
    assert QuotientNML(codes, r, 1.25).dag(dag) == pytest.approx(fit + 1.25 * (roots + quotient), abs=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_all_but_fnml_are_equal_within_an_equivalence_class(name: str) -> None:
    r = np.array([2, 3, 2, 4])
    score = SCORES[name](random_codes(40, r, 5), r)
    spread: dict[bytes, list[float]] = {}
    for dag in all_dags(4):
        spread.setdefault(cpdag(dag).tobytes(), []).append(score.dag(dag))
    widest = max(max(costs) - min(costs) for costs in spread.values())
    assert (widest < 1e-9) == (name != "fnml")


@pytest.mark.parametrize("name", SCORES)
def test_families_do_not_depend_on_earlier_queries_or_on_the_numbering_of_states(name: str) -> None:
    r = np.array([3, 300, 2])
    codes = random_codes(500, r, 6)
    score, renamed = SCORES[name](codes, r), SCORES[name]((codes * 7 % r).astype(np.uint16), r)  # 7 is prime to r
    first = score.family(0, (1, 2))
    assert score.family(0, (2,)) != first
    assert score.family(0, (1, 2)) == first
    assert renamed.family(0, (1, 2)) == pytest.approx(first)


def test_huge_families_are_the_limits_of_many_configurations() -> None:
    """With 290 copies of two columns as parents the observed configurations are those of the two."""
    n_rows, r, many = 200, np.array([3] + [2, 3] * 290), tuple(range(1, 581))
    codes = random_codes(n_rows, r[:3], 7)
    codes = np.column_stack([codes[:, 0], *[codes[:, 1:]] * 290])
    few, q = dag_of(3, (1, 0), (2, 0)), 6**290
    fit = -log_likelihood_by_rows(codes[:, :3], few) + log_likelihood_by_rows(codes[:, 1:3], dag_of(2))
    counts = np.unique(codes[:, :3], axis=0, return_counts=True)[1]
    n_ij = np.unique(codes[:, 1:3], axis=0, return_counts=True)[1]

    assert FactorisedNML(codes, r).family(0, many) == pytest.approx(FactorisedNML(codes, r).family(0, (1, 2)))
    assert BIC(codes, r).family(0, many) == pytest.approx(fit + math.log(n_rows) * q)
    for factor in (1.0, 1.25):
        assert QuotientNML(codes, r, factor).family(0, many) == pytest.approx(fit + factor * n_rows * math.log(3))
    # Gamma(a + n) / Gamma(a) is a Gamma(n) for small a
    gammas = sum(map(math.lgamma, n_ij)) - sum(map(math.lgamma, counts))
    limit = gammas - len(n_ij) * math.log(q) + len(counts) * math.log(3 * q)
    assert BDeu(codes, r).family(0, many) == pytest.approx(limit)


def test_qnml_does_not_jump_where_its_limit_takes_over() -> None:
    codes = random_codes(100, np.full(101, 2), 8)
    score = QuotientNML(codes, np.full(101, 2))
    at, beyond = score.family(100, tuple(range(99))), score.family(100, tuple(range(100)))
    assert at == pytest.approx(100 * math.log(2), abs=1e-9)
    assert beyond == pytest.approx(at, abs=1e-9)


@pytest.mark.parametrize("parents", [12, 20, 40, 60, 98])
def test_qnml_of_many_configurations_has_the_normalisers_of_its_definition(parents: int) -> None:
    """Both normalisers of five rows count, by exact integers, up to the documented limit of 2^100 configurations."""
    n_rows = 5
    codes = random_codes(n_rows, np.full(parents + 1, 2), 9)

    def normaliser(k: int) -> float:
        """Sum over the data sets of five rows, by how many rows share a cell."""
        total = Fraction(0)
        for pattern in ((5,), (4, 1), (3, 2), (3, 1, 1), (2, 2, 1), (2, 1, 1, 1), (1, 1, 1, 1, 1)):
            cells = math.perm(k, len(pattern))
            for times in Counter(pattern).values():
                cells //= math.factorial(times)
            orders = math.factorial(n_rows) // math.prod(map(math.factorial, pattern))
            likelihood = math.prod(Fraction(n, n_rows) ** n for n in pattern)
            total += cells * orders * likelihood
        return math.log(total.numerator) - math.log(total.denominator)

    family = QuotientNML(codes, np.full(parents + 1, 2)).family(parents, tuple(range(parents)))
    n_ij = np.unique(codes[:, :parents], axis=0, return_counts=True)[1]
    n_ijk = np.unique(codes, axis=0, return_counts=True)[1]
    fit = float((n_ij * np.log(n_ij)).sum() - (n_ijk * np.log(n_ijk)).sum())
    expected = fit + normaliser(2 ** (parents + 1)) - normaliser(2**parents)
    assert family == pytest.approx(expected, abs=1e-9)


def normaliser_by_recurrence(n_states: int, n: int) -> float:
    """Exact rational arithmetic: the binary sum, then C(r, n) = C(r-1, n) + n/(r-2) C(r-2, n)."""
    binary = sum(Fraction(math.comb(n, h) * h**h * (n - h) ** (n - h), n**n) for h in range(n + 1))
    c = [Fraction(1), binary]
    for r in range(3, n_states + 1):
        c.append(c[-1] + Fraction(n, r - 2) * c[-2])
    value = c[n_states - 1]
    return math.log(value.numerator) - math.log(value.denominator)


@pytest.mark.parametrize(("n_states", "n"), [(1, 9), (2, 1), (2, 300), (3, 50), (40, 25), (300, 60)])
def test_log_normaliser_is_exact(n_states: int, n: int) -> None:
    assert log_normaliser(float(n_states), n) == pytest.approx(normaliser_by_recurrence(n_states, n), rel=1e-13)


@pytest.mark.parametrize(("n_states", "n"), [(7, 0), (5, 10_000), (2_000, 10_000), (50_000, 3_000)])
def test_log_normaliser_of_many_rows_and_states_is_the_regret(n_states: int, n: int) -> None:
    assert log_normaliser(float(n_states), n) == pytest.approx(multinomial_regret(n_states, n), rel=1e-10)


@pytest.mark.parametrize("k", [1, 2, 10**6, 10**30, 10**200])
def test_log_normaliser_of_three_rows_is_the_sum_over_patterns(k: int) -> None:
    exact = k + 3 * k * (k - 1) * Fraction(4, 27) + k * (k - 1) * (k - 2) * Fraction(1, 27)  # aaa, aab, abc
    expected = math.log(exact.numerator) - math.log(exact.denominator)
    assert log_normaliser(float(k), 3) == pytest.approx(expected, rel=1e-14, abs=1e-12)


def test_bad_input_is_refused_by_name() -> None:
    codes = np.zeros((3, 2), dtype=np.int64)
    with pytest.raises(InputError, match=r"equivalent_sample_size=0\.0"):
        BDeu(codes, [2, 2], 0.0)
    with pytest.raises(InputError, match="column 1"):
        BIC(np.array([[0, 2]]), [2, 2])


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("n_rows", [6, 400])  # of 6 rows, some configurations are not observed
@pytest.mark.parametrize("most_states", [4, 9])  # families of two variables of 9 states have too many cells for 6 rows
def test_extensions_are_the_families_with_one_more_parent(name: str, n_rows: int, most_states: int) -> None:
    r = np.array([2, most_states, 2, most_states, 3, 2])
    score = SCORES[name](random_codes(n_rows, r - (r > 3), 8), r)
    for child, parents in [(0, ()), (3, (1,)), (1, (0, 2, 4))]:
        candidates = [each for each in range(6) if each != child and each not in parents]
        expected = [score.family(child, tuple(sorted((*parents, each)))) for each in candidates]
        np.testing.assert_allclose(score.extensions(child, parents, candidates), expected, rtol=1e-11, atol=1e-9)
    assert len(score.extensions(0, (1, 2), [])) == 0


def test_copies_of_a_column_are_equal_extensions_to_the_last_digit() -> None:
    r = np.array([3, 2, 2, 4])
    codes = random_codes(500, r, 9)
    score = QuotientNML(np.column_stack([codes, codes[:, 1]]), np.append(r, 2))
    costs = score.extensions(0, (3,), [4, 2, 1])
    assert costs[0] == costs[2] != costs[1]


@pytest.mark.parametrize("a", [1e-3, 0.25])
def test_the_table_of_bdeu_has_the_values_of_single_families_for_millions_of_rows(a: float) -> None:
    n = 8_000_000
    table = decomposable._log_rising_table(a, n)
    decomposable._log_rising_table.cache_clear()
    for count in (0, 1, 2, 10_000, n):
        single = decomposable._log_rising_factorials(a, np.array([count]))
        assert table[count] == pytest.approx(single, rel=0, abs=1e-7)
