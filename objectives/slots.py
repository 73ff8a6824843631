"""Storage slotting in a warehouse: which article lies where, so that orders are picked fast? An assignment with noise.

Articles lie in slots along parallel aisles. Orders of a few articles are drawn: some articles are asked for often, and
those of one family together. Pickers walk through the aisles (S-shaped routes) and wait for each other where several
are in one aisle. The time of an order is nearly a sum over its pairs of articles, but not quite.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from law_ray.errors import InputError
from law_ray.space.permutations import invert, validate
from law_ray.typing import FloatArray, IntArray
from objectives.options import seeded
from objectives.simulated import Simulated, read_size

SPEED = 1.0
"""Metres per second of a picker."""
AISLE_SPACING, SLOT_LENGTH = 4.0, 2.0
"""Metres between aisles, and of a slot along its aisle."""
PICK_SECONDS, WAIT_SECONDS = 8.0, 20.0
"""To pick an article, and that a picker waits for each other one who is in the aisle (heuristic)."""
N_PILOT = 20_000
"""Orders from which the heuristics estimate how often articles are asked for together."""


@dataclass(frozen=True, eq=False)
class Slots(Simulated):
    """Put article permutation[k] into slot k: value = mean seconds of an order, of a sample of simulated orders.

    Slot k is in aisle k // depth, k % depth slots from the front; the pickers start at the front of aisle 0. Cost: some
    milliseconds per 1,000 orders.
    """

    popularity: FloatArray
    """(n,) the probability of each article to be the first of an order"""
    depth: int
    """slots of an aisle"""
    loyalty: float = 0.7
    """the probability that a further article of an order is of the family of the first"""
    mean_extra: float = 2.0
    """mean number of further articles of an order (Poisson)"""
    n_pickers: int = 6
    """who work at the same time, each on an order"""
    n_waves: int = 60
    """of n_pickers orders each, that an evaluation simulates"""

    unit = "seconds per order"

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> tuple[float, float]:
        """Return the mean seconds of an order, and its standard error.

        Raises:
            InputError: if it is not a permutation.
        """
        positions = invert(validate(permutation, self.n_items)[None])[0]
        means = self.seconds(self.orders(self.n_waves * self.n_pickers, rng), positions)
        means = means.reshape(self.n_waves, self.n_pickers).mean(axis=1)
        return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))

    def orders(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw orders (count, n): 1 for the articles of an order, else 0."""
        asked = np.zeros((count, self.n_items))
        first = rng.choice(self.n_items, count, p=self.popularity)
        asked[np.arange(count), first] = 1.0
        extra = rng.poisson(self.mean_extra, count)
        for step in range(int(extra.max(initial=0))):
            rows = np.flatnonzero(extra > step)
            loyal = rng.random(len(rows)) < self.loyalty
            chances = np.where(loyal[:, None], self._within[first[rows]], self._overall)
            picked = (rng.random(len(rows))[:, None] < chances).argmax(axis=1)
            asked[rows, picked] = 1.0
        return asked

    @property
    def _overall(self) -> FloatArray:
        """The cumulative popularity (n,)."""
        cumulative: FloatArray = np.cumsum(self.popularity) / self.popularity.sum()
        return cumulative

    @property
    def _within(self) -> FloatArray:
        """The cumulative popularity (n, n) within the family of each article."""
        same = self.families[:, None] == self.families
        shares = np.cumsum(same * self.popularity, axis=1)
        cumulative: FloatArray = shares / shares[:, -1:]
        return cumulative

    def seconds(self, asked: FloatArray, positions: IntArray) -> FloatArray:
        """Return the seconds (k,) of orders (k, n), given the slot (n,) of each article; waves in rows one by one.

        The route is S-shaped: the picker walks through every aisle with an article of the order, and through the last
        one up to its deepest article and back if the number of aisles is odd.
        """
        aisle, place = positions // self.depth, positions % self.depth
        n_aisles = int(-(-self.n_items // self.depth))
        deepest = np.zeros((len(asked), n_aisles))
        for a in range(n_aisles):
            own = aisle == a
            deepest[:, a] = (asked[:, own] * (place[own] + 1)).max(axis=1, initial=0.0)
        visited = deepest > 0
        last = n_aisles - 1 - visited[:, ::-1].argmax(axis=1)
        odd = visited.sum(axis=1) % 2 == 1
        through = visited.sum(axis=1) - odd
        walked = 2.0 * AISLE_SPACING * last + through * self.depth * SLOT_LENGTH
        walked += odd * 2.0 * SLOT_LENGTH * deepest[np.arange(len(asked)), last]
        in_waves = visited[: len(asked) // self.n_pickers * self.n_pickers].reshape(-1, self.n_pickers, n_aisles)
        before: IntArray = np.cumsum(in_waves, axis=1) - in_waves  # how many pickers of the wave are ahead in the aisle
        waiting = np.zeros(len(asked))
        waiting[: before.shape[0] * self.n_pickers] = (before * in_waves).sum(axis=2).ravel()
        seconds: FloatArray = walked / SPEED + PICK_SECONDS * asked.sum(axis=1) + WAIT_SECONDS * waiting
        return seconds

    @cached_property
    def _together(self) -> FloatArray:
        """How often (n, n) two articles are in one order, and on the diagonal one is in any; of a pilot sample."""
        asked = self.orders(N_PILOT, np.random.default_rng(0))
        together: FloatArray = asked.T @ asked / N_PILOT
        return together

    @property
    def _places(self) -> tuple[FloatArray, FloatArray]:
        """How far each slot is from the start, across the aisles and along its aisle, both (n,) in metres."""
        slot = np.arange(self.n_items)
        across = AISLE_SPACING * (slot // self.depth).astype(np.float64)
        along = SLOT_LENGTH * (slot % self.depth + 1).astype(np.float64)
        return across, along

    def prior_mean(self, permutations: IntArray) -> FloatArray:
        """Return a sum over pairs of articles (k,) that rises with the time of orders, for (k, n) permutations.

        Articles that are asked for together cost the walk between their slots, and each one that from the front.
        """
        positions, walk = invert(permutations), self._walk
        between, often = np.triu(self._together, 1), np.diag(self._together)
        i, j = np.nonzero(between)
        pairs = walk[positions[:, i], positions[:, j]] @ between[i, j]
        alone: FloatArray = pairs + self._there_and_back[positions] @ often
        return alone

    @property
    def _there_and_back(self) -> FloatArray:
        """Twice the way from the start to each slot, (n,)."""
        across, along = self._places
        return 2.0 * (across + along)

    @cached_property
    def _walk(self) -> FloatArray:
        """The walk between every two slots, (n, n)."""
        slot, (x, y) = np.arange(self.n_items), self._places
        same = (slot // self.depth)[:, None] == slot // self.depth
        walk: FloatArray = np.abs(x[:, None] - x) + np.where(same, np.abs(y[:, None] - y), y[:, None] + y)
        return walk

    def turnover(self) -> IntArray:
        """Return the slotting by turnover: the article that is asked for most lies nearest to the start."""
        slot = np.arange(self.n_items)
        nearness = AISLE_SPACING * (slot // self.depth) + SLOT_LENGTH * (slot % self.depth)
        permutation = np.empty(self.n_items, dtype=np.int64)
        permutation[np.argsort(nearness, kind="stable")] = np.argsort(-np.diag(self._together), kind="stable")
        return permutation

    def assigned(self) -> IntArray:
        """Return the slotting by turnover, improved by the best swap until none lowers `prior_mean`.

        Cost: O(n^3) for each swap that is made.
        """
        slotting = self.turnover()
        while True:
            changes = self._changes_by_swaps(slotting)
            a, b = np.unravel_index(int(changes.argmin()), changes.shape)
            if changes[a, b] > -1e-9:
                return slotting
            slotting[[a, b]] = slotting[[b, a]]

    def _changes_by_swaps(self, slotting: IntArray) -> FloatArray:
        """Return by how much `prior_mean` rises when the articles in two slots change places, (n, n).

        Only the walks to third articles change: by sum_k (F_ak - F_bk) (D_bk - D_ak), where F is how often the articles
        in two slots are asked for together, and D the walk between these slots.
        """
        together = self._together[np.ix_(slotting, slotting)]
        often, F, D = np.diag(together), together - np.diag(np.diag(together)), self._walk
        products = F @ D
        own = np.diag(products)
        far = self._there_and_back
        pairs = products + products.T - own[:, None] - own + 2.0 * F * D
        changes: FloatArray = pairs - (often[:, None] - often) * (far[:, None] - far)
        return changes

    def starts(self, count: int, rng: np.random.Generator) -> IntArray:
        """Return the slottings as a quadratic assignment and by turnover, to begin with."""
        return np.array([self.assigned(), self.turnover()])[:count]

    def drawing(self, permutation: IntArray) -> dict[str, Any]:
        """Return the slots from above, and how often each article is asked for, for the page of a run."""
        often = np.diag(self._together)
        return {
            "kind": "floor",
            "places": np.column_stack(self._places).tolist(),
            "weights": often.tolist(),
            "what": "share of the orders with it",
        }

    def explain(self, permutation: IntArray, rng: np.random.Generator) -> dict[str, Any]:
        """Return the articles of each aisle from front to back, and the value of a larger sample."""
        names, depth = self.item_names, self.depth
        positions = invert(permutation[None])[0]
        seconds = self.seconds(self.orders(20 * self.n_waves * self.n_pickers, rng), positions)
        aisles = [permutation[k : k + depth].tolist() for k in range(0, self.n_items, depth)]
        return {
            "seconds_per_order": float(seconds.mean()),
            "aisles": [" ".join(names[article] for article in aisle) for aisle in aisles],
        }


def load(source: str, seed: int = 0, depth: int = 6, n_waves: int = 60) -> Slots:
    """Return a warehouse whose articles are drawn at random.

    Args:
        source: The number of articles, 30 for example.
        seed: Of the data.
        depth: Slots of an aisle.
        n_waves: Simulated waves of an evaluation.

    Raises:
        InputError: A number is too small.
    """
    n, rng = read_size("slots", source, "articles", 30), seeded(seed)
    if depth < 1 or n_waves < 2:
        raise InputError(f"depth is {depth} and n_waves {n_waves}: give at least 1 and 2")
    popularity = rng.permutation(1.0 / np.arange(1, n + 1) ** 0.8)
    families = rng.integers(0, max(2, n // 5), n)
    return Slots(f"slots:{source}", families, popularity / popularity.sum(), depth, n_waves=n_waves)
