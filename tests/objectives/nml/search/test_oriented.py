import numpy as np
import pytest

from law_ray.space.permutations import sample
from objectives.nml.graphs.structure import dag_from_order
from objectives.nml.scores.decomposable import SCORES
from objectives.nml.search.oriented import OrientedScore

R = np.array([3, 2, 4, 2, 3, 2])
CODES = np.random.default_rng(0).integers(0, R, size=(300, 6))


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
