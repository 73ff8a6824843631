import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.models.standardize import Standardization


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
