"""Print which folder imports which, and check the arrows against the one allowed direction.

    python tools/import_graph.py [ROOT] [--packages law_ray objectives] [--dot FILE] [--mermaid FILE]

ROOT is a checkout of this project, by default the one that holds this script; older checkouts work too. The script
parses the files and imports nothing, so it needs only the standard library. It sees import statements at any depth
(at the top, in functions, under TYPE_CHECKING) and `import_module("literal name")`, but no computed module names.

The exit status is 1 when an arrow is forbidden or folders import each other in a circle, else 0.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# The architecture, lowest layer first: a folder, or a module that stands alone, and what it may import. Whatever an
# entry may import, it may also import indirectly: `law_ray/models` lists the kernels, and so may use the space too.
# A folder that is not listed belongs to the nearest listed folder above it.
MAY_IMPORT: dict[str, list[str]] = {
    "law_ray/errors.py": [],
    "law_ray/typing.py": [],
    "law_ray/utils": ["law_ray/errors.py", "law_ray/typing.py"],
    "law_ray/space": ["law_ray/utils"],
    "law_ray/kernels": ["law_ray/space"],
    "law_ray/models": ["law_ray/kernels"],
    "law_ray/acquisition": ["law_ray/models"],
    "law_ray/theory.py": ["law_ray/acquisition"],
    "law_ray/methods": ["law_ray/acquisition"],
    "law_ray/trial.py": ["law_ray/utils"],
    "law_ray/ledger.py": ["law_ray/trial.py"],
    "law_ray/optimizer.py": ["law_ray/methods", "law_ray/ledger.py"],
    "law_ray/runs": ["law_ray/optimizer.py", "law_ray/theory.py"],  # the report draws the bounds of `theory`
    "law_ray/result.py": ["law_ray/runs"],
    "law_ray/answer.py": ["law_ray/result.py"],
    "law_ray/driver": ["law_ray/result.py"],
    "law_ray/tune.py": ["law_ray/runs"],
    "law_ray/__init__.py": ["law_ray/driver", "law_ray/tune.py"],  # the public names, imported on first use
    "law_ray/parameters.py": ["law_ray/runs"],
    "law_ray/cli.py": ["law_ray/__init__.py", "law_ray/parameters.py", "law_ray/answer.py"],
    "law_ray/__main__.py": ["law_ray/cli.py"],
    "objectives/instances": ["law_ray/utils"],
    "objectives/nml/scores": ["law_ray/space"],
    "objectives/nml/graphs": ["law_ray/space"],
    "objectives/nml/data": ["objectives/nml/graphs", "objectives/nml/scores"],
    "objectives/nml/search": ["objectives/nml/graphs", "objectives/nml/scores"],
    "objectives/nml/regret": ["objectives/nml/graphs", "objectives/nml/scores"],
    "objectives/nml": ["objectives/nml/data", "objectives/nml/search", "objectives/nml/regret"],
    "objectives": ["objectives/instances", "objectives/nml"],
    "tests/oracles": ["law_ray/__main__.py", "objectives"],
    "experiments": ["tests/oracles"],  # `ours/speed` compares with the plain LAW of the tests
    "experiments/paper": ["experiments"],
    "experiments/ours": ["experiments"],
    "tools": ["law_ray/__main__.py"],  # the pages of the docs show the command line
    "tests": ["experiments/paper", "experiments/ours", "tools"],
}

# Arrows that the table forbids, allowed from one module and only inside its functions: (module, folder).
EXCEPTIONS = {
    # The one place where law_ray loads an objective by its name. The import must wait until a run has such a name:
    # objectives import `law_ray.space`, and a user's own objective needs none of them.
    ("law_ray/runs/objective.py", "objectives"),
}

PACKAGES = ("law_ray", "objectives", "experiments")
COMMON = {"law_ray/errors.py", "law_ray/typing.py", "law_ray/utils"}  # imported nearly everywhere: drawings omit them


@dataclass(frozen=True)
class Import:
    """One module imports another, at some line of the file `source`."""

    source: str
    """the importing file, relative to the root, such as `law_ray/optimizer.py`"""
    target: str
    """the imported file, or the top-level name of a package that is not part of the checkout, such as `ray`"""
    line: int
    lazy: bool
    """whether the import stands in a function, so that loading the module does not run it"""


class Checkout:
    """The modules of some packages under a root folder, and the imports between them."""

    def __init__(self, root: Path, packages: Iterable[str] = PACKAGES) -> None:
        """Parse every Python file.

        Raises:
            FileNotFoundError: no package is there.
        """
        paths = [path for package in packages for path in sorted((root / package).rglob("*.py"))]
        if not paths:
            raise FileNotFoundError(f"{root} has none of the packages {', '.join(packages)}: name a checkout's folder")
        self.texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
        self._files = {_dotted(file): file for file in self.texts}
        self.imports = sorted(
            {each for file, text in self.texts.items() for each in self._imports_of(file, text)},
            key=lambda each: (each.source, each.line, each.target),
        )

    @property
    def folders(self) -> dict[str, list[str]]:
        """The files in each folder, itself and not those in folders below it."""
        folders = defaultdict(list)
        for file in self.texts:
            folders[_folder(file)].append(file)
        return dict(folders)

    @property
    def internal(self) -> list[Import]:
        """The imports of one module of the checkout by another."""
        return [each for each in self.imports if each.target in self.texts]

    @property
    def arrows(self) -> dict[tuple[str, str], list[Import]]:
        """The imports between different entries of the table, by entry that imports and entry imported."""
        arrows = defaultdict(list)
        for each in self.internal:
            ends = entry(each.source), entry(each.target)
            if ends[0] != ends[1]:
                arrows[ends].append(each)
        return dict(sorted(arrows.items()))

    def importers_of(self, package: str) -> set[str]:
        """Return the files that import a package from outside the checkout, such as "ray"."""
        return {each.source for each in self.imports if each.target == package}

    def _imports_of(self, file: str, text: str) -> Iterator[Import]:
        tree = ast.parse(text, filename=file)
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        lazy = {id(inner) for outer in ast.walk(tree) if isinstance(outer, functions) for inner in ast.walk(outer)}
        for node in ast.walk(tree):
            for name in _names(node, file):
                target = self._target(name)
                if target != file:
                    yield Import(file, target, node.lineno, id(node) in lazy)  # type: ignore[attr-defined]

    def _target(self, name: str) -> str:
        """Return the file that `name` is or is defined in; of a name from outside, the top-level package."""
        top, *rest = name.split(".")
        for length in range(len(rest), -1, -1):
            if file := self._files.get(".".join([top, *rest[:length]])):
                return file
        return top


def _names(node: ast.AST, file: str) -> list[str]:
    """Return the full dotted names that a statement or call imports."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            parent = _folder(file).split("/")
            start = [".".join(parent[: len(parent) + 1 - level])] if level else []
            return [".".join([*start, *([module] if module else []), alias.name]) for alias in names]
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
            args=[ast.Constant(value=str(name))],
        ):
            return [name]
    return []


