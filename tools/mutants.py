"""Change the code of the core in small ways, and see which changes no test notices (mutation testing, by mutmut).

    make mutants                                        the modules that changed since the last commit, or in it
    make mutants MODULES="law_ray/models/gp.py"         these modules
    make mutants MODULES=core                           the whole core
    python tools/mutants.py core --ending 1 6           a fifth of it: mutants are numbered in each function

A package is judged by the tests that mirror it, in a copy of the project. Each of its functions is changed in every way
that mutmut knows, one change at a time, and the tests that call it are run: a change that none of them notices is a
survivor. Functions with decorators are left alone by mutmut, so compiled loops and properties are not judged.

Prints the counts and the survivors. With `--out CSV` the rows of the modules are replaced in that file: one for each
survivor, whose verdict stays where the same change survives again, one for each way in which others were noticed, and
one for those that were not checked, if only a part was.
`python -m experiments.ours.mutants` makes a page of them.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CORE = {
    "law_ray/acquisition": ("tests/law_ray/acquisition",),
    "law_ray/methods": ("tests/law_ray/methods",),
    "law_ray/models": ("tests/law_ray/models",),
    "law_ray/runs": ("tests/law_ray/runs",),
    "law_ray/space": ("tests/law_ray/space",),
    "objectives/nml/regret": ("tests/objectives/nml/regret",),
}
"""The packages that are judged, and the tests that judge them."""
ELSEWHERE = tuple(
    f"tests/law_ray/runs/test_objective.py::{name}"
    for name in (
        "test_a_users_file_objectives_does_not_hide_the_built_in_ones",
        "test_one_that_was_imported_before_is_named_by_the_error_and_is_the_users_code",
        "test_on_a_worker_with_the_users_folder_first_a_built_in_objective_is_found",
    )
)
"""Tests that start Python in another folder, where a changed module does not find mutmut's settings."""
COPIED = ("law_ray", "objectives", "experiments", "tests", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
COLUMNS = ("module", "status", "count", "mutant", "change", "verdict")
SURVIVED = ("survived", "no tests")
NOT_CHECKED = "not checked"


class Mutant(NamedTuple):
    """One small change of the code, and whether the tests noticed it."""

    module: str
    mutant: str
    """mutmut's name of it"""
    status: str
    """killed, survived, timeout (noticed), no tests, not checked ..."""
    change: str
    """the line before and after, of a survivor"""


def main() -> None:
    """Judge the modules, print what survives, and write the rows if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", help="files of the core, or `core`; by default what changed")
    parser.add_argument("--out", type=Path, help="a CSV file whose rows of these modules are replaced")
    parser.add_argument("--processes", type=int, default=2, help="how many mutants are judged at once")
    parser.add_argument(
        "--ending", nargs="+", choices=list("0123456789"), default=[], help="judge only mutants numbered so"
    )
    arguments = parser.parse_args()
    modules = core() if arguments.modules == ["core"] else arguments.modules or changed()
    unknown = [module for module in modules if module not in core()]
    if unknown:
        sys.exit(f"not in the core: {', '.join(unknown)}; its packages are {', '.join(CORE)}")
    if not modules:
        sys.exit("no module of the core has changed: name some, or `core`")
    endings = [f"*{digit}" for digit in arguments.ending]
    found = [mutant for package in CORE for mutant in judge(package, modules, arguments.processes, endings)]
    for mutant in found:
        if mutant.status in SURVIVED:
            print(f"{mutant.status}: {mutant.mutant}\n{mutant.change}\n")
    survivors = sum(mutant.status in SURVIVED for mutant in found)
    checked = sum(mutant.status != NOT_CHECKED for mutant in found)
    print(f"{checked} mutants, {survivors} survived: {1 - survivors / max(checked, 1):.1%} were noticed")
    if arguments.out:
        write(arguments.out, modules, found)


def core() -> list[str]:
    """Return the files of the core."""
    files = (path for package in CORE for path in sorted((ROOT / package).rglob("*.py")))
    return [path.relative_to(ROOT).as_posix() for path in files if path.name != "__init__.py"]


def changed() -> list[str]:
    """Return the files of the core that differ from the last commit or, if none does, those that it changed."""
    for of in (["HEAD"], ["HEAD~1", "HEAD"]):
        command = ["git", "diff", "--name-only", "--diff-filter=AM", *of]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        if found := [name for name in names if name in core()]:
            return found
    return []


def judge(package: str, modules: Iterable[str], processes: int, names: Iterable[str]) -> list[Mutant]:
    """Return the mutants of those modules that are in the package, after running its tests on each.

    With names, mutmut's with wildcards, the tests are run on these only.
    """
    own = [module for module in modules if module.startswith(f"{package}/")]
    if not own:
        return []
    with tempfile.TemporaryDirectory(prefix="law-ray-mutants-") as name:
        copy = Path(name)
        for each in COPIED:
            source, target = ROOT / each, copy / each
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        with open(copy / "pyproject.toml", "a", encoding="utf-8") as file:
            file.write(settings(package, own))
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        environment = {**os.environ, **threads}
        mutmut = [sys.executable, "-m", "mutmut"]
        command = [*mutmut, "run", "--max-children", str(processes), *names]
        subprocess.run(command, cwd=copy, env=environment, check=False)
        return list(judged(mutmut, copy, environment))


def settings(package: str, modules: Iterable[str]) -> str:
    """Return mutmut's settings for some modules of a package, as TOML."""
    return f"""
[tool.mutmut]
source_paths = ["law_ray", "objectives"]
only_mutate = {list(modules)}
also_copy = ["experiments", "docs", "README.md", "CHANGELOG.md"]
pytest_add_cli_args = {[f"--deselect={test}" for test in ELSEWHERE]}
pytest_add_cli_args_test_selection = {list(CORE[package])}
process_isolation = "forkserver"  # numba ends forks of a process that has run parallel loops
"""


def judged(mutmut: list[str], copy: Path, environment: dict[str, str]) -> Iterator[Mutant]:
    """Yield what mutmut found in a copy of the project.

    Raises:
        SystemExit: When mutmut judged nothing, since the tests do not pass without any change.
    """

    def output(*arguments: str) -> str:
        command = [*mutmut, *arguments]
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False).stdout

    lines = [line.strip().rpartition(": ") for line in output("results", "--all", "true").splitlines()]
    results = [(name, status) for name, _, status in lines if "__mutmut_" in name]
    if {status for _, status in results} <= {NOT_CHECKED}:
        sys.exit("mutmut judged nothing: do the tests pass?")
    for name, status in results:
        module = f"{re.sub(r'[.]x[_ǁ].*', '', name).replace('.', '/')}.py"
        yield Mutant(module, name, status, change(output("show", name)) if status in SURVIVED else "")


