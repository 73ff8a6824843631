"""A fitted Bayesian network as a BIF file, the interchange format that pgmpy, bnlearn and others read."""

import math
import re
from collections.abc import Iterable, Sequence
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

    BIF has no quoting, so every character in names and states that could break the file becomes "_". Where two names or
    states would then be equal, a number is appended; column names are compared without case, as readers do.
    """
    from pgmpy.readwrite import BIFWriter

    # Readers parse the words "table" and "default" followed by a number as probabilities.
    plain = (re.sub(r"(table|default)(?=[\d.eE+-])", r"\1_", name) for name in table.names)
    model = fitted(table, dag, _safe(plain, fold=True), [_safe(states) for states in table.states])
    BIFWriter(model).write(str(path))


def _safe(names: Iterable[str], fold: bool = False) -> list[str]:
    """The names without the characters that BIF reserves, still distinct; with `fold`, distinct without case."""
    safe: list[str] = []
    used: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w.<>=+-]", "_", name, flags=re.ASCII) or "_"
        chosen, number = plain, 2
        while (chosen.lower() if fold else chosen) in used:
            chosen, number = f"{plain}_{number}", number + 1
        used.add(chosen.lower() if fold else chosen)
        safe.append(chosen)
    return safe
