"""The asteroid routing problem: in which order should a spacecraft visit asteroids?

López-Ibáñez, Chicano and Gil-Merino ("The Asteroid Routing Problem: A Benchmark for Expensive Black-Box Permutation
Optimization", EvoApplications 2022) made it for optimisers of expensive black boxes over permutations. A spacecraft
leaves the Earth and visits each asteroid once. Each visit matches the asteroid's velocity, so a leg costs two changes
of velocity. The order is the permutation; how long to wait and to fly on each leg is found by an inner optimisation,
which makes an evaluation slow and its value no sum over pairs: when a leg begins depends on all legs before it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from law_ray.space.permutations import validate
from law_ray.typing import FloatArray, IntArray
from objectives.options import seeded
from objectives.orbits import KM_PER_S, Orbits, coast, lambert
from objectives.simulated import read_size

EARTH = 0
"""The number of the Earth among the bodies; asteroid i is body i + 1."""
KM_PER_S_PER_DAY = 2.0 / 30.0
"""What a day counts: 2 km/s for 30 days, as in the publication."""
MAX_WAIT, MAX_FLIGHT, MIN_FLIGHT = 730.0, 730.0, 20.0
"""Days of a leg. The publication bounds both by 730 days."""
GRID, ZOOMED, ZOOMS = (24, 36), 9, 5
"""Of the inner optimisation: waits x flights of the first grid, the side of the finer ones, and how many there are.

Each finer grid is centred on the best point of the one before, at a quarter of its spacing. The last spacings are 0.03
days of waiting and 0.02 days of flight.
"""

N_DRAWN = 60
"""Points of an orbit and of a transfer in the picture (heuristic)."""


class Leg(NamedTuple):
    """A transfer from one body to the next."""

    start: int
    end: int
    wait: float
    """days at the start"""
    flight: float
    """days"""
    delta_v: float
    """km/s, at both ends together"""


@dataclass(frozen=True, eq=False)
class AsteroidRouting:
    """Visit n asteroids in the order of the permutation: value = sum of delta v + KM_PER_S_PER_DAY x days, in km/s.

    Each leg is optimised by itself, in order, as in the publication. Cost: 1,300 Lambert arcs a leg, some 3 ms.
    """

    name: str
    orbits: Orbits
    """of the Earth and of the n asteroids"""

    unit = "km/s"

    @property
    def n_items(self) -> int:
        """The number of asteroids."""
        return len(self.orbits.eccentricity) - 1

    @property
    def item_names(self) -> list[str]:
        """Names of the asteroids."""
        return [f"asteroid {i}" for i in range(self.n_items)]

    @property
    def fingerprint(self) -> str:
        """The orbits as text: a resumed run must have the same."""
        return repr([getattr(self.orbits, name).tolist() for name in Orbits.__dataclass_fields__])

    def __call__(self, permutation: IntArray) -> float:
        """Return the value of an order, in km/s.

        Raises:
            InputError: if it is not a permutation.
        """
        return self.cost(self.legs(permutation))

    def legs(self, permutation: IntArray) -> list[Leg]:
        """Return the legs of an order, each the best one given where and when it begins."""
        time, here, found = 0.0, EARTH, []
        for item in validate(permutation, self.n_items).tolist():
            leg = self.best_leg(here, item + 1, time)
            found.append(leg)
            time, here = time + leg.wait + leg.flight, item + 1
        return found

    def cost(self, legs: list[Leg]) -> float:
        """Return the value of legs, in km/s."""
        return sum(leg.delta_v + KM_PER_S_PER_DAY * (leg.wait + leg.flight) for leg in legs)

    def best_leg(self, start: int, end: int, time: float) -> Leg:
        """Return the leg that costs least from a body to another, from a time in days on."""
        wait, flight = np.linspace(0.0, MAX_WAIT, GRID[0]), np.linspace(MIN_FLIGHT, MAX_FLIGHT, GRID[1])
        reach = np.array([wait[1], flight[1] - flight[0]])
        for _ in range(ZOOMS + 1):
            costs, delta_v = self._costs(start, end, time, wait, flight)
            row, column = np.unravel_index(np.argmin(costs), costs.shape)
            best = Leg(start, end, float(wait[row]), float(flight[column]), float(delta_v[row, column]))
            steps = np.linspace(-1.0, 1.0, ZOOMED)
            wait = np.unique(np.clip(best.wait + reach[0] * steps, 0.0, MAX_WAIT))
            flight = np.unique(np.clip(best.flight + reach[1] * steps, MIN_FLIGHT, MAX_FLIGHT))
            reach /= 4.0
        return best

    def _costs(
        self, start: int, end: int, time: float, wait: FloatArray, flight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the costs and the delta v of all pairs of waits (m,) and flights (k,), both (m, k), in km/s."""
        waits, flights = (each.ravel() for each in np.meshgrid(wait, flight, indexing="ij"))
        place, velocity = self.orbits.state(start, time + wait)
        place, velocity = np.repeat(place, len(flight), axis=0), np.repeat(velocity, len(flight), axis=0)
        goal, goal_velocity = self.orbits.state(end, time + waits + flights)
        left, arrived = lambert(place, goal, flights)
        changes = np.linalg.norm(left - velocity, axis=1) + np.linalg.norm(goal_velocity - arrived, axis=1)
        delta_v = (KM_PER_S * changes).reshape(len(wait), len(flight))
        delta_v = np.where(np.isfinite(delta_v), delta_v, np.inf)
        return delta_v + KM_PER_S_PER_DAY * (waits + flights).reshape(delta_v.shape), delta_v

    def greedy(self) -> IntArray:
        """Return the order in which the next asteroid is always the one that costs least to reach."""
        time, here, left, order = 0.0, EARTH, set(range(self.n_items)), []
        while left:
            legs = [self.best_leg(here, item + 1, time) for item in sorted(left)]
            best = min(legs, key=lambda leg: self.cost([leg]))
            time, here = time + best.wait + best.flight, best.end
            left.remove(here - 1)
            order.append(here - 1)
        return np.array(order)

    def starts(self, count: int, rng: np.random.Generator) -> IntArray:
        """Return the greedy order, to begin with."""
        return self.greedy()[None][:count]

    def drawing(self, permutation: IntArray) -> dict[str, Any]:
        """Return the orbits and the transfers, seen from the ecliptic's north, for the page of a run."""
        time, transfers = 0.0, []
        for leg in self.legs(permutation):
            left, arrived = time + leg.wait, time + leg.wait + leg.flight
            place, _ = self.orbits.state(leg.start, np.array([left]))
            goal, _ = self.orbits.state(leg.end, np.array([arrived]))
            velocity, _ = lambert(place, goal, np.array([leg.flight]))
            transfers.append(coast(place[0], velocity[0], leg.flight, N_DRAWN)[:, :2].tolist())
            time = arrived
        bodies = range(len(self.orbits.eccentricity))
        orbits = [self.orbits.ellipse(body, N_DRAWN)[:, :2].tolist() for body in bodies]
        return {"kind": "orbits", "orbits": orbits, "transfers": transfers}

    def explain(self, permutation: IntArray, rng: np.random.Generator) -> dict[str, Any]:
        """Return the parts of the value, and the legs."""
        legs = self.legs(permutation)
        return {
            "ordering": [self.item_names[item] for item in permutation],
            "delta_v": sum(leg.delta_v for leg in legs),
            "days": sum(leg.wait + leg.flight for leg in legs),
            "legs": [f"wait {leg.wait:.1f} d, fly {leg.flight:.1f} d, {leg.delta_v:.3f} km/s" for leg in legs],
        }


