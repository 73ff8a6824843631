"""The folders import each other in one direction only, as the table in `tools/import_graph.py` says."""

import ast
from pathlib import Path

import pytest

from tools import import_graph
from tools.import_graph import MAY_IMPORT, Checkout

ROOT = Path(__file__).parent.parent
MOST_MODULES = 15  # in a folder: about ten, and a few more for the methods and for the tests of Ray


@pytest.fixture(scope="module")
def checkout() -> Checkout:
    return Checkout(ROOT, ["law_ray", "objectives", "experiments", "tools", "tests"])


def test_every_module_has_an_entry_in_the_table(checkout):
    unlisted = {file for file in checkout.texts if import_graph.entry(file) not in MAY_IMPORT}
    assert not unlisted, "add these to MAY_IMPORT in tools/import_graph.py"


def test_every_entry_of_the_table_exists():
    assert [name for name in MAY_IMPORT if not (ROOT / name).exists()] == []
    assert [module for module, _ in import_graph.EXCEPTIONS if not (ROOT / module).exists()] == []


def test_the_table_itself_has_no_cycle():
    assert [name for name in MAY_IMPORT if name in import_graph.allowed(name)] == []


def test_no_import_goes_against_the_allowed_direction(checkout):
    forbidden = [each for each in checkout.internal if import_graph.is_forbidden(each)]
    assert [f"{each.source}:{each.line} imports {each.target}" for each in forbidden] == []


def test_no_folders_import_each_other_in_a_circle(checkout):
    assert import_graph.cycles(checkout.arrows) == []


def test_only_the_driver_and_tune_import_ray(checkout):
    found = {file for file in checkout.importers_of("ray") if file.startswith(("law_ray/", "objectives/"))}
    assert "law_ray/tune.py" in found  # the check sees imports of Ray at all
    assert {import_graph.entry(file) for file in found} <= {"law_ray/driver", "law_ray/tune.py"}


def test_folders_are_small(checkout):
    sizes = {
        folder: sum(not file.endswith("__init__.py") for file in files) for folder, files in checkout.folders.items()
    }
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_every_folder_says_which_question_it_answers(checkout):
    folders = [folder for folder in checkout.folders if not folder.startswith("tests")]
    files = [f"{folder}/__init__.py" for folder in folders]
    silent = [file for file in files if not ast.get_docstring(ast.parse(checkout.texts.get(file, "")))]
    assert silent == []


def _written(root: Path, **modules: str) -> Checkout:
    """A checkout of modules; in their names `__` stands for `/`."""
    for name, text in modules.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Checkout(root)


def _forbidden(checkout: Checkout) -> list[tuple[str, int]]:
    return [(each.source, each.line) for each in checkout.internal if import_graph.is_forbidden(each)]


def test_an_import_against_the_direction_is_found_wherever_it_stands(tmp_path):
    found = _written(
        tmp_path,
        law_ray__space__a="",
        law_ray__models__a="from law_ray.space import a",
        law_ray__space__top="import law_ray.models.a",
        law_ray__space__lazy="def f():\n    from law_ray.models import a",
        law_ray__space__typed="if TYPE_CHECKING:\n    from law_ray.models.a import A",
        law_ray__space__relative="from ..models.a import A",
        law_ray__space__named="importlib.import_module('law_ray.models.a')",
    )
    lines = {"lazy": 2, "named": 1, "relative": 1, "top": 1, "typed": 2}
    assert _forbidden(found) == [(f"law_ray/space/{name}.py", line) for name, line in lines.items()]
    assert import_graph.cycles(found.arrows) == [["law_ray/models", "law_ray/space"]]
    assert any("FORBIDDEN: law_ray/space/lazy.py:2" in line for line in import_graph.report(found))


def test_the_exception_covers_only_imports_inside_functions_of_its_module(tmp_path):
    found = _written(
        tmp_path,
        objectives__base="",
        law_ray__runs__objective="import objectives.base\ndef f():\n    import objectives.base",
        law_ray__runs__run="def f():\n    import objectives.base",
    )
    assert _forbidden(found) == [("law_ray/runs/objective.py", 1), ("law_ray/runs/run.py", 2)]


def test_what_an_entry_may_import_includes_all_layers_below():
    assert {"law_ray/models", "law_ray/kernels", "law_ray/space", "law_ray/errors.py"} <= import_graph.allowed(
        "law_ray/methods"
    )
    assert "law_ray/optimizer.py" not in import_graph.allowed("law_ray/methods")
    of_law_ray = {name for name in import_graph.allowed("objectives") if name.startswith("law_ray")}
    assert of_law_ray == {"law_ray/space", "law_ray/utils", "law_ray/typing.py", "law_ray/errors.py"}


def test_drawings_hold_every_arrow_but_those_to_common_modules(tmp_path):
    found = _written(
        tmp_path,
        law_ray__errors="",
        law_ray__space__a="from law_ray.errors import InputError",
        law_ray__kernels__a="from law_ray.space import a",
    )
    assert '"law_ray/kernels" -> "law_ray/space" [label=1];' in import_graph.dot(found)
    assert "errors" not in import_graph.dot(found)
    assert "|1| n1" in import_graph.mermaid(found)


def test_a_folder_without_packages_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="name a checkout's folder"):
        Checkout(tmp_path)
