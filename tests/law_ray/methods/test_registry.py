import inspect
import json

import numpy as np
import pytest

from law_ray.methods.registry import METHODS, PAIRWISE_MODEL, POSITION_MODEL, SELECTION_MODEL, Model
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample

methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
WITHOUT_MODEL = {"ga", "random", "local-search", "local-search-swap", "local-search-insertion", "local-search-reversal"}


@methods
def test_every_method_says_in_one_line_what_it_is(method):
    assert method.about.strip() == method.about != ""
    assert len(method.about.splitlines()) == 1
    assert len(method.about) < 100  # a line of `law-ray list`, beside the name


def test_no_two_methods_say_the_same_of_themselves():
    assert len({method.about for method in METHODS.values()}) == len(METHODS)


@methods
def test_every_method_chooses_from_a_context_and_a_batch_size_and_has_a_docstring(method):
    names = [name for name, each in inspect.signature(method.choose).parameters.items() if each.default is each.empty]
    assert names == ["context", "batch_size"]
    assert inspect.getdoc(getattr(method.choose, "func", method.choose))


def test_only_methods_without_a_model_name_none():
    assert {name for name, method in METHODS.items() if method.model is None} == WITHOUT_MODEL


@pytest.mark.parametrize(
    "model", [POSITION_MODEL, SELECTION_MODEL, PAIRWISE_MODEL], ids=["position", "selection", "pairwise"]
)
def test_what_a_model_is_fitted_to_can_be_read_from_its_record_exactly(model):
    """The record goes through JSON, as in a journal, and the process has the same predictions afterwards."""
    rng = np.random.default_rng(0)
    X, y, others = sample(8, 30, rng), rng.normal(size=30), sample(8, 5, rng)
    first = model.fit(X[:20], y[:20], np.random.default_rng(1), None, np.zeros(20))
    for fitted in (first, model.fit(X, y, np.random.default_rng(2), first, np.zeros(30))):
        again = model.read(json.loads(json.dumps(fitted.to_record())))
        assert again == fitted
        assert again.to_record() == fitted.to_record()
        predictions = [GaussianProcess(X, y, h).predict(others) for h in (fitted, again)]
        np.testing.assert_array_equal(*predictions)


@pytest.mark.parametrize("of_all", [False, True])
def test_a_model_is_fitted_to_all_values_or_to_those_that_the_process_gets(of_all):
    rng, rows = np.random.default_rng(0), np.array([4, 1, 2])
    X, y, errors, previous, result = sample(6, 7, rng), rng.normal(size=7), rng.random(7), object(), object()
    given = []

    def fit(*arguments):
        given.extend(arguments)
        return result

    model = Model(fit, POSITION_MODEL.read, of_all)
    assert model.fitted(X, y, rng, previous, errors, rows) is result
    which = slice(None) if of_all else rows
    for found, expected in zip((given[0], given[1], given[4]), (X, y, errors), strict=True):
        np.testing.assert_array_equal(found, expected[which])
    assert given[2] is rng
    assert given[3] is previous
    assert [each.tolist() for each in given[5:]] == ([rows.tolist()] if of_all else [])


@methods
def test_every_model_is_one_of_those_whose_records_are_checked_here(method):
    assert method.model in (None, POSITION_MODEL, PAIRWISE_MODEL)
