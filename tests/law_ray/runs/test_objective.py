"""What an objective may have, and what `BlackBox` makes of an objective that does not have it."""

import functools
import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from law_ray.driver.serialization import dumps
from law_ray.errors import InputError, RunError
from law_ray.optimizer import Trial
from law_ray.runs.objective import BlackBox
from law_ray.space.constraints import Constraints
from law_ray.utils.seeding import generator
from objectives.qap import QAP

pytestmark = pytest.mark.usefixtures("clean_imports")

TRIAL = Trial(4, 1, np.array([2, 0, 1]), "told", 1.0)


def plain(permutation):
    return 0.0


class Bare:
    def __call__(self, permutation):
        return 0.0


class Complete:
    """An objective with everything that one may have."""

    n_items, name, fingerprint = 3, "complete", "0f"
    item_names = ("load", "heat", "alarm")
    constraints = {"before": [(0, 1)]}  # noqa: RUF012

    def __call__(self, permutation):
        return 0.0

    def key(self, permutation):
        return int(permutation[0])

    def prior_mean(self, permutations):
        return permutations[:, 0].astype(float)

    def split(self, k):
        return [self] * k

    def starts(self, count, rng):
        return [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1]]

    def explain(self, permutation, rng):
        permutation[:] = 0  # its own copy
        return {"draw": rng.random()}

    def write(self, permutation, folder):
        path = folder / "best.txt"
        path.write_text(str(permutation.tolist()))
        return [path]


def test_a_function_has_none_of_what_is_optional(tmp_path):
    box = BlackBox(plain)
    assert (box.name, box.item_names, box.key, box.prior_mean, box.has_parts, box.fingerprint, box.source) == (
        "plain", None, None, None, False, None, None
    )  # fmt: skip
    assert box.constraints(3) == Constraints(3)
    assert box.good_orderings(Constraints(3), 0, 2) == []
    assert box.explain(TRIAL, 0) == {}
    assert box.write(TRIAL, tmp_path) == ()


def test_what_an_objective_has_is_used():
    objective = Complete()
    box = BlackBox(objective)
    assert (box.name, box.item_names, box.has_parts, box.fingerprint) == ("complete", objective.item_names, True, "0f")
    assert box.key(np.array([2, 0, 1])) == 2
    assert box.prior_mean(np.array([[2, 0, 1]])) == [2.0]
    assert box.objective is objective


def test_an_objective_without_a_name_is_called_after_its_function_or_class():
    assert [BlackBox(each).name for each in (plain, Bare(), functools.partial(plain))] == ["plain", "Bare", "partial"]


def test_what_cannot_be_called_is_refused():
    with pytest.raises(InputError, match="the objective is a int: give a function, or a name to load"):
        BlackBox(3)


@pytest.mark.parametrize(
    ("objective", "given", "number"),
    [(plain, 2, 2), (plain, 10_000, 10_000), (Complete(), None, 3), (Complete(), 3, 3)],
)
def test_the_number_of_items_is_the_objectives_or_the_given_one(objective, given, number):
    assert BlackBox(objective).n_items(given) == number


def test_a_number_of_items_that_is_unknown_or_contradicts_the_objective_is_refused():
    with pytest.raises(InputError, match=r"^n_items is not known: give .* \(n_items=, or --n-items\)$"):
        BlackBox(plain).n_items()
    with pytest.raises(InputError, match="n_items is 4, but the objective complete has 3 items"):
        BlackBox(Complete()).n_items(4)


def test_constraints_of_the_objective_and_of_the_user_hold_together_and_may_name_items():
    box = BlackBox(Complete())
    assert box.constraints(3, [("heat", "alarm")], {}) == Constraints(3, [(0, 1), (1, 2)])
    assert box.constraints(3, [], {"alarm": 0}) == Constraints(3, [(0, 1)], {2: 0})
    assert box.constraints(3, [(1, 2)], {2: 2}) == Constraints(3, [(0, 1), (1, 2)], {2: 2})


@pytest.mark.parametrize(
    ("before", "fixed", "culprit"),
    [
        ([("heat", "load")], {}, "load before heat"),
        ([("heat", "smoke")], {}, "there is no item 'smoke': items are 0 to 2, or a name such as load"),
        ([], {"heat": 0}, "no ordering has load before heat, heat at position 0"),
    ],
)
def test_refused_constraints_name_the_items(before, fixed, culprit):
    with pytest.raises(InputError, match=culprit):
        BlackBox(Complete()).constraints(3, before, fixed)


def test_a_position_that_the_objective_fixes_cannot_be_changed():
    class Fixed(Complete):
        constraints = {"fixed": {2: 2}}  # noqa: RUF012

    with pytest.raises(InputError, match="alarm is fixed at positions 2 and 0: choose one"):
        BlackBox(Fixed()).constraints(3, [], {"alarm": 0})


