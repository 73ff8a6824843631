import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.models.standardize import Standardization, scale_of


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20).filter(lambda values: np.std(values) > 1e-3))
def test_standardized_values_have_mean_zero_and_variance_one_and_can_be_reverted(values):
    y = np.array(values)
    standardize = Standardization.of(y)
    z = standardize(y)
    assert z.mean() == pytest.approx(0.0, abs=1e-6)
    assert z.std() == pytest.approx(1.0, rel=1e-6)
    back = (z * standardize.scale + standardize.location) * standardize.unit
    np.testing.assert_allclose(back, y, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("constant", [0.0, -3.7, 0.1, 1e12 + 0.1])
@pytest.mark.parametrize("count", [1, 7])
def test_constant_values_are_standardized_with_scale_one(constant, count):
    standardize = Standardization.of(np.full(count, constant))
    assert standardize.scale == 1.0
    np.testing.assert_allclose(standardize(np.full(count, constant)), 0.0, atol=1e-12)
    assert standardize.location * standardize.unit == pytest.approx(constant)
    unit = abs(constant) or 1.0  # zeros say nothing of a unit
    assert standardize(constant + 3.0 * unit) == pytest.approx(3.0)
    assert standardize.difference(3.0 * unit) == pytest.approx(3.0)


def test_small_differences_between_large_values_are_no_rounding_errors():
    z = Standardization.of(1e12 + 0.01 * np.arange(20.0))(1e12 + 0.01 * np.arange(20.0))
    assert z == pytest.approx(Standardization.of(np.arange(20.0))(np.arange(20.0)), abs=0.01)
    assert Standardization.of(0.3 + np.array([0.0, 1e-16, -1e-16])).scale == 1.0


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 0.3, 1.0, 1e160, 1.7e308])
def test_the_scale_is_a_power_of_two_below_which_the_largest_value_is_of_order_one(unit):
    scale = scale_of(unit * np.array([-1.0, 0.5]))
    assert np.frexp(scale)[0] == 0.5
    assert 1.0 <= unit / scale < 2.0
    assert scale_of(np.zeros(3)) == 0.5
