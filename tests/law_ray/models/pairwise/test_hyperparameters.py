import json
from dataclasses import replace

import numpy as np
import pytest

from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise.hyperparameters import MAX_ERROR_RATIO, PairwiseHyperparameters
from law_ray.space.permutations import sample


def test_hyperparameters_survive_json_beside_those_of_the_process(two_fits):
    h = two_fits[-1]
    record = json.loads(json.dumps(h.to_record()))
    assert list(record) == ["mixture", "latent", "misses", "n", "n_fitted", "deviation", "pairwise"]
    assert list(record["pairwise"]) == ["chains", "prediction_errors", "chain_errors", "n"]
    assert PairwiseHyperparameters.from_record(record) == h
    record["pairwise"]["n"] += 7
    assert PairwiseHyperparameters.from_record(record).n == h.n + 7  # of its own


def test_an_older_record_has_no_errors_and_was_fitted_to_the_values_of_the_process(two_fits):
    h = two_fits[-1]
    record = h.to_record()
    record["pairwise"] = {"chains": record["pairwise"]["chains"]}
    older = PairwiseHyperparameters.from_record(record)
    assert (older.prediction_errors, older.chain_errors) == ((0.0, 0.0), (0.0,) * len(h.chains))
    assert older.n == older.selection.n == h.selection.n


def test_the_process_is_the_one_of_the_selected_kernel(two_fits):
    X, y, _, h = two_fits
    others = sample(8, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(*(GaussianProcess(X, y, each).predict(others) for each in (h, h.selection)))
    assert (h.noise, h.mean) == (h.selection.noise, h.selection.mean)


@pytest.mark.parametrize(("errors", "advantage"), [((0.0, 0.0), 0.0), ((1.0, 0.5), 2.0), ((0.9, 1.1), 9 / 11)])
def test_the_pairwise_model_leads_where_its_prediction_errors_are_smaller(two_fits, errors, advantage):
    h = replace(two_fits[-1], prediction_errors=errors)
    assert h.advantage == pytest.approx(advantage)
    assert h.leads == (advantage > 1.0)


def test_chains_are_used_up_to_an_error_of_so_many_times_the_least(two_fits):
    limit = MAX_ERROR_RATIO * 0.5
    h = replace(two_fits[2], chain_errors=(limit, limit + 1e-9, 0.5, 9.0, 0.7, 9.0, 9.0, 9.0))
    np.testing.assert_array_equal(h.used, [True, False, True, False, True, False, False, False])


def test_the_template_is_that_of_the_best_chain_where_all_used_chains_take_one_for_known(two_fits):
    first = two_fits[2]
    errors = [*((len(first.chains) - 2) * [9.0]), 1.0, 1.1]  # the two chains of templates are used
    chains = first.chains
    assert replace(first, chain_errors=tuple(errors)).template is chains[-2].known is not None
    assert replace(first, chain_errors=(*errors[:-1], 0.9)).template is chains[-1].known is not None
    assert replace(first, chain_errors=(1.0, *errors[1:])).template is None  # one that knows none
    assert replace(first, chains=(), chain_errors=()).template is None
