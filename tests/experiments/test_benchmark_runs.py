from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import benchmark_runs, paper
from experiments.benchmark_runs import COLUMNS, N_INIT, PROBLEMS, Run, best_after, missing, planned, play
from experiments.tasks import append, read
from law_ray.permutations import IntArray, enumerate_all

CHR12A = Run("qap:chr12a", "random", 0, 0)


@dataclass
class Distance:
    """The distance to an ordering, 1,200,000 at best; remembers what it was asked."""

    n_items: int = 6
    seen: list[IntArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __call__(self, permutation: IntArray) -> float:
        self.seen.append(permutation)
        self.values.append(1_200_000.0 + np.abs(permutation - np.arange(self.n_items)[::-1]).sum())
        return self.values[-1]


def row_of(run: Run, evaluations: int) -> dict[str, Any]:
    return {**run._asdict(), "evaluations": evaluations, "seconds": 0.5, "curve": f"30:9 {evaluations}:7"}


def test_the_budgets_are_those_of_the_paper() -> None:
    figures = paper.figures()
    theirs = figures[figures["method"] == "q-est"].set_index("problem")["evaluations"]  # never cut short
    assert {problem: budget.evaluations() for problem, budget in PROBLEMS.items()} == theirs[list(PROBLEMS)].to_dict()
    assert PROBLEMS["qap:chr12a"].evaluations(0.25) == 30 + 25 * 5
    assert PROBLEMS["tsp:att48"].evaluations(0.25) == 30 + 20 * 10


def test_all_first_runs_are_planned_before_all_second_ones() -> None:
    runs = planned(["tsp:att48", "fsp:car5"], ["random", "law-est"], 7)
    assert [run.number for run in runs] == [number for number in range(7) for _ in range(4)]
    sets = [(run.initial_set, run.repeat) for run in runs if run[:2] == ("tsp:att48", "law-est")]
    assert sets == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 1), (1, 1)]
    everything = planned(PROBLEMS, ["random"], benchmark_runs.RUNS)
    assert len(set(everything)) == 9 * 15 and {run[2:] for run in everything} == {
        (initial_set, repeat) for initial_set in range(5) for repeat in range(3)
    }


def initial(run: Run) -> IntArray:
    objective = Distance()
    play(run, objective, 5, N_INIT + 5)
    return np.array(objective.seen[:N_INIT])


def test_all_methods_and_repeats_share_an_initial_set() -> None:
    first = initial(CHR12A)
    assert np.array_equal(initial(CHR12A._replace(method="law-est", repeat=2)), first)
    others = [CHR12A._replace(initial_set=number) for number in range(1, 5)] + [CHR12A._replace(problem="fsp:car5")]
    sets = [first, *(initial(other) for other in others)]
    assert len({permutations.tobytes() for permutations in sets}) == 6


def test_a_curve_is_the_running_minimum_after_each_round() -> None:
    objective = Distance()
    row = play(CHR12A, objective, 5, 80)
    counts = range(N_INIT, 81, 5)
    assert len(objective.values) == 80
    assert best_after(row["curve"], counts).tolist() == [min(objective.values[:count]) for count in counts]
    assert len(row["curve"].split()) == len(set(best_after(row["curve"], counts))) > 1  # no round that improved nothing
    assert tuple(row) == COLUMNS and row["evaluations"] == 80 and row["seconds"] >= 0


def test_a_model_finds_the_optimum() -> None:
    best = min(map(Distance(), enumerate_all(6)))
    row = play(CHR12A._replace(method="law-est"), Distance(), 5, 70)
    assert best_after(row["curve"], [70]).tolist() == [best]


@pytest.mark.parametrize("method", ["random", "law-est"])
def test_a_shorter_run_is_the_beginning_of_a_longer_one_and_repeats_differ(method: str) -> None:
    short, long, other = Distance(12), Distance(12), Distance(12)  # of fewer items LAW finds the best batch, always
    play(CHR12A._replace(method=method), short, 5, 40)
    play(CHR12A._replace(method=method), long, 5, 50)
    play(CHR12A._replace(method=method, repeat=1), other, 5, 40)
    assert np.array_equal(long.seen[:40], short.seen)
    assert not np.array_equal(other.seen, short.seen)


def test_values_between_two_improvements_are_those_of_the_first() -> None:
    values = best_after("30:1200.5 45:900 60:7", [30, 40, 45, 55, 60, 530])
    assert values.tolist() == [1200.5, 1200.5, 900, 900, 7, 7]


def test_a_longer_run_serves_for_a_shorter_one_but_not_the_other_way(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert missing([CHR12A], read(file, COLUMNS), 1.0) == [CHR12A]
    full, quarter, none = (CHR12A._replace(initial_set=number) for number in range(3))
    append(file, [row_of(full, 530), row_of(quarter, 155), row_of(none._replace(method="ga"), 530)])
    assert missing([full, quarter, none], read(file, COLUMNS), 0.25) == [none]
    assert missing([full, quarter, none], read(file, COLUMNS), 1.0) == [quarter, none]
    append(file, [row_of(quarter, 530)])
    assert missing([full, quarter, none], read(file, COLUMNS), 1.0) == [none]
