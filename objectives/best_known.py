"""The best values known of published problems over permutations, and which of them are proven to be optimal.

QAPLIB: its site (2024), and for tai30a and sko42 the proofs of Fujii and others (Solving challenging large scale QAPs,
2021). TSPLIB: its list of optima, without linhp318, which fixes an edge, and problems of more than 5,000 cities. Flow
shops: for Taillard's, his summary, and Gmys (INFORMS J. Computing 34, 2022), after whom 12 are open; for Carlier's and
Reeves's, the values in common use; for Heller's, which differ from source to source, what an iterated greedy search
finds.
"""

import csv
import importlib.resources
from functools import cache
from typing import NamedTuple


class BestKnown(NamedTuple):
    """The least value of a known solution, and whether it is known to be proven that none is better."""

    value: float
    proven: bool


@cache
def best_known() -> dict[str, BestKnown]:
    """By the names of problems, as `objectives.load` takes them: "qap:chr12a", "fsp:ta001", "tsp:burma14"."""
    text = (importlib.resources.files("objectives") / "best_known.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["problem"]: BestKnown(float(row["value"]), row["proven"] == "yes") for row in rows}


def best_value(problem: str) -> float | None:
    """The best value known of a problem, None if it is not listed."""
    found = best_known().get(problem)
    return None if found is None else found.value
