"""Objectives that are large, quick, or made of what a worker lacks; what they return, and how their items are named."""

import decimal
import fractions
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import law_ray
from experiments.ours.faults.rays import memory_of, one_node
from experiments.ours.faults.strangers import checked
from experiments.ours.faults.striking import OPTIONS, Row
from law_ray.errors import InputError, RunError

ACCEPTED: dict[str, Any] = {
    "numbers of NumPy": np.float16(1.5),
    "its arrays of one": np.array([[3]]),
    "bool": True,
    "Decimal": decimal.Decimal("1.5"),
    "Fraction": fractions.Fraction(3, 2),
}
REFUSED: dict[str, Any] = {
    "complex": 1j,
    "None": None,
    "an integer of 400 digits": 10**399,
    "one of 5,000": 10**4999,
    "a Decimal beyond all floats": decimal.Decimal("1e400"),
}
"""What an evaluation returns, in words."""

NAMES = {
    "Unicode": ["Zürich", "東京", "🚲", "e\u0301", "\u202egnp", "a\nb"],
    "HTML": ["<script>alert(1)</script>", "<b>x</b>", "&amp;", "'\"", "</title><i>", "<!--x"],
    "10 kB": [letter * 10_000 for letter in "abcdef"],
}
"""Names of six items, in words."""


def returned() -> Row:
    """Return the row of a run whose evaluations return numbers of many types, and what is no number."""
    values = [*ACCEPTED.values(), *REFUSED.values()]

    def returns(permutation: object) -> Any:
        return values[permutation[0]]  # type: ignore[index]

    with tempfile.TemporaryDirectory() as name, one_node():
        start = [np.roll(np.arange(len(values)), -first) for first in range(len(values))]
        options = OPTIONS | {"n_init": len(values), "evals": len(values), "out": Path(name) / "run"}
        result = law_ray.minimize(returns, len(values), start=start, **options)
    states = dict(zip([*ACCEPTED, *REFUSED], result.history["state"], strict=True))
    wrong = [kind for kind, state in states.items() if (state == "told") != (kind in ACCEPTED)]
    how = f"accepted: {', '.join(ACCEPTED)}; failed alone: {', '.join(REFUSED)}"
    return checked("returns numbers of other types", not wrong, f"treated wrongly: {wrong}" if wrong else how)


class Large:
    """An objective that holds 300 MB."""

    n_items = 8

    def __init__(self) -> None:
        self.data = np.zeros(37_500_000)

    def __call__(self, permutation: Any) -> float:
        """Return the first item."""
        return float(permutation[0] + self.data[permutation[0]])


def large() -> Row:
    """Return the row of a run whose objective holds 300 MB."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        result = law_ray.minimize(Large(), evals=60, out=Path(name) / "run", **OPTIONS)
    how = f"all evaluations, {result.seconds_evaluating:.1f} of {time.monotonic() - begun:.0f} s"
    return checked("an objective holds 300 MB", result.evaluations == 60, how)


def quick(evals: int = 5_000) -> Row:
    """Return the row of thousands of evaluations that take no time, and what they cost the driver."""
    with tempfile.TemporaryDirectory() as name, memory_of("ray::Driver") as memory:
        begun = time.monotonic()
        result = law_ray.minimize(lambda permutation: 0.0, 10, evals=evals, out=Path(name) / "run", **OPTIONS)
        seconds = time.monotonic() - begun
    known = [size for size in memory if size]
    grown = (max(known) - known[len(known) // 10]) / 2**20
    how = f"{evals / seconds:.0f} a second in rounds of four, the driver grows by {grown:.0f} MiB"
    return checked(f"{evals:,} evaluations that take no time", result.evaluations == evals and grown < 300, how)


def missing() -> Row:
    """Return the row of objectives whose module is not there: when it is unpickled, and when they are called."""
    module = types.ModuleType("nowhere_installed")
    exec("def score(permutation):\n    return float(permutation[0])\n", module.__dict__)
    module.score.__module__ = module.__name__
    sys.modules[module.__name__] = module

    def imports(permutation: object) -> float:
        import elsewhere_installed  # type: ignore[import-not-found]

        return float(elsewhere_installed.score(permutation))

    said = []
    with tempfile.TemporaryDirectory() as name, one_node():
        for k, function in enumerate((module.score, imports)):
            try:
                law_ray.minimize(function, 6, evals=60, out=Path(name) / str(k), **OPTIONS)
            except (InputError, RunError) as error:
                said.append(str(error))
            except Exception as error:
                said.append(f"{type(error).__name__}, {error}")
    print(said, file=sys.stderr)
    whole = len(said) == 2 and all("No module named" in each and "\n" not in each for each in said)
    return checked("a module is missing on the workers", whole, "named in one line" if whole else " ".join(said)[:200])


def misnamed() -> Row:
    """Return the row of items whose names are too few, or not different: refused before Ray starts."""

    def score(permutation: object) -> float:
        return 0.0

    said = []
    with tempfile.TemporaryDirectory() as name:
        for names in (["a", "b"], ["a", "b", "a"], "abcd", 3, ["a", "b", "\ud800"]):
            score.item_names = names  # type: ignore[attr-defined]
            try:
                law_ray.minimize(score, 3, out=Path(name) / "run")
                said.append("")
            except InputError as error:
                said.append(str(error))
    print(said, file=sys.stderr)
    whole = all(each.startswith("item_names") and "\n" not in each for each in said)
    return checked("names of items: too few, repeated, no list, no Unicode", whole, "refused, each in one line")


def named() -> Row:
    """Return the row of items with odd names: what the page of the run, its table and its figures make of them."""

    def score(permutation: object) -> float:
        return float(permutation[0])  # type: ignore[index]

    found = []
    with tempfile.TemporaryDirectory() as home, one_node():
        for kind, names in NAMES.items():
            score.item_names = names  # type: ignore[attr-defined]
            folder = Path(home) / kind
            result = law_ray.minimize(score, 6, before=[(names[1], names[2])], evals=60, out=folder, **OPTIONS)
            run = law_ray.load(folder)
            page = run.write_page().read_text()
            run.to_csv()
            repr(result), repr(run)
            found += [f"{kind}: {name[:20]}" for name in names if "<" in name and name in page]
            whole = max(page.count(name) for name in names) if len(names[0]) > 1000 else 0
            found += [f"{kind}: {whole} times on the page"] * (whole > 1)
    how = "escaped or shortened on the page"
    return checked(f"names of items: {', '.join(NAMES)}", not found, "; ".join(found)[:200] or how)


SCENES: dict[str, Callable[[], Row]] = {
    "returns": returned,
    "large": large,
    "quick": quick,
    "missing": missing,
    "misnamed": misnamed,
    "named": named,
}
