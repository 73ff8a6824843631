"""What a run begins with: the objective's own orderings, the user's, and constraints from both."""

import numpy as np
import pytest

import law_ray
from law_ray import journal
from law_ray.errors import InputError

pytestmark = pytest.mark.usefixtures("cluster")


class Displacement:
    """Items that come before others, and good orderings to begin with, some of which the user may forbid."""

    n_items, name = 7, "displacement"
    constraints = {"before": [(0, 1)], "fixed": {6: 6}}  # noqa: RUF012

    def __call__(self, permutation):
        return float(np.abs(permutation - np.arange(7)).sum())

    def starts(self, count, rng):
        return np.array([[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 5, 4, 6], [0, 1, 3, 2, 4, 5, 6], [2, 0, 1, 3, 4, 5, 6]])[
            :count
        ]


def minimize(folder, **options):
    options = {"evals": 12, "n_init": 6, "batch_size": 3, "progress": False} | options
    return law_ray.minimize(Displacement(), out=folder, **options)


def initial(result):
    return [
        list(p) for p, round in zip(result.history["permutation"], result.history["round"], strict=True) if round == 0
    ]


def test_the_initial_design_begins_with_the_objectives_orderings_at_most_half(tmp_path):
    design = initial(minimize(tmp_path))
    assert len(design) == 6
    assert design[:3] == Displacement().starts(3, None).tolist()


def test_the_users_orderings_come_first_and_without_any_it_is_random(tmp_path):
    mine = [[0, 1, 5, 4, 3, 2, 6], [0, 1, 2, 3, 4, 5, 6]]
    design = initial(minimize(tmp_path / "mine", start=mine))
    assert design[:4] == [*mine, *Displacement().starts(3, None).tolist()[1:]]
    assert design[0] not in initial(minimize(tmp_path / "none", start="none"))


def test_constraints_of_the_objective_and_of_the_user_hold_together(tmp_path):
    result = minimize(tmp_path, before=[(3, 2)], fixed={5: 0}, method="law-est")
    positions = np.argsort(np.array(result.history["permutation"].tolist()), axis=1)
    assert (positions[:, 0] < positions[:, 1]).all()
    assert (positions[:, 3] < positions[:, 2]).all()
    assert (positions[:, [5, 6]] == [0, 6]).all()
    with pytest.raises(InputError, match="cycle"):
        minimize(tmp_path / "cycle", before=[(1, 0)])
    with pytest.raises(InputError, match="not allowed: item 0 must come before item 1"):
        minimize(tmp_path / "start", start=[[1, 0, 2, 3, 4, 5, 6]])


def test_a_run_that_died_before_its_first_ask_begins_with_the_same_design(tmp_path):
    whole = minimize(tmp_path / "whole", start=[[0, 1, 2, 5, 4, 3, 6]], before=[(4, 3)], fixed={2: 2})
    (tmp_path / "cut").mkdir()
    first = (tmp_path / "whole" / journal.NAME).read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "cut" / journal.NAME).write_bytes(first)
    resumed = law_ray.resume(tmp_path / "cut", Displacement(), progress=False)
    assert resumed.history.drop(columns="seconds").equals(whole.history.drop(columns="seconds"))


@pytest.mark.parametrize(
    ("start", "culprit"),
    [("some", '"auto" or "none"'), ([[0, 1]], "not a permutation"), ([list(range(7))] * 9, "9 starts do not fit")],
)
def test_what_cannot_be_a_start_is_refused(tmp_path, start, culprit):
    with pytest.raises(InputError, match=culprit):
        minimize(tmp_path, start=start)


def test_starts_that_raise_are_named(tmp_path, monkeypatch):
    class Broken(Displacement):
        def starts(self, count, rng):
            raise ValueError("no luck")

    with pytest.raises(InputError, match=r"starts failed \(ValueError: no luck\)"):
        law_ray.minimize(Broken(), evals=12, n_init=6, out=tmp_path, progress=False)


class Foretold(Displacement):
    """With a proxy of its own."""

    constraints = {}  # noqa: RUF012
    starts = None

    def prior_mean(self, permutations):
        return np.abs(permutations - np.arange(7)).sum(axis=1) / 7


def test_the_objectives_prior_mean_guides_the_first_batch_and_a_resumed_run_goes_on_with_it(tmp_path):
    options = {"n_init": 6, "batch_size": 3, "progress": False, "method": "law-est", "start": "none"}
    whole = law_ray.minimize(Foretold(), evals=12, out=tmp_path / "whole", **options)
    assert whole.history.query("round == 1")["value"].min() == 0
    law_ray.minimize(Foretold(), evals=9, out=tmp_path / "parts", **options)
    resumed = law_ray.resume(tmp_path / "parts", Foretold(), evals=12)
    assert resumed.history.drop(columns="seconds").equals(whole.history.drop(columns="seconds"))
    plain = minimize_plainly(tmp_path / "plain", **options)
    assert initial(plain) == initial(whole)
    assert plain.history["permutation"].tolist() != whole.history["permutation"].tolist()


def minimize_plainly(folder, **options):
    return law_ray.minimize(lambda p: float(np.abs(p - np.arange(7)).sum()), 7, evals=12, out=folder, **options)


class Unforetold(Foretold):
    def prior_mean(self, permutations):
        return permutations.sum()


def test_a_prior_mean_that_cannot_be_used_is_refused_before_anything_is_evaluated(tmp_path):
    with pytest.raises(InputError, match="return one finite number for each"):
        law_ray.minimize(Unforetold(), evals=12, n_init=6, start="none", out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run" / journal.NAME).exists()
