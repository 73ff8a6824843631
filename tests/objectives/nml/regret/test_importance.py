import dataclasses
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.graphs.equivalence import walk
from objectives.nml.regret import importance
from objectives.nml.regret.importance import BatchResult, Plan, combine, exact, plan, run
from objectives.nml.regret.particles import bytes_per_particle, workspace_bytes
from objectives.nml.scores.multinomial import multinomial_regret, multinomial_regrets
from tests.oracles.graphs import dag_of, dags, random_dag, regret_by_sum

BRIDGE = dag_of(4, (0, 2), (1, 2), (2, 3))
"""A collider with a tail, which has no closed form."""


def estimate(*arguments, **options):
    prepared = plan(*arguments, **options)
    return combine(prepared, run(prepared, range(len(prepared.batches))))


def splits(n_rows: int) -> np.ndarray:
    """[m, a]: the maximum likelihood of all columns of m rows with a ones among them, and 0 for a > m."""
    n = np.arange(n_rows + 1)
    log_factorials = np.array([math.lgamma(k + 1) for k in n])
    logs = n * np.log(np.maximum(n, 1)) - log_factorials
    m, a = np.meshgrid(n, n, indexing="ij")
    return np.where(a <= m, np.exp(logs[a] + logs[np.maximum(m - a, 0)] - logs[m]), 0.0)


def binary_forest_regret(dag: np.ndarray, r: list[int], n_rows: int) -> float:
    """The sum over the counts of every internal node, from the leaves up; all internal nodes are binary."""
    table = splits(n_rows)
    log_c = multinomial_regrets(range(1, max(r) + 1), n_rows)

    def message(node: int) -> np.ndarray:
        """log of the sum over the node and its descendants, by the number of ones of its binary parent."""
        below = log_children(node)
        if not dag[node].any():
            return log_c[r[node] - 1] + log_c[r[node] - 1][::-1]
        top = below.max()
        sums = [
            np.convolve(table[m, : m + 1], table[n_rows - m, : n_rows - m + 1]) @ np.exp(below - top)
            for m in range(n_rows + 1)
        ]
        return top + np.log(sums)

    def log_children(node: int) -> np.ndarray:
        return sum((message(child) for child in np.flatnonzero(dag[node])), np.zeros(n_rows + 1))

    total = 0.0
    for root in np.flatnonzero(~dag.any(axis=0)):
        below = log_children(root)
        total += below.max() + math.log(table[n_rows] @ np.exp(below - below.max()))
    return total


@pytest.mark.parametrize(
    ("dag", "r", "n_rows"),
    [
        (BRIDGE, [2, 2, 3, 2], 4),
        (dag_of(4, (0, 1), (1, 2), (0, 3), (2, 3)), [2, 2, 2, 2], 5),
        (dag_of(5, (0, 2), (1, 2), (3, 4)), [2, 2, 2, 2, 2], 4),
        (dag_of(4, (0, 3), (1, 3), (2, 3)), [2, 2, 2, 2], 5),
    ],
)
def test_the_mean_estimate_is_the_sum_over_all_data(dag: np.ndarray, r: list[int], n_rows: int) -> None:
    ratios = np.exp([estimate(dag, r, n_rows, n_samples=400, seed=seed).value for seed in range(50)])
    ratios /= math.exp(regret_by_sum(dag, r, n_rows))
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert ratios.std(ddof=1) < 0.1


@pytest.mark.parametrize(
    ("dag", "r", "n_rows"),
    [
        (dag_of(5, (0, 1), (1, 2), (1, 3), (0, 4)), [2, 2, 3, 4, 5], 600),
        (dag_of(9, (0, 1), (1, 2), (1, 3), (1, 4), (0, 5), (5, 6), (5, 7), (5, 8)), [2, 2, 3, 4, 2, 2, 5, 3, 2], 600),
        (dag_of(4, (0, 1), (1, 2), (2, 3)), [2, 2, 2, 6], 1),
    ],
)
def test_binary_forests_agree_with_their_exact_sums(dag: np.ndarray, r: list[int], n_rows: int) -> None:
    found = estimate(dag, r, n_rows, target_se=0.02)
    assert abs(found.value - binary_forest_regret(dag, r, n_rows)) < 4 * found.standard_error + 1e-9
    assert found.standard_error < 0.04


