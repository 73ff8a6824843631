"""The best known values of published problems over permutations, and which of them are proven to be optimal.

QAPLIB: its site (2024); the optima of tai30a and sko42 were proven by Fujii and others (Solving challenging large scale
QAPs, 2021). TSPLIB: its list of optima, without linhp318, which fixes an edge, and without problems of more than 5,000
cities. Taillard's flow shops: his summary, and Gmys (INFORMS J. Computing 34, 2022), according to whom 12 are open.
Carlier's and Reeves's flow shops: the values in common use. Heller's, which differ between sources: what an iterated
greedy search finds.
"""

import csv
import importlib.resources
from functools import cache
from typing import NamedTuple


class BestKnown(NamedTuple):
    """The least value of a known solution, and whether it is proven to be optimal."""

    value: float
    proven: bool


@cache
def best_known() -> dict[str, BestKnown]:
    """Return the best known values by `objectives.load`'s names: "qap:chr12a", "fsp:ta001", "tsp:burma14"."""
    text = (importlib.resources.files("objectives.instances") / "best_known.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["problem"]: BestKnown(float(row["value"]), row["proven"] == "yes") for row in rows}


def best_value(problem: str) -> float | None:
    """Return the best known value of a problem, None if it is not listed."""
    found = best_known().get(problem)
    return None if found is None else found.value
