"""Bayesian-network structure learning as a black box over orderings: the NML score of the DAG that an ordering gives.

total = -max log-likelihood + NML regret, in nats, minimised (paper, Section 5 "Structure learning", and the
supplement's "Normalized Maximum Likelihood"). The ordering directs the edges of a skeleton that
conditional-independence tests find once.
"""

import csv
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.errors import InputError
from law_ray.permutations import invert, validate
from objectives import bif
from objectives.contingency import BoolArray, FamilyLikelihoods, IntArray
from objectives.regret import multinomial_regret, nml_regret
from objectives.structure import DegreesOfFreedom, dag_from_order, skeleton, structural_hamming_distance
from objectives.tables import Table, read_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NML", "SCORES", "multinomial_regret", "nml_regret"]

SCORES = {"nml-uniform": "uniform"}
"""The scores, and the estimator of the regret that each one uses."""


class NML:
    """The NML score of orderings of the columns of a discrete table; see `objectives.Objective` for the attributes.

    data: a DataFrame, the path of a .csv or .parquet file (`objectives.networks.read_table`), or a Table;
    score: "nml-uniform", the paper's Monte-Carlo estimate of the regret from `n_samples` uniform data sets;
    alpha, dof: the significance level and the degrees of freedom of the tests behind the skeleton
    (`objectives.structure.skeleton`; dof="full" is the paper's). Raises InputError for data or options it cannot use.

    Cost: the skeleton takes below a second for 10,000 rows of 11-37 columns; an evaluation 0.1-1.5 s, the regret
    nearly all of it, and the first one of a process 2-3 s of compilation more. Pickles in a byte a cell.
    """

    def __init__(
        self,
        data: "Table | pd.DataFrame | str | Path",
        score: str = "nml-uniform",
        alpha: float = 0.05,
        dof: DegreesOfFreedom = "adjusted",
        n_samples: int = 10_000,
    ) -> None:
        if score not in SCORES:
            raise InputError(f"score={score!r} is unknown: choose {', '.join(SCORES)}")
        if n_samples < 1 or n_samples != int(n_samples):
            raise InputError(f"n_samples={n_samples} is no number of data sets: choose a whole number of at least 1")
        self.table = data if isinstance(data, Table) else read_table(data)
        self.score = score
        self.n_samples = int(n_samples)
        self.name = f"nml:{self.table.name}"
        self.n_items = len(self.table.names)
        self.item_names = self.table.names
        self.skeleton = skeleton(self.table.codes, self.table.cardinalities, alpha, dof)
        options = repr((self.table.fingerprint, score, float(alpha), dof, self.n_samples))
        self.fingerprint = hashlib.sha256(options.encode()).hexdigest()
        self._prepare()

    def _prepare(self) -> None:
        self._ends = np.nonzero(np.triu(self.skeleton))
        self._likelihoods = FamilyLikelihoods(self.table.codes, self.table.cardinalities)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> float:
        """The total of an ordering in nats; a function of the permutation and the generator's state alone."""
        neg_log_likelihood, regret = self._parts(self._dag(permutation), rng)
        return neg_log_likelihood + regret

    def _dag(self, permutation: IntArray) -> BoolArray:
        return dag_from_order(self.skeleton, validate(permutation, self.n_items))

    def _parts(self, dag: BoolArray, rng: np.random.Generator) -> tuple[float, float]:
        estimate = nml_regret(
            dag, self.table.cardinalities, len(self.table.codes), SCORES[self.score], self.n_samples, rng=rng
        )
        return -self._likelihoods.dag(dag), estimate.value

    def key(self, permutation: IntArray) -> bytes:
        """The DAG of an ordering, a bit an edge of the skeleton: equal keys, equal DAGs. Nothing is checked."""
        positions = invert(permutation)
        return np.packbits(positions[self._ends[0]] < positions[self._ends[1]]).tobytes()

    def keys(self, permutations: IntArray) -> list[bytes]:
        """The keys of (m, n_items) permutations at once."""
        positions = invert(permutations)
        packed = np.packbits(positions[:, self._ends[0]] < positions[:, self._ends[1]], axis=1)
        return [row.tobytes() for row in packed]

    def explain(self, permutation: IntArray, rng: np.random.Generator) -> dict[str, Any]:
        """What an ordering found, ready for JSON; its total is the value of the call with the same generator state.

        Keys: ordering (names), neg_log_likelihood, regret, total (nats), edges ([parent, child] names), n_edges, and
        structural_hamming_distance (total, skeleton, orientation) to the network behind the data where it is known.
        """
        dag = self._dag(permutation)
        neg_log_likelihood, regret = self._parts(dag, rng)
        parts = {
            "ordering": [self.item_names[item] for item in permutation],
            "neg_log_likelihood": neg_log_likelihood,
            "regret": regret,
            "total": neg_log_likelihood + regret,
            "edges": self._edges(dag),
            "n_edges": int(dag.sum()),
        }
        if self.table.true_dag is not None:
            parts["structural_hamming_distance"] = structural_hamming_distance(dag, self.table.true_dag)._asdict()
        return parts

    def _edges(self, dag: BoolArray) -> list[list[str]]:
        return [[self.item_names[parent], self.item_names[child]] for parent, child in np.argwhere(dag)]

    def write(self, permutation: IntArray, folder: str | Path) -> list[Path]:
        """Write the DAG of an ordering to `folder`: best_dag.csv (parent, child) and best_model.bif (`objectives.bif`).

        A network too large for `objectives.bif.MAX_CELLS` is written as best_dag.csv alone. Returns the paths.
        """
        dag = self._dag(permutation)
        edges, model = Path(folder) / "best_dag.csv", Path(folder) / "best_model.bif"
        with edges.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["parent", "child"], *self._edges(dag)])
        if bif.cells(self.table, dag) > bif.MAX_CELLS:
            return [edges]
        bif.write(self.table, dag, model)
        return [edges, model]
