from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats

from experiments import RESULTS, points
from experiments.paper import kernels
from law_ray.kernels.distance import KERNELS, position_distances
from law_ray.models.fit_distance import fit
from law_ray.utils.seeding import generator
from tests.experiments.committed import check_committed
from tests.experiments.test_points import Displacement


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Small sets of points, and results in a folder of their own."""
    for module in (kernels, points):
        monkeypatch.setattr(module, "N_FIT", 40)
        monkeypatch.setattr(module, "N_TEST", 30)
    monkeypatch.setattr(kernels, "RESULTS", tmp_path)
    monkeypatch.setattr(kernels, "ROWS", tmp_path / "kernels.csv")
    return tmp_path


def rows_of(nlpd: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Rows of {problem: {kernel: a value per seed}}; other kernels have 9, and rank correlations are -nlpd."""
    return pd.DataFrame(
        [
            {"problem": problem, "seed": seed, "kernel": kernel, "nlpd": value, "rank_correlation": -value}
            for problem, of_problem in nlpd.items()
            for kernel, values in {**dict.fromkeys(KERNELS, [9.0] * len(of_problem["position"])), **of_problem}.items()
            for seed, value in enumerate(values)
        ]
    )


@pytest.mark.parametrize("kernel", ["position", "mallows"])
def test_a_row_has_the_density_and_rank_correlation_of_the_held_out_points(kernel: str) -> None:
    X, y = points.points(Displacement(), np.random.default_rng(1))
    y += np.random.default_rng(0).normal(0.0, 5.0, size=70)
    row = kernels.held_out(KERNELS[kernel], X, y, 3)
    h = fit(X[:40], y[:40], generator(3, "fit", 0), kernel=KERNELS[kernel])
    assert (row["decay"], row["signal_variance"], row["noise"]) == (h.decay, h.signal_variance, h.noise)

    a = X.argsort(axis=1)
    signs = np.sign(a[:, :, None] - a[:, None])
    discordant = (signs[:, None] != signs[None]).sum(axis=(2, 3)) / 2
    distances = position_distances(X, X) if kernel == "position" else discordant
    K = h.signal_variance * np.exp(-h.decay * distances / 8)
    weights = K[40:, :40] @ np.linalg.inv(K[:40, :40] + h.noise * np.eye(40))
    values = (y - y[:40].mean()) / y[:40].std()
    mean = h.mean + weights @ (values[:40] - h.mean)
    variance = h.signal_variance - np.diag(weights @ K[:40, 40:]) + h.noise
    density = stats.norm(mean, np.sqrt(variance)).logpdf(values[40:])
    assert row["nlpd"] == pytest.approx(-density.mean(), abs=1e-6)
    assert row["rank_correlation"] == pytest.approx(stats.spearmanr(mean, values[40:]).statistic, abs=1e-9)


def test_only_what_is_missing_is_computed(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "load", lambda name: Displacement())
    seen = []
    held_out = kernels.held_out

    def counted(kernel: Any, X: Any, y: Any, seed: int) -> Any:
        seen.append((kernel.name, seed, X.tobytes()))
        return held_out(kernel, X, y, seed)

    monkeypatch.setattr(kernels, "held_out", counted)
    options = ["--problems", "qap:nug22", "--seeds"]
    assert CliRunner().invoke(kernels.main, [*options, "1"]).exit_code == 0
    rows = pd.read_csv(small / "kernels.csv")
    assert rows["kernel"].tolist() == list(KERNELS)
    rows[rows["kernel"] != "hamming"].to_csv(small / "kernels.csv", index=False)
    assert CliRunner().invoke(kernels.main, [*options, "2"]).exit_code == 0
    assert [call[:2] for call in seen[6:]] == [("hamming", 0), *((name, 1) for name in KERNELS)]
    assert {call[2] for call in seen if call[1] == 0} == {seen[0][2]}  # the same points each time
    assert seen[-1][2] != seen[0][2]
    pd.testing.assert_frame_equal(
        pd.read_csv(small / "kernels.csv").query("seed == 0 and kernel == 'hamming'").reset_index(drop=True),
        rows.query("kernel == 'hamming'").reset_index(drop=True),
    )
    assert "qap:nug22" in (small / "kernels.md").read_text()


def test_the_lowest_negative_density_and_the_highest_correlation_of_a_line_are_bold() -> None:
    rows = rows_of({"a": {"position": [1.0, 2.0, 3.0], "mallows": [1.0, 1.0, 1.0]}})
    assert "| a | 2.00 +- 0.58 | 9.00 +- 0.00 | 9.00 +- 0.00 | **1.00** +- 0.00 |" in kernels.tabulate(rows, "nlpd")
    correlations = kernels.tabulate(rows, "rank_correlation")
    assert "| -2.00 +- 0.58 |" in correlations and "| **-1.00** +- 0.00 |" in correlations
    assert "| **1.00** | 9.00 |" in kernels.tabulate(rows_of({"a": {"position": [1.0]}}), "nlpd")


def test_the_verdict_counts_the_problems_where_a_kernel_is_as_good_as_the_best() -> None:
    rows = rows_of(
        {
            "alone": {"position": [1.0, 1.5, 3.0]},
            "tied, paired": {"position": [1.0, 5.0, 8.0], "hamming": [1.1, 4.9, 8.1]},
            "behind, paired": {"position": [1.0, 5.0, 8.0], "mallows": [1.1, 5.1, 8.11]},
            "a single set": {"position": [2.0], "spearman": [1.0]},
        }
    )
    expected = "on this many of 4 problems: position 3, hamming 1, "
    assert expected + "kendall 0, mallows 0, spearman 1, manhattan 0. " in kernels.verdict(rows)
    assert "not among the best on: a single set.\n" in kernels.verdict(rows)
    assert "not among the best on: none.\n" in kernels.verdict(rows[rows["problem"] != "a single set"])
    assert "position 3, hamming 1," in kernels.report(rows)


def test_the_committed_report_is_that_of_the_committed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # its sets of points are not small
    check_committed("kernels", kernels.report(pd.read_csv(RESULTS / "kernels.csv")))
