import itertools
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.data.knowledge import Knowledge, read_knowledge

NAMES = ("smoker", "net pay", "c", "d->e", "f,g|h")
PLAIN = NAMES[:3]
PAIRS = list(itertools.permutations(range(5), 2))
FREE = np.full(3, np.nan)


def refused(culprit: str, names: tuple[str, ...] = PLAIN, **terms: Any) -> str:
    with pytest.raises(InputError, match=culprit) as caught:
        read_knowledge(names, **terms)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@st.composite
def beliefs(draw: st.DrawFn) -> tuple[set, set, list[list[int]]]:
    """Required and forbidden edges and tiers of five columns, by number; they may contradict each other."""
    required = draw(st.sets(st.sampled_from(PAIRS), max_size=4))
    forbidden = draw(st.sets(st.sampled_from(PAIRS), max_size=4))
    places = draw(st.lists(st.none() | st.integers(0, 2), min_size=5, max_size=5))
    tiers = [[i for i in range(5) if places[i] == place] for place in range(3)]
    return required, forbidden, [tier for tier in tiers if tier]


def ordering_keeps(order: tuple[int, ...], required: set, tiers: list[list[int]]) -> bool:
    """Every required edge points forwards, and the columns that have a tier come tier after tier."""
    tier_of = {column: k for k, tier in enumerate(tiers) for column in tier}
    met = [tier_of[column] for column in order if column in tier_of]
    return met == sorted(met) and all(order.index(parent) < order.index(child) for parent, child in required)


@settings(max_examples=150)
@given(beliefs())
def test_knowledge_is_what_was_given_unless_it_contradicts_itself(belief: tuple[set, set, list[list[int]]]) -> None:
    required, forbidden, tiers = belief
    named = {
        "required": [(NAMES[a], NAMES[b]) for a, b in required],
        "forbidden": [[NAMES[a], NAMES[b]] for a, b in forbidden],
        "tiers": [[NAMES[i] for i in tier] for tier in tiers],
    }
    backwards = {(a, b) for early, late in itertools.combinations(tiers, 2) for a in late for b in early}
    orderings = itertools.permutations(range(5))
    kept = {order for order in orderings if ordering_keeps(order, required, tiers)}
    if required & (forbidden | backwards):
        message = refused("is required, and forbidden by name or tier", NAMES, **named)
        edges = [f"{NAMES[a]!r} -> {NAMES[b]!r}" for a, b in required & (forbidden | backwards)]
        assert sum(edge in message for edge in edges) == 1
        return
    if not kept:
        message = refused("required edges and tiers form a cycle", NAMES, **named)
        cycle = [NAMES.index(name) for name in re.findall(r"'([^']+)'", message)]
        assert cycle[0] == cycle[-1]
        assert all((a, b) in required or (b, a) in backwards for a, b in itertools.pairwise(cycle))
        return
    knowledge = read_knowledge(NAMES, **named)
    assert knowledge.names == NAMES
    assert {tuple(edge) for edge in np.argwhere(knowledge.required).tolist()} == required
    assert {tuple(edge) for edge in np.argwhere(knowledge.forbidden).tolist()} == forbidden | backwards
    pairs = knowledge.precedences()
    assert len(set(pairs)) == len(pairs)
    orderings = itertools.permutations(range(5))
    assert kept == {order for order in orderings if all(order.index(a) < order.index(b) for a, b in pairs)}


@given(beliefs())
def test_text_and_lists_give_the_same_knowledge(belief: tuple[set, set, list[list[int]]]) -> None:
    required, forbidden, tiers = belief
    names = ("a", "net pay", "-c", "d>e", "f-1")
    lists = {
        "required": [(names[a], names[b]) for a, b in required],
        "forbidden": [(names[a], names[b]) for a, b in forbidden],
        "tiers": [[names[i] for i in tier] for tier in tiers],
    }
    text = {
        "required": ", ".join(f"{a} -> {b}" for a, b in lists["required"]),
        "forbidden": ",".join(f"{a}->{b}" for a, b in lists["forbidden"]),
        "tiers": " | ".join(",".join(tier) for tier in lists["tiers"]),
    }
    refusal = ""
    try:
        expected = read_knowledge(names, **lists)
    except InputError as error:
        refusal = str(error)
    if refusal:
        assert refused("required", names, **text) == refusal
        return
    knowledge = read_knowledge(names, **text)
    np.testing.assert_array_equal(knowledge.required, expected.required)
    np.testing.assert_array_equal(knowledge.forbidden, expected.forbidden)
    np.testing.assert_array_equal(knowledge.tiers, expected.tiers)


@pytest.mark.parametrize("nothing", [None, "", "  ", [], ()])
def test_empty_options_give_no_knowledge(nothing: Any) -> None:
    knowledge = read_knowledge(PLAIN, nothing, nothing, nothing)
    assert knowledge.required.shape == knowledge.forbidden.shape == (3, 3)
    assert not knowledge.required.any()
    assert not knowledge.forbidden.any()
    assert knowledge.precedences() == ()


