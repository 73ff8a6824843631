"""Regrets in closed form: of one multinomial variable, and of a star, whose centre is the only parent of all others.

exp regret = sum over all data sets D of N rows of the maximum likelihood ML(D); regrets are in nats.
"""

import math
from collections.abc import Sequence

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray

_DIRECT = 32
"""Below this h, a_h = h^h e^-h / h! is computed by its definition; beyond, Stirling's series is exact to 1e-16."""


def multinomial_regrets(states: Sequence[int], max_rows: int) -> FloatArray:
    """Compute log C(r, n) for some increasing numbers of states r, and n = 0..max_rows.

    C(r, n) = sum over counts c_1 + ... + c_r = n of n!/prod c_k! prod (c_k/n)^c_k, and C(r, 0) = C(1, n) = 1.
    C(2, n) is one convolution of a_h = h^h e^-h / h!, divided by a_n, and C(r, n) = C(r-1, n) + n/(r-2) C(r-2, n)
    (Kontkanen & Myllymaki 2007). Only positive terms are added. Cost: O(max_rows (log max_rows + max(states))).

    Returns:
        (len(states), max_rows + 1) nats.
    """
    a = _stirling_ratios(max_rows)
    two_states = np.log(_convolve(a, a) / a)
    two_states[0] = 0.0  # exactly, because it may be multiplied by a huge number of empty configurations
    return _by_states(two_states, np.arange(max_rows + 1), states)


def multinomial_regret(n_states: int, n_rows: int) -> float:
    """Return log C(r, n) in nats: the exact NML regret of one variable of `n_states` states over `n_rows` rows.

    The formula is that of `multinomial_regrets`. Cost: O(n_states + n_rows).

    Raises:
        InputError: if there is no state or the number of rows is negative.
    """
    if n_states < 1 or n_rows < 0:
        raise InputError(f"n_states={n_states}, n_rows={n_rows}: choose at least one state and zero rows")
    a = _stirling_ratios(n_rows)
    two_states = np.log(np.array([a @ a[::-1] / a[-1]]))
    return float(_by_states(two_states, np.array([n_rows]), [n_states])[0, 0])


def star_regret(root: int, leaves: FloatArray, n_rows: int) -> float:
    """Return the exact NML regret of a star, in nats.

    The sum over the counts of the root is a convolution power: exp regret = (f * ... * f)(N) / a_N with f_h = a_h prod
    over leaves C(r_leaf, h) (Mononen & Myllymaki 2007 do the same for naive Bayes). First f is tilted by exp(-lambda h)
    to have mean N / root. So the result is near the mode of the power, and the Fourier transform loses no precision.
    Cost: O(N log N log root).

    Args:
        root: the number of states of the root, which is the only parent of every other node.
        leaves: (n_rows + 1,) the sum over the leaves of log C(r_leaf, n), for n = 0..n_rows.
        n_rows: N.
    """
    if root == 1:
        return float(leaves[n_rows])
    a = _stirling_ratios(n_rows)
    rate, log_sum, f = _tilted(np.log(a) + leaves, n_rows / root)
    power, factors = f, bin(root)[3:]  # the binary digits of the exponent after the first
    for digit in factors:
        power = _convolve(power, power)
        if digit == "1":
            power = _convolve(power, f)
    return math.log(power[n_rows]) + root * log_sum + rate * n_rows - math.log(a[n_rows])


def _tilted(log_f: FloatArray, mean: float) -> tuple[float, float, FloatArray]:
    """Find the rate for which exp(log_f - rate h), normalised to weights, has about the given mean.

    Returns the rate, the log of the sum before it is normalised, and the weights.
    """
    h = np.arange(len(log_f))

    def tilt(rate: float) -> tuple[float, float, FloatArray]:
        logs = log_f - rate * h
        top = float(logs.max())
        f = np.exp(logs - top)
        total = float(f.sum())
        return rate, top + math.log(total), f / total

    low, high = -1.0, 1.0
    while h @ tilt(low)[2] < mean:
        low *= 2
    while h @ tilt(high)[2] > mean:
        high *= 2
    while True:
        found = tilt((low + high) / 2)
        error = h @ found[2] - mean
        if abs(error) <= 1e-3 * mean:
            return found
        low, high = (found[0], high) if error > 0 else (low, found[0])


def _convolve(f: FloatArray, g: FloatArray) -> FloatArray:
    """The first len(f) terms of f * g, by the fast Fourier transform."""
    size = 1 << (2 * len(f) - 1).bit_length()
    product: FloatArray = np.fft.irfft(np.fft.rfft(f, size) * np.fft.rfft(g, size), size)[: len(f)]
    return product


def _stirling_ratios(max_rows: int) -> FloatArray:
    """a_h = h^h e^-h / h! for h = 0..max_rows; about 1 / sqrt(2 pi h), so its sums need no logarithms."""
    small = [math.exp(h * math.log(max(h, 1)) - h) / math.factorial(h) for h in range(min(max_rows + 1, _DIRECT))]
    h = np.arange(_DIRECT, max_rows + 1, dtype=np.float64)
    inverse = 1 / np.maximum(h, 1)
    square = inverse**2
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    return np.concatenate([small, np.exp(-series) * np.sqrt(inverse / (2 * math.pi))])


def _by_states(two_states: FloatArray, n: IntArray, states: Sequence[int]) -> FloatArray:
    """Compute log C(r, n) for increasing r, by the recurrence from log C(2, n)."""
    with np.errstate(divide="ignore"):
        log_n = np.log(n)  # -inf at n = 0 keeps C(r, 0) = 1
    rows = []
    before, last = np.zeros(len(n)), two_states
    for r in range(1, max(states) + 1):
        if r > 2:
            before, last = last, np.logaddexp(last, log_n - math.log(r - 2) + before)
        if r in states:
            rows.append(before if r == 1 else last)
    return np.array(rows)
