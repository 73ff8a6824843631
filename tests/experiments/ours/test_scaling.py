from experiments.ours.scaling import COLUMNS, FILE, report
from experiments.tasks import read
from tests.experiments.committed import check_committed


def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("scaling", report(read(FILE, COLUMNS)))
