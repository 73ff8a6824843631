import inspect

import pytest

from law_ray.errors import InputError
from objectives.options import function_options, read_options


def test_strings_are_read_by_annotation_or_default_and_other_values_pass_unread() -> None:
    def takes(count: int = 1, name: str = "", rate: "float" = 0.0, most: int | None = None, plain=2.5) -> None: ...

    parameters = inspect.signature(takes).parameters
    assert read_options("it", {"count": 2, "name": "3", "rate": "4"}, parameters) == {
        "count": 2,
        "name": "3",
        "rate": 4.0,
    }
    assert read_options("it", {"most": "7", "plain": "1e3"}, parameters) == {"most": 7, "plain": 1000.0}


def test_options_of_a_function_leave_out_the_permutation_and_the_generator() -> None:
    def named(permutation, rng=None, power=2): ...
    def positional(permutation, generator, power=2): ...
    def without(permutation, power=2): ...
    def keyword_only(permutation, *, power): ...

    for function in (named, positional, without, keyword_only):
        assert list(function_options(function)) == ["power"]
    assert list(function_options(positional, ["generator"])) == ["generator", "power"]


def test_a_missing_and_an_unknown_option_are_refused() -> None:
    parameters = inspect.signature(lambda weight: None).parameters
    with pytest.raises(InputError, match="it needs the option 'weight': give it a value"):
        read_options("it", {}, parameters)
    with pytest.raises(InputError, match="option 'wait' of it is unknown: choose weight"):
        read_options("it", {"wait": 1}, parameters)
