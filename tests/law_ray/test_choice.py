import json
from dataclasses import asdict

import numpy as np
import pytest
from latents import some_latent
from mixtures import some_components

from law_ray.choice import ChoiceHyperparameters
from law_ray.gp import GaussianProcess
from law_ray.mixture import MixtureHyperparameters
from law_ray.permutations import sample


def both(misses, seed=0):
    rng = np.random.default_rng(seed)
    return ChoiceHyperparameters(MixtureHyperparameters(some_components(rng), 0.2, 0.3), some_latent(rng), misses, 20)


@pytest.mark.parametrize(("misses", "latent"), [((0.0, 0.0), False), ((0.9, 1.1), False), ((1.1, 0.9), True)])
def test_a_process_is_that_of_the_model_that_missed_less(misses, latent):
    h = both(misses)
    chosen = h.latent if latent else h.mixture
    rng = np.random.default_rng(1)
    X, y, others = sample(9, 20, rng), rng.normal(size=20), sample(9, 5, rng)
    found, expected = (GaussianProcess(X, y, model).predict(others) for model in (h, chosen))
    np.testing.assert_array_equal(found, expected)
    assert (h.noise, h.mean, h.signal_variance) == (chosen.noise, chosen.mean, chosen.signal_variance)


def test_they_survive_json():
    h = both((0.5, 1.5))
    assert ChoiceHyperparameters.of(json.loads(json.dumps(asdict(h)))) == h
