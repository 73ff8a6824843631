"""A fitted Bayesian network as a BIF file, the interchange format that pgmpy, bnlearn and others read."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from law_ray.typing import BoolArray
from objectives.nml.data.tables import Table
from objectives.nml.scores.contingency import family_counts, parents_of

MAX_CELLS = 1_000_000
"""With more conditional probabilities than this, a text file is no longer useful (heuristic)."""


def cells(table: Table, dag: BoolArray) -> int:
    """Return the number of conditional probabilities of a network: sum_i r_i q_i."""
    r = table.cardinalities.tolist()
    return sum(r[child] * math.prod(r[parent] for parent in parents_of(dag, child)) for child in range(len(r)))


def fitted(table: Table, dag: BoolArray, names: Sequence[str], states: Sequence[Sequence[str]]) -> Any:
    """Fit a DAG to a table by maximum likelihood, n_ijk / n_ij over the declared states.

    A parent configuration without a row gets equal probabilities. Cost: pgmpy's import, 3-6 s.

    Args:
        table: The data.
        dag: (p, p) bool, dag[parent, child].
        names: (p,) What the variables are called in the model.
        states: What their states are.

    Returns:
        A `pgmpy.models.DiscreteBayesianNetwork`.
    """
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    named = {name: list(labels) for name, labels in zip(names, states, strict=True)}
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
            state_names={variable: named[variable] for variable in [name, *evidence]},
        )
        model.add_cpds(probabilities)
    return model


def write(table: Table, dag: BoolArray, path: Path) -> None:
    """Write a fitted network (`fitted`) as BIF.

    BIF has no quoting. So in the names of columns every character but unaccented Latin letters, digits and underscores
    becomes "_"; in those of states dots and the signs < > = + - remain too. Where two would then be equal, a number is
    appended, but not to one that needed no change; column names are compared without case, as readers do.
    """
    from pgmpy.readwrite import BIFWriter

    # Readers parse the words "table" and "default" followed by a number as probabilities.
    plain = [re.sub(r"(table|default)(?=[\deE])", r"\1_", _plain(name, r"\W")) for name in table.names]
    states = [_distinct(own, [_plain(state, r"[^\w.<>=+-]") for state in own]) for own in table.states]
    model = fitted(table, dag, _distinct(table.names, plain, fold=True), states)
    BIFWriter(model).write(str(path))


def _plain(name: str, reserved: str) -> str:
    return re.sub(reserved, "_", name, flags=re.ASCII) or "_"


def _distinct(names: Sequence[str], plain: Sequence[str], fold: bool = False) -> list[str]:
    """The plain forms of the names, made distinct; with `fold`, distinct without case."""
    key = str.lower if fold else str
    firm: dict[str, int] = {}  # those that need no change
    for i, name in enumerate(names):
        if plain[i] == name:
            firm.setdefault(key(name), i)
    used, chosen = set(firm), list(plain)
    for i, name in enumerate(plain):
        number = 2
        while firm.get(key(name)) != i and key(chosen[i]) in used:
            chosen[i], number = f"{name}_{number}", number + 1
        used.add(key(chosen[i]))
    return chosen
