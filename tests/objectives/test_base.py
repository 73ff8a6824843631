import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives import families, load
from objectives.nml.data.networks import LARGER, NETWORKS

USER = """
class Cost:
    def __init__(self, n_items: int, scale: float = 1.0, flip: bool = False, label="x"):
        if n_items < 1:
            raise ValueError("n_items is not positive")
        self.n_items, self.scale, self.flip, self.label = n_items, scale, flip, label
    def __call__(self, permutation):
        return self.scale * float(permutation[0])

def cost(permutation, rng, power=2, *, shift: float = 0.0):
    return float(permutation[0]) ** power + shift
cost.n_items = 6

def plain(permutation):
    return 1.0

def anything(permutation, **options):
    return options

def needy(permutation, rng, weight: float, other=1):
    return weight

made = Cost(4)
number = 3
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "problem.py"
    path.write_text(USER)
    return path


def test_a_class_is_instantiated_with_the_options(file: Path) -> None:
    cost = load(f"{file}:Cost", n_items="5", scale="0.5", flip="true", label="7")
    assert (cost.n_items, cost.scale, cost.flip, cost.label) == (5, 0.5, True, "7")
    assert load(f"{file}:Cost", n_items=5).scale == 1.0


def test_a_function_gets_its_options_bound_and_keeps_its_attributes(file: Path) -> None:
    cost = load(f"{file}:cost", power="3", shift="0.5")
    assert cost(np.array([2, 0, 1]), np.random.default_rng(0)) == 8.5
    assert cost.n_items == 6
    assert cost.__qualname__ == "cost"
    assert list(inspect.signature(cost).parameters)[:2] == ["permutation", "rng"]


def test_a_function_without_options_and_an_object_are_returned_as_they_are(file: Path) -> None:
    assert inspect.isfunction(load(f"{file}:plain"))
    assert load(f"{file}:made").n_items == 4
    assert load(f"{file}:anything", a="1", b=2)(None) == {"a": "1", "b": 2}


@pytest.mark.parametrize(
    ("name", "options", "culprit"),
    [
        ("Cost", {}, "needs the option 'n_items'"),
        ("Cost", {"n_items": "many"}, "n_items='many' is not an integer"),
        ("Cost", {"n_items": "3", "scale": "big"}, "scale='big' is not a number"),
        ("Cost", {"n_items": "3", "flip": "perhaps"}, "flip='perhaps' is not true or false"),
        ("Cost", {"n_items": "3", "size": "3"}, "'size' of .* choose n_items, scale, flip, label"),
        ("Cost", {"n_items": "0"}, "ValueError: n_items is not positive"),
        ("cost", {"rng": "3"}, "'rng' of .* choose power, shift"),
        ("cost", {"permutation": "3"}, "'permutation'"),
        ("needy", {}, "needs the option 'weight'"),
        ("plain", {"a": "1"}, "'a' of .* takes none"),
        ("made", {"n_items": 3}, "made is an object, which takes no options: remove n_items"),
        ("number", {}, "is of type int, which cannot be called"),
        ("costs", {}, "no 'costs': choose Cost, cost, plain"),
    ],
)
def test_unusable_options_and_objects_are_refused_in_one_line(
    file: Path, name: str, options: dict, culprit: str
) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        load(f"{file}:{name}", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "culprit"),
    [
        ("sachs", {}, "objective 'sachs' is unknown"),
        ("plant.csv", {}, "objective 'plant.csv' is unknown: for a table, use nml:plant.csv"),
        ("plan.py", {}, "objective 'plan.py' is unknown: name a function or class in it, as in plan.py:score"),
        ("nml:sachs", {"rows": "100"}, "rows='100' is unknown: choose check or independent; n_rows is how many"),
        ("nml:", {}, "objective 'nml:' is unknown"),
        ("nml:asia", {}, "nml:asia is unknown: choose sachs, child"),
        ("nml:gone.csv", {}, "gone.csv does not exist"),
        ("nml:sachs", {"n_sample": "3"}, "'n_sample' of nml:sachs is unknown: choose n_rows, seed, score"),
        ("nml:data.csv", {"seed": "3"}, "'seed' of nml:data.csv is unknown: choose score"),
        ("nml:sachs", {"n_samples": "1e3"}, "n_samples='1e3' is not an integer"),
        ("qep:chr12a", {}, "qep:chr12a is unknown"),
        ("qap:gone.dat", {}, "gone.dat cannot be read"),
        ("qap:gone.dat", {"instance": "2"}, "'instance' of qap:gone.dat is unknown: it takes none"),
        ("fsp:gone.txt", {"instances": "2"}, "'instances' of fsp:gone.txt is unknown: choose instance"),
        ("tsp:gone.tsp", {}, "gone.tsp cannot be read"),
        ("no.such.module:f", {}, "no module no.such.module is found"),
        ("builtins:int", {}, "builtins:int does not say which arguments it takes"),
        ("tsp:plane5", {"seed": 1.5}, "seed=1.5 is no seed: give a whole number, 0 or more"),
        (
            "tsp:plane" + "9" * 5000,
            {},
            "plane99999999999999999999 has 99999999999999999999 cities: choose at most 5000",
        ),
        ("gone/file.py:f", {}, "gone/file.py does not exist"),
    ],
)
def test_unknown_names_and_options_are_refused_in_one_line(name: str, options: dict, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        load(name, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_every_listed_network_loads_with_the_listed_size_and_every_description_is_one_line() -> None:
    listed = families()
    assert sum(name.startswith("nml:") for name in listed) >= 8
    for name in (*NETWORKS, *LARGER):
        n_items, n_edges = (int(word) for word in listed[f"nml:{name}"].split() if word.isdigit())
        objective = load(f"nml:{name}", n_rows=30)
        assert (objective.n_items, objective.table.true_dag.sum()) == (n_items, n_edges)
    assert all(about and "\n" not in about for about in listed.values())


def test_a_flow_shop_is_loaded_by_name_and_by_file_with_options(tmp_path: Path) -> None:
    (tmp_path / "shops.txt").write_text("instance a\n1 2\n0 3 1 4\ninstance b\n2 1\n0 5\n0 6\n")
    assert load(f"fsp:{tmp_path / 'shops.txt'}", instance="b").values([[0, 1], [1, 0]]).tolist() == [11, 11]
    assert load("fsp:ta001").n_items == 20


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = ("numba", "pandas", "pgmpy", "ray", "scipy", "torch")
    script = f"import sys, objectives; print([name for name in {heavy} if name in sys.modules])"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
