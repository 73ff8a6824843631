"""Random generators keyed by what they are for, so that no result hangs on the order of events or on the worker."""

import zlib

import numpy as np


def generator(seed: int, purpose: str, trial_id: int) -> np.random.Generator:
    """The generator of a batch's choice, or of an evaluation; those of different keys are independent."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), trial_id]))