def _dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def entry(file: str) -> str:
    """Return the entry of the table that a file belongs to; where there is none, the folder it is in."""
    found = file
    while found and found not in MAY_IMPORT:
        found = _folder(found)
    return found or _folder(file)


def allowed(source: str) -> set[str]:
    """Return all entries that an entry may import, directly or indirectly."""
    reached: set[str] = set()
    waiting = list(MAY_IMPORT.get(source, ()))
    while waiting:
        target = waiting.pop()
        if target not in reached:
            reached.add(target)
            waiting.extend(MAY_IMPORT[target])
    return reached


def is_forbidden(each: Import) -> bool:
    """Return whether an internal import goes against the allowed direction, as far as the table lists both its ends."""
    source, target = entry(each.source), entry(each.target)
    if source == target or not {source, target} <= MAY_IMPORT.keys() or target in allowed(source):
        return False
    return not (each.lazy and (each.source, target) in EXCEPTIONS)


def cycles(arrows: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the groups of entries that import each other, directly or through others; each sorted."""
    targets = defaultdict(set)
    for source, target in arrows:
        targets[source].add(target)
    reached = {source: _reached(source, targets) for source in list(targets)}
    groups = {
        tuple(sorted(other for other in everything if source in reached.get(other, ())))
        for source, everything in reached.items()
        if source in everything
    }
    return [list(group) for group in sorted(groups)]


def _reached(source: str, targets: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(targets.get(source, ()))
    while waiting:
        target = waiting.pop()
        if target not in reached:
            reached.add(target)
            waiting.extend(targets.get(target, ()))
    return reached


def report(checkout: Checkout) -> Iterator[str]:
    """Yield the lines to print: modules per folder, arrows between folders, cycles, and a line of totals."""
    yield f"{'folder':<32}{'modules':>8}{'lines':>8}"
    for folder, files in sorted(checkout.folders.items()):
        rooms = [file for file in files if not file.endswith("__init__.py")]
        yield f"{folder:<32}{len(rooms):>8}{sum(len(checkout.texts[file].splitlines()) for file in files):>8}"
    yield ""
    yield f"{'from':<32}{'to':<32}{'imports':>8}"
    for (source, target), imports in checkout.arrows.items():
        forbidden = [f"{each.source}:{each.line}" for each in imports if is_forbidden(each)]
        remark = f"  FORBIDDEN: {', '.join(forbidden)}" if forbidden else ""
        yield f"{source:<32}{target:<32}{len(imports):>8}{remark}"
    yield ""
    found = cycles(checkout.arrows)
    for group in found:
        yield f"cycle between {', '.join(group)}"
    unlisted = sorted({entry(file) for file in checkout.texts} - set(MAY_IMPORT))
    if unlisted:
        yield f"not in the table of directions: {', '.join(unlisted)}"
    yield (
        f"{len(checkout.texts)} files in {len(checkout.folders)} folders; {len(checkout.internal)} internal imports; "
        f"{len(checkout.arrows)} arrows, {sum(map(is_forbidden, checkout.internal))} forbidden imports, "
        f"{len(found)} cycles"
    )


def _drawn(checkout: Checkout) -> dict[tuple[str, str], tuple[int, bool]]:
    """Return the number of imports of each arrow to draw, and whether one of them is forbidden."""
    counts = {ends: (len(imports), any(map(is_forbidden, imports))) for ends, imports in checkout.arrows.items()}
    return {ends: count for ends, count in counts.items() if ends[1] not in COMMON or count[1]}


def dot(checkout: Checkout) -> str:
    """Return the graph in Graphviz's language, forbidden arrows in red; draw it with `dot -Tsvg`."""
    lines = ["digraph imports {", "  rankdir=BT; node [shape=box, fontname=Helvetica];"]
    for (source, target), (count, forbidden) in _drawn(checkout).items():
        lines.append(f'  "{source}" -> "{target}" [label={count}{", color=red" if forbidden else ""}];')
    return "\n".join([*lines, "}", ""])


def mermaid(checkout: Checkout) -> str:
    """Return the graph as a Mermaid flow chart, which GitHub draws in Markdown; forbidden arrows are dotted."""
    drawn = _drawn(checkout)
    names = sorted({end for ends in drawn for end in ends})
    ids = {name: f"n{i}" for i, name in enumerate(names)}
    lines = ["flowchart BT", *(f'  {ids[name]}["{name}"]' for name in names)]
    for (source, target), (count, forbidden) in drawn.items():
        lines.append(f"  {ids[source]} {'-.->' if forbidden else '-->'}|{count}| {ids[target]}")
    return "\n".join([*lines, ""])


def main() -> int:
    """Read the command line, print the report, write the drawings; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=here, help="a checkout, by default this one")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, help=f"by default {' '.join(PACKAGES)}")
    parser.add_argument("--dot", type=Path, metavar="FILE", help="write the graph in Graphviz's language")
    parser.add_argument("--mermaid", type=Path, metavar="FILE", help="write the graph as a Mermaid flow chart")
    arguments = parser.parse_args()
    try:
        checkout = Checkout(arguments.root, arguments.packages)
    except (FileNotFoundError, SyntaxError) as error:
        parser.error(str(error))
    print("\n".join(report(checkout)))
    for file, draw in ((arguments.dot, dot), (arguments.mermaid, mermaid)):
        if file is not None:
            file.write_text(draw(checkout), encoding="utf-8")
    return int(bool(cycles(checkout.arrows)) or any(map(is_forbidden, checkout.internal)))


if __name__ == "__main__":
    sys.exit(main())
