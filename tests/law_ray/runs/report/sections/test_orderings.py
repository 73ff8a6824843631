"""The table of the best ordering's neighbours."""

import numpy as np

from law_ray.runs.objective import BlackBox
from law_ray.runs.report.sections.orderings import neighbour_table, section
from law_ray.runs.report.view import View
from tests.law_ray.runs.report.runs import made
from tests.law_ray.runs.working import displacement


class Keyed:
    """The displacement, of which orderings with the same first item count as one."""

    n_items = 6

    def __call__(self, permutation):
        return displacement(permutation)

    def key(self, permutation):
        return int(permutation[0])


def swaps(view):
    """The orderings that the swaps in the table lead to."""
    best = view.run.best.permutation
    for row in neighbour_table(view).rows:
        i, j = map(int, row[1].split(" and "))
        other = best.copy()
        other[[i, j]] = best[[j, i]]
        yield other


def test_the_swaps_shown_are_not_evaluated_and_not_equal_to_what_was(tmp_path):
    run = made(tmp_path, limit=20)
    known = {trial.permutation.tobytes() for trial in run.optimizer.trials}
    plain = list(swaps(View.of(run)))
    assert len(plain) == 8
    assert not {each.tobytes() for each in plain} & known
    firsts = {int(trial.permutation[0]) for trial in run.optimizer.trials}
    keyed = View.of(run, BlackBox(Keyed()))
    assert not {int(each[0]) for each in swaps(keyed)} & firsts
    assert firsts == set(range(6))  # so nothing is left
    texts = [block.text for block in section(keyed).blocks if hasattr(block, "text")]
    assert any(text.startswith("Every swap of two items of the best ordering gives") for text in texts)


def test_the_change_is_what_the_model_predicts_of_the_swap(tmp_path):
    view = View.of(made(tmp_path))
    changes = [float(row[2]) for row in neighbour_table(view).rows]
    assert changes == sorted(changes)
    truth = [displacement(each) - displacement(view.run.best.permutation) for each in swaps(view)]
    assert np.corrcoef(changes, truth)[0, 1] > -1.0
