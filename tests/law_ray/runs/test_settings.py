"""Every option is declared once: the journal, `minimize` and the command line take it from there."""

import dataclasses
import inspect
import json
import math

import numpy as np
import pytest

import law_ray
from law_ray.cli import cli
from law_ray.errors import InputError
from law_ray.methods.registry import METHODS
from law_ray.runs.settings import Settings, options

QUICK = Settings(n_items=8, evals=40, batch_size=5, n_init=10, method="random")
FULL = Settings(
    n_items=9,
    maximize=True,
    before=((0, 1), (2, 1)),
    fixed=((3, 0),),
    method="law-est",
    seed=7,
    n_init=4,
    batch_size=3,
    device="auto",
    mode="async",
    evals=30,
    timeout=1.5,
    max_time=60.0,
    target=-2.0,
    patience=4,
    reevaluations=6,
    num_cpus=0.5,
    num_gpus=1,
    memory=2**30,
    resources=(("licence", 1.0),),
    split=2,
    backup="s3://bucket/run",
    threads=2,
)


def without_defaults(settings):
    """The names of the fields that differ from their defaults."""
    fields = dataclasses.fields(settings)
    return {field.name for field in fields if getattr(settings, field.name) != field.default}


@pytest.mark.parametrize("name", options())
def test_an_option_has_the_same_default_in_minimize_and_on_the_command_line(name):
    default = "auto" if name == "batch_size" else options()[name].default
    parameter = inspect.signature(law_ray.minimize).parameters[name]
    assert (parameter.kind, parameter.default) == (parameter.KEYWORD_ONLY, default)
    command = {each.name: each for each in cli.commands["run"].params}[name]
    assert command.opts == ["--" + name.replace("_", "-")]
    with cli.commands["run"].make_context("run", ["objective"]) as context:
        assert context.params[name] == default


@pytest.mark.parametrize("name", options())
def test_an_option_is_described_in_the_docstring_and_in_the_help(name):
    text = options()[name].metadata["help"]
    assert f"{name} = " in law_ray.minimize.__doc__
    assert text in law_ray.minimize.__doc__
    command = {each.name: each for each in cli.commands["run"].params}[name]
    assert command.help.startswith(text)
    assert text.endswith(".")


def test_minimize_takes_no_other_options():
    own = {"objective", "n_items", "start", "out", "address", "progress", "callbacks"}
    assert set(inspect.signature(law_ray.minimize).parameters) == own | options().keys()


def test_a_journal_stores_each_field_and_keeps_the_keys_of_the_first_version():
    record = FULL.to_record()
    fields = {field.name for field in dataclasses.fields(Settings)}
    assert record.keys() == (fields - {"reevaluations", "backup"}) | {"rescore", "copy"}
    assert (record["rescore"], record["copy"]) == (6, "s3://bucket/run")


@pytest.mark.parametrize("settings", [QUICK, FULL])
def test_settings_survive_a_journal(settings):
    assert Settings.from_record(json.loads(json.dumps(settings.to_record()))) == settings


def test_the_example_with_every_option_has_no_default():
    assert without_defaults(FULL) == {field.name for field in dataclasses.fields(Settings)}


def test_options_that_an_older_journal_lacks_have_their_defaults():
    assert Settings.from_record({"n_items": 9, "evals": 30}) == Settings(n_items=9, evals=30)


def test_options_of_a_newer_journal_are_left_out():
    assert Settings.from_record({"n_items": 9, "colour": "red"}) == Settings(n_items=9)


def test_the_request_holds_what_is_asked_for_and_nothing_else():
    assert FULL.request == {"CPU": 0.5, "GPU": 1, "memory": 2**30, "licence": 1.0}
    assert QUICK.request == {"CPU": 1}


def test_numbers_of_numpy_are_stored_as_those_of_python():
    given = {
        "n_items": np.int64(8),
        "seed": np.uint8(3),
        "evals": np.int32(40),
        "maximize": np.bool_(True),
        "timeout": np.float32(0.5),
        "fixed": [(np.int64(1), np.int64(2))],
    }
    settings = Settings(**given)
    assert settings == Settings(n_items=8, seed=3, evals=40, maximize=True, timeout=0.5, fixed=((1, 2),))
    json.dumps(settings.to_record())


@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        ({"n_items": 1}, "n_items is 1"),
        ({"evals": 5}, "evals is 5, less than the 10"),
        ({"evals": 0}, "evals is 0"),
        ({"evals": 20.5}, "evals is 20.5"),
        ({"n_items": 3, "evals": 6, "n_init": 2, "batch_size": 5}, "batch_size is 5, but .* leaves 4 of the 6"),
        ({"n_items": 3, "evals": 6, "n_init": 5, "batch_size": 2}, "leaves 1 of the 6 .*: give a smaller one$"),
        ({"n_items": 3, "evals": 6, "n_init": 6, "batch_size": 1}, "leaves 0 of the 6 .*: give a smaller n_init$"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"seed": -1}, "seed is -1"),
        ({"n_init": -1}, "n_init is -1"),
        ({"mode": "later"}, "mode is 'later'"),
        ({"device": "gpu"}, "device is 'gpu': choose one of cpu, cuda, auto"),
        ({"mode": "min"}, r"mode is 'min'.*to maximise, set maximize=True$"),
        ({"num_cpus": 0}, "num_cpus is 0"),
        ({"num_cpus": None}, "num_cpus is None"),
        ({"num_cpus": 1e-6}, "num_cpus is 1e-06: give how many an evaluation needs, at least 0.0001"),
        ({"num_gpus": 1e-6}, "num_gpus is 1e-06"),
        ({"resources": (("CPU", 0.0),)}, "resources has CPU: say how much an evaluation needs by num_cpus"),
        ({"maximize": "no"}, "maximize is 'no': give True or False"),
        ({"n_items": 3, "evals": 9, "n_init": 8, "batch_size": 1}, "leaves 0 of the 6 permutations: give a smaller n_"),
        ({"num_gpus": -1}, "num_gpus is -1"),
        ({"num_gpus": 1.5}, "num_gpus is 1.5: give a whole number, or a share of one GPU"),
        ({"method": METHODS["law-est"]}, "method is Method.*give the name of one"),
        ({"memory": math.inf}, "memory is inf"),
        ({"memory": "4G"}, "memory is '4G'"),
        ({"resources": (("licence", -1.0),)}, "licence is -1"),
        ({"timeout": -1.0}, "timeout is -1"),
        ({"timeout": "soon"}, "timeout is 'soon'"),
        ({"max_time": math.nan}, "max_time is nan"),
        ({"target": math.inf}, "target is inf"),
        ({"target": "low"}, "target is 'low'"),
        ({"patience": 0}, "patience is 0"),
        ({"reevaluations": -1}, "reevaluations is -1"),
        ({"reevaluations": None}, "reevaluations is None"),
        ({"split": 0}, "split is 0"),
        ({"threads": 0}, "threads is 0"),
        ({"before": ((0, 0),)}, "before has"),
        ({"fixed": ((0, 9),)}, "position"),
    ],
)
def test_a_bad_value_is_refused_by_name_in_one_line(wrong, culprit):
    with pytest.raises(InputError, match=culprit) as refused:
        dataclasses.replace(QUICK, **wrong)
    assert "\n" not in str(refused.value)


def test_a_run_may_end_with_its_initial_design_and_a_batch_may_take_all_that_is_left():
    Settings(n_items=3, evals=5, n_init=5, batch_size=1)
