"""An objective reaches processes that cannot import the user's modules."""

import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from law_ray.driver.serialization import PART, dumps, parts
from law_ray.errors import InputError
from objectives import load

HELPER = """
FACTOR = 10

class Scale:
    def by(self, value):
        return FACTOR * value

def shifted(value):
    return value + FACTOR
"""
PROBLEM = """
import helper_for_checks
from helper_for_checks import shifted

class Base:
    def __call__(self, permutation):
        return shifted(helper_for_checks.Scale().by(int(permutation[0])))

class Cost(Base):
    def __init__(self, n_items: int = 3):
        self.n_items = n_items

def cost(permutation, rng=None, power: int = 1):
    return shifted(helper_for_checks.Scale().by(int(permutation[0]))) ** power
"""
POOL = """
import multiprocessing

def square(number):
    return number * number

def total(numbers, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        return sum(pool.map(square, numbers))
"""


pytestmark = pytest.mark.usefixtures("clean_imports")


def value_elsewhere(objective: object, folder: Path) -> str:
    """The objective's value in a process that runs in another folder, from its pickle alone."""
    folder.mkdir()
    (folder / "objective.pkl").write_bytes(dumps(objective))
    script = "import pickle; print(pickle.load(open('objective.pkl', 'rb'))([2, 0, 1]))"
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [("cost", {}, "30"), ("cost", {"power": "2"}, "900"), ("Cost", {"n_items": "3"}, "30")],
)
def test_a_file_with_a_helper_beside_it_runs_elsewhere(tmp_path: Path, name: str, options: dict, value: str) -> None:
    (tmp_path / "helper_for_checks.py").write_text(HELPER)
    (tmp_path / "problem_for_checks.py").write_text(PROBLEM)
    objective = load(f"{tmp_path / 'problem_for_checks.py'}:{name}", **options)
    assert str(objective(np.array([2, 0, 1]))) == value
    assert value_elsewhere(objective, tmp_path / "elsewhere") == value


def test_a_package_in_the_current_folder_runs_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package_for_checks"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("OFFSET = 5\n")
    (package / "sub" / "__init__.py").write_text("")
    (package / "sub" / "near.py").write_text("from .. import OFFSET\ndef g(x):\n    return x + OFFSET\n")
    (package / "problem.py").write_text(
        "from .sub import near\ndef f(permutation):\n    return near.g(permutation[0])\n"
    )
    monkeypatch.chdir(tmp_path)
    objective = load("package_for_checks.problem:f")
    assert value_elsewhere(objective, tmp_path / "elsewhere") == "7"


def test_installed_modules_and_ours_are_not_carried_along(tmp_path: Path) -> None:
    lines = (
        "import numpy as np",
        "from law_ray.errors import InputError",
        "def f(p):",
        "    return np.sum(p), InputError",
    )
    (tmp_path / "numeric_for_checks.py").write_text("\n".join(lines))
    data = dumps(load(f"{tmp_path / 'numeric_for_checks.py'}:f"))
    assert len(data) < 2000
    assert b"law_ray.errors" in data


def test_packages_installed_beside_the_users_file_go_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a virtual environment in the user's folder."""
    installed = tmp_path / "venv"
    installed.mkdir()
    (installed / "library_for_checks.py").write_text("def g(x):\n    return x\n")
    (tmp_path / "uses_for_checks.py").write_text("from library_for_checks import g\ndef f(p):\n    return g(p)\n")
    real = sysconfig.get_path
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(installed) if name == "purelib" else real(name))
    monkeypatch.syspath_prepend(installed)
    carried = dumps(load(f"{tmp_path / 'uses_for_checks.py'}:f"))
    assert b"library_for_checks" in carried
    del sys.modules["library_for_checks"]
    monkeypatch.syspath_prepend(tmp_path)
    sys.path.remove(str(installed))
    with pytest.raises(ModuleNotFoundError, match="library_for_checks"):
        cloudpickle.loads(carried)


def test_a_module_that_holds_what_cannot_be_pickled_goes_by_name(tmp_path: Path) -> None:
    (tmp_path / "locked_for_checks.py").write_text(
        "import threading\nLOCK = threading.Lock()\ndef f(p):\n    with LOCK:\n        return 6\n"
    )
    objective = load(f"{tmp_path / 'locked_for_checks.py'}:f")
    assert cloudpickle.loads(dumps(objective)) is objective


def test_what_cannot_be_pickled_at_all_is_refused_with_the_reason() -> None:
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"cannot be sent to workers, .*lock"):
        dumps(lambda permutation: lock)


def test_nothing_stays_registered() -> None:
    before = set(cloudpickle.list_registry_pickle_by_value())
    dumps(lambda permutation: 0.0)
    assert set(cloudpickle.list_registry_pickle_by_value()) == before


def test_parts_are_the_whole():
    pickled = bytes(range(256)) * 1000
    cut = parts(pickled)
    assert b"".join(cut) == pickled
    assert max(map(len, cut)) <= PART < 100 * 1024  # bytes that Ray sends with a call
    assert parts(b"") == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_takes_the_functions_of_a_module_that_nobody_can_import(tmp_path, method):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "of_the_user.py").write_text(POOL)
    script = (
        "import sys; sys.path.insert(0, 'there'); import of_the_user; from law_ray.driver.serialization import dumps; "
    )
    script += "open('pickled', 'wb').write(dumps(of_the_user.total))"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    elsewhere = "from law_ray.driver.serialization import loads; "
    elsewhere += f"total = loads(open('pickled', 'rb').read()); print(total([1, 2, 3], {method!r}))"
    done = subprocess.run([sys.executable, "-c", elsewhere], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "14", done.stderr
