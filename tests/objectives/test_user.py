import sys
from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives import load

pytestmark = pytest.mark.usefixtures("clean_imports")


def test_a_module_of_a_package_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package_for_checks").mkdir()
    (tmp_path / "package_for_checks" / "__init__.py").write_text("OFFSET = 5\n")
    (tmp_path / "package_for_checks" / "problem.py").write_text(
        "from . import OFFSET\ndef f(permutation):\n    return permutation[0] + OFFSET\n"
    )
    monkeypatch.chdir(tmp_path)
    assert load("package_for_checks.problem:f")(np.array([2, 0, 1])) == 7


def test_an_attribute_within_a_class_is_found(tmp_path: Path) -> None:
    (tmp_path / "nested_for_checks.py").write_text(
        "class A:\n    @staticmethod\n    def f(permutation):\n        return 4\n"
    )
    assert load(f"{tmp_path / 'nested_for_checks.py'}:A.f")(None) == 4


def test_a_file_is_run_again_by_each_load_and_hides_no_other_module(tmp_path: Path) -> None:
    path = tmp_path / "json.py"
    path.write_text("def f(permutation):\n    return 1\n")
    import json

    first = load(f"{path}:f")
    path.write_text("def f(permutation):\n    return 22\n")
    assert (first(None), load(f"{path}:f")(None)) == (1, 22)
    assert sys.modules["json"] is json


def test_a_module_that_another_one_hides_must_be_named_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("def f(permutation):\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"json also names another module: give the path of your file, json\.py:f"):
        load("json:f")
    assert load("json.py:f")(None) == 1


def test_a_file_that_our_package_hides_is_used_by_its_path_and_named_by_every_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "objectives.py").write_text("def score(permutation):\n    return 5\n")
    (tmp_path / "mine.py").write_text("from objectives import score\n")
    monkeypatch.chdir(tmp_path)
    assert load("objectives.py:score")(None) == 5
    with pytest.raises(InputError, match=r"also names another module: give the path of your file, objectives\.py:sco"):
        load("objectives:score")
    with pytest.raises(InputError, match=r"importing mine\.py failed .*: rename objectives\.py, because law-ray has a"):
        load("mine.py:score")
    (tmp_path / "objectives.py").rename(tmp_path / "elsewhere.py")
    (tmp_path / "objectives").mkdir()
    (tmp_path / "objectives" / "cost.py").write_text("def score(permutation):\n    return 6\n")
    with pytest.raises(InputError, match=r"give the path of your file, objectives/cost\.py:score"):
        load("objectives.cost:score")
    assert load("objectives/cost.py:score")(None) == 6


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("def f(:\n", "SyntaxError"),
        ("import no_such_module_for_checks\n", "No module named 'no_such_module_for_checks'"),
        ("raise ValueError('two\\nlines')\n", "ValueError: two lines"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("x = 1\n", "has no 'f'"),
    ],
)
def test_a_file_that_fails_is_refused_with_the_reason_in_one_line(tmp_path: Path, text: str, culprit: str) -> None:
    path = tmp_path / "broken_for_checks.py"
    path.write_text(text)
    with pytest.raises(InputError, match=culprit) as caught:
        load(f"{path}:f")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "broken_for_checks" not in sys.modules or culprit == "has no 'f'"


def test_a_module_whose_package_fails_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_for_checks").mkdir()
    (tmp_path / "bad_for_checks" / "__init__.py").write_text("1 / 0\n")
    (tmp_path / "bad_for_checks" / "m.py").write_text("f = print\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"bad_for_checks\.m failed \(ZeroDivisionError"):
        load("bad_for_checks.m:f")
