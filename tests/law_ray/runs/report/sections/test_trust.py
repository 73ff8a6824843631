import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from law_ray.methods.registry import METHODS
from law_ray.models.gp import GaussianProcess
from law_ray.runs.report.sections import trust
from law_ray.runs.report.sections.trust import Foresight, coverage, foresight, rank_correlation
from law_ray.runs.report.view import View
from tests.law_ray.runs.report.runs import made


@pytest.mark.parametrize("maximize", [False, True])
def test_predictions_are_those_of_the_model_given_what_was_known(tmp_path, maximize):
    run = made(tmp_path, maximize=maximize)
    found = foresight(View.of(run))
    sign = -1.0 if maximize else 1.0
    known = []
    expected = {}
    for record in run.records[1:]:
        if record["type"] == "tell":
            known.append(run.optimizer.trials[record["id"]])
        elif record["type"] == "ask" and record["model"] is not None:
            X, y = np.array([t.permutation for t in known]), sign * np.array([t.value for t in known])
            process = GaussianProcess(X, y, METHODS["law-est"].model.read(record["model"]))
            for trial in record["trials"]:
                mean = process.predict(np.array([trial["permutation"]]))[0]
                expected[trial["id"]] = sign * process.standardize.inverse(mean)[0]
    assert set(found.trials) == set(expected)
    assert found.mean == pytest.approx([expected[i] for i in found.trials])
    assert (found.observed == [run.optimizer.trials[i].value for i in found.trials]).all()


def test_told_standard_errors_widen_the_intervals(tmp_path):
    exact, noisy = (
        foresight(View.of(made(tmp_path / str(error), error=error, reevaluations=0))) for error in (0.0, 3.0)
    )
    assert exact.deviation.min() < 3.0 <= noisy.deviation.min()


def test_few_rounds_are_predicted_where_all_would_take_long(tmp_path, monkeypatch):
    run = made(tmp_path, evals=60)
    monkeypatch.setattr(trust, "MAX_WORK", 0.0)
    rounds = np.unique(foresight(View.of(run)).rounds)
    assert len(rounds) == 4
    assert rounds[-1] == max(trial.round for trial in run.ended)


def test_rank_correlation_is_spearmans():
    a, b = np.random.default_rng(0).integers(0, 6, (2, 30)).astype(float)  # with ties
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, np.ones(30)) == 0.0


def test_coverage_of_a_true_model_is_the_level():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(size=20000), rng.uniform(0.5, 2.0, 20000)
    found = Foresight(
        np.arange(20000), np.zeros(20000), mean + deviation * rng.normal(size=20000), mean, deviation, mean
    )
    for level in (0.5, 0.9):
        assert coverage(found, slice(None), level) == pytest.approx(level, abs=0.01)
    wide = found._replace(deviation=2 * deviation)
    assert coverage(wide, slice(None), 0.5) == pytest.approx(2 * norm.cdf(2 * norm.ppf(0.75)) - 1, abs=0.01)
