import re
from pathlib import Path

import pandas as pd

from experiments import RESULTS
from experiments.ours.mutants import NOTICED_NOW, PACKAGES, report
from tests.experiments.committed import check_committed
from tools.mutants import COLUMNS, CORE, Mutant, write

NAME = "law_ray.space.permutations"
MODULE = "law_ray/space/permutations.py"
SURVIVOR = Mutant(MODULE, f"{NAME}.x_invert__mutmut_4", "survived", "- axis=-1\n+ axis=1 | 2")
METHOD = Mutant("law_ray/runs/journal.py", "law_ray.runs.journal.xǁJournalǁadd__mutmut_1", "no tests", "- a\n+ b")
NOTICED = [Mutant(MODULE, f"{NAME}.x_invert__mutmut_{number}", "killed", "") for number in range(3)]


def test_the_rows_are_those_of_survivors_and_counts_of_what_was_noticed(tmp_path):
    write(tmp_path / "rows.csv", [MODULE], [*NOTICED, SURVIVOR])
    rows = pd.read_csv(tmp_path / "rows.csv", keep_default_na=False)
    assert tuple(rows.columns) == COLUMNS
    assert rows[["status", "count", "mutant"]].to_numpy().tolist() == [
        ["killed", 3, ""],
        ["survived", 1, SURVIVOR.mutant],
    ]


def test_rows_of_other_modules_and_verdicts_on_changes_that_survive_again_stay(tmp_path):
    file = tmp_path / "rows.csv"
    write(file, [MODULE], [SURVIVOR])
    file.write_text(file.read_text().replace(SURVIVOR.change + '",', SURVIVOR.change + '",equivalent'))
    write(file, [METHOD.module], [METHOD])
    write(file, [MODULE], [*NOTICED, SURVIVOR._replace(mutant=f"{NAME}.x_invert__mutmut_9")])
    rows = pd.read_csv(file, keep_default_na=False).set_index("mutant")["verdict"]
    assert rows.to_dict() == {METHOD.mutant: "", "": "", f"{NAME}.x_invert__mutmut_9": "equivalent"}


def test_the_packages_are_those_of_the_tool():
    assert list(CORE) == list(PACKAGES)


def test_the_page_counts_by_package_and_module_and_lists_the_survivors(tmp_path):
    file = tmp_path / "rows.csv"
    left_out = METHOD._replace(mutant=METHOD.mutant.replace("1", "2"), status="not checked", change="")
    write(file, [MODULE, METHOD.module], [*NOTICED, SURVIVOR, METHOD, left_out])
    rows = pd.read_csv(file, keep_default_na=False)
    rows.loc[rows["mutant"] == SURVIVOR.mutant, "verdict"] = "noticed by test_inverse"
    page = report(rows)
    assert "Not judged yet: law_ray/acquisition, law_ray/methods, law_ray/models, objectives/nml/regret.\n" in page
    assert "| law_ray/space | 4 | 4 | 1 | 75.0% | 1 | 100.0% |\n" in page
    assert "| law_ray/runs | 2 | 1 | 1 | 0.0% | 0 | 0.0% |\n| law_ray/space " in page
    assert "| all | 6 | 5 | 2 | 60.0% | 1 | 80.0% |\n" in page
    assert f"### {MODULE}\n" in page
    assert "| invert | `- axis=-1`<br>`+ axis=1 \\| 2` | noticed by test_inverse |\n" in page
    assert "| Journal.add | `- a`<br>`+ b` |  |\n" in page


def test_the_tests_that_verdicts_name_exist():
    rows = pd.read_csv(RESULTS / "mutants.csv", keep_default_na=False)
    verdicts = rows.loc[rows["verdict"].str.startswith(NOTICED_NOW), "verdict"]
    named = set(verdicts.str.removeprefix(NOTICED_NOW).str.split(r"\W", regex=True).str[0])
    files = Path(__file__).parents[2].rglob("test_*.py")
    tests = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}
    assert named - tests == set()


def test_the_committed_page_is_that_of_the_committed_rows():
    check_committed("mutants", report(pd.read_csv(RESULTS / "mutants.csv", keep_default_na=False)))