def test_an_item_can_only_be_named_where_items_have_names():
    with pytest.raises(InputError, match=r"there is no item 'load': items are 0 to 2$"):
        BlackBox(plain).constraints(3, [("load", 1)])


def test_good_orderings_are_those_allowed_and_no_more_than_wanted():
    box = BlackBox(Complete())
    constraints = box.constraints(3)  # load before heat
    assert box.good_orderings(constraints, 0, 9) == [[0, 1, 2], [2, 0, 1], [0, 2, 1]]
    assert box.good_orderings(constraints, 0, 2) == [[0, 1, 2], [2, 0, 1]]


def test_good_orderings_are_drawn_from_the_seed():
    class Random(Complete):
        def starts(self, count, rng):
            return [rng.permutation(3) for _ in range(count)]

    first, again, other = (BlackBox(Random()).good_orderings(Constraints(3), seed, 20) for seed in (1, 1, 2))
    assert first == again != other
    rng = generator(1, "starts", 0)  # the same in all versions: a run that is resumed has these starts
    assert first == [rng.permutation(3).tolist() for _ in range(20)]


def test_good_orderings_that_cannot_be_had_are_named():
    class Broken(Complete):
        def starts(self, count, rng):
            raise ValueError("no luck")

    with pytest.raises(InputError, match=r"starts failed \(ValueError: no luck\): correct them"):
        BlackBox(Broken()).good_orderings(Constraints(3), 0, 2)


@pytest.mark.parametrize("suggested", [[], [[0, 1, 2]], np.zeros((0, 3)), np.array([[0.0, 2.0, 1.0]])])
def test_an_objective_may_suggest_few_orderings_or_none(suggested):
    bare = Bare()
    bare.starts = lambda count, rng: suggested
    found = BlackBox(bare).good_orderings(Constraints(3), 0, 5)
    assert found == np.array(suggested).tolist()
    assert {type(item) for ordering in found for item in ordering} <= {int}


@pytest.mark.parametrize("suggested", [[0, 1, 2], [[0, 1]], [[0, 1, 1]]])
def test_what_is_no_list_of_orderings_is_refused(suggested):
    bare = Bare()
    bare.starts = lambda count, rng: suggested
    with pytest.raises(InputError, match=r"starts returned \[.*\]: return a list of orderings of 3 items"):
        BlackBox(bare).good_orderings(Constraints(3), 0, 5)


@pytest.mark.parametrize(
    ("name", "error"),
    [("explain", KeyError("oops")), ("drawing", FileNotFoundError("oops")), ("write", KeyError("oops"))],
)
def test_what_only_adds_to_the_answer_may_fail(name, error, tmp_path):
    def failing(*arguments):
        raise error

    bare = Bare()
    setattr(bare, name, failing)
    box = BlackBox(bare)
    calls = {
        "explain": lambda: box.explain(TRIAL, 0),
        "drawing": lambda: box.drawing(TRIAL),
        "write": lambda: box.write(TRIAL, tmp_path),
    }
    with pytest.warns(UserWarning, match=rf"objective's {name} failed \({type(error).__name__}: '?oops'?\), so"):
        assert not calls[name]()


def test_numbers_of_numpy_in_an_explanation_are_ready_for_json():
    bare = Bare()
    bare.explain = lambda permutation, rng: {
        "first": permutation[0],
        "all": permutation,
        "of": {"m": np.float32(0.5)},
        "file": Path("a/b"),
    }
    explained = BlackBox(bare).explain(TRIAL, 0)
    assert json.loads(json.dumps(explained)) == {"first": 2, "all": [2, 0, 1], "of": {"m": 0.5}, "file": "a/b"}


def test_the_number_of_items_and_constraints_may_be_of_numpy_or_of_the_library():
    bare = Bare()
    bare.n_items, bare.constraints, bare.fingerprint = np.int64(3), Constraints(3, [(0, 1)], {2: 2}), b"0f"
    box = BlackBox(bare)
    assert type(box.n_items()) is int
    assert box.constraints(3, [(1, 2)]) == Constraints(3, [(0, 1), (1, 2)], {2: 2})
    json.dumps(box.to_record(""))
    for wrong in (2.5, 0, 1, 10001):
        bare.n_items = wrong
        with pytest.raises(InputError, match=f"n_items is {wrong}: give an integer from 2 to 10000"):
            box.n_items()


def test_the_best_trial_is_explained_with_its_own_draws_and_by_item_names():
    box = BlackBox(Complete())
    found = box.explain(TRIAL, 3)
    assert found["ordering"] == ["alarm", "load", "heat"]
    draw = generator(3, "evaluate", TRIAL.id).random()  # as its evaluation had them
    assert found["draw"] == draw
    assert TRIAL.permutation.tolist() == [2, 0, 1]


