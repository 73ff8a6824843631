import itertools
from dataclasses import replace

import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import invert
from objectives.slots import AISLE_SPACING, PICK_SECONDS, SLOT_LENGTH, SPEED, WAIT_SECONDS, load


def asked_for(n, *orders):
    return np.array([[float(article in order) for article in range(n)] for order in orders])


def test_orders_of_one_article_take_what_the_formula_says():
    """One picker, so nobody waits: the expectation is a sum over articles."""
    warehouse = replace(load("12", depth=4), mean_extra=0.0, n_pickers=1, n_waves=40_000)
    order = np.random.default_rng(0).permutation(12)
    slot = invert(order[None])[0]
    walk = 2 * AISLE_SPACING * (slot // 4) + 2 * SLOT_LENGTH * (slot % 4 + 1)
    expected = warehouse.popularity @ walk / SPEED + PICK_SECONDS
    value, error = warehouse(order, np.random.default_rng(1))
    assert abs(value - expected) < 4 * error
    assert 0 < error < 0.1


def test_routes_are_s_shaped():
    warehouse = replace(load("12", depth=4), n_pickers=1)
    slots = np.arange(12)  # article k lies in slot k
    seconds = warehouse.seconds(asked_for(12, {1}, {1, 6}, {0, 5, 10}, {9}), slots) * SPEED
    through = 4 * SLOT_LENGTH
    assert seconds[0] == pytest.approx(2 * 2 * SLOT_LENGTH + PICK_SECONDS)  # to slot 1 and back
    assert seconds[1] == pytest.approx(2 * AISLE_SPACING + 2 * through + 2 * PICK_SECONDS)  # through aisles 0 and 1
    expected = (
        4 * AISLE_SPACING + 2 * through + 2 * 3 * SLOT_LENGTH + 3 * PICK_SECONDS
    )  # the third: to slot 10 and back
    assert seconds[2] == pytest.approx(expected)
    assert seconds[3] == pytest.approx(4 * AISLE_SPACING + 2 * 2 * SLOT_LENGTH + PICK_SECONDS)


def test_pickers_of_a_wave_wait_for_those_before_them_in_an_aisle():
    warehouse = replace(load("12", depth=4), n_pickers=3)
    slots = np.arange(12)
    alone = replace(warehouse, n_pickers=1)
    orders = asked_for(12, {0}, {1}, {8}, {0}, {4}, {5, 1})
    waits = (warehouse.seconds(orders, slots) - alone.seconds(orders, slots)) / WAIT_SECONDS
    assert waits == pytest.approx([0, 1, 0, 0, 0, 2])


def test_orders_hold_articles_of_one_family_together():
    warehouse = load("30")
    asked = warehouse.orders(20_000, np.random.default_rng(0))
    assert set(np.unique(asked)) == {0.0, 1.0}
    assert asked.sum(axis=1).min() >= 1
    together = asked.T @ asked / len(asked)
    often = np.outer(np.diag(together), np.diag(together))
    lift, other = together / often, ~np.eye(30, dtype=bool)
    same = warehouse.families[:, None] == warehouse.families
    assert lift[same & other].mean() > 2 * lift[~same].mean()


def test_standard_errors_say_how_values_scatter():
    warehouse, order = load("12"), np.arange(12)
    values, errors = zip(*(warehouse(order, np.random.default_rng(seed)) for seed in range(300)), strict=True)
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.2)


def test_the_heuristics_are_better_than_chance_and_the_proxy_ranks():
    warehouse = replace(load("30"), n_waves=600)
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(30) for _ in range(25)])
    values = np.array([warehouse(order, rng)[0] for order in orders])
    assert np.corrcoef(values, warehouse.prior_mean(orders))[0, 1] > 0.4
    assigned, turnover = warehouse.starts(2, rng)
    assert warehouse.prior_mean(assigned[None]) < warehouse.prior_mean(turnover[None])
    assert warehouse(assigned, rng)[0] < warehouse(turnover, rng)[0] < np.median(values)


def test_no_swap_improves_what_swaps_have_made_and_each_changes_the_proxy_by_what_is_computed():
    warehouse = load("9", depth=4)
    slotting = np.random.default_rng(0).permutation(9)
    changes = warehouse._changes_by_swaps(slotting)
    best = warehouse.assigned()
    for a, b in itertools.product(range(9), repeat=2):
        swapped, other = slotting.copy(), best.copy()
        swapped[[a, b]], other[[a, b]] = swapped[[b, a]], other[[b, a]]
        before, after = warehouse.prior_mean(np.array([slotting, swapped]))
        assert changes[a, b] == pytest.approx(after - before, abs=1e-9)
        assert warehouse.prior_mean(other[None]) >= warehouse.prior_mean(best[None]) - 1e-9


def test_the_answer_lists_each_article_once():
    warehouse = load("14", depth=5)
    found = warehouse.explain(np.arange(14), np.random.default_rng(0))
    assert sorted(" ".join(found["aisles"]).split()) == sorted(warehouse.item_names)
    assert len(found["aisles"]) == 3


def test_the_floor_that_is_drawn_has_the_aisles_of_the_routes():
    warehouse = replace(load("14", depth=5), n_pickers=1)
    drawn = warehouse.drawing(np.arange(14))
    places, weights = np.array(drawn["places"]), np.array(drawn["weights"])
    alone = np.eye(14)  # an order of one article walks to it and back
    seconds = warehouse.seconds(alone, np.arange(14))
    assert seconds == pytest.approx(2.0 * places.sum(axis=1) / SPEED + PICK_SECONDS)
    asked = warehouse.orders(20_000, np.random.default_rng(1)).mean(axis=0)
    np.testing.assert_allclose(weights, asked, atol=0.015)


@pytest.mark.parametrize(("source", "options"), [("many", {}), ("1", {}), ("5", {"depth": 0}), ("5", {"n_waves": 1})])
def test_bad_sizes_are_refused(source, options):
    with pytest.raises(InputError, match="give"):
        load(source, **options)