def test_columns_named_by_numbers_are_found() -> None:
    knowledge = read_knowledge(("0", "1", "2"), required=[(0, 2)], tiers=[[0], [1]])
    assert knowledge.precedences() == ((0, 1), (0, 2))


def test_names_with_separators_stand_in_quotes() -> None:
    said = read_knowledge(NAMES, '"d->e"->smoker', ["c -> net pay"], '"f,g|h" | c, "d->e"')
    lists = read_knowledge(NAMES, [("d->e", "smoker")], [("c", "net pay")], [["f,g|h"], ["c", "d->e"]])
    assert np.array_equal(said.required, lists.required)
    assert np.array_equal(said.forbidden, lists.forbidden)
    assert np.array_equal(said.tiers, lists.tiers, equal_nan=True)


def test_knowledge_is_a_read_only_copy_of_its_arguments() -> None:
    required, forbidden = np.zeros((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool)
    knowledge = Knowledge(PLAIN, required, forbidden, np.array([0.0, 1.0, np.nan]))
    assert not forbidden.any()
    assert knowledge.forbidden[1, 0]
    for matrix in (knowledge.required, knowledge.forbidden):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 1] = True
    again = pickle.loads(pickle.dumps(knowledge))
    assert again.precedences() == knowledge.precedences() == ((0, 1),)


@pytest.mark.parametrize(
    ("terms", "culprit"),
    [
        (
            {"required": "smoker->age"},
            "required names the column 'age', which is unknown: choose among smoker, net pay",
        ),
        ({"forbidden": "age->smoker"}, "forbidden names the column 'age'"),
        ({"tiers": "smoker | age"}, "tiers names the column 'age'"),
        ({"forbidden": [("smoker", 3)]}, "forbidden names the column '3'"),
        ({"required": "c->c"}, "required has an edge from 'c' to itself"),
        ({"forbidden": "smoker->c, c->c"}, "forbidden has an edge from 'c' to itself"),
        ({"required": "smoker->c", "forbidden": "c->smoker, smoker->c"}, "'smoker' -> 'c' is required, and forbidden"),
        (
            {"required": "smoker->c", "tiers": "c | smoker"},
            "'smoker' -> 'c' is required, and forbidden by name or tier",
        ),
        ({"required": "c->smoker, smoker->c"}, "form a cycle, 'smoker' before 'c' before 'smoker': remove"),
        (
            {"required": "smoker->c, c->net pay", "tiers": "net pay | smoker"},
            "form a cycle, 'smoker' before 'c' before",
        ),
        ({"tiers": "smoker,c | net pay, c"}, "tiers has the column 'c' twice"),
        ({"tiers": "smoker,smoker"}, "tiers has the column 'smoker' twice"),
        ({"required": "smoker"}, r"required has \['smoker'\], which is not an edge: write parent->child"),
        ({"required": "smoker->c->net pay"}, "which is not an edge"),
        ({"required": "smoker->c,"}, r"has \[''\], which is not an edge"),
        ({"forbidden": "smoker->"}, r"forbidden has \['smoker', ''\], which is not an edge"),
        ({"forbidden": ["ab"]}, "'ab'], which is not an edge"),
        ({"forbidden": [1, 2]}, "1, which is not an edge"),
        ({"forbidden": [{"smoker", "c"}]}, "}, which is not an edge"),
        ({"tiers": "smoker | | c"}, r"tiers has \[''\], which is not a tier: write a,b . c, or"),
        ({"tiers": "smoker, | c"}, r"\['smoker', ''\], which is not a tier"),
        ({"tiers": [["smoker"], []]}, r"\[\], which is not a tier"),
        ({"tiers": [1, 2]}, "1, which is not a tier"),
        ({"tiers": 3}, "tiers=3 is not a list of tiers"),
        ({"forbidden": 3}, "forbidden=3 is not a list of edges"),
        ({"tiers": ["smoker", "c"]}, "'smoker', which is not a tier"),
    ],
)
def test_malformed_or_contradictory_terms_are_refused(terms: dict, culprit: str) -> None:
    refused(culprit, **terms)


@pytest.mark.parametrize(
    ("required", "forbidden", "tiers"),
    [
        (np.zeros((2, 2)), np.zeros((3, 3)), FREE),
        (np.zeros((3, 3)), np.zeros((3, 2)), FREE),
        (np.zeros((3, 3)), np.zeros((3, 3)), FREE[:2]),
    ],
)
def test_shapes_that_disagree_are_refused(required: np.ndarray, forbidden: np.ndarray, tiers: np.ndarray) -> None:
    with pytest.raises(InputError, match="does not fit 3 columns"):
        Knowledge(PLAIN, required, forbidden, tiers)


def test_every_tier_precedes_all_later_ones() -> None:
    names = tuple(f"v{i}" for i in range(200))
    knowledge = read_knowledge(names, tiers=" | ".join(names))
    np.testing.assert_array_equal(knowledge.forbidden, np.tril(np.ones((200, 200), dtype=bool), -1))
    assert knowledge.precedences() == tuple(itertools.combinations(range(200), 2))
