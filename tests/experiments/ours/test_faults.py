"""The report alone: `tests/law_ray/driver/test_faults.py` provokes the faults."""

import pandas as pd

from experiments import RESULTS
from experiments.ours.faults import __main__ as faults
from experiments.ours.faults.__main__ import provoked, report, with_row
from tests.experiments.committed import check_committed


def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("faults", report(pd.read_csv(RESULTS / "faults.csv")))


def row(fault, survived):
    return {"fault": fault, "before": 12, "lost": 0, "repeated": 0, "seconds": 0.5, "survived": survived, "how": "so"}


def test_a_fault_has_one_row_also_after_it_had_no_end():
    frame = with_row(pd.DataFrame(columns=["fault"]), "deleted", row("the folder is deleted", survived=True))
    frame = with_row(frame, "moved", row("the folder is moved", survived=True))
    ended = with_row(frame, "deleted", row("deleted", survived=False))
    assert ended["fault"].tolist() == ["the folder is deleted", "the folder is moved", "deleted"]
    again = with_row(ended, "deleted", row("the folder is deleted", survived=True))
    assert again["fault"].tolist() == ["the folder is moved", "the folder is deleted"]
    assert again["survived"].all()


def test_a_scene_whose_process_is_killed_has_a_row(monkeypatch):
    monkeypatch.setattr(faults.sys, "executable", "false")
    found = provoked("deleted")
    assert (found["fault"], found["survived"], found["how"]) == ("deleted", False, "it ended without a message")
