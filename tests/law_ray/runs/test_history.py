"""A run as a table, in memory and as a file."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import law_ray
from law_ray.errors import InputError
from law_ray.runs import journal as journals
from law_ray.runs.evaluation import Outcome
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from law_ray.utils.parsing import read_orderings
from tests.law_ray.runs.working import OBJECTIVE, started, work, work_async

NAMES = ["cut", "dye, red", 'sew "fine"', "näh"]
SETTINGS = Settings(n_items=4, evals=12, n_init=4, batch_size=2, method="random", reevaluations=6)
MORE = ["batch", "worker", "repeats", "repeats_mean", "repeats_error", "reason"]


def journal(*records, names=None):
    objective = OBJECTIVE | ({} if names is None else {"item_names": names})
    first = {"type": "run", "version": 1, "time": 0.0, "objective": objective, "settings": SETTINGS.to_record(),
             "packages": {}, "python": "3.11"}  # fmt: skip
    return Run.replayed(Path("run"), [first, *records])


def ask(*permutations, round, first):
    trials = [{"id": first + i, "permutation": list(each)} for i, each in enumerate(permutations)]
    return {"type": "ask", "time": 1.0, "seconds": 0.5, "round": round, "batch_size": len(trials), "model": None,
            "trials": trials}  # fmt: skip


def tell(number, value, error=0.5, **more):
    return {"type": "tell", "id": number, "value": value, "standard_error": error, "time": 2.0, "seconds": 0.25, **more}


def tell_again(number, value, error):
    return {"type": "tell again", "id": number, "value": value, "standard_error": error, "reason": "", "time": 3.0,
            "seconds": 0.25, "worker": "other/3"}  # fmt: skip


def noisy(names=None):
    """Three batches, the last of them pending; one failure, and a repeat that failed."""
    return journal(
        ask([0, 1, 2, 3], [1, 0, 2, 3], round=0, first=0),
        tell(1, 3.0, worker="host-1a2b/17"),
        {"type": "fail", "id": 0, "reason": "ValueError: no, not this", "time": 2.0, "seconds": None, "worker": "h/2"},
        ask([2, 1, 0, 3], round=1, first=2),
        tell(2, 9.0),
        {"type": "ask again", "time": 3.0, "repeats": [[1, 1], [2, 1]]},
        tell_again(1, 6.0, 3.0),
        tell_again(2, None, 0.0),
        {"type": "ask again", "time": 3.0, "repeats": [[1, 2]]},
        tell_again(1, 8.0, 4.0),
        ask([3, 2, 1, 0], round=2, first=3),
        names=names,
    )


def test_a_runs_history_is_that_of_its_optimizer_and_what_only_the_run_knows():
    run = noisy()
    table = run.history
    own = list(run.optimizer.history.columns)
    assert table[own].equals(run.optimizer.history)
    assert list(table.columns) == own + MORE
    assert table["batch"].tolist() == [0, 0, 1, 2]
    assert table["worker"].tolist() == ["h/2", "host-1a2b/17", None, None]  # a repeat's worker is not the trial's
    assert table["repeats"].tolist() == [0, 2, 0, 0]
    np.testing.assert_array_equal(table["repeats_mean"], [math.nan, 7.0, math.nan, math.nan])
    np.testing.assert_array_equal(table["repeats_error"], [math.nan, 5 / 2, math.nan, math.nan])  # sqrt(9 + 16) / 2
    assert table["reason"].tolist() == ["ValueError: no, not this", "", "", ""]
    row = table.loc[run.winner.trial_id]
    assert (row["repeats_mean"], row["repeats_error"]) == (run.winner.value, run.winner.standard_error)


def test_the_types_of_the_columns_do_not_depend_on_what_is_in_them():
    empty, full = journal().history, noisy().history
    assert (len(empty), list(empty.columns)) == (0, list(full.columns))
    assert empty.dtypes.equals(full.dtypes)
    integers, floats = ["id", "round", "batch", "repeats"], ["value", "seconds", "standard_error", "repeats_mean"]
    assert set(full[integers].dtypes) == {np.dtype("int64")}
    assert set(full[[*floats, "repeats_error"]].dtypes) == {np.dtype("float64")}


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_trials_have_the_number_of_the_ask_that_chose_them(tmp_path, mode):
    settings = Settings(n_items=5, evals=14, n_init=6, batch_size=4, method="random", mode=mode)
    run = started(tmp_path / "run", settings)
    work(run) if mode == "sync" else work_async(run, np.random.default_rng(0))
    run.journal.close()
    records = journals.read(tmp_path / "run")
    asks = [[trial["id"] for trial in record["trials"]] for record in records if record["type"] == "ask"]
    batches = law_ray.load(tmp_path / "run").history.groupby("batch")["id"].apply(list)
    assert batches.tolist() == asks
    assert batches.index.tolist() == list(range(len(asks)))
    assert len(asks) >= 3


def test_a_csv_file_gives_the_history_back(tmp_path):
    run = noisy()
    assert run.to_csv(str(tmp_path / "a.csv")) == tmp_path / "a.csv"
    table = run.history
    read = pd.read_csv(tmp_path / "a.csv", keep_default_na=False, na_values={name: [""] for name in table.columns[3:]})
    assert list(read.columns) == list(table.columns)
    assert read["permutation"].tolist() == ["0 1 2 3", "1 0 2 3", "2 1 0 3", "3 2 1 0"]
    for name in ("id", "round", "value", "seconds", "standard_error", "batch", "repeats", "repeats_mean"):
        np.testing.assert_array_equal(read[name], table[name])
    assert read["state"].tolist() == table["state"].tolist()
    assert read["reason"][0] == table["reason"][0]


def test_the_orderings_are_also_given_by_the_names_in_the_journal(tmp_path):
    with noisy(NAMES).to_csv(tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0])
    assert columns.index("ordering") == columns.index("permutation") + 1
    assert [row["ordering"] for row in rows][1:3] == [
        'dye, red, cut, sew "fine", näh',
        'sew "fine", dye, red, cut, näh',
    ]
    plain = noisy(["a", "b", "c", "d"])
    with plain.to_csv(tmp_path / "b.csv").open(newline="") as file:
        (tmp_path / "start.txt").write_text("\n".join(row["ordering"] for row in csv.DictReader(file)))
    orderings = read_orderings(tmp_path / "start.txt", 4, ["a", "b", "c", "d"])  # as the option --start reads them
    assert orderings == [list(permutation) for permutation in plain.history["permutation"]]
    assert noisy(["too", "few"]).item_names is None


def test_no_spreadsheet_computes_an_ordering_whose_first_item_is_a_formula(tmp_path):
    with noisy(["=1+1", "+2", "@a", "plain"]).to_csv(tmp_path / "a.csv").open(newline="") as file:
        orderings = [row["ordering"] for row in csv.DictReader(file)]
    assert orderings[:2] == ["'=1+1, +2, @a, plain", "'+2, =1+1, @a, plain"]
    assert orderings[3] == "plain, @a, +2, =1+1"


def test_the_file_is_in_the_run_folder_by_default_and_one_that_cannot_be_written_is_refused(tmp_path):
    run = started(tmp_path / "run", SETTINGS)
    run.enter(run.ask(4)[0].id, Outcome(1.0))
    run.journal.close()
    assert law_ray.load(tmp_path / "run").to_csv() == tmp_path / "run" / "history.csv"
    assert len((tmp_path / "run" / "history.csv").read_text().splitlines()) == 5
    for path in (tmp_path / "run", tmp_path / "gone" / "a.csv"):
        with pytest.raises(InputError, match=r"cannot be written \([A-Z][a-z ]+\): give another path") as caught:
            run.to_csv(path)
        assert "\n" not in str(caught.value)
        assert os.fspath(path) in str(caught.value)


def test_values_survive_the_file_to_the_last_digit(tmp_path):
    values = np.random.default_rng(0).normal(size=4) * 10.0 ** np.array([-300, -5, 7, 300])
    run = journal(ask(*([*np.roll(range(4), k)] for k in range(4)), round=0, first=0), *map(tell, range(4), values))
    read = pd.read_csv(run.to_csv(tmp_path / "a.csv"), dtype={"value": str})
    assert [float(text) for text in read["value"]] == values.tolist()
