import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.normalisation import Normalisation


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20).filter(lambda values: np.std(values) > 1e-3))
@settings(deadline=None)
def test_normalised_values_have_mean_zero_and_variance_one_and_go_back(values):
    y = np.array(values)
    normalise = Normalisation.of(y)
    z = normalise(y)
    assert z.mean() == pytest.approx(0.0, abs=1e-6)
    assert z.std() == pytest.approx(1.0, rel=1e-6)
    back = (z * normalise.scale + normalise.location) * normalise.unit
    np.testing.assert_allclose(back, y, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("constant", [0.0, -3.7, 0.1, 1e12 + 0.1])
@pytest.mark.parametrize("count", [1, 7])
def test_constant_values_are_normalised_with_scale_one(constant, count):
    normalise = Normalisation.of(np.full(count, constant))
    assert normalise.scale == 1.0
    np.testing.assert_allclose(normalise(np.full(count, constant)), 0.0, atol=1e-12)
    assert normalise.location * normalise.unit == pytest.approx(constant)