def load(source: str, seed: int = 0) -> AsteroidRouting:
    """Return a problem of asteroids whose orbits are drawn at random.

    Args:
        source: The number of asteroids, 15 for example.
        seed: Of the orbits.

    Raises:
        InputError: The number is not an integer from 2 to `simulated.MAX_SIZE`, or the seed is invalid.
    """
    n_asteroids = read_size("asteroid", source, "asteroids", 15)
    return AsteroidRouting(f"asteroid:{source}", drawn(n_asteroids, seeded(seed)))


def drawn(n_asteroids: int, rng: np.random.Generator) -> Orbits:
    """Return the orbits of the Earth (circular, in the ecliptic) and of asteroids like those of the inner main belt."""
    m = n_asteroids

    def with_earth(earth: float, values: FloatArray) -> FloatArray:
        return np.concatenate([[earth], values])

    angles = rng.uniform(0.0, 2 * np.pi, (3, m))
    return Orbits(
        semi_major_axis=with_earth(1.0, rng.uniform(1.6, 2.8, m)),
        eccentricity=with_earth(0.0, rng.rayleigh(0.1, m).clip(0.0, 0.4)),
        inclination=with_earth(0.0, rng.rayleigh(0.06, m).clip(0.0, 0.3)),
        node=with_earth(0.0, angles[0]),
        periapsis=with_earth(0.0, angles[1]),
        anomaly=with_earth(0.0, angles[2]),
    )
