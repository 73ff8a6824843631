import json

import numpy as np
import pytest

from law_ray.kernels.additive import COMPONENTS, AdditiveHyperparameters
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.additive import POLYNOMIAL, gram, plain, some_components
from tests.oracles.orderings import everything

each_component = pytest.mark.parametrize("name", COMPONENTS)


@pytest.mark.parametrize("n_items", [2, 3, 5, 8])
def test_covariances_are_those_of_the_plain_formula(n_items):
    rng = np.random.default_rng(n_items)
    X1, X2 = sample(n_items, 6, rng), sample(n_items, 7, rng)
    components = some_components(rng)
    expected = [[plain(components, a, b) for b in X2.tolist()] for a in X1.tolist()]
    np.testing.assert_allclose(gram(components, X1, X2), expected, rtol=1e-12)


@each_component
@pytest.mark.parametrize("n_items", [3, 4, 5])
def test_the_term_of_every_weight_is_positive_semidefinite_over_all_permutations(name, n_items):
    candidates = everything(n_items)
    for weight in (0, 2, 3) if name in POLYNOMIAL else (0,):
        for decay in (0.01, 0.3, 3.0):
            parameters = [0.0, decay, 0.0, 0.0][: 4 if name in POLYNOMIAL else 2]
            parameters[weight] = 1.0
            assert np.linalg.eigvalsh(gram({name: parameters}, candidates, candidates)).min() > -1e-10


def test_hyperparameters_survive_json():
    h = AdditiveHyperparameters(some_components(np.random.default_rng(0)), 0.1, 0.0)
    assert AdditiveHyperparameters.from_record(json.loads(json.dumps(h.to_record()))) == h


def test_the_signal_variance_is_the_covariance_of_a_permutation_with_itself():
    rng = np.random.default_rng(0)
    components, X = some_components(rng, ("hamming", "precedence")), sample(7, 3, rng)
    hyperparameters = AdditiveHyperparameters(components, 0.1, 0.0)
    np.testing.assert_allclose(np.diag(gram(components, X, X)), hyperparameters.signal_variance, rtol=1e-13)


def test_a_process_of_the_position_component_alone_is_that_of_the_position_kernel():
    rng = np.random.default_rng(0)
    X, y, at = sample(8, 20, rng), rng.normal(size=20), sample(8, 9, rng)
    mixed = AdditiveHyperparameters({"position": [1.3, 0.4]}, 0.02, 0.1)
    process = GaussianProcess(X, y, mixed)
    expected = GaussianProcess(X, y, DistanceHyperparameters(0.4, 1.3, 0.02, 0.1))
    for given, alone in ((process, expected), (process.condition(at[:4]), expected.condition(at[:4]))):
        np.testing.assert_allclose(given.predict(at), alone.predict(at), rtol=1e-9)
