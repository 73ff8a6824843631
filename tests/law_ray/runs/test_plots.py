"""The figures and the page of a run, from Python."""

import dataclasses

import pytest
from matplotlib.image import imread

import law_ray
from law_ray.errors import InputError
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.settings import Settings
from objectives import load
from tests.law_ray.runs.working import OBJECTIVE, displacement, started, work

QUICK = Settings(n_items=8, evals=20, batch_size=5, n_init=10, method="random")


def test_the_page_and_figures_for_papers_go_where_they_are_wanted(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, method="law-est"))
    work(run)
    read = law_ray.load(tmp_path / "run")
    for plot, name in ((read.plot_convergence, "curve.png"), (read.plot_information_gain, "gain.png")):
        assert plot(tmp_path / name) == tmp_path / name
        assert imread(tmp_path / name).std() > 0.01
    assert read.write_page() == tmp_path / "run" / "report.html"
    assert read.write_page(tmp_path / "page.html", displacement).stat().st_size > 100_000
    for objective, tour in ((None, False), ("tsp:plane8", True), (load("tsp:plane8"), True)):
        path = tmp_path / f"page {type(objective).__name__}.html"
        assert read.write_page(path, objective) == path
        assert ('id="picture"' in path.read_text(encoding="utf-8")) == tour


def test_plots_are_figures_of_plotly(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, method="law-est"))
    work(run)
    read = law_ray.load(tmp_path / "run")
    for plot in ("convergence", "precedence", "neighbours", "positions", "rounds", "predictions", "time_line"):
        figure = getattr(read, f"plot_{plot}")()
        assert type(figure).__name__ == "Figure", plot
        assert len(figure.data) > 0, plot


def test_what_cannot_be_drawn_yet_is_refused(tmp_path):
    run = started(tmp_path / "run", QUICK)  # random
    with pytest.raises(InputError, match=r"^no evaluation has a value yet: let the run go on$"):
        law_ray.load(tmp_path / "run").plot_convergence()
    run.ask(5)
    with pytest.raises(InputError, match=r"^no evaluation has ended yet: let the run go on$"):
        law_ray.load(tmp_path / "run").plot_time_line()
    work(run)
    read = law_ray.load(tmp_path / "run")
    for plot in (read.plot_rounds, read.plot_predictions, lambda: read.plot_information_gain(tmp_path / "gain.png")):
        with pytest.raises(InputError, match="run has no fitted model: choose a method with a model"):
            plot()


def test_predictions_are_drawn_once_two_values_came_after_one(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, method="law-est"))
    work(run, limit=QUICK.n_init)
    trials = run.ask(5)
    for n_after, trial in enumerate(trials[:3]):
        read = law_ray.load(tmp_path / "run")
        if n_after < 2:
            with pytest.raises(InputError, match=r"^the run has no values that came after a prediction: let it go on$"):
                read.plot_predictions()
        else:
            assert len(read.plot_predictions().data) > 0
        run.enter(trial.id, Outcome(displacement(trial.permutation)))


def test_the_predictions_of_a_run_with_a_prior_mean_are_not_drawn_without_it(tmp_path):
    run = ActiveRun.start(
        tmp_path / "run",
        dataclasses.replace(QUICK, method="law-est"),
        OBJECTIVE | {"prior_mean": True},
        prior_mean=lambda permutations: permutations[:, 0].astype(float),
    )
    work(run)
    with pytest.raises(InputError, match="no values that came after a prediction"):
        law_ray.load(tmp_path / "run").plot_predictions()
