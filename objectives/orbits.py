"""Orbits about the Sun: where a body is at a time, and the transfer between two places in a given time.

Lengths in astronomical units (AU), times in days, velocities in km/s where a name says so, else in AU per day.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import hyp2f1

from law_ray.typing import FloatArray

GRAVITY = 0.01720209895**2
"""Of the Sun, AU^3 / day^2: the square of Gauss's constant."""
KM_PER_S = 149_597_870.7 / 86_400
"""One AU per day in km/s."""
NEAR_PARABOLA = 0.02
"""|x - 1| below which the time of flight is computed by a series, since the formula divides 0 by 0 (heuristic)."""
STEPS = 12
"""Of the iterations for x and for Kepler's equation, both of which converge in fewer."""


@dataclass(frozen=True)
class Orbits:
    """Elliptic orbits of m bodies, by their Keplerian elements, each (m,)."""

    semi_major_axis: FloatArray
    """AU"""
    eccentricity: FloatArray
    inclination: FloatArray
    """radians, and so all angles"""
    node: FloatArray
    """longitude of the ascending node"""
    periapsis: FloatArray
    """argument of the periapsis"""
    anomaly: FloatArray
    """mean anomaly at time 0"""

    def state(self, body: int, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the position (k, 3) in AU and the velocity (k, 3) in AU per day of a body at times (k,) in days."""
        a, e = self.semi_major_axis[body], self.eccentricity[body]
        motion = np.sqrt(GRAVITY / a**3)
        mean = self.anomaly[body] + motion * np.asarray(times, dtype=float)
        eccentric = mean + e * np.sin(mean)
        for _ in range(STEPS):
            eccentric -= (eccentric - e * np.sin(eccentric) - mean) / (1.0 - e * np.cos(eccentric))
        minor = np.sqrt(1.0 - e**2)
        along, across = a * (np.cos(eccentric) - e), a * minor * np.sin(eccentric)
        rate = motion / (1.0 - e * np.cos(eccentric))
        along_rate, across_rate = -a * np.sin(eccentric) * rate, a * minor * np.cos(eccentric) * rate
        P, Q = self._axes(body)
        return (
            along[:, None] * P + across[:, None] * Q,
            along_rate[:, None] * P + across_rate[:, None] * Q,
        )

    def ellipse(self, body: int, count: int) -> FloatArray:
        """Return places (count, 3) in AU of a body at equal times over one revolution."""
        period = 2.0 * np.pi * np.sqrt(self.semi_major_axis[body] ** 3 / GRAVITY)
        return self.state(body, np.linspace(0.0, period, count))[0]

    def _axes(self, body: int) -> tuple[FloatArray, FloatArray]:
        """Return the unit vectors towards the periapsis and, in the orbit's plane, at a right angle to it."""
        node, i, w = self.node[body], self.inclination[body], self.periapsis[body]
        cn, sn, ci, si, cw, sw = np.cos(node), np.sin(node), np.cos(i), np.sin(i), np.cos(w), np.sin(w)
        P = np.array([cn * cw - sn * sw * ci, sn * cw + cn * sw * ci, sw * si])
        Q = np.array([-cn * sw - sn * cw * ci, -sn * sw + cn * cw * ci, cw * si])
        return P, Q


def coast(place: FloatArray, velocity: FloatArray, days: float, count: int) -> FloatArray:
    """Return places (count, 3) at equal times of a body that moves freely, given its first place and velocity (3,)."""

    def rates(_: float, state: FloatArray) -> FloatArray:
        place = state[:3]
        return np.concatenate([state[3:], -GRAVITY * place / np.linalg.norm(place) ** 3])

    times = np.linspace(0.0, days, count)
    solved = solve_ivp(rates, (0.0, days), np.concatenate([place, velocity]), t_eval=times, rtol=1e-8, atol=1e-10)
    places: FloatArray = solved.y[:3].T
    return places


def lambert(start: FloatArray, end: FloatArray, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the velocities at both ends of transfers in given times: Lambert's problem, without a whole revolution.

    The transfers go counter-clockwise seen from the ecliptic's north, as planets do. The method is Izzo's ("Revisiting
    Lambert's problem", Celestial Mechanics and Dynamical Astronomy 121, 2015): Householder's iteration for x, of which
    the time of flight is a smooth function.

    Args:
        start: (k, 3) positions in AU.
        end: (k, 3) positions in AU, not in line with the Sun and the start.
        times: (k,) in days, above 0.

    Returns:
        The velocities (k, 3) at the start and at the end, in AU per day.
    """
    r1, r2 = np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1)
    chord = np.linalg.norm(end - start, axis=1)
    s = (r1 + r2 + chord) / 2.0
    out1, out2 = start / r1[:, None], end / r2[:, None]
    normal = np.cross(out1, out2)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    turn = np.where(normal[:, 2] < 0.0, -1.0, 1.0)  # beyond half a revolution the normal points down
    normal *= turn[:, None]
    lam = turn * np.sqrt(np.maximum(1.0 - chord / s, 0.0))
    x = _solve(lam, np.sqrt(2.0 * GRAVITY / s**3) * times)
    y = np.sqrt(1.0 - lam**2 * (1.0 - x**2))
    gamma, rho = np.sqrt(GRAVITY * s / 2.0), (r1 - r2) / chord
    sigma = np.sqrt(np.maximum(1.0 - rho**2, 0.0))
    radial1 = gamma * ((lam * y - x) - rho * (lam * y + x)) / r1
    radial2 = -gamma * ((lam * y - x) + rho * (lam * y + x)) / r2
    across = gamma * sigma * (y + lam * x)
    first = radial1[:, None] * out1 + (across / r1)[:, None] * np.cross(normal, out1)
    last = radial2[:, None] * out2 + (across / r2)[:, None] * np.cross(normal, out2)
    return first, last


def _solve(lam: FloatArray, target: FloatArray) -> FloatArray:
    """Return x (k,) at which the time of flight, without units, is the target."""
    at_0 = np.arccos(lam) + lam * np.sqrt(1.0 - lam**2)
    at_1 = 2.0 / 3.0 * (1.0 - lam**3)
    slow = (at_0 / target) ** (2.0 / 3.0) - 1.0
    fast = 2.5 * at_1 * (at_1 - target) / (target * (1.0 - lam**5)) + 1.0
    between = (target / at_0) ** (np.log(2.0) / np.log(at_1 / at_0)) - 1.0
    x = np.where(target >= at_0, slow, np.where(target < at_1, fast, between))
    for _ in range(STEPS):
        x = np.where(np.abs(x - 1.0) < 1e-7, 1.0 - 1e-7, x)
        y = np.sqrt(1.0 - lam**2 * (1.0 - x**2))
        T = _time(x, y, lam)
        u = 1.0 - x**2
        first = (3.0 * T * x - 2.0 + 2.0 * lam**3 * x / y) / u
        second = (3.0 * T + 5.0 * x * first + 2.0 * (1.0 - lam**2) * lam**3 / y**3) / u
        third = (7.0 * x * second + 8.0 * first - 6.0 * (1.0 - lam**2) * lam**5 * x / y**5) / u
        miss = T - target
        step = miss * (first**2 - miss * second / 2.0)
        step /= first * (first**2 - miss * second) + third * miss**2 / 6.0
        newton = np.where(np.abs(x - 1.0) < 1e-4, miss / (-0.4 * (1.0 - lam**5)), step)  # the slope at x = 1
        x = np.maximum(x - newton, -1.0 + 1e-9)
    return x


def _time(x: FloatArray, y: FloatArray, lam: FloatArray) -> FloatArray:
    """Return the time of flight, without units: Lagrange's formula, or Battin's series near the parabola x = 1."""
    near = np.abs(x - 1.0) < NEAR_PARABOLA
    eta = y - lam * x
    series = (eta**3 * 4.0 / 3.0 * hyp2f1(3.0, 1.0, 2.5, np.where(near, (1.0 - lam - x * eta) / 2.0, 0.0))) / 2.0
    series += 2.0 * lam * eta
    u = np.where(near, 0.5, 1.0 - x**2)  # any number that divides
    ellipse = np.arccos(np.clip(x * y + lam * u, -1.0, 1.0))
    hyperbola = np.arccosh(np.maximum(x * y + lam * u, 1.0))
    psi = np.where(u > 0.0, ellipse, hyperbola)
    return np.where(near, series, (psi / np.sqrt(np.abs(u)) - x + lam * y) / u)
