"""Local search over permutations: where an acquisition is largest."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np

from law_ray.errors import UsedUpError
from law_ray.kernels import FloatArray
from law_ray.permutations import IntArray, enumerate_all, sample, swap_neighbours

Score = Callable[[IntArray], FloatArray]  # (m, n_items) permutations -> (m,), larger is better
Key = Callable[[IntArray], Hashable]  # permutations with one key are one point

EXHAUSTIVE = 5040  # spaces up to this size, that is up to 7 items, are scored whole
N_SAMPLED = 2000  # random permutations among which starts are looked for
N_GOOD, N_RANDOM = 8, 4  # starts from each of the two sources: the best, and others at random
N_MISSES = 20_000  # draws in a row that met nothing new, after which a space counts as used up
CHUNK = 4096  # permutations scored at once: bounds the memory of a score


class Taken:
    """The permutations that may not be proposed: evaluated, failed, pending or in the batch. `permutation in taken`."""

    def __init__(self, key: Key | None = None, permutations: Iterable[IntArray] = ()) -> None:
        self._key = key
        self._keys = {self.key(permutation) for permutation in permutations}

    def key(self, permutation: IntArray) -> Hashable:
        return permutation.tobytes() if self._key is None else self._key(permutation)

    def __contains__(self, permutation: IntArray) -> bool:
        return self.key(permutation) in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, permutation: IntArray) -> None:
        self._keys.add(self.key(permutation))

    def copy(self) -> "Taken":
        copy = Taken(self._key)
        copy._keys = set(self._keys)
        return copy


def maximise(score: Score, known: IntArray, taken: Taken, rng: np.random.Generator) -> IntArray:
    """The permutation with the largest score that is not taken: over all of them in a small space, else by hill
    climbing.

    The climbs start, as in the paper (Section 4), from good and random points among `known` (n, n_items) and among
    random permutations; where all of them end on taken ones, the answer is drawn at random. Raises UsedUpError when
    no permutation is left. Ties go to the first found.
    """
    n_items = known.shape[1]
    if math.factorial(n_items) <= EXHAUSTIVE:
        candidates = enumerate_all(n_items)
        scores = _score(score, candidates)
    else:
        sources = [known, sample(n_items, N_SAMPLED, rng)]
        starts = np.concatenate([_starts(score, source, rng) for source in sources])
        candidates, scores = hill_climb(score, np.unique(starts, axis=0), taken)
    for best in np.argsort(-scores, kind="stable"):
        if candidates[best] not in taken:
            return candidates[best]
    return draw_free(n_items, 1, taken, rng)[0]


def hill_climb(score: Score, starts: IntArray, taken: Taken) -> tuple[IntArray, FloatArray]:
    """From each start, exchange the two positions that raise the score most, until none does.

    Shape (m, n_items) -> (k, n_items) local maxima, k <= m, and their scores (k,). A climb never steps onto a taken
    permutation; one that starts on one leaves it for its best free neighbour, and ends there with score -inf if all are
    taken. Climbs that meet go on as one. A step costs n_items^2 / 2 scores a climb.
    """
    climbers = starts.copy()
    scores = np.where([start in taken for start in starts], -np.inf, _score(score, starts))
    goes_on = np.ones(len(starts), dtype=bool)
    ends: list[int] = []
    while goes_on.any():
        active = np.flatnonzero(goes_on)
        neighbours = swap_neighbours(climbers[active])
        values = _score(score, neighbours.reshape(-1, neighbours.shape[2])).reshape(neighbours.shape[:2])
        for climber, around, value in zip(active, neighbours, values, strict=True):
            step = _best_step(around, value, scores[climber], taken)
            if step is None:
                ends.append(int(climber))
                goes_on[climber] = False
            else:
                climbers[climber], scores[climber] = around[step], value[step]
        moved = np.flatnonzero(goes_on)
        goes_on[:] = False
        goes_on[moved[np.unique(climbers[moved], axis=0, return_index=True)[1]]] = True
    _, first = np.unique(climbers[ends], axis=0, return_index=True)
    return climbers[ends][first], scores[ends][first]


def draw_free(n_items: int, count: int, taken: Taken, rng: np.random.Generator) -> IntArray:
    """Draw (count, n_items) random permutations, no two alike and none of them taken.

    Raises UsedUpError when the space is used up: for certain in a small space, else after N_MISSES draws in a row
    without a free permutation.
    """
    taken = taken.copy()
    small = math.factorial(n_items) <= EXHAUSTIVE
    drawn: list[IntArray] = []
    candidates = iter(rng.permutation(enumerate_all(n_items)) if small else _endless(n_items, rng))
    misses = 0
    while len(drawn) < count and misses < N_MISSES and (candidate := next(candidates, None)) is not None:
        misses += 1
        if candidate not in taken:
            taken.add(candidate)
            drawn.append(candidate)
            misses = 0
    if len(drawn) < count:
        raise UsedUpError(f"the space is used up: {count} new permutations asked for, {len(drawn)} left")
    return np.array(drawn)


def _endless(n_items: int, rng: np.random.Generator) -> Iterator[IntArray]:
    while True:
        yield from sample(n_items, 64, rng)


def _score(score: Score, permutations: IntArray) -> FloatArray:
    chunks = [score(permutations[i : i + CHUNK]) for i in range(0, len(permutations), CHUNK)]
    return np.concatenate(chunks)


def _starts(score: Score, source: IntArray, rng: np.random.Generator) -> IntArray:
    best = np.argsort(-_score(score, source), kind="stable")[:N_GOOD]
    others = rng.choice(len(source), min(N_RANDOM, len(source)), replace=False)
    return source[np.concatenate([best, others])]


def _best_step(neighbours: IntArray, values: FloatArray, current: float, taken: Taken) -> int | None:
    # A gain below the rounding of a score is none: without the margin a climb could walk a plateau for ever.
    improving = np.flatnonzero(values > current + 1e-9)
    for step in improving[np.argsort(-values[improving], kind="stable")]:
        if neighbours[step] not in taken:
            return int(step)
    return None
