import itertools
import math
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from law_ray.errors import InputError
from objectives import load
from objectives.nml import NML
from objectives.nml.data.networks import sample_network
from objectives.nml.data.row_order import are_equal_rows_together, check_order, drift, neighbours
from objectives.nml.data.tables import Table, read_table
from objectives.nml.scores import contingency

SACHS = sample_network("sachs", 3000, 0)


def table_of(codes: np.ndarray, states: int = 3) -> Table:
    p = codes.shape[1]
    return Table("t", tuple(f"c{i}" for i in range(p)), (tuple(map(str, range(states))),) * p, codes)


def with_codes(codes: np.ndarray) -> Table:
    return Table("sachs", SACHS.names, SACHS.states, codes)


def runs_by_enumeration(column: list[int]) -> tuple[float, float]:
    """The mean and the variance of the number of runs over all orders of a column."""
    counts = [1 + sum(a != b for a, b in itertools.pairwise(order)) for order in itertools.permutations(column)]
    return float(np.mean(counts)), float(np.var(counts))


@pytest.mark.parametrize("strata", [[[0, 0, 1, 2, 1, 0]], [[0, 1, 1], [2, 2, 0, 0, 1]], [[1], [0, 1], [1, 1, 0]]])
def test_the_moments_of_the_neighbours_are_those_over_all_orders(strata: list[list[int]]) -> None:
    column = np.array([state for stratum in strata for state in stratum])
    labels = np.repeat(np.arange(len(strata)), [len(stratum) for stratum in strata])
    moments = np.array([runs_by_enumeration(stratum) for stratum in strata]).sum(axis=0)
    runs = sum(1 + sum(a != b for a, b in itertools.pairwise(stratum)) for stratum in strata)
    found = neighbours(column, labels)
    assert found.rows == pytest.approx(moments[0] - runs)
    assert found.z == pytest.approx((moments[0] - runs) / math.sqrt(moments[1]))


@pytest.mark.parametrize("states", [3, 1500])
def test_a_table_sorted_by_very_many_values_takes_the_memory_of_its_rows(states: int) -> None:
    rng = np.random.default_rng(0)
    n = 50_000
    columns = {"customer": np.sort(rng.integers(0, 22_000, n)), "visits": rng.integers(0, states, n)}
    frame = pd.DataFrame({**columns, "other": rng.integers(0, 2, n)})
    tracemalloc.start()
    with pytest.warns(UserWarning, match="fewer than 10 rows for each state"):
        assert read_table(frame, rows="check").cardinalities[1] == states
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6  # the square of the customers would take 3e9


def test_the_neighbours_are_the_same_from_a_table_of_all_cells_and_from_a_sort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    column, strata = rng.integers(0, 5, 500), np.sort(rng.integers(0, 40, 500))
    expected = neighbours(column, strata)
    monkeypatch.setattr(contingency, "MAX_CELLS", 0)
    assert neighbours(column, strata) == expected


def test_without_order_the_statistics_are_about_standard() -> None:
    rng = np.random.default_rng(0)
    found: list[tuple[float, float]] = []
    for _ in range(200):
        column, strata = rng.choice(4, 600, p=[0.5, 0.3, 0.15, 0.05]), np.repeat([0, 1], [200, 400])
        found.append((neighbours(column, strata).z, drift(column, 4, strata).z))
    z = np.array(found)
    assert np.abs(z.mean(axis=0)).max() < 0.25
    assert 0.8 < z.std(axis=0).min() < z.std(axis=0).max() < 1.25
    assert z.max() < 5


@pytest.mark.parametrize("seed", range(3))
def test_independent_rows_pass_in_every_sorted_order(seed: int) -> None:
    codes = np.random.default_rng(seed).permutation(SACHS.codes)
    for columns in ([], [3], [5, 2], [1, 7, 4], list(range(11))):
        check_order(with_codes(codes[np.lexsort(codes[:, columns].T)] if columns else codes))


def test_rows_of_two_experiments_one_below_the_other_are_refused() -> None:
    """In the second one, the intervention sets a variable, whose column is then left out."""
    rng = np.random.default_rng(1)
    codes = SACHS.codes.copy()
    codes[1500:, 4] = 2
    column = SACHS.names[4]
    with pytest.raises(InputError, match=rf"sachs are not independent draws: column '{column}' drifts.*rows=indep"):
        check_order(with_codes(codes))
    check_order(with_codes(rng.permutation(codes)))  # shuffled, nobody can see it
    experiment = np.repeat([0, 1], 1500)
    names, states = (*SACHS.names, "experiment"), (*SACHS.states, ("first", "second"))
    check_order(Table("sachs", names, states, np.column_stack([codes, experiment])))  # a column explains it


