import contextlib

import pytest

from experiments.ours.general_rivals.black_box import BlackBox, SpentError
from experiments.ours.general_rivals.methods import METHODS, methods_for
from experiments.ours.general_rivals.problems import PROBLEMS

BUDGET = 30
SLOW = {"law-auto", "law-auto informed", "Optuna GP", "SMAC", "Ax", "OpenTuner"}


def parameter(name):
    missing = pytest.mark.skipif(not METHODS[name].installed, reason=f"pip install {METHODS[name].distributions}")
    return pytest.param(name, id=name, marks=[missing, *([pytest.mark.slow] if name in SLOW else [])])


def proposals(name, problem, batch_size, seed):
    """The orderings that a method has evaluated, in order."""
    box = BlackBox(problem, BUDGET, batch_size, seed)
    with contextlib.suppress(SpentError):
        methods_for(problem)[name].play(box, seed)
    return list(box.evaluated)


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("name", [parameter(name) for name in METHODS])
def test_a_method_proposes_as_many_orderings_as_the_budget_and_the_same_by_the_same_seed(name, batch_size):
    found = proposals(name, "slots:30", batch_size, 1)
    assert len(found) == BUDGET
    assert all(sorted(ordering) == list(range(30)) for ordering in found)
    assert found == proposals(name, "slots:30", batch_size, 1)
    assert found != proposals(name, "slots:30", batch_size, 2)


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if PROBLEMS[name].heuristics])
@pytest.mark.slow
def test_a_heuristic_proposes_one_ordering(problem):
    for name in set(methods_for(problem)) - set(METHODS):
        assert len(proposals(name, problem, 1, 0)) == 1


def test_law_auto_is_informed_only_where_a_domain_has_heuristics():
    assert [name for name in PROBLEMS if "law-auto informed" in methods_for(name)] == [
        name for name, about in PROBLEMS.items() if about.heuristics
    ]


def test_what_law_ray_lacks_says_how_to_install_it():
    assert all(bool(each.distributions) == bool(each.module) for each in METHODS.values())
    assert sum(bool(each.distributions) for each in METHODS.values()) >= 10
