"""Data sampled from the Bayesian networks that pgmpy ships."""

import gzip
import importlib.resources
from typing import Any

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import topological_order

NETWORKS = ("sachs", "child", "insurance", "alarm")
"""The networks of the paper's Table 2, with 11, 20, 27 and 37 variables."""
LARGER = ("hailfinder", "hepar2", "win95pts", "andes")
"""Networks with 56, 70, 76 and 223 variables."""


def sample_network(name: str, n_rows: int = 10_000, seed: int = 0) -> Table:
    """Draw independent rows from a shipped network; its columns are shuffled so that their order gives nothing away.

    The table depends on the arguments alone. pgmpy's own sampler is not used, because it seeds numpy's global state.
    Cost: pgmpy's import, 3-6 s, then 1 s.

    Args:
        name: one of NETWORKS or LARGER.
        n_rows: how many rows to draw.
        seed: of the rows and of the order of the columns.

    Returns:
        The table, with the network as its `true_dag`.

    Raises:
        InputError: if the network is unknown, there are no rows or the seed is negative.
    """
    known = (*NETWORKS, *LARGER)
    if name not in known:
        raise InputError(f"network {name!r} is unknown: choose {', '.join(known)}, or pass a file, such as data.csv")
    if n_rows < 1:
        raise InputError(f"n_rows={n_rows} leaves no data: choose at least 1")
    if seed < 0:
        raise InputError(f"seed={seed} is negative: choose 0 or more")
    names, states, dag, conditionals = _read_network(name)
    rng = np.random.default_rng(seed)
    codes = np.empty((n_rows, len(names)), dtype=np.int64)
    for node in topological_order(dag):
        parents, probabilities = conditionals[node]  # (r, r_parent, ...), axes in the order of `parents`
        index: tuple[Any, ...] = (slice(None), *(codes[:, parent] for parent in parents))
        given = probabilities[index]
        below = np.cumsum(given, axis=0)[:-1].reshape(len(states[node]) - 1, -1)
        codes[:, node] = (rng.random(n_rows) >= below).sum(axis=0)  # inversion of the cumulative distribution
    order = rng.permutation(len(names))
    return Table(
        name=name,
        names=tuple(names[i] for i in order),
        states=tuple(states[i] for i in order),
        codes=codes[:, order],
        true_dag=dag[np.ix_(order, order)],
    )


def _read_network(
    name: str,
) -> tuple[list[str], list[tuple[str, ...]], BoolArray, list[tuple[list[int], np.ndarray]]]:
    """Names, states, DAG and conditional probability tables of a network in pgmpy's wheel, in its file's order."""
    from pgmpy.readwrite import BIFReader

    file = importlib.resources.files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz"
    model = BIFReader(string=gzip.decompress(file.read_bytes()).decode()).get_model()
    names = [str(node) for node in model.nodes()]
    index = {node: i for i, node in enumerate(names)}
    dag = np.zeros((len(names), len(names)), dtype=bool)
    states, conditionals = [], []
    for node in names:
        table = model.get_cpds(node)
        parents = [index[parent] for parent in table.variables[1:]]
        dag[parents, index[node]] = True
        states.append(tuple(str(state) for state in table.state_names[node]))
        conditionals.append((parents, np.asarray(table.values, dtype=np.float64)))
    return names, states, dag, conditionals