@pytest.mark.parametrize("n_leaves", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_stars_are_exact_whatever_their_root(n_leaves: int, reverse: bool) -> None:
    r, n_rows = [3, 4, *[2] * n_leaves], 6 - min(n_leaves, 2)
    edges = [(1, 0) if reverse else (0, 1), *((0, leaf) for leaf in range(2, len(r)))]
    if n_leaves == 5:
        r, n_rows = [2, 2, 2, 2, 2, 1, 1], 4
    found = exact(dag_of(len(r), *edges), r, n_rows)
    assert found.value == pytest.approx(regret_by_sum(dag_of(len(r), *edges), r, n_rows), abs=1e-9)
    assert (found.standard_error, found.effective_samples) == (0.0, math.inf)
    assert estimate(dag_of(len(r), *edges), r, n_rows) == found


def test_isolated_nodes_add_their_regrets() -> None:
    r = [2, 3, 9]
    found = estimate(dag_of(3), r, 1000)
    assert found.value == pytest.approx(sum(multinomial_regret(states, 1000) for states in r), abs=1e-9)


def test_the_regrets_of_components_add() -> None:
    r = [2, 2, 3, 2]
    twice = np.kron(np.eye(2, dtype=bool), BRIDGE)
    both = plan(np.pad(twice, (0, 3)) | dag_of(11, (8, 9)), [*r, *r, 3, 4, 5], 500, n_samples=300)
    one = estimate(BRIDGE, r, 500, n_samples=300, seed=1)
    found = combine(both, run(both, range(len(both.batches))))
    edge = multinomial_regret(12, 500) + multinomial_regret(5, 500)
    error = math.hypot(found.standard_error, 2 * one.standard_error)
    assert abs(found.value - 2 * one.value - edge) < 4 * error
    assert found.standard_error == pytest.approx(math.sqrt(2) * one.standard_error, rel=0.5)
    assert len(both.parts) == 2


@settings(max_examples=25)
@given(dags(6), st.data())
def test_equivalent_dags_have_identical_estimates(dag: np.ndarray, data: st.DataObject) -> None:
    r = data.draw(st.lists(st.integers(1, 4), min_size=len(dag), max_size=len(dag)))
    other = data.draw(st.sampled_from(list(itertools.islice(walk(dag, np.random.default_rng(0)), 20))))
    assert estimate(other, r, 40, n_samples=20, seed=3) == estimate(dag, r, 40, n_samples=20, seed=3)


def test_the_value_does_not_depend_on_how_the_batches_are_divided() -> None:
    dag = random_dag(7, 0.4, np.random.default_rng(1))
    arguments = dag, [2, 3, 2, 4, 2, 3, 2], 300
    prepared = plan(*arguments, n_samples=1500, seed=8)
    whole = combine(prepared, run(prepared, range(len(prepared.batches))))
    again = pickle.loads(pickle.dumps(plan(*arguments, n_samples=1500, seed=8)))
    results = [result for first in (2, 0, 1) for result in run(again, range(first, len(again.batches), 3))]
    assert len(prepared.batches) > 3
    assert combine(again, pickle.loads(pickle.dumps(results))) == whole
    assert whole != estimate(*arguments, n_samples=1500, seed=9)


def test_batches_are_averaged_by_their_sizes_and_parts_are_added() -> None:
    """exp of a part's regret is the mean over its particles; its relative variance, that of the weighted mean."""
    drafts = plan(np.kron(np.eye(2, dtype=bool), BRIDGE), [2, 2, 3, 2] * 2, 50, n_samples=300)
    prepared = dataclasses.replace(drafts, exact=1.25, batches=((0, 100), (1, 50), (0, 300)))
    results = [BatchResult(0, 40.0, 0.04), BatchResult(2, 43.0, 0.01), BatchResult(1, -3.0, 0.0025)]
    found = combine(prepared, results)
    shares = np.array([100.0, 300.0 * math.exp(3.0)])
    assert found.value == pytest.approx(1.25 + 40.0 + math.log(shares.sum() / 400) - 3.0, abs=1e-12)
    shares /= shares.sum()
    variance = shares[0] ** 2 * 0.04 + shares[1] ** 2 * 0.01 + 0.0025
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found.effective_samples == pytest.approx(1 / (variance + 1 / 50), rel=1e-12)


def test_pilots_and_batches_have_generators_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def spy(*arguments: Any) -> tuple[float, float]:
        drawn.append(arguments[-1].random())
        return 0.0, 1.0

    monkeypatch.setattr(importance, "draw", spy)
    estimate(np.kron(np.eye(3, dtype=bool), BRIDGE), [2, 2, 3, 2] * 3, 50, target_se=0.05)
    assert len(drawn) > 3 + 3
    assert len(set(drawn)) == len(drawn)


def test_pilots_divide_the_particles_so_that_the_target_is_met_in_the_least_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of n_i particles with variance v_i and time t_i each, sum v_i / n_i is least for n_i ~ sqrt(v_i / t_i)."""
    draft = plan(np.kron(np.eye(2, dtype=bool), BRIDGE), [2, 2, 3, 2] * 2, 50, n_samples=300)
    parts = tuple(part._replace(seconds=seconds) for part, seconds in zip(draft.parts, (1e-3, 0.25e-3), strict=True))
    variances = {0: 9.0, 1: 16.0}  # of one particle

    def spy(plan: Plan, part: int, n_particles: int, key: tuple[int, int]) -> tuple[float, float]:
        return 0.0, variances[part] / n_particles / 1.5  # 1.5: the margin for what a pilot underestimates

    monkeypatch.setattr(importance, "_draw", spy)
    first, second = importance._sizes(dataclasses.replace(draft, parts=parts), 0.05)
    assert 9.0 / first + 16.0 / second == pytest.approx(0.05**2, rel=1e-3)
    assert first / second == pytest.approx(math.sqrt((9.0 / 1e-3) / (16.0 / 0.25e-3)), rel=1e-3)
    assert importance._sizes(dataclasses.replace(draft, parts=parts), 100.0) == [256, 256]  # the fewest


def test_there_are_as_many_particles_as_requested() -> None:
    for n_samples in (1, 7, 256, 1001):
        assert sum(size for _, size in plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=n_samples).batches) == n_samples


def test_every_batch_must_be_run_once() -> None:
    prepared = plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=1000)
    with pytest.raises(InputError, match="3 of 4 batches"):
        combine(prepared, run(prepared, range(3)))


@pytest.mark.parametrize("target_se", [0.02, 0.05])
def test_the_standard_error_meets_the_target_and_the_spread_of_repeats(target_se: float) -> None:
    dag = random_dag(9, 0.35, np.random.default_rng(4))
    r = [2, 3, 2, 4, 3, 2, 3, 2, 3]
    found = [estimate(dag, r, 2000, target_se=target_se, seed=seed) for seed in range(30)]
    reported = math.sqrt(np.mean([each.standard_error**2 for each in found]))
    assert reported < 1.3 * target_se
    assert 1 / 1.6 < np.std([each.value for each in found], ddof=1) / reported < 1.6


@pytest.mark.parametrize(("n_rows", "largest"), [(1, 5), (2, 40), (30, 40)])
def test_the_regret_of_a_wide_frontier_is_within_its_bounds(n_rows: int, largest: int) -> None:
    """30 parents of one child: their configurations outgrow 64 bits. Only the child is not drawn."""
    p = 31
    dag = dag_of(p, *((parent, p - 1) for parent in range(p - 1)))
    found = estimate(dag, [largest] * p, n_rows, n_samples=64)
    # the child adds at most log r a row to independent columns
    independent = (p - 1) * multinomial_regret(largest, n_rows)
    error = 4 * found.standard_error + 1e-9
    assert independent - error < found.value < independent + n_rows * math.log(largest) + error
    if n_rows == 1:
        assert found.value == pytest.approx(p * math.log(largest), abs=1e-9)


def test_hopeless_and_inexact_evaluations_are_refused() -> None:
    dense = np.triu(np.ones((20, 20), dtype=bool), 1)
    with pytest.raises(InputError, match=r"minutes: choose fewer n_samples, or use estimator='uniform'$"):
        plan(dense, [3] * 20, 10_000, n_samples=10_000_000)
    with pytest.raises(InputError, match=r"minutes: leave target_se out, or use estimator='uniform'$"):
        plan(dense, [3] * 20, 10_000, target_se=1e-6)
    with pytest.raises(InputError, match="GB: use fewer rows"):
        plan(dense, [3] * 20, 3_000_000, n_samples=64)
    with pytest.raises(InputError, match=r"component of 4 nodes .* choose estimator='importance'"):
        exact(BRIDGE, [2, 2, 3, 2], 50)


def test_a_remedy_that_was_not_given_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "_MAX_SECONDS", 1e-3)
    dense = np.triu(np.ones((20, 20), dtype=bool), 1)
    with pytest.raises(InputError, match=r"minutes: use estimator='uniform'$"):
        plan(dense, [3] * 20, 1_000)


def test_without_a_target_the_error_grows_instead_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default of 0.1 nats takes a minute at most; a target of the user's is kept."""
    two = np.kron(np.eye(2, dtype=bool), BRIDGE)
    arguments = two, [2, 2, 3, 2] * 2, 400
    free = plan(*arguments)

    def seconds(found: Plan) -> float:
        return sum(found.parts[part].seconds * size for part, size in found.batches)

    monkeypatch.setattr(importance, "DEFAULT_TARGET", 0.003)
    exact_enough = plan(*arguments)
    assert seconds(exact_enough) > 2 * seconds(free)
    monkeypatch.setattr(importance, "_PATIENT_SECONDS", seconds(exact_enough) / 2)
    hurried = plan(*arguments)
    assert seconds(hurried) == pytest.approx(seconds(exact_enough) / 2, rel=0.05)
    assert len(hurried.parts) == 2
    asked = plan(*arguments, target_se=0.003)
    assert asked.batches == exact_enough.batches


def test_where_a_pilot_would_take_too_long_all_parts_get_the_same_particles(monkeypatch: pytest.MonkeyPatch) -> None:
    two = np.kron(np.eye(2, dtype=bool), BRIDGE)
    each = sum(part.seconds for part in plan(two, [2, 2, 3, 2] * 2, 50, n_samples=64).parts)
    monkeypatch.setattr(importance, "_draw", lambda *_: pytest.fail("a pilot was drawn"))
    for particles, expected in ((100, 100), (10, 64)):
        monkeypatch.setattr(importance, "_PATIENT_SECONDS", particles * each * 1.0001)
        assert plan(two, [2, 2, 3, 2] * 2, 50).batches == ((0, expected), (1, expected))


def test_what_is_out_of_reach_says_so_by_its_type() -> None:
    dense = np.triu(np.ones((20, 20), dtype=bool), 1)
    with pytest.raises(importance.OutOfReachError, match=r"^the regret would take [1-9][0-9]{0,5} GB") as refused:
        plan(dense, [3] * 20, 3_000_000)
    assert str(refused.value).startswith(f"{refused.value.reason}: ")
    with pytest.raises(
        importance.OutOfReachError, match=r"^the regret would take about [1-9][0-9]{1,5} minutes"
    ) as slow:
        plan(dense, [3] * 20, 10_000, n_samples=10_000_000)
    minutes = int(slow.value.reason.split()[-2])
    with pytest.raises(importance.OutOfReachError) as slower:
        plan(dense, [3] * 20, 10_000, n_samples=20_000_000)
    assert int(slower.value.reason.split()[-2]) == pytest.approx(2 * minutes, abs=1)


def test_what_is_refused_is_told_in_gigabytes_and_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    part = plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=64).parts[0]
    n_bytes = 64 * bytes_per_particle(part.schedule) + workspace_bytes(part.schedule, 50)
    monkeypatch.setattr(importance, "_MAX_BYTES", n_bytes)
    importance._refuse_hopeless([part], [64], 50, [])
    monkeypatch.setattr(importance, "_MAX_BYTES", n_bytes - 1)
    with pytest.raises(importance.OutOfReachError, match=r"^the regret would take 0 GB: use fewer rows"):
        importance._refuse_hopeless([part], [64], 50, [])
    monkeypatch.setattr(importance, "_MAX_BYTES", 1e9)
    monkeypatch.setattr(importance, "_MAX_SECONDS", 1e4)
    with pytest.raises(importance.OutOfReachError, match=r"^the regret would take about 600 minutes"):
        importance._refuse_hopeless([part._replace(seconds=300.0)], [120], 50, [])


def test_more_states_than_a_particle_can_hold_are_refused() -> None:
    part = plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=64).parts[0]
    most = part._replace(schedule=part.schedule._replace(states=2**16))
    with pytest.raises(importance.OutOfReachError, match="65537 states is out of reach: group its states"):
        importance._refuse_hopeless([part._replace(schedule=most.schedule._replace(states=2**16 + 1))], [1], 50, [])
    importance._refuse_hopeless([most], [1], 50, [])


def test_batches_of_particles_that_need_much_memory_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    part = plan(BRIDGE, [2, 2, 3, 2], 50, n_samples=64).parts[0]
    monkeypatch.setattr(importance, "_BATCH_BYTES", int(100.5 * bytes_per_particle(part.schedule)))
    assert importance._batch_size(part) == 100
    assert isinstance(importance._batch_size(part), int)
