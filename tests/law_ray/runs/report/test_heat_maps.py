"""Pairs of heat maps: where they stand, and how much room their labels have."""

import numpy as np
import pytest

from law_ray.runs.report.heat_maps import BESIDE, CHARACTER, LONGEST_BESIDE, heat_map, pair


def drawn(n_items, longest):
    names = [f"{k:0{longest}d}" for k in range(n_items)]
    maps = [heat_map(np.eye(n_items), names, names, "%{z}") for _ in range(2)]
    return pair(*maps, ("first", "second"))


@pytest.mark.parametrize(
    ("n_items", "longest", "beside"),
    [(BESIDE, LONGEST_BESIDE, True), (BESIDE + 1, 2, False), (5, LONGEST_BESIDE + 1, False)],
)
def test_a_pair_stands_side_by_side_where_few_short_names_leave_the_room(n_items, longest, beside):
    layout = drawn(n_items, longest).layout
    assert (layout.yaxis.domain == layout.yaxis2.domain) == beside


@pytest.mark.parametrize("n_items", [5, 30, 60])
@pytest.mark.parametrize("longest", [13, 18, 38])
def test_between_maps_one_above_the_other_the_labels_and_a_title_have_room(n_items, longest):
    layout = drawn(n_items, longest).layout
    inner = layout.height - 80 - CHARACTER * longest
    assert (layout.yaxis.domain[0] - layout.yaxis2.domain[1]) * inner >= CHARACTER * longest + 40
    rows = (layout.yaxis.domain[1] - layout.yaxis.domain[0]) * inner
    assert rows / n_items >= (15 if n_items <= BESIDE else 10)
    assert rows >= 160
