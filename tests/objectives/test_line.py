import itertools
from dataclasses import replace

import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.constraints import Constraints
from objectives.fsp import FSP
from objectives.line import load


def without_chance(line, **changes):
    return replace(line, variable=False, uptime=np.full(line.times.shape[1], np.inf), **changes)


def random_orders(n, count):
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(n) for _ in range(count)])


def test_without_chance_set_ups_and_full_buffers_it_is_a_flow_shop():
    line = load("12", n_stations=4)
    line = without_chance(line, setups=np.zeros_like(line.setups), buffer=100)
    shop = FSP("shop", None, line.times)
    for order in random_orders(12, 5):
        done = line.completions(order, np.random.default_rng(0))
        assert done.max() == pytest.approx(shop(order))
        assert done[order[-1]] == done.max()


def test_a_full_buffer_blocks_the_station_before_it():
    """Two stations, one place between: by hand."""
    line = load("4", n_stations=2, buffer=1)
    times = np.array([[1.0, 10.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    line = without_chance(line, times=times, setups=np.zeros((1, 1, 2)), families=np.zeros(4, dtype=np.int64))
    # Job 0 is at station 1 from 1 to 11. Job 1 waits in the buffer, job 2 blocks station 0 until 11, and so job 3
    # begins there at 11.
    assert line.completions(np.arange(4), np.random.default_rng(0)) == pytest.approx([11.0, 12.0, 13.0, 14.0])
    wide = replace(line, buffer=3)
    times[3] = [9.0, 1.0]
    assert line.completions(np.arange(4), np.random.default_rng(0))[3] == pytest.approx(21.0)  # from 11 on
    assert wide.completions(np.arange(4), np.random.default_rng(0))[3] == pytest.approx(14.0)  # from 3 on


def test_set_ups_take_time_where_the_family_changes():
    line = load("3", n_stations=1)
    setups = np.array([[0.0, 5.0], [7.0, 0.0]])[:, :, None]
    line = without_chance(line, times=np.ones((3, 1)), setups=setups, families=np.array([0, 0, 1]))
    assert line.completions(np.array([0, 1, 2]), np.random.default_rng(0)) == pytest.approx([1.0, 2.0, 8.0])
    assert line.completions(np.array([0, 2, 1]), np.random.default_rng(0)) == pytest.approx([1.0, 15.0, 7.0])


@pytest.mark.parametrize("buffer", [1, 2, 50])
def test_the_proxy_is_the_line_without_chance(buffer):
    line = without_chance(load("15"), buffer=buffer)
    orders = random_orders(15, 6)
    simulated = [line(order, np.random.default_rng(0)) for order in orders]
    assert line.prior_mean(orders) == pytest.approx([value for value, _ in simulated])
    assert [error for _, error in simulated] == pytest.approx(np.zeros(6))


def test_the_proxy_ranks_orders_of_the_noisy_line():
    line = replace(load("15"), n_replications=30)
    orders = random_orders(15, 20)
    values = [line(order, np.random.default_rng(1))[0] for order in orders]
    assert np.corrcoef(values, line.prior_mean(orders))[0, 1] > 0.8


def test_breakdowns_stretch_the_work_by_the_share_of_repairs():
    line = load("400", n_stations=1)
    line = replace(
        line, setups=np.zeros_like(line.setups), variable=False, uptime=np.array([2.0]), repair=np.array([1.0])
    )
    ends = [line.completions(np.arange(400), np.random.default_rng(seed)).max() for seed in range(30)]
    assert np.mean(ends) == pytest.approx(1.5 * line.times.sum(), rel=0.02)


def test_standard_errors_say_how_values_scatter():
    line, order = load("10"), np.arange(10)
    values, errors = zip(*(line(order, np.random.default_rng(seed)) for seed in range(200)), strict=True)
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.2)


def test_heuristics_keep_the_constraints_and_improve():
    line = load("20")
    assert line.before
    starts = line.starts(2, np.random.default_rng(0))
    assert line.allows(starts).all()
    random = line.prior_mean(Constraints(20, **line.constraints).sample(50, np.random.default_rng(0)))
    insertion, earliest_due = line.prior_mean(starts)
    assert insertion <= earliest_due < np.median(random)


def test_insertion_is_optimal_for_three_jobs_without_constraints():
    line = replace(load("3"), before=())
    every = line.prior_mean(np.array(list(itertools.permutations(range(3)))))
    assert line.prior_mean(line.insertion()[None])[0] == pytest.approx(every.min())


def test_one_replication_has_no_standard_error():
    value = load("8", n_replications=1)(np.arange(8), np.random.default_rng(0))
    assert isinstance(value, float)


@pytest.mark.parametrize(
    ("source", "options"), [("one", {}), ("1", {}), ("5", {"buffer": 0}), ("5", {"n_stations": 0})]
)
def test_bad_sizes_are_refused(source, options):
    with pytest.raises(InputError, match="give"):
        load(source, **options)
