"""The nine benchmark problems of the paper, and how long it runs a method on each."""

from experiments.runs import Budget

SMALL, LARGE = Budget(batch_size=5, rounds=100), Budget(batch_size=10, rounds=80)
PROBLEMS = {
    **{"qap:chr12a": SMALL, "qap:nug22": SMALL, "qap:esc32a": LARGE},
    **{"fsp:car5": SMALL, "fsp:hel2": SMALL, "fsp:reC19": LARGE},
    **{"tsp:burma14": SMALL, "tsp:bayg29": SMALL, "tsp:att48": LARGE},
}
"""Quadratic assignment, flow shop and travelling salesman, as names for `objectives.load`."""