def test_the_objective_writes_its_files_into_the_run_folder(tmp_path):
    assert BlackBox(Complete()).write(TRIAL, tmp_path) == (tmp_path / "best.txt",)
    assert (tmp_path / "best.txt").read_text() == "[2, 0, 1]"


def test_files_that_cannot_be_written_fail_the_run_with_the_reason(tmp_path):
    with pytest.raises(RunError, match=r"cannot write the answer to .*missing \(No such file or directory\): correct"):
        BlackBox(Complete()).write(TRIAL, tmp_path / "missing")


OBJECTIVE = "def score(permutation, factor: float = 1.0):\n    return factor * float(permutation[0])\n"


def test_a_named_objective_is_found_again_from_its_record_wherever_that_is_read(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "scores.py").write_text(OBJECTIVE)
    monkeypatch.chdir(tmp_path / "there")
    box = BlackBox.load("scores.py:score", {"factor": "2"})
    record = box.to_record(launch="one")
    assert record == {
        "name": "score",
        "fingerprint": None,
        "code": hashlib.sha256(OBJECTIVE.encode()).hexdigest(),
        "source": {"name": "scores.py:score", "options": {"factor": "2"}},
        "folder": str(tmp_path / "there"),
        "launch": "one",
        "prior_mean": False,
        "noisy": False,
        "tells_more": False,
        "item_names": None,
    }
    monkeypatch.chdir(tmp_path)
    again = BlackBox.from_record(record)
    assert again.objective(np.array([3, 0])) == 6.0
    assert Path.cwd() == tmp_path
    again.check_same(record, tmp_path)


def test_what_an_objective_tells_the_page_is_noted():
    assert BlackBox(Complete()).to_record(launch="")["tells_more"]
    assert not BlackBox(Bare()).to_record(launch="")["tells_more"]


def test_an_objective_that_takes_a_generator_is_noisy():
    assert BlackBox(lambda permutation, rng: rng.normal()).to_record(launch="")["noisy"]
    assert not BlackBox(lambda permutation: 1.0).to_record(launch="")["noisy"]


def test_a_second_argument_of_another_name_that_gets_the_generator_is_warned_of(caplog):
    BlackBox(lambda permutation, rng: 0.0).to_record("")
    BlackBox(lambda permutation, weights=1.0: 0.0).to_record("")
    assert not caplog.records
    BlackBox(lambda permutation, weights: 0.0).to_record("")
    assert caplog.messages == [
        "the argument 'weights' of the objective is given the random generator, and values count as noisy: name it "
        "rng, or give it a default if it is something else"
    ]


def test_a_class_in_place_of_its_instance_is_refused():
    class Visits:
        def __call__(self, permutation):
            return 0.0

    with pytest.raises(InputError, match=r"class Visits: give an instance, Visits\(\.\.\.\)"):
        BlackBox(Visits)
    assert BlackBox(Visits()).name.endswith("Visits")


def test_the_names_of_the_items_are_stored_as_text():
    box = BlackBox(Complete())
    assert box.to_record(launch="")["item_names"] == ["load", "heat", "alarm"]
    box.item_names = np.array([10, 20, 30])
    assert json.loads(json.dumps(box.to_record(launch="")))["item_names"] == ["10", "20", "30"]


def test_an_objective_given_in_python_cannot_be_found_from_its_record():
    with pytest.raises(InputError, match=r"plain was given in Python: resume it with law_ray.resume\(out, objective\)"):
        BlackBox.from_record(BlackBox(plain).to_record(launch=""))


def test_another_objective_or_other_data_is_noticed():
    record = BlackBox(Complete()).to_record(launch="")
    BlackBox(Complete()).check_same(record, Path("run"))
    with pytest.raises(
        InputError,
        match=r"run is a run of another objective, complete, and this one is plain: give that one, "
        r"or begin a new run in another folder$",
    ):
        BlackBox(plain).check_same(record, Path("run"))
    changed = Complete()
    changed.fingerprint = "1e"
    with pytest.raises(
        InputError,
        match=r"another objective: the data or options of complete have changed; restore them, "
        r"or begin a new run in another folder$",
    ):
        BlackBox(changed).check_same(record, Path("run"))


def test_a_journal_from_before_the_code_was_hashed_is_not_warned_of():
    record = BlackBox(Complete()).to_record(launch="")
    assert record.pop("code") is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BlackBox(Complete()).check_same(record, Path("run"))


