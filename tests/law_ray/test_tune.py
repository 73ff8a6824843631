"""The searcher in Tune's own loop, and alone, called as that loop calls it."""

import itertools
import json
import math
import sys
import time

import numpy as np
import pytest
import ray.cloudpickle
from ray import tune
from ray.tune.search import ConcurrencyLimiter, Searcher

from law_ray import Constraints, Optimizer
from law_ray.errors import InputError
from law_ray.tune import LAWSearch
from tests.law_ray.runs.working import displacement

N_ITEMS = 6
BEFORE = [(2, 0)]
SAVED_EVERY = 1  # seconds between two saves of Tune's state


def search(**changed):
    settings = {"metric": "score", "mode": "min", "batch_size": 3, "seed": 3, "n_init": 4, "before": BEFORE}
    return LAWSearch(**{"n_items": N_ITEMS, **settings, **changed})


def plain(rounds, maximize=False, failing=()):
    """What `Optimizer` proposes in rounds of these sizes, where the permutations in `failing` have no value."""
    constraints = Constraints(N_ITEMS, BEFORE)
    optimizer = Optimizer(N_ITEMS, seed=3, n_init=4, maximize=maximize, constraints=constraints)
    for size in rounds:
        for trial in optimizer.ask(size):
            if trial.permutation.tolist() in failing:
                optimizer.fail(trial.id, "")
            else:
                optimizer.tell(trial.id, displacement(trial.permutation))
    return proposals(optimizer)


def proposals(optimizer):
    return [trial.permutation.tolist() for trial in optimizer.trials]


def states(searcher):
    return [trial.state for trial in searcher.optimizer.trials]


names = map(str, itertools.count())


def hand_out(searcher, limit=100):
    """What is suggested until the searcher wants to wait, or ends: permutations by Tune's ids of the trials."""
    found = {}
    while len(found) < limit and isinstance(config := searcher.suggest(name := next(names)), dict):
        found[name] = config["permutation"]
    return found


def complete(searcher, suggestions):
    for name, permutation in suggestions.items():
        searcher.on_trial_complete(name, {"score": displacement(permutation)})


# In Tune


@pytest.fixture
def tuner(cluster, tmp_path, monkeypatch):
    """Makes a Tuner that writes to tmp_path alone."""
    monkeypatch.setenv("RAY_AIR_NEW_OUTPUT", "0")
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    monkeypatch.setenv("TUNE_GLOBAL_CHECKPOINT_S", str(SAVED_EVERY))

    def make(trainable, searcher, num_samples, param_space=None, callbacks=(), **options):
        return tune.Tuner(
            trainable,
            param_space=param_space,
            tune_config=tune.TuneConfig(search_alg=searcher, num_samples=num_samples, reuse_actors=True, **options),
            run_config=tune.RunConfig("run", str(tmp_path), callbacks=list(callbacks), verbose=0),
        )

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # no worker can import it
    yield make
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def score(config):
    return {"score": displacement(config["permutation"])}


def tried(results):
    return [result.config["permutation"] for result in results]


@pytest.mark.slow
def test_tune_evaluates_the_rounds_of_the_optimizer(tuner):
    results = tuner(score, search(), 10).fit()
    assert tried(results) == plain([4, 3, 3])
    assert results.get_best_result("score", "min").metrics["score"] == min(map(displacement, tried(results)))


@pytest.mark.slow
def test_failed_trials_are_no_points_and_the_aim_may_come_with_a_param_space(tuner):
    broken, nan = plain([4])[1:3]

    def trainable(config):
        if config["permutation"] == broken:
            raise OSError("no licence")
        return {"score": math.nan if config["permutation"] == nan else config["factor"] * 0.5 + score(config)["score"]}

    searcher = search(metric=None, mode=None)
    options = {"metric": "score", "mode": "max", "max_concurrent_trials": 3}
    results = tuner(trainable, searcher, 10, {"factor": -2.0}, **options).fit()
    shifted = plain([4, 3, 3], True, failing=[broken, nan])  # a constant beside the values changes no proposal
    assert tried(results) == shifted
    assert results.num_errors == 1


class PowerCut(tune.Callback):
    """In the second batch, once; what a Tuner is restored from has its callbacks too."""

    def __init__(self, happened):
        self.happened = happened
        self.steps = 2

    def on_step_end(self, iteration, trials, **info):
        if sum(trial.status == "TERMINATED" for trial in trials) >= 6 and not self.happened.exists():
            time.sleep(SAVED_EVERY)  # Tune saves in its next step, and copies what it saved in a thread
            self.steps -= 1
            if self.steps == 0:
                self.happened.touch()
                raise RuntimeError("power cut")


