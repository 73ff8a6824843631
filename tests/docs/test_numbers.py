"""Numbers of the code that the paper or the docs state: neither side changes alone."""

import inspect
from dataclasses import fields

import pytest

from law_ray import Optimizer
from law_ray.acquisition import functions
from law_ray.driver import actor, heartbeat
from law_ray.methods import dpp, fitting, genetic, law
from law_ray.runs import reevaluation
from law_ray.runs.settings import Settings
from objectives.nml import NML, skeleton
from objectives.nml.regret import estimators, importance
from tests.docs.documents import ROOT


def default(function, name):
    return inspect.signature(function).parameters[name].default


WORDS = ("zero", "one", "two", "three", "four", "five", "six")
OPTIONS = {each.name: each.default for each in fields(Settings)}


@pytest.mark.parametrize(
    ("found", "published"),
    [
        (law.N_POINTS, 100_000),  # Section 4: permutations that EST's optimum estimate is for
        (functions.DELTA, 0.1),  # of GP-UCB, as Srinivas et al. (2010)
        (dpp.N_STEPS, 100),  # supplement: steps of the chain of DPP-SAMPLE
        ((genetic.N_POPULATION, genetic.N_OFFSPRING), (100, 20)),  # Section 4: of the genetic algorithm
        (estimators._UNIFORM_SAMPLES, 10_000),  # supplement: samples of the regret's estimate
        (default(skeleton, "alpha"), 0.05),  # the level of PC-stable
        (default(NML, "alpha"), 0.05),
    ],
)
def test_the_numbers_of_the_paper(found, published):
    assert found == published


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("explanation/limits.md", f"By default the model begins after {OPTIONS['n_init']} values"),
        ("explanation/limits.md", f"Up to {fitting.MAX_POINTS:,} values the Gaussian process is given all"),
        (
            "explanation/limits.md",
            f"would take more than about {importance._MAX_SECONDS / 60:.0f} minutes or "
            f"{importance._MAX_BYTES / 1e9:.0f} GB is refused",
        ),
        ("explanation/faults.md", f"freezes for {heartbeat.SILENCE:.0f} seconds"),
        ("explanation/faults.md", f"It restarts by itself up to {WORDS[actor.MAX_RESTARTS]} times"),
        ("how-to/ask-tell.md", f"More than {fitting.MAX_POINTS:,} values are accepted"),
        ("how-to/objective.md", f"The model chooses after the first `--n-init` evaluations ({OPTIONS['n_init']})"),
        ("how-to/noisy.md", f"the best {WORDS[reevaluation.N_FINALISTS]} are evaluated again"),
        ("how-to/noisy.md", f"at most `--reevaluations` ({OPTIONS['reevaluations']}) evaluations in all"),
    ],
)
def test_the_numbers_of_the_docs(page, sentence):
    assert sentence in " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def test_the_optimizer_and_a_run_have_the_same_defaults():
    for name in ("method", "seed", "n_init", "maximize"):
        assert default(Optimizer, name) == OPTIONS[name]
