import numpy as np
import pytest

from objectives.nml.regret.frontier import schedule
from objectives.nml.regret.frontier_tables import allocate, label
from tests.oracles.graphs import component_of, dag_of


@pytest.mark.parametrize("r", [[2, 3, 5, 2, 4], [60, 50, 3, 60, 40], [1, 1, 1, 1, 1]])
@pytest.mark.parametrize("n_cells", [1, 7, 400])
def test_labels_number_configurations_by_first_occurrence(r: list[int], n_cells: int) -> None:
    """Up to 60 x 50 x 3 x 60 x 40 configurations, more than are looked up directly."""
    rng = np.random.default_rng(0)
    states = np.array([rng.integers(min(states, 4), size=n_cells) for states in r], dtype=np.uint16)
    dag = dag_of(6, *((parent, 5) for parent in range(5)))
    labels, _ = allocate(schedule(component_of(dag, [60] * 6), range(5), {60: 0}, 400))
    axes = np.array(list(enumerate(r)), dtype=np.int64)
    for first, last in ((0, 5), (1, 3), (4, 4)):
        label(states, n_cells, np.array([first, last, 0]), axes, 0, labels)
        seen: dict[tuple[int, ...], int] = {}
        expected = [seen.setdefault(tuple(column), len(seen)) for column in states[first:last].T.tolist()]
        assert labels.numbers[0, :n_cells].tolist() == (expected or [0] * n_cells)
        assert labels.sizes[0] == max(len(seen), 1)
        assert not labels.scratch.any()
