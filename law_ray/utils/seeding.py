"""Random generators keyed by their purpose, so that no result depends on the order of events or on the worker."""

import zlib

import numpy as np


def generator(seed: int, purpose: str, number: int) -> np.random.Generator:
    """Return the generator of one choice of a batch, or of one evaluation; different keys give independent generators.

    Args:
        seed: the seed of the run.
        purpose: what the random numbers are for, such as "evaluate".
        number: the id of the trial, or how many trials there are so far.
    """
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), number]))
