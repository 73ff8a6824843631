"""Items by name: constraints and orderings as users give them."""

import pytest

from law_ray.errors import InputError
from law_ray.space.naming import by_name, named_constraints, named_orderings

NAMES = ["wash", "cut", "dry", "sew"]


def test_items_may_be_given_by_name_or_by_number():
    found = named_constraints(4, [("wash", "dry"), (1, "sew")], {"dry": 2}, NAMES)
    assert (found.before, found.fixed) == (((0, 2), (1, 3)), ((2, 2),))
    assert named_constraints(4, (), [("dry", 2)], NAMES).fixed == ((2, 2),)
    assert named_orderings([["sew", 0, "dry", "cut"], [3, 2, 1, 0]], 4, NAMES) == [[3, 0, 2, 1], [3, 2, 1, 0]]


def test_numbers_may_be_text():
    found = named_constraints(4, [("0", "2")], {"1": 3}, NAMES)
    assert (found.before, found.fixed) == (((0, 2),), ((1, 3),))
    assert named_orderings([["3", 0, "dry", "1"]], 4, NAMES) == [[3, 0, 2, 1]]


@pytest.mark.parametrize(("row", "shown"), [(3, "3"), (None, "None"), ({"wash"}, r"\{'wash'\}"), ({0}, r"\{0\}")])
def test_what_is_no_ordering_is_refused_in_one_line_that_shows_it(row, shown):
    with pytest.raises(InputError, match=f"^start has {shown}, which is no ordering: give a list of orderings$"):
        named_orderings([[0, 1, 2, 3], row], 4, NAMES)


@pytest.mark.parametrize(
    ("before", "fixed", "refusal"),
    [
        ("wash<dry", {}, "^before is 'wash<dry': give a list of pairs"),
        (3, {}, "^before is 3: give a list of pairs"),
        ([3], {}, r"^before is \[3\]: give pairs of items$"),
        ([None], {}, r"^before is \[None\]: give pairs of items$"),
        ([1.5], {}, r"^before is \[1.5\]: give pairs of items$"),
        ([("wash", "iron")], {}, "^there is no item 'iron'"),
        ((), 5, "^fixed is 5: give a dictionary of items and positions$"),
        ((), "dry=2", "^fixed is 'dry=2': give a dictionary"),
        ((), [("dry", 2, 3)], "^fixed is .*: give a dictionary"),
        ((), {"iron": 2}, "^there is no item 'iron': items are 0 to 3, or a name such as wash$"),
        ((), {"dry": 4}, r"^fixed has \(2, 4\): give item and position from 0 to 3$"),
        ((), [("dry", 1), ("dry", 2)], "^dry is fixed at positions 1 and 2"),
        ((), [("dry", 1), (2, 2)], "^dry is fixed at positions 1 and 2"),
        ([("wash", "dry"), ("dry", "wash")], {}, "wash.*dry"),
    ],
)
def test_what_is_no_constraint_is_refused_in_one_line_that_names_it(before, fixed, refusal):
    with pytest.raises(InputError, match=refusal) as refused:
        named_constraints(4, before, fixed, NAMES)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("given", "own"), [({"wash": 2}, {0: 0}), ({0: 2}, {"wash": 0}), ({0: 2}, {0: 0})])
def test_a_position_that_contradicts_the_problems_own_is_refused_however_the_item_is_called(given, own):
    with pytest.raises(InputError, match=r"^wash is fixed at positions 0 and 2: choose one"):
        named_constraints(4, (), given, NAMES, own_fixed=own)
    assert named_constraints(4, (), {"wash": 2}, NAMES, own_fixed={0: 2, "sew": 3}).fixed == ((0, 2), (3, 3))


def test_messages_get_names_only_where_there_are_some():
    assert by_name("items 0 and 3 clash with item 1", NAMES) == "wash and sew clash with cut"
    assert by_name("item 0 is bad", None) == "item 0 is bad"
