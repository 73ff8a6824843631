import dataclasses

import numpy as np
import pytest

from law_ray.models.pairwise import fit_pairwise
from law_ray.models.selection import SelectionHyperparameters
from law_ray.runs.report.models import family, kernel_name, known_at, of_process
from law_ray.runs.report.view import View
from tests.law_ray.runs.report.runs import made, view
from tests.oracles.weighted_precedence import some_weighted


@pytest.fixture(scope="module")
def fitted():
    """law-auto's model, fitted to 20 tours of 9 items."""
    rng = np.random.default_rng(0)
    X = np.array([rng.permutation(9) for _ in range(20)])
    return fit_pairwise.fit(X, rng.normal(size=20), rng)


@pytest.mark.parametrize(("errors", "expected"), [((0.5, 1.5), "additive"), ((1.5, 0.5), "tour")])
def test_the_family_is_that_of_the_selected_kernel(fitted, tmp_path, errors, expected):
    selection = dataclasses.replace(fitted.selection, prediction_errors=errors)
    assert isinstance(selection, SelectionHyperparameters)
    model = dataclasses.replace(fitted, selection=selection)
    shown = view(tmp_path, limit=0, n_items=9)
    assert of_process(model) is getattr(selection, expected)
    assert family(shown, model) == family(shown, selection) == expected


def test_the_family_is_the_weighted_precedence_kernel_where_that_is_selected(fitted, tmp_path):
    weighted = some_weighted(np.random.default_rng(0))
    selection = dataclasses.replace(fitted.selection, weighted=weighted, weighted_errors=(1.8, 0.2))
    model = dataclasses.replace(fitted, selection=selection)
    assert of_process(model) is weighted
    assert family(view(tmp_path, limit=0, n_items=9), model) == kernel_name(model) == "weighted precedence"


def test_the_family_is_pairwise_where_that_model_chooses(fitted, tmp_path):
    shown = view(tmp_path, limit=0, n_items=9)
    assert family(shown, dataclasses.replace(fitted, prediction_errors=(1.9, 0.1), n=200)) == "pairwise"
    assert family(shown, dataclasses.replace(fitted, prediction_errors=(1.9, 0.1))) != "pairwise"  # too few values
    shown.run.optimizer.proxy = lambda permutations: np.zeros(len(permutations))  # of an older journal
    assert family(shown, dataclasses.replace(fitted, prediction_errors=(1.9, 0.1), n=200)) != "pairwise"


def test_law_est_has_the_position_kernel(tmp_path):
    shown = View.of(made(tmp_path))
    assert family(shown, shown.run.optimizer.model) == "position"


def test_what_was_known_at_an_ask_are_the_values_before_it(tmp_path):
    assert known_at(View.of(made(tmp_path, fails={3}))) == [0, 9, 14, 19, 24]
