import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from law_ray.errors import InputError
from objectives.asteroid import KM_PER_S_PER_DAY, MAX_FLIGHT, MAX_WAIT, MIN_FLIGHT, load


@pytest.fixture(scope="module")
def problem():
    return load("4", seed=1)


@pytest.mark.slow
def test_the_inner_optimisation_finds_what_many_local_searches_find(problem):
    def cost(days):
        wait, flight = days
        if not (0 <= wait <= MAX_WAIT and MIN_FLIGHT <= flight <= MAX_FLIGHT):
            return 1e3
        return problem._costs(0, 2, 100.0, np.array([wait]), np.array([flight]))[0][0, 0]

    starts = itertools.product(np.linspace(0, MAX_WAIT, 4), np.linspace(60, MAX_FLIGHT, 5))
    best = min(minimize(cost, start, method="Nelder-Mead").fun for start in starts)
    assert problem.cost([problem.best_leg(0, 2, 100.0)]) == pytest.approx(best, abs=1e-3)


def test_legs_follow_each_other_and_make_the_value(problem):
    order = np.array([2, 0, 3, 1])
    legs = problem.legs(order)
    assert [leg.start for leg in legs] == [0, 3, 1, 4]
    assert [leg.end for leg in legs] == [3, 1, 4, 2]
    days = sum(leg.wait + leg.flight for leg in legs)
    value = problem(order)
    assert value == pytest.approx(sum(leg.delta_v for leg in legs) + KM_PER_S_PER_DAY * days)
    explained = problem.explain(order, np.random.default_rng(0))
    assert explained["delta_v"] + KM_PER_S_PER_DAY * explained["days"] == pytest.approx(value)
    time = sum(leg.wait + leg.flight for leg in legs[:2])
    assert problem.best_leg(1, 4, time) == legs[2]


def test_the_drawn_transfers_lead_from_body_to_body(problem):
    order = np.array([2, 0, 3, 1])
    drawn, time = problem.drawing(order), 0.0
    assert len(drawn["orbits"]) == 5
    np.testing.assert_allclose(np.linalg.norm(drawn["orbits"][0], axis=1), 1.0)  # the Earth's
    for leg, transfer in zip(problem.legs(order), drawn["transfers"], strict=True):
        left, arrived = time + leg.wait, time + leg.wait + leg.flight
        ends = [problem.orbits.state(body, [at])[0][0, :2] for body, at in ((leg.start, left), (leg.end, arrived))]
        np.testing.assert_allclose([transfer[0], transfer[-1]], ends, atol=1e-4)
        time = arrived


def test_a_body_beside_the_earth_on_its_orbit_is_cheap():
    near = load("2")
    orbits = near.orbits
    for name, value in (("semi_major_axis", 1.0), ("eccentricity", 0.0), ("inclination", 0.0), ("anomaly", 1e-3)):
        getattr(orbits, name)[1] = value
    for name in ("node", "periapsis"):
        getattr(orbits, name)[1] = 0.0
    leg = near.best_leg(0, 1, 0.0)
    assert leg.wait == 0.0
    assert leg.flight == pytest.approx(MIN_FLIGHT)
    assert leg.delta_v < 0.5


def test_the_greedy_order_takes_the_cheapest_next(problem):
    order = problem.greedy()
    assert sorted(order) == [0, 1, 2, 3]
    first = [problem.cost([problem.best_leg(0, item + 1, 0.0)]) for item in range(4)]
    assert order[0] == np.argmin(first)
    assert (problem.starts(3, np.random.default_rng(0)) == order).all()


def test_seeds_draw_other_orbits_and_fingerprints():
    assert load("5", seed=1).fingerprint == load("5", seed=1).fingerprint
    assert load("5", seed=1).fingerprint != load("5", seed=2).fingerprint


@pytest.mark.parametrize("source", ["1", "ten", "-3", ""])
def test_bad_sizes_are_refused(source):
    with pytest.raises(InputError, match="give the number of asteroids"):
        load(source)
