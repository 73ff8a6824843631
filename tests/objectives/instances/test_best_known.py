import csv
import re
from pathlib import Path

import objectives.instances
from objectives.instances.best_known import best_known, best_value
from objectives.instances.orlib import FILE
from objectives.instances.taillard import NAMES


def test_every_problem_is_listed_once() -> None:
    with (Path(objectives.instances.__file__).parent / "best_known.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(best_known()) == len(rows)
    assert {row["proven"] for row in rows} == {"yes", "no"}
    assert all(re.fullmatch(r"(qap|fsp|tsp):\w+", row["problem"]) for row in rows)


def test_the_benchmark_sets_are_complete() -> None:
    names = {name for problem in best_known() for family, name in [problem.split(":")] if family == "fsp"}
    assert FILE == "flowshop1.txt"
    assert names - set(NAMES) == {
        *(f"car{number}" for number in range(1, 9)),
        *("hel1", "hel2"),
        *(f"reC{number:02}" for number in range(1, 42, 2)),
    }
    assert set(NAMES) <= names
    assert sum(problem.startswith("qap:") for problem in best_known()) == 135
    assert sum(problem.startswith("tsp:") for problem in best_known()) == 100


def test_values_and_proofs_are_those_of_the_list() -> None:
    assert best_known()["tsp:burma14"] == (3323, True)
    assert best_known()["fsp:hel2"] == (135, False)
    assert best_value("qap:esc16f") == 0
    assert best_value("qap:mine") is None