@pytest.mark.slow
def test_a_tuner_that_died_is_restored_to_the_same_proposals(tuner, tmp_path):
    with pytest.raises(RuntimeError, match="power cut"):
        tuner(score, search(), 10, callbacks=[PowerCut(tmp_path / "cut")]).fit()
    results = tune.Tuner.restore(str(tmp_path / "run"), score).fit()
    assert sorted(tried(results)) == sorted(plain([4, 3, 3]))
    assert all(result.metrics["score"] == displacement(result.config["permutation"]) for result in results)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["resume_errored", "restart_errored"])
def test_a_trial_that_failed_counts_once_it_is_corrected(tuner, tmp_path, option):
    broken, corrected = plain([4])[0], tmp_path / "corrected"

    def trainable(config):
        if config["permutation"] == broken and not corrected.exists():
            raise OSError("no licence")
        return score(config)

    assert tuner(trainable, search(n_init=1), 1).fit().num_errors == 1
    corrected.touch()
    assert tune.Tuner.restore(str(tmp_path / "run"), trainable, **{option: True}).fit().num_errors == 0
    searcher = search(n_init=1)
    searcher.restore_from_dir(str(tmp_path / "run"))
    assert states(searcher) == ["failed", "added"]
    assert searcher.optimizer.best.value == displacement(broken)


@pytest.mark.slow
def test_tune_ends_when_nothing_is_left(tuner):
    results = tuner(score, search(n_items=3, before=[]), 50).fit()
    assert len({tuple(permutation) for permutation in tried(results)}) == len(results) == 6


def test_what_a_search_of_permutations_cannot_do_is_refused(tuner):
    for space, culprit in (
        ({"x": tune.uniform(0, 1), "y": {"z": tune.choice([1])}}, "x, y/z"),
        ({"permutation": [0, 1]}, "param_space has permutation"),
        (None, "no metric or no mode"),
    ):
        with pytest.raises(InputError, match=culprit):
            tuner(score, search(metric=None, mode=None), 4, space, metric="score", mode="min").fit()


# Alone


def test_a_batch_is_chosen_when_all_trials_of_the_last_one_have_ended():
    searcher = search()
    proposed = []
    for size in (4, 3, 3):
        suggestions = hand_out(searcher)
        assert len(suggestions) == size
        for name, permutation in reversed(suggestions.items()):  # in whatever order they end
            assert searcher.suggest("early") is None
            complete(searcher, {name: permutation})
        proposed += suggestions.values()
    assert proposed == plain([4, 3, 3])


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 8])
def test_no_more_trials_run_than_may_and_slots_stay_busy_when_batches_fit_beside_those_running(limit):
    searcher = search()
    wrapped = ConcurrencyLimiter(searcher, limit)
    running = hand_out(wrapped)
    for _ in range(20):
        name, permutation = running.popitem()
        complete(wrapped, {name: permutation})
        running |= hand_out(wrapped)
        assert len(running) <= limit
        pending = states(searcher).count("pending")
        assert pending == len(running) or len(running) == limit  # nothing is kept back without need
        assert pending > limit - 3  # else a batch would fit


def test_batches_chosen_beside_running_trials_are_those_of_the_optimizer():
    wrapped = ConcurrencyLimiter(searcher := search(batch_size=1, n_init=2), 2)
    optimizer = Optimizer(N_ITEMS, seed=3, n_init=2, constraints=Constraints(N_ITEMS, BEFORE))
    running, trials = hand_out(wrapped), optimizer.ask(2)
    for _ in range(6):
        name = next(iter(running))
        trial = trials.pop(0)
        complete(wrapped, {name: running.pop(name)})
        optimizer.tell(trial.id, displacement(trial.permutation))
        running |= hand_out(wrapped)
        trials += optimizer.ask(1)
    assert proposals(searcher.optimizer) == proposals(optimizer)


@pytest.mark.parametrize(
    "result", [None, {}, {"score": math.nan}, {"score": math.inf}, {"score": "low"}, {"score": 1.0, "error": -1.0}]
)
def test_a_trial_without_a_finite_value_fails(result):
    searcher = search(standard_error="error")
    first, second, *_ = hand_out(searcher)
    searcher.on_trial_complete(first, result)
    searcher.on_trial_complete(second, {"score": np.float32(2.5), "error": 0.5, "time_total_s": 7.0})
    failed, told = searcher.optimizer.trials[:2]
    assert (failed.state, told.state) == ("failed", "told")
    assert (told.value, told.standard_error, told.seconds) == (2.5, 0.5, 7.0)


