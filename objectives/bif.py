"""A fitted Bayesian network as a BIF file, the interchange format that pgmpy, bnlearn and others read."""

import math
import re
from collections.abc import Iterable
from pathlib import Path

from objectives.contingency import BoolArray, family_counts, parents_of
from objectives.tables import Table

MAX_CELLS = 1_000_000
"""More conditional probabilities than these make no useful text file."""


def cells(table: Table, dag: BoolArray) -> int:
    """The number of conditional probabilities of a network: sum_i r_i q_i."""
    r = table.cardinalities.tolist()
    return sum(r[child] * math.prod(r[parent] for parent in parents_of(dag, child)) for child in range(len(r)))


def write(table: Table, dag: BoolArray, path: Path) -> None:
    """Fit a DAG to a table by maximum likelihood, n_ijk / n_ij over the declared states, and write it as BIF.

    A parent configuration without a row gets equal probabilities. BIF knows no quoting: in names and states, every
    character that could break the file becomes "_", and a number is appended where two would then be the same (column
    names are compared without case, as readers do). Cost: pgmpy's import, 3-6 s.
    """
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFWriter

    # readers take the words "table" and "default" with a number behind them for probabilities
    plain = (re.sub(r"(table|default)(?=[\d.eE+-])", r"\1_", name) for name in table.names)
    names = _safe(plain, fold=True)
    states = {name: _safe(states) for name, states in zip(names, table.states, strict=True)}
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(names)
    for child, name in enumerate(names):
        parents = parents_of(dag, child)
        counts = family_counts(table.codes, table.cardinalities, child, parents)
        counts[counts.sum(axis=1) == 0] = 1
        evidence = [names[parent] for parent in parents]
        model.add_edges_from([(parent, name) for parent in evidence])
        probabilities = TabularCPD(
            name,
            int(table.cardinalities[child]),
            (counts / counts.sum(axis=1, keepdims=True)).T,
            evidence=evidence,
            evidence_card=table.cardinalities[list(parents)].tolist(),
            state_names={variable: states[variable] for variable in [name, *evidence]},
        )
        model.add_cpds(probabilities)
    BIFWriter(model).write(str(path))


def _safe(names: Iterable[str], fold: bool = False) -> list[str]:
    """The names without the characters of BIF itself, and made different again; `fold`: whatever their case."""
    safe: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w.<>=+-]", "_", name, flags=re.ASCII) or "_"
        chosen, number = plain, 2
        while (chosen.lower() if fold else chosen) in taken:
            chosen, number = f"{plain}_{number}", number + 1
        taken.add(chosen.lower() if fold else chosen)
        safe.append(chosen)
    return safe
