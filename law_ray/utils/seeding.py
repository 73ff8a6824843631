"""Random generators keyed by their purpose, so that no result depends on the order of events or on the worker."""

import zlib

import numpy as np


def generator(seed: int, purpose: str, trial_id: int) -> np.random.Generator:
    """Return the generator of one choice of a batch, or of one evaluation; different keys give independent generators.

    Args:
        seed: the seed of the run.
        purpose: what the random numbers are for, such as "evaluate".
        trial_id: the id of the trial, or the number of trials so far.
    """
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), trial_id]))