def test_subjects_measured_repeatedly_and_time_series_are_refused() -> None:
    rng = np.random.default_rng(2)
    with pytest.raises(InputError, match="too often has the same value in consecutive rows"):
        check_order(with_codes(np.repeat(SACHS.codes[:1000], 3, axis=0)))
    walk = np.cumsum(rng.random((2000, 2)) < 0.1, axis=0) % 3
    with pytest.raises(InputError, match=r"column 'c[01]'"):
        check_order(table_of(walk))


@pytest.mark.parametrize("ascending", [True, False])
def test_a_table_sorted_by_numbers_that_are_binned_then_passes(ascending: bool) -> None:
    rng = np.random.default_rng(4)
    age = np.sort(rng.uniform(20, 80, 5000))[:: 1 if ascending else -1]
    ill = rng.random(5000) < 1 / (1 + np.exp(-(age - 50) / 8))
    frame = pd.DataFrame({"age": age, "ill": ill, "other": rng.random(5000) < 0.5})
    assert NML(frame, bins=4).n_items == 3
    assert NML(frame.assign(age=age.round()), bins=4).n_items == 3  # with ties
    with pytest.raises(InputError, match="column 'ill' drifts"):
        NML(frame[["ill", "other"]])  # nothing explains the order
    within = frame.groupby(age.round()).cumcount()
    groups = np.where(rng.random(5000) < 0.3, rng.random(5000) < 0.5, within % 40 < 20)
    with pytest.raises(InputError, match="column 'other'"):  # rows of one age are compared
        NML(frame.assign(age=age.round(), other=groups), bins="age=4")


@pytest.mark.parametrize("kind", ["float64", "float32", "Float64", "decimal"])
def test_a_table_sorted_by_a_group_and_then_by_numbers_that_are_binned_passes(kind: str) -> None:
    rng = np.random.default_rng(0)
    group, time = rng.integers(0, 4, 3000), rng.random(3000).astype("float32").astype("float64")
    state = np.where(rng.random(3000) < 0.2, rng.integers(0, 3, 3000), (time * 9).astype(int) % 3)
    numbers = pd.Series([Decimal(t) for t in time]) if kind == "decimal" else pd.Series(time, dtype=kind)
    frame = pd.DataFrame({"time": numbers, "state": state, "group": group})
    for sorts in (["time"], ["group", "time"]):
        for ascending in (True, False):
            read_table(frame.sort_values(sorts, ascending=ascending), bins=3, rows="check")
    read_table(frame.sort_values(["group", "time"], ascending=[False, True]), bins=3, rows="check")
    with pytest.raises(InputError, match="column 'state'"):  # within the groups nothing explains the order
        read_table(frame.sort_values(["group", "time"])[["state", "group"]], rows="check")


def test_numbers_explain_the_order_of_their_bins_once_another_column_divides_these() -> None:
    """The groups 0 and 1 are in the first bin, 2 and 3 in the second."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2, 3], 1000)
    time = np.sort(rng.random((4, 1000)), axis=1).ravel()
    state = (time * 9).astype(int) % 3
    frame = pd.DataFrame({"time": time + group // 2, "state": state, "group": group})
    read_table(frame, bins=2, rows="check")


def test_a_few_rows_of_a_rare_state_together_are_no_evidence() -> None:
    codes = np.random.default_rng(3).integers(2, size=(2000, 3))
    codes[100:115, 1] = 2
    check_order(table_of(codes))


def test_a_table_of_ones_own_is_checked_unless_its_rows_are_declared_independent(tmp_path) -> None:
    frame = pd.DataFrame({"a": np.repeat([0, 1, 0, 1], 200), "b": np.random.default_rng(0).integers(2, size=800)})
    with pytest.raises(InputError, match="column 'a'"):
        NML(frame)
    frame.to_csv(tmp_path / "f.csv", index=False)
    assert (
        load(f"nml:{tmp_path / 'f.csv'}", rows="independent").fingerprint == NML(frame, rows="independent").fingerprint
    )
    with pytest.raises(InputError, match="rows='any' is unknown: choose check or independent"):
        NML(frame, rows="any")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_frequencies_may_be_expanded_in_any_order(seed: int) -> None:
    codes = SACHS.codes[:, :5]
    different, counts = np.unique(codes, axis=0, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(different))
    check_order(table_of(np.repeat(different[order], counts[order], axis=0)))


def test_equal_rows_are_together_if_each_begins_once_and_half_of_the_rows_repeat_the_one_before() -> None:
    rows = np.array([[0, 1], [1, 1], [2, 0]])
    assert are_equal_rows_together(np.repeat(rows, [2, 1, 3], axis=0))
    assert not are_equal_rows_together(np.repeat(rows, [2, 1, 2], axis=0))
    assert not are_equal_rows_together(np.repeat(rows[[0, 1, 0]], [4, 4, 4], axis=0))


def test_groups_one_below_the_other_in_which_rows_repeat_are_refused() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.choice(2, (500, 3), p=[p, 1 - p]) for p in (0.2, 0.8)]
    with pytest.raises(InputError, match="not independent draws"):
        check_order(table_of(np.vstack(groups)))
