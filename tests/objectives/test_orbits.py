import numpy as np
import pytest

from objectives.orbits import GRAVITY, KM_PER_S, Orbits, coast, lambert


def random_orbits(count):
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, (3, count))
    a, e, i = rng.uniform(0.7, 3.5, count), rng.uniform(0, 0.6, count), rng.uniform(0, 0.5, count)
    return Orbits(a, e, i, *angles)


def period(orbits, body):
    return 2 * np.pi * np.sqrt(orbits.semi_major_axis[body] ** 3 / GRAVITY)


def test_bodies_keep_their_energy_and_come_back_after_a_period():
    orbits = random_orbits(20)
    for body in range(20):
        times = np.array([3.0, 200.0, 3.0 + period(orbits, body)])
        place, velocity = orbits.state(body, times)
        energy = (velocity**2).sum(axis=1) / 2 - GRAVITY / np.linalg.norm(place, axis=1)
        assert energy == pytest.approx(-GRAVITY / (2 * orbits.semi_major_axis[body]))
        assert place[2] == pytest.approx(place[0], abs=1e-9)


def test_velocities_are_the_derivatives_of_places():
    orbits, step = random_orbits(10), 1e-3
    for body in range(10):
        place, velocity = orbits.state(body, np.array([50.0 - step, 50.0, 50.0 + step]))
        assert (place[2] - place[0]) / (2 * step) == pytest.approx(velocity[1], abs=1e-9)


def test_the_earth_takes_a_year_and_30_km_per_second():
    earth = Orbits(*(np.array([x]) for x in (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    assert period(earth, 0) == pytest.approx(365.2569, abs=1e-3)
    assert np.linalg.norm(earth.state(0, np.zeros(1))[1]) * KM_PER_S == pytest.approx(29.78, abs=0.01)


def test_a_transfer_along_an_orbit_has_the_velocities_of_that_orbit():
    orbits, rng = random_orbits(200), np.random.default_rng(1)
    for body in range(200):
        begin, part = rng.uniform(0, 1000), rng.uniform(0.02, 0.95)
        flight = part * period(orbits, body)
        place, velocity = orbits.state(body, np.array([begin, begin + flight]))
        left, arrived = lambert(place[:1], place[1:], np.array([flight]))
        assert left[0] == pytest.approx(velocity[0], abs=1e-10)
        assert arrived[0] == pytest.approx(velocity[1], abs=1e-10)


def test_the_transfer_of_hohmann():
    """Between circular orbits, nearly half a revolution in half the period of the ellipse: known in closed form."""
    outer, angle = 1.5, np.pi - 1e-4
    flight = np.pi * np.sqrt(((1 + outer) / 2) ** 3 / GRAVITY)
    end = outer * np.array([[np.cos(angle), np.sin(angle), 0.0]])
    left, arrived = lambert(np.array([[1.0, 0.0, 0.0]]), end, np.array([flight]))
    expected = np.sqrt(GRAVITY) * (np.sqrt(2 * outer / (1 + outer)) - 1)
    assert np.linalg.norm(left[0] - [0, np.sqrt(GRAVITY), 0]) == pytest.approx(expected, rel=1e-3)
    circular = np.sqrt(GRAVITY / outer) * np.array([-np.sin(angle), np.cos(angle), 0.0])
    expected = np.sqrt(GRAVITY / outer) * (1 - np.sqrt(2 / (1 + outer)))
    assert np.linalg.norm(circular - arrived[0]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("days", [5.0, 60.0, 400.0, 1500.0])
def test_transfers_of_any_speed_keep_energy_and_angular_momentum(days):
    rng = np.random.default_rng(2)
    start, end = rng.normal([2.0, 0.0, 0.0], 1.0, (500, 3)), 2 * rng.normal(size=(500, 3))
    left, arrived = lambert(start, end, np.full(500, days))
    energies = [
        (velocity**2).sum(axis=1) / 2 - GRAVITY / np.linalg.norm(place, axis=1)
        for place, velocity in ((start, left), (end, arrived))
    ]
    assert energies[0] == pytest.approx(energies[1], rel=1e-8, abs=1e-12)
    momenta = [np.cross(start, left), np.cross(end, arrived)]
    assert momenta[0] == pytest.approx(momenta[1], abs=1e-12)
    assert (momenta[0][:, 2] > 0).all()  # counter-clockwise


def test_an_ellipse_closes_and_has_the_sun_in_its_focus():
    orbits = random_orbits(20)
    for body in range(20):
        places = orbits.ellipse(body, 50)
        np.testing.assert_allclose(places[0], places[-1], atol=1e-9)
        a, e = orbits.semi_major_axis[body], orbits.eccentricity[body]
        distances = np.linalg.norm(places, axis=1)
        assert a * (1 - e) - 1e-9 <= distances.min() < distances.max() <= a * (1 + e) + 1e-9


def test_a_body_that_coasts_stays_on_its_orbit():
    orbits = random_orbits(5)
    for body in range(5):
        times = np.linspace(20.0, 400.0, 9)
        places, velocities = orbits.state(body, times)
        np.testing.assert_allclose(coast(places[0], velocities[0], 380.0, 9), places, atol=1e-5)
