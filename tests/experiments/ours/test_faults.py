"""The report alone: `tests/law_ray/driver/test_faults.py` provokes the faults."""

import pandas as pd

from experiments import RESULTS
from experiments.ours.faults.__main__ import report
from tests.experiments.committed import check_committed


def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("faults", report(pd.read_csv(RESULTS / "faults.csv")))