def change(shown: str) -> str:
    """Return the lines that a diff removes and adds, without its header."""
    lines = [line for line in shown.splitlines() if re.match(r"[-+](?![-+]{2})", line)]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines)


def write(path: Path, modules: Iterable[str], found: Iterable[Mutant]) -> None:
    """Replace the rows of the modules; a verdict stays where the same change of a module survives again."""
    rows: list[dict[str, str]] = []
    if path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    verdicts = {(row["module"], row["change"]): row["verdict"] for row in rows if row["change"]}
    kept = [row for row in rows if row["module"] not in set(modules)]
    survivors, noticed = [], Counter[tuple[str, str]]()
    for mutant in found:
        if mutant.status in SURVIVED:
            verdict = verdicts.get((mutant.module, mutant.change), "")
            survivors.append({**mutant._asdict(), "count": 1, "verdict": verdict})
        else:
            noticed[mutant.module, mutant.status] += 1
    others = [
        {"module": module, "mutant": "", "status": status, "count": count}
        for (module, status), count in noticed.items()
    ]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *survivors, *others], key=_place))


def _place(row: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return what sorts the rows by module, function and number of the mutant."""
    function, _, number = row["mutant"].rpartition("_")
    return row["module"], function, int(number or 0)


if __name__ == "__main__":
    main()
