import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import sample
from objectives.nml.graphs.structure import dag_from_order
from objectives.nml.scores.decomposable import SCORES
from objectives.nml.search.oriented import OrientedScore

R = np.array([3, 2, 4, 2, 3, 2])
CODES = np.random.default_rng(0).integers(0, R, size=(300, 6))


def test_more_possible_parents_than_bits_are_refused() -> None:
    codes = np.random.default_rng(2).integers(2, size=(10, 64))
    edges = np.zeros((64, 64), dtype=bool)
    edges[:63, 63] = True
    with pytest.raises(InputError, match="63 possible parents"):
        OrientedScore(SCORES["bic"](codes, np.full(64, 2)), edges)
    edges[0, 63] = False
    last = np.r_[np.arange(63), 63]
    assert np.isfinite(OrientedScore(SCORES["bic"](codes, np.full(64, 2)), edges)(last[None])).all()


@pytest.mark.parametrize("name", SCORES)
def test_scores_equal_those_of_the_dags_one_by_one(name: str) -> None:
    rng = np.random.default_rng(1)
    for density in (0.0, 0.4, 1.0):
        edges = np.triu(rng.random((6, 6)) < density, 1)
        edges |= edges.T
        edges[2] = False  # an edge may be allowed in one direction only
        permutations = sample(6, 50, rng)
        expected = [SCORES[name](CODES, R).dag(dag_from_order(edges, permutation)) for permutation in permutations]
        oriented = OrientedScore(SCORES[name](CODES, R), edges)
        np.testing.assert_allclose(oriented(permutations), expected, rtol=1e-12)
        np.testing.assert_allclose(oriented(permutations[::-1]), expected[::-1], rtol=1e-12)