def test_known_points_begin_the_search_and_are_not_proposed_again():
    known = [{"permutation": permutation} for permutation in plain([4])]
    values = [displacement(point["permutation"]) for point in known]
    assert list(hand_out(search(points_to_evaluate=known[::-1])).values()) == plain([4])[::-1]
    told = search(points_to_evaluate=known, evaluated_rewards=values, n_init=2)
    added = search()
    for point, value in zip(known, values, strict=True):
        added.add_evaluated_point(point, value)
    added.add_evaluated_point(known[0], 99.0, error=True)
    added.add_evaluated_point(known[0], 99.0, pruned=True)
    added.add_evaluated_point(known[0], math.nan)
    added.add_evaluated_point(known[0], None)  # as Tune's add_evaluated_trials does
    for searcher in (told, added):
        assert states(searcher) == ["added"] * 4
        assert searcher.optimizer.best.value == min(values)
        suggestions = list(hand_out(searcher).values())
        assert len(suggestions) == 3
        assert not [permutation for permutation in suggestions if permutation in plain([4])]


def test_a_search_begins_with_the_orderings_of_start_and_then_with_points_to_evaluate():
    first, second, third = plain([4])[2::-1]
    searcher = search(start=[first, second], points_to_evaluate=[{"permutation": third}])
    assert list(hand_out(searcher).values())[:3] == [first, second, third]
    known = search(start=[first], points_to_evaluate=[{"permutation": second}], evaluated_rewards=[3.0], n_init=2)
    assert list(hand_out(known).values()) == [first]
    assert known.optimizer.best.permutation.tolist() == second


def test_items_may_be_given_by_name():
    named = search(before=[("c", "a")], fixed={"f": 5}, start=[list("cabdef")], item_names=tuple("abcdef"))
    numbered = search(before=[(2, 0)], fixed={5: 5}, start=[[2, 0, 1, 3, 4, 5]])
    assert named.optimizer.constraints == numbered.optimizer.constraints
    assert list(hand_out(named).values()) == list(hand_out(numbered).values())


@pytest.mark.parametrize("calls", [0, 3, 6, 9, 14])
def test_a_search_saved_anywhere_goes_on_as_if_nothing_had_happened(tmp_path, calls):
    """After `calls` of suggest and on_trial_complete, taken in turn; one trial has failed, one was known."""
    point = {"permutation": [5, 4, 3, 2, 1, 0]}

    def make():
        return search(points_to_evaluate=[point], evaluated_rewards=[18.0])

    searcher = make()
    running = {}
    for call in range(calls):
        if call % 3 < 2:
            running |= hand_out(searcher, 1)
        elif running:
            name = next(iter(running))
            permutation = running.pop(name)
            searcher.on_trial_complete(name, {"score": displacement(permutation)}, error=call == 2)
    searcher.save(str(tmp_path / "state.json"))
    again = make()
    again.restore(str(tmp_path / "state.json"))
    assert again.optimizer.history.equals(searcher.optimizer.history)
    assert again.optimizer.model == searcher.optimizer.model  # where the next fit begins
    json.loads((tmp_path / "state.json").read_text(), parse_constant=pytest.fail)  # no NaN, which is no JSON
    for _ in range(3):
        here, there = running | hand_out(searcher), hand_out(again)
        assert list(here.values()) == list(there.values())
        complete(searcher, here)
        complete(again, there)
        running = {}
    assert again.optimizer.history.equals(searcher.optimizer.history)


def test_a_restored_search_knows_the_values_in_the_order_in_which_they_came(tmp_path):
    """Fits depend on that order."""
    searcher = search(batch_size=1)
    wrapped = ConcurrencyLimiter(searcher, 4)
    running = hand_out(wrapped)
    for turn in range(6):
        name = list(running)[-1 if turn < 3 else 0]  # the latest ends first
        complete(wrapped, {name: running.pop(name)})
        running |= hand_out(wrapped)
    searcher.save(str(tmp_path / "state.json"))
    again = search(batch_size=1)
    again.restore(str(tmp_path / "state.json"))
    numbers = range(len(searcher.optimizer.trials))
    order = [searcher.optimizer.known_since(number) for number in numbers]
    assert [again.optimizer.known_since(number) for number in numbers] == order
    known = [since for since in order if since is not None]
    assert known != sorted(known)


