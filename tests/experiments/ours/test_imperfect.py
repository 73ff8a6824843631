import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.imperfect import AS_IF_EXACT, METHODS, PLAYERS, PROBLEMS, play_alone, problem, report
from experiments.runs import COLUMNS, CONTESTANTS, Run
from experiments.tasks import read
from law_ray.optimizer import Optimizer
from tests.experiments.committed import check_committed

NOISY = ("noisy schedule", "noisy layout")


def test_the_methods_exist():
    assert set(METHODS) <= set(CONTESTANTS)


@pytest.mark.parametrize("name", NOISY)
def test_observed_values_scatter_about_the_truth_as_their_standard_errors_say(name):
    objective, rng = problem(name), np.random.default_rng(0)
    permutation = rng.permutation(objective.n_items)
    values, errors = np.array([objective.observed(permutation, rng) for _ in range(400)]).T
    assert abs(values.mean() - objective.truth(permutation)) < 4.0 * errors.mean() / np.sqrt(400) + 0.05 * errors.mean()
    assert np.std(values) == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.2)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in NOISY])
def test_the_others_are_seen_as_they_are(name):
    objective, rng = problem(name), np.random.default_rng(0)
    permutation = rng.permutation(objective.n_items)
    assert objective.observed(permutation, rng) == (objective.truth(permutation), 0.0)


def test_layouts_differ_in_noise_and_shape_alone():
    plain, noisy, bent = (problem(name) for name in ("layout", "noisy layout", "bent layout"))
    permutation = np.random.default_rng(0).permutation(12)
    placed = plain.flows[np.ix_(permutation, permutation)]
    cost = sum(placed[k, j] * plain.distances[k, j] for k in range(12) for j in range(12))
    assert plain.truth(permutation) == noisy.truth(permutation) == pytest.approx(cost)
    busiest = max(placed[4 * row : 4 * row + 4].sum() for row in range(3))
    assert bent.truth(permutation) == pytest.approx(cost**1.2 + 2.0 * busiest)


def test_the_renumbered_layout_is_the_layout_with_other_numbers_of_its_places():
    plain, renumbered = problem("layout"), problem("renumbered layout")
    numbers = np.random.default_rng(2).permutation(12)
    for permutation in (np.random.default_rng(seed).permutation(12) for seed in range(5)):
        placed = np.empty(12, dtype=int)
        placed[numbers] = permutation  # place numbers[k] of the plain one is place k of the other
        assert renumbered.truth(permutation) == plain.truth(placed)
    assert not np.array_equal(plain.distances, renumbered.distances)


def test_a_run_has_the_least_true_values_of_what_it_evaluated():
    (row,) = play_alone(Run("noisy schedule", "local-search", 1, 0))
    counts, values = np.array([pair.split(":") for pair in row["curve"].split()], dtype=float).T
    assert counts[0] == 30
    assert counts[-1] <= row["evaluations"] == 100
    assert np.all(np.diff(values) < 0)


def test_the_report_has_means_halfway_and_at_the_end():
    rows = [("noisy schedule", "law-auto", 0, r, 100, 10.0, f"30:900 65:{v} 100:500") for r, v in [(0, 600), (1, 700)]]
    text = report(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert "| law-auto | 2 | 650.00 +- 50.00 | 500.00 +- 0.00 | 0.0% |" in text


@pytest.mark.skipif(not (RESULTS / "imperfect.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("imperfect", report(read(RESULTS / "imperfect.csv", COLUMNS)))


@pytest.mark.parametrize("error", [0.0, 5.0])
def test_the_two_lines_of_law_auto_differ_on_noisy_values_alone(error):
    batches = []
    for method in ("law-auto", AS_IF_EXACT):
        optimizer = Optimizer(8, PLAYERS[method], 3, 20)
        for trial in optimizer.ask(20):
            optimizer.tell(trial.id, float(trial.permutation @ trial.permutation[::-1]), error)
        batches.append([trial.permutation.tolist() for trial in optimizer.ask(5)])
    assert (batches[0] == batches[1]) == (error == 0.0)
