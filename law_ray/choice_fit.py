"""The fit of law-auto's model: of the mixture and of the latent kernel, and which of them to use.

Evidence does not tell: of two models with so different numbers of parameters, it prefers the one with more. So each
foretells the values that came in since its last fit, and the one that erred less of late is used.
"""

import numpy as np

from law_ray import latent_fit, mixture_fit
from law_ray.choice import ChoiceHyperparameters
from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.latent import LatentHyperparameters
from law_ray.mixture import MixtureHyperparameters
from law_ray.permutations import IntArray

MAX_ERROR = 1e8  # normalised: the square of a value beyond all before it stays finite
MEMORY = 0.7  # what the earlier errors count beside those of the latest values
N_ALWAYS = 150  # points up to which each fit of the latent kernel begins afresh too
FRESH, FRESH_UNUSED = 0.2, 0.05  # how often it does later, while it is used and while it is not


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: ChoiceHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> ChoiceHyperparameters:
    """The hyperparameters of both models given (X, y), in the order of their proposal. Raw `y` (n,).

    Cost: a fit of the mixture, mostly one of the latent kernel, and two processes, O(n^3). Beyond N_ALWAYS points the
    latent kernel, while it is not used, is mostly left as it was.
    """
    if previous is None:
        mixture = mixture_fit.fit(X, y, rng, None, standard_errors)
        return ChoiceHyperparameters(mixture, latent_fit.fit(X, y, rng, None, standard_errors), (0.0, 0.0), len(y))
    misses = previous.misses
    if 1 < previous.n < len(y):
        first, second = _misses(X, y, previous, standard_errors)
        if mean := 0.5 * (first + second):  # not of constant values
            misses = _remembered(misses[0], first / mean), _remembered(misses[1], second / mean)
    mixture = mixture_fit.fit(X, y, rng, previous.mixture, standard_errors)
    used, latent = misses[1] < misses[0], previous.latent
    fresh = len(y) <= N_ALWAYS or rng.random() < (FRESH if used else FRESH_UNUSED)
    if fresh or used:
        latent = latent_fit.fit(X, y, rng, latent, standard_errors, fresh)
    return ChoiceHyperparameters(mixture, latent, misses, len(y))


def _remembered(earlier: float, latest: float) -> float:
    return MEMORY * earlier + (1 - MEMORY) * latest


def _misses(
    X: IntArray, y: FloatArray, previous: ChoiceHyperparameters, standard_errors: FloatArray | None
) -> tuple[float, float]:
    """The mean square errors of both models, as they were fitted last, at the values that came in since."""
    n = previous.n
    known = None if standard_errors is None else standard_errors[:n]

    def miss(model: MixtureHyperparameters | LatentHyperparameters) -> float:
        process = GaussianProcess(X[:n], y[:n], model, known)
        errors = process.predict(X[n:])[0] - process.normalise(y[n:])
        return float(np.mean(np.minimum(np.abs(errors), MAX_ERROR) ** 2))

    return miss(previous.mixture), miss(previous.latent)