def tune_saves(folder, trials):
    """As Tune does, the trials (id, permutation, status), each with a result."""
    data = [
        (
            json.dumps({"trial_id": name, "status": status, "config": {"permutation": permutation}}),
            json.dumps({"last_result": {"score": displacement(permutation), "config": {"permutation": permutation}}}),
        )
        for name, permutation, status in trials
    ]
    (folder / "experiment_state-2.json").write_text(json.dumps({"trial_data": data}))
    (folder / "experiment_state-1.json").write_text("of an earlier session")


def test_what_tune_saved_before_or_after_the_search_is_reconciled_with_it(tmp_path):
    searcher = search()
    first, second, third, fourth = hand_out(searcher).items()
    complete(searcher, dict([first]))
    searcher.save_to_dir(str(tmp_path), "1")
    tune_saves(
        tmp_path, [(*first, "RUNNING"), (*second, "TERMINATED"), (*third, "ERROR"), ("new", fourth[1], "PENDING")]
    )
    again = search()
    again.restore_from_dir(str(tmp_path))
    assert states(again) == ["told", "told", "failed", "pending"]
    assert again.optimizer.trials[1].value == displacement(second[1])
    assert again.suggest("more") is None  # Tune has the fourth
    complete(again, {"new": fourth[1]})
    again.on_trial_complete(first[0], {"score": 99.0, "config/permutation": first[1]})  # evaluated once more
    assert states(again) == ["told", "told", "failed", "told"]
    assert list(hand_out(again).values()) == plain([4, 3], failing=[third[1]])[4:]

    later = next(
        permutation
        for permutation in Constraints(N_ITEMS, BEFORE).enumerate(1000).tolist()
        if permutation not in proposals(again.optimizer)
    )
    tune_saves(tmp_path, [(*first, "TERMINATED"), ("later", later, "TERMINATED")])  # the search was saved before
    again = search()
    again.restore_from_dir(str(tmp_path))
    assert (states(again)[-1], proposals(again.optimizer)[-1]) == ("added", later)

    tune_saves(tmp_path, [(*first, "TERMINATED"), (*second, "RUNNING")])  # and does not know of the others
    again = search()
    again.restore_from_dir(str(tmp_path))
    assert list(hand_out(again).values()) == [third[1], fourth[1]]


def test_a_saved_search_is_restored_by_one_with_the_same_settings_alone(tmp_path):
    state = str(tmp_path / "state.json")
    search().save(state)
    for changed, culprit in (
        ({"n_items": 7}, "n_items is 7, but 6"),
        ({"seed": 4}, "seed"),
        ({"method": "random"}, "method"),
        ({"n_init": 5}, "n_init"),
        ({"mode": "max"}, "mode"),
        ({"metric": "other"}, "metric"),
        ({"before": []}, "before"),
        ({"fixed": {5: 5}}, "fixed"),
        ({"parameter": "tour"}, "parameter is 'tour', but"),
        ({"standard_error": "se"}, "standard_error is 'se', but None"),
    ):
        with pytest.raises(InputError, match=culprit):
            search(**changed).restore(state)
    open_search = search(metric=None, mode=None)
    open_search.restore(state)
    assert (open_search.metric, open_search.mode) == ("score", "min")
    assert open_search.suggest("a") == search().suggest("a")


def test_bad_arguments_are_refused_by_name():
    for changed, culprit in (
        ({"batch_size": 0}, "batch_size is 0"),
        ({"mode": "least"}, "mode is 'least'"),
        ({"metric": ["a", "b"]}, "metric is"),
        ({"points_to_evaluate": [{"order": [0, 1]}]}, "has no permutation"),
        ({"points_to_evaluate": [{"permutation": [0, 1]}]}, "not a permutation"),
        ({"points_to_evaluate": [{"permutation": [0, 1, 2, 3, 4, 5]}]}, "item 2 must come before item 0"),
        ({"before": [(0, 9)]}, "before has"),
        ({"before": [("c", "a")]}, "there is no item 'c'"),
        ({"start": [[0, 1]]}, "not a permutation"),
        ({"starts": []}, "LAWSearch has no option starts: choose among method, seed"),
        ({"maximize": True}, "no option maximize"),
    ):
        with pytest.raises(InputError, match=culprit):
            search(**changed)
    searcher = search()
    assert searcher.set_search_properties(None, None, {})
    assert (searcher.metric, searcher.mode) == ("score", "min")
    with pytest.raises(InputError, match="give it once"):
        searcher.set_search_properties("other", None, {})


def test_the_search_ends_once_every_permutation_was_proposed():
    searcher = search(n_items=3, before=[], n_init=2)
    tried = []
    while suggestions := hand_out(searcher):
        complete(searcher, suggestions)
        tried += suggestions.values()
    assert len(tried) == 6
    assert searcher.suggest("more") == Searcher.FINISHED
