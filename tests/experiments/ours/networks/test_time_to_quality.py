from pathlib import Path

import matplotlib.image
import pandas as pd
import pytest

from experiments.ours.networks.time_to_quality import LEAST_SECONDS, _panels, draw
from tests.experiments.ours.networks.test_report import rows_of


def test_panels_have_the_means_of_few_rows_and_of_the_most() -> None:
    totals = {
        "true-network": [0.0, 0.0],
        "law-nml": [5.0, 6.0],
        "greedy-nml": [7.0, 6.0],
        "ges-bic": [float("nan"), 9.0],
    }
    rows = rows_of(totals, n_rows=10_000).assign(seconds=[1.0, 1.0, 40.0, 60.0, 0.0, 0.0, 600.0, 30.0])
    few, fewer = (rows_of({"law-nml": [1.0]}, n_rows=n_rows) for n_rows in (500, 100))
    panels = _panels(pd.concat([few, fewer, rows, rows_of({"law-bic": [1.0]}, n_rows=20_000)]))
    assert [title for title, _ in panels] == ["net, 500 rows", "net, 10,000 rows"]
    found = panels[1][1]
    assert found["above"].to_dict() == {"ges-bic": 3.0, "greedy-nml": 1.0, "law-nml": 0.0}
    assert found["seconds"].to_dict() == {"ges-bic": 30.0, "greedy-nml": LEAST_SECONDS, "law-nml": 50.0}


def test_the_figure_has_a_panel_for_each_network_that_law_nml_learned(tmp_path: Path) -> None:
    rows = rows_of({"law-nml": [5.0], "greedy-nml": [7.0], "law-bic": [9.0]}).assign(seconds=1.0)
    alone = rows_of({"greedy-nml": [1.0]}).assign(network="large")
    draw(alone, tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()
    shapes = []
    for n_networks in (1, 5):
        several = [rows.assign(network=f"net {i}") for i in range(n_networks)]
        draw(pd.concat([*several, alone]), tmp_path / "some.png")
        shapes.append(matplotlib.image.imread(tmp_path / "some.png").shape)
    assert shapes[1][0] / shapes[0][0] == pytest.approx(6.0 / 3.2, abs=0.01)  # two rows of panels
