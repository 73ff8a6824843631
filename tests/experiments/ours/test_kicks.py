import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours import kicks
from experiments.ours.kicks import COLUMNS, VARIANTS, Run, planned, play, report, summary
from experiments.tasks import append, read
from law_ray.utils.seeding import generator
from objectives.nml import NML
from objectives.nml.data.networks import sample_network
from objectives.nml.search.greedy import greedy_orderings
from tests.experiments.committed import check_committed


def test_few_data_sets_are_planned_where_a_search_takes_minutes() -> None:
    runs = planned(("andes", "alarm"), 5)
    assert [run for run in runs if run.network == "alarm"] == [Run("alarm", 500, 100 + seed) for seed in range(5)]
    assert len([run for run in runs if run.network == "andes"]) == 4
    assert len(planned((), 1)) == len(kicks.TABLES)


def test_a_data_set_leaves_the_lowest_cost_of_each_kind_of_kicks(tmp_path) -> None:
    rows = play(Run("sachs", 100, 1))
    assert [row["kicks"] for row in rows] == list(VARIANTS)
    cost = {row["kicks"]: row["cost"] for row in rows}
    assert max(cost.values()) == cost["none"]
    _, costs = greedy_orderings(NML(sample_network("sachs", 100, 1))._parent_sets, 1, generator(1, "starts", 0))
    assert cost["both"] == pytest.approx(costs[0])
    append(tmp_path / "rows.csv", rows)
    known = read(tmp_path / "rows.csv", COLUMNS)
    assert summary(known) in report(known)


def test_the_table_has_differences_from_the_lowest_cost_on_the_same_data() -> None:
    costs = {"none": [9.0, 7.0], "moves": [5.0, 4.0], "paths": [6.0, 4.0], "both": [5.5, 4.5]}
    rows = [
        {"network": "net", "n_rows": 50, "seed": seed, "kicks": name, "cost": cost, "seconds": 2.0 + seed}
        for name, of_kicks in costs.items()
        for seed, cost in enumerate(of_kicks)
    ]
    line = summary(pd.DataFrame(rows)).splitlines()[2]
    assert line.startswith("| net | 50 | 2 | 3.5 +- 0.5 | 0.0 +- 0.0 | 0.5 +- 0.5 | 0.5 +- 0.0 | 2.5 |")


@pytest.mark.skipif(not (RESULTS / "kicks.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows() -> None:
    check_committed("kicks", report(read(RESULTS / "kicks.csv", COLUMNS)))