def test_changed_code_is_warned_of():
    record = BlackBox(Complete()).to_record(launch="") | {"code": "other"}
    with pytest.warns(UserWarning, match="the code of complete has changed since the run began; old values stay"):
        BlackBox(Complete()).check_same(record, Path("run"))


def in_a_folder_with_a_file_of_our_name(folder, script):
    """Run a script from a user's folder that has an objectives.py, and return what it prints."""
    (folder / "objectives.py").write_text("def score(permutation):\n    return float(permutation[0])\n")
    (folder / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_users_file_objectives_does_not_hide_the_built_in_ones(tmp_path):
    printed = in_a_folder_with_a_file_of_our_name(
        tmp_path,
        "import sys\n"
        "from law_ray.runs.objective import BlackBox\n"
        "before = list(sys.path)\n"
        "print(BlackBox.load('objectives.py:score').objective([3, 0]))\n"
        "from objectives import families\n"
        "from objectives.nml import NML\n"
        "print(len(families()) > 5, NML.__name__, [p for p in sys.path if p not in before and p != sys.path[0]])\n",
    )
    assert printed == ["3.0", "True NML []"]


def test_one_that_was_imported_before_is_named_by_the_error_and_is_the_users_code(tmp_path):
    printed = in_a_folder_with_a_file_of_our_name(
        tmp_path,
        "import objectives\n"
        "from law_ray.driver.serialization import dumps, loads\n"
        "from law_ray.errors import InputError\n"
        "from law_ray.runs.objective import BlackBox\n"
        "from law_ray.utils.code import is_users\n"
        "try:\n"
        "    BlackBox.load('nml:sachs')\n"
        "except InputError as error:\n"
        "    print(error)\n"
        "print(is_users(objectives.__file__), is_users(__file__))\n"
        "open('pickled', 'wb').write(dumps(objectives.score))\n",
    )
    assert printed == [
        f"{tmp_path / 'objectives.py'} hides the package objectives of law-ray, which loads objectives by their names: "
        "rename that file, or pass the function itself",
        "True True",
    ]
    elsewhere = "from law_ray.driver.serialization import loads\nprint(loads(open({!r}, 'rb').read())([4, 0]))\n"
    code = elsewhere.format(str(tmp_path / "pickled"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "4.0\n", done.stderr  # its code travels with it


def test_on_a_worker_with_the_users_folder_first_a_built_in_objective_is_found(tmp_path):
    rng = np.random.default_rng(0)
    built_in = QAP("qap:small", None, *rng.integers(0, 9, (2, 4, 4)).astype(float))
    (tmp_path / "pickled").write_bytes(dumps(built_in))
    printed = in_a_folder_with_a_file_of_our_name(
        tmp_path,
        "from law_ray.driver.serialization import loads\nprint(loads(open('pickled', 'rb').read())([2, 0, 1, 3]))\n",
    )
    assert printed == [str(built_in(np.array([2, 0, 1, 3])))]


def test_the_last_explanation_is_computed_once():
    class Counting(Complete):
        calls = 0

        def explain(self, permutation, rng):
            Counting.calls += 1
            return super().explain(permutation, rng)

    box = BlackBox(Counting())
    first = box.explain(TRIAL, 1)
    first["more"] = 1  # the caller's own
    assert box.explain(TRIAL, 1) == {key: first[key] for key in ("ordering", "draw")}
    assert Counting.calls == 1
    assert box.explain(TRIAL, 2)["draw"] != first["draw"]
    assert Counting.calls == 2


def test_an_explanation_that_takes_all_values_is_computed_again_when_there_are_more():
    bare = Bare()
    bare.explain = lambda permutation, rng, evaluated: {"n": len(evaluated[1])}
    box = BlackBox(bare)
    for n in (3, 3, 5):
        assert box.explain(TRIAL, 1, (np.array([[0, 1, 2]] * n), np.zeros(n))) == {"n": n}


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["a", "b"], "give a list of 3 names"),
        (7, "item_names is '7': give a list of 3 names"),
        (["a", "b", "a"], "item_names has 'a' more than once"),
        (["b", "a", "a"], "item_names has 'a' more than once"),
        (["a", "b", "\ud800"], "which no file can hold"),
    ],
)
def test_names_that_are_not_one_for_each_item_are_refused(names, says):
    def named(permutation):
        return 0.0

    named.item_names = names
    with pytest.raises(InputError, match=says):
        BlackBox(named).n_items(3)


@pytest.mark.parametrize(
    "names", [["a", "b", "c"], ("<b>", "\u202e", "x" * 10_000), [1, 2, 3], np.array(["a", "b", "c"])]
)
def test_names_of_any_kind_are_taken(names):
    def named(permutation):
        return 0.0

    named.item_names = names
    assert BlackBox(named).n_items(3) == 3
