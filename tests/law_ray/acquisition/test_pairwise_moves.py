import numpy as np

from law_ray.acquisition.pairwise_moves import Swaps
from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import some_ensemble


def test_changes_are_differences_of_values_also_after_swaps():
    rng = np.random.default_rng(2)
    ensemble, q = some_ensemble(rng, 7), invert(sample(7, 1, rng))[0]
    swaps = Swaps(ensemble, q)
    for made in rng.permutation(21)[:8]:
        before, changes = ensemble.values(q[None])[0], swaps.changes()
        for number, (i, j) in enumerate(zip(*ensemble.pairs, strict=True)):
            moved = q.copy()
            moved[[i, j]] = moved[[j, i]]
            np.testing.assert_allclose(before + changes[number], ensemble.values(moved[None])[0], atol=1e-9)
        i, j = (int(items[made]) for items in ensemble.pairs)
        q[[i, j]] = q[[j, i]]
        swaps.make(i, j)


def test_rounding_does_not_grow_over_many_swaps():
    rng = np.random.default_rng(3)
    ensemble, q = some_ensemble(rng, 20), invert(sample(20, 1, rng))[0]
    swaps = Swaps(ensemble, q)
    for _ in range(1000):
        i, j = sorted(rng.choice(20, 2, replace=False).tolist())
        q[[i, j]] = q[[j, i]]
        swaps.make(i, j)
    np.testing.assert_allclose(swaps.changes(), Swaps(ensemble, q).changes(), atol=1e-10)
