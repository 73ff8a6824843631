"""Evaluations in several parts, and repeated evaluations of noisy values, as Ray tasks."""

import time

import numpy as np
import pytest

import law_ray
from law_ray.errors import InputError
from law_ray.optimizer import Optimizer
from law_ray.runs import journal
from law_ray.runs.evaluation import evaluate
from law_ray.utils.seeding import generator

pytestmark = pytest.mark.usefixtures("cluster")


class Sum:
    """The weighted displacement, summed in slices; `flaw` is what the part that holds item 0 does."""

    n_items, name = 7, "sum"

    def __init__(self, flaw=None):
        self.flaw = flaw

    def __call__(self, permutation, rng):
        return self.combine([self.split(1)[0](permutation, rng)])

    def split(self, k):
        return [lambda permutation, rng, i=i: self.slice(permutation, rng, i, k) for i in range(k)]

    def slice(self, permutation, rng, i, k):
        noise = rng.normal(size=7)
        if i == 0 and self.flaw == "raises" and permutation[0] == 0:
            raise ValueError("item 0")
        if i == 0 and self.flaw == "hangs" and permutation[0] == 0:
            time.sleep(1000)
        items = np.arange(7) % k == i
        return {"terms": (np.abs(permutation - np.arange(7)) + noise)[items].tolist()}

    def combine(self, values):
        return sum(sorted(term for value in values for term in value["terms"]))


def minimize(objective, folder, **options):
    options = {"evals": 16, "n_init": 8, "batch_size": 4, "method": "random", "progress": False} | options
    return law_ray.minimize(objective, out=folder, **options)


def test_a_split_evaluation_has_the_value_of_the_whole_one(tmp_path):
    split = minimize(Sum(), tmp_path, split=3).history
    whole = Optimizer(7, "random", n_init=8)
    for size in (8, 4, 4):
        for trial in whole.ask(size):
            whole.tell(trial.id, evaluate(Sum(), trial.permutation, generator(0, "evaluate", trial.id)).value)
    assert split.drop(columns="seconds").equals(whole.history.drop(columns="seconds"))
    assert (split["seconds"] < 5).all()


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ("raises", "ValueError: item 0"),
        pytest.param("hangs", "timed out after 1 s", marks=pytest.mark.slow),
    ],
)
def test_a_part_that_fails_fails_its_trial_alone(tmp_path, flaw, reason):
    history = minimize(Sum(flaw), tmp_path, split=2, evals=21, n_init=21, timeout=1.0).history
    firsts = history["permutation"].map(lambda permutation: permutation[0])
    assert (firsts == 0).any()
    assert (history["state"] == "failed").tolist() == (firsts == 0).tolist()
    reasons = [r["reason"] for r in journal.read(tmp_path) if r["type"] == "fail"]
    assert all(each.startswith(reason) for each in reasons)


def test_an_objective_without_parts_cannot_be_split(tmp_path):
    with pytest.raises(InputError, match=r"split is 2, but .*: leave it out"):
        law_ray.minimize(lambda permutation: 0.0, 5, evals=20, split=2, out=tmp_path)


def noisy(permutation, rng):
    return float(np.abs(permutation - np.arange(len(permutation))).sum() + 5 * rng.normal()), 5.0


def repeats(folder):
    return [record for record in journal.read(folder) if record["type"] == "tell again"]


@pytest.fixture(scope="module")
def run(cluster, tmp_path_factory):
    """A run of noisy values whose best were evaluated again; do not write into its folder."""
    return minimize(noisy, tmp_path_factory.mktemp("noisy") / "run", n_items=6, reevaluations=9)


def test_the_best_of_noisy_values_are_evaluated_again_within_the_budget(run):
    made = repeats(run.out)
    assert 0 < len(made) <= 9
    assert run.reevaluated.repeats == len(made)
    assert run.evaluations == len(run.history) == 16
    of_best = [record["value"] for record in made if record["id"] == run.best.id]
    assert run.reevaluated.trial_id == run.best.id
    if of_best:
        assert run.reevaluated.value == pytest.approx(np.mean(of_best))
    assert len({record["value"] for record in made}) == len(made)  # each repeat has draws of its own
    assert not set(run.history["value"]) & {record["value"] for record in made}


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_repeating_where_it_was(run, tmp_path):
    lines = (run.out / journal.NAME).read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"type": "tell again"' in line)
    (tmp_path / journal.NAME).write_bytes(b"".join(lines[: first + 1]))
    resumed = law_ray.resume(tmp_path, noisy, progress=False)
    assert resumed.reevaluated == run.reevaluated
    assert resumed.best.id == run.best.id


@pytest.mark.slow
def test_no_repeats_where_none_are_wanted_or_values_are_exact(tmp_path):
    assert minimize(noisy, tmp_path / "none", n_items=6, reevaluations=0).reevaluated.repeats == 0
    exact = minimize(lambda permutation: float(permutation[0]), tmp_path / "exact", n_items=6)
    assert exact.reevaluated is None
    assert repeats(tmp_path / "none") == repeats(tmp_path / "exact") == []
