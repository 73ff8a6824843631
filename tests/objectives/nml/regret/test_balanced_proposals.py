import itertools

import numpy as np

from objectives.nml.regret.balanced_proposals import allocate
from objectives.nml.regret.frontier import schedule
from tests.oracles.graphs import component_of, dag_of


def test_no_array_shares_its_memory_with_another():
    dag = dag_of(6, *((parent, 5) for parent in range(5)))
    found = allocate(schedule(component_of(dag, [3] * 6), range(5), {3: 0}, 400), 400)
    arrays = [array for group in found for array in group]
    assert len(arrays) == 18
    assert all(array.size > 0 for array in arrays)
    assert not any(np.shares_memory(one, other) for one, other in itertools.combinations(arrays, 2))
