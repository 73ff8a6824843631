"""Which of many values a model is given, where its cost does not allow all of them."""

import numpy as np

from law_ray.typing import FloatArray, IntArray


def part(y: FloatArray, size: int) -> IntArray:
    """Return which values to give to a model: all, or `size` of them: the size // 2 best, and some of the others.

    The others are a random part that changes little as values come in.

    Args:
        y: (n,) values, the new ones since the last call at the end.
        size: The most that the model may be given.

    Returns:
        Their indices, in ascending order.
    """
    if len(y) <= size:
        return np.arange(len(y))
    best, others = np.split(np.argsort(y, kind="stable"), [size // 2])
    priorities = np.random.default_rng(0).random(len(y))  # the first n of more numbers are the same
    kept = others[np.argsort(priorities[others])[: size - len(best)]]
    return np.sort(np.concatenate([best, kept]))
