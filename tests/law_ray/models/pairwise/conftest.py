import pytest

from tests.law_ray.models.pairwise.fits import fitted, problem


@pytest.fixture(scope="module")
def two_fits():
    X, y = problem(38)
    first = fitted(X, y, [30])
    return X, y, first, fitted(X, y, [38], first=first)
