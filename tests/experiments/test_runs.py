from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest

from experiments import runs, tasks
from experiments.runs import COLUMNS, N_INIT, RUNS, Budget, Run, best_after, complete, planned, play
from experiments.tasks import Row, append, read
from law_ray.space.permutations import enumerate_all
from law_ray.typing import IntArray
from objectives.instances.best_known import BestKnown

CHR12A = Run("qap:chr12a", "random", 0, 0)


@dataclass
class Distance:
    """The distance to an ordering, 1,200,000 at best; keeps what it evaluates."""

    n_items: int = 6
    seen: list[IntArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __call__(self, permutation: IntArray) -> float:
        self.seen.append(permutation)
        self.values.append(1_200_000.0 + np.abs(permutation - np.arange(self.n_items)[::-1]).sum())
        return self.values[-1]


def test_a_budget_counts_the_initial_set_and_a_fraction_of_the_rounds() -> None:
    assert Budget(batch_size=5, rounds=100).evaluations() == 30 + 100 * 5
    assert Budget(batch_size=10, rounds=80).evaluations(0.25) == 30 + 20 * 10


def test_all_first_runs_are_planned_before_all_second_ones() -> None:
    some = planned(["tsp:att48", "fsp:car5"], ["random", "law-est"], 7)
    assert [run.number for run in some] == [number for number in range(7) for _ in range(4)]
    sets = [(run.initial_set, run.repeat) for run in some if run[:2] == ("tsp:att48", "law-est")]
    assert sets == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 1), (1, 1)]
    everything = planned(["tsp:att48", "fsp:car5", "fsp:hel2"], ["random"], RUNS)
    assert len(set(everything)) == 3 * 15 and {run[2:] for run in everything} == {
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


@pytest.mark.parametrize("proven", [True, False])
def test_a_run_ends_where_it_finds_a_proven_optimum(proven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, known = Distance(), Distance()
    best = min(map(Distance(), enumerate_all(6)))
    known.name = "some problem"  # type: ignore[attr-defined]
    monkeypatch.setattr(runs, "best_known", lambda: {"some problem": BestKnown(best, proven)})
    row, same = (play(CHR12A._replace(method="law-est"), objective, 5, 70) for objective in (whole, known))
    assert {**row, "seconds": 0} == {**same, "seconds": 0}
    found = int(row["curve"].split()[-1].split(":")[0])
    assert found < len(whole.seen) == 70
    assert len(known.seen) == (found if proven else 70)


def test_a_model_finds_the_optimum() -> None:
    best = min(map(Distance(), enumerate_all(6)))
    row = play(CHR12A._replace(method="law-est"), Distance(), 5, 70)
    assert best_after(row["curve"], [70]).tolist() == [best]


@pytest.mark.parametrize("method", ["random", "law-est"])
def test_a_shorter_run_is_the_beginning_of_a_longer_one_and_repeats_differ(method: str) -> None:
    short, long, other = Distance(12), Distance(12), Distance(12)  # with fewer items LAW always finds the best batch
    play(CHR12A._replace(method=method), short, 5, 40)
    play(CHR12A._replace(method=method), long, 5, 50)
    play(CHR12A._replace(method=method, repeat=1), other, 5, 40)
    assert np.array_equal(long.seen[:40], short.seen)
    assert not np.array_equal(other.seen, short.seen)


def test_values_between_two_improvements_are_those_of_the_earlier_one() -> None:
    values = best_after("30:1200.5 45:900 60:7", [30, 40, 45, 55, 60, 530])
    assert values.tolist() == [1200.5, 1200.5, 900, 900, 7, 7]


def test_a_curve_knows_nothing_before_its_first_value() -> None:
    with pytest.raises(ValueError, match="begins after 30 evaluations"):
        best_after("30:9 50:3", [40, 29])


def row_of(run: Run) -> Row:
    return {**run._asdict(), "evaluations": 330, "seconds": 0.5, "curve": "30:9"}


def test_an_experiment_plays_the_missing_runs_in_order_and_reports_even_if_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Run] = []

    def play_all(play_alone: Any, todo: list[Run], file: Path) -> int:
        played.extend(todo)
        append(file, [row for run in todo[1:] for row in play_alone(run)])
        return 1

    def report(rows: pd.DataFrame) -> str:
        return f"{len(rows)} rows"

    monkeypatch.setattr(tasks, "play_all", play_all)
    all_runs = [CHR12A._replace(method=method, initial_set=k) for method in ("ga", "random") for k in range(3)]
    append(tmp_path / "some.csv", [row_of(all_runs[4])])
    with pytest.raises(click.ClickException, match="1 runs failed"):
        complete(all_runs, lambda run: [row_of(run)], report, tmp_path / "some")
    assert played == [all_runs[k] for k in (0, 3, 1, 2, 5)]
    assert (tmp_path / "some.md").read_text() == "5 rows"
    assert len(read(tmp_path / "some.csv", COLUMNS)) == 5
