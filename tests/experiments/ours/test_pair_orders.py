import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours import pair_orders
from experiments.ours.pair_orders import COLUMNS, KERNELS, Case, Network, left, play, report
from experiments.tasks import read
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.experiments.committed import check_committed


def test_a_network_is_scored_by_its_ordering_alone():
    network = Network("nml:sachs")
    X = sample(network.n_items, 5, np.random.default_rng(0))
    values = [network(x) for x in X]
    assert values == [network(x) for x in X]
    assert len(set(values)) > 1


def test_the_mean_of_all_values_leaves_their_variance_and_a_perfect_model_nothing():
    rng = np.random.default_rng(0)
    X, y = sample(9, 200, rng), np.concatenate([np.tile([1.0, -1.0], 50), rng.normal(size=100)])
    nothing_learned = GaussianProcess(X[:100], y[:100], AdditiveHyperparameters({"position": [1e-9, 20.0]}, 1.0, 0.0))
    assert left(nothing_learned, X[100:], y[100:] - y[100:].mean()) == pytest.approx(1.0, abs=1e-3)
    interpolating = GaussianProcess(X, y, AdditiveHyperparameters({"position": [1.0, 20.0]}, 1e-9, 0.0))
    assert left(interpolating, X[100:], y[100:]) < 1e-6


def test_a_run_has_the_errors_of_each_kernel_after_each_number_of_points(monkeypatch):
    monkeypatch.setattr(pair_orders, "problem", lambda name: Sparse())
    rows = play(Case("nml:sachs", 0))
    assert [(row["points"], row["kernel"]) for row in rows] == [(n, k) for n in pair_orders.SIZES for k in KERNELS]
    errors = {(row["points"], row["kernel"]): row["error"] for row in rows}
    assert errors[250, "weighted precedence"] < 0.2 * errors[250, "additive"]
    assert errors[250, "weighted precedence"] < errors[100, "weighted precedence"]


class Sparse:
    """A value by the orders of five of 45 pairs."""

    n_items = 10

    def __call__(self, permutation):
        q = np.argsort(permutation)
        return float(np.arange(1, 6) @ (q[:5] < q[5:]))


def test_the_report_has_a_table_for_each_number_of_points_with_the_best_in_bold():
    rows = pd.DataFrame(
        [
            ("nml:sachs", seed, n, kernel, error + 0.1 * seed)
            for n, errors in ((100, (0.5, 0.4, 0.3)), (250, (0.2, 0.1, 0.3)))
            for seed in range(2)
            for kernel, error in zip(KERNELS, errors, strict=True)
        ],
        columns=list(COLUMNS),
    )
    first, second = report(rows).split("## ")[1:]
    assert "| nml:sachs | 0.550 +- 0.050 | 0.450 +- 0.050 | **0.350** +- 0.050 | 2 |" in first
    assert "| nml:sachs | 0.250 +- 0.050 | **0.150** +- 0.050 | 0.350 +- 0.050 | 2 |" in second
    assert "lop" not in first


@pytest.mark.skipif(not (RESULTS / "pair_orders.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("pair_orders", report(read(RESULTS / "pair_orders.csv", COLUMNS)))
