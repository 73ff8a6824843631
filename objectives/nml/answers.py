"""What an ordering found: the parts of the answer, how sure its edges are, and the network for other programs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.errors import InputError
from law_ray.space.permutations import validate
from law_ray.typing import BoolArray, FloatArray, IntArray
from law_ray.utils.files import replacing
from objectives.nml.data import bif, exports
from objectives.nml.data.knowledge import Knowledge
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import equivalence_key, structural_hamming_distance
from objectives.nml.scores.decomposable import DecomposableScore
from objectives.nml.search import confidence

if TYPE_CHECKING:
    import networkx as nx

Evaluated = tuple[IntArray, FloatArray]
"""Orderings (m, n_items) and their values (m,), nats."""


class Answers(ABC):
    """The answers of `objectives.nml.objective.NML`, which has the attributes and the abstract methods."""

    table: Table
    knowledge: Knowledge
    item_names: tuple[str, ...]
    max_parents: int | None
    _score: DecomposableScore
    _edge_cache: tuple[Any, FloatArray] | None

    @abstractmethod
    def dag(self, permutation: IntArray) -> BoolArray:
        """Return the DAG of an ordering, (p, p) bool, dag[parent, child]."""

    @abstractmethod
    def key(self, permutation: IntArray) -> bytes:
        """Return what orderings of equal value share."""

    @abstractmethod
    def parts_of(self, dag: BoolArray, rng: np.random.Generator) -> dict[str, Any]:
        """Return the total of a DAG and what it consists of, in nats."""

    def explain(
        self, permutation: IntArray, rng: np.random.Generator, evaluated: Evaluated | None = None
    ) -> dict[str, Any]:
        """Return what an ordering found, ready for JSON.

        Keys: ordering (names); neg_log_likelihood and total (nats); for an NML score regret (nats), for "nml" also
        standard_error and regret_by ("importance", or "qnml" for the stand-in where the accurate regret would take over
        10 minutes or 2 GB: `objectives.nml.objective.STAND_IN_FACTOR` times the regret of quotient NML);
        edges ([parent, child] names); n_edges; edge_confidence and possible_edges
        (`objectives.nml.data.exports`: `Edge` and `PossibleEdge` as dicts); and, where the network behind the data is
        known, structural_hamming_distance to it (total, skeleton, orientation). The total is the value that a call
        with the same generator state returns.

        Args:
            permutation: The ordering.
            rng: As for a call.
            evaluated: All orderings with a value, for the confidence (`edge_probabilities`).
        """
        permutation = validate(permutation, len(self.item_names))
        dag = self.dag(permutation)
        probabilities = self.edge_probabilities(permutation, evaluated)
        edges = exports.edges(self.item_names, dag, probabilities)
        possible = exports.possible_edges(self.item_names, dag, probabilities)
        found = {
            "ordering": [self.item_names[item] for item in permutation],
            **self.parts_of(dag, rng),
            "edges": [[edge.parent, edge.child] for edge in edges],
            "n_edges": len(edges),
            "edge_confidence": [edge._asdict() for edge in edges],
            "possible_edges": [edge._asdict() for edge in possible],
        }
        if self.table.true_dag is not None:
            found["structural_hamming_distance"] = structural_hamming_distance(dag, self.table.true_dag)._asdict()
        return found

    def edge_probabilities(self, permutation: IntArray, evaluated: Evaluated | None = None) -> FloatArray:
        """Return how probable every directed edge is (`objectives.nml.search.confidence`): (p, p), [parent, child].

        Args:
            permutation: The best ordering.
            evaluated: Orderings (m, p) and their totals (m,), as a run has them; the chain starts at the best of them,
                or else at the best ordering alone.
        """
        orderings, totals = (permutation[None], np.zeros(1)) if evaluated is None else evaluated
        asked = (permutation.tobytes(), orderings.tobytes(), totals.tobytes())
        if self._edge_cache is None or self._edge_cache[0] != asked:
            near = np.flatnonzero(totals <= np.nanmin(totals) + confidence.WITHIN)
            classes: dict[bytes, tuple[BoolArray, float]] = {}
            for i in near[np.argsort(totals[near], kind="stable")].tolist():
                dag = self.dag(orderings[i])
                classes.setdefault(equivalence_key(dag), (dag, totals[i]))
            dags, costs = zip(*classes.values(), strict=True)
            known = self.knowledge
            found = confidence.edge_probabilities(
                self._score,
                dags,
                np.array(costs),
                known.forbidden,
                known.required,
                self.max_parents,
            )
            self._edge_cache = asked, found
        return self._edge_cache[1]

    def write(self, permutation: IntArray, folder: str | Path, evaluated: Evaluated | None = None) -> list[Path]:
        """Write the network of an ordering to `folder`, which is made if need be, and return the paths.

        best_dag.csv: the columns of `objectives.nml.data.exports.Edge`. best_dag.dot: the same for Graphviz.
        best_model.bif: the fitted network, unless it has more than `objectives.nml.data.bif.MAX_CELLS` probabilities.
        """
        permutation = validate(permutation, len(self.item_names))
        dag, folder = self.dag(permutation), Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        edges = exports.edges(self.item_names, dag, self.edge_probabilities(permutation, evaluated))
        files: dict[str, Callable[[Path], object]] = {
            "best_dag.csv": lambda path: exports.write_csv(path, edges),
            "best_dag.dot": lambda path: path.write_text(exports.dot(self.item_names, edges), encoding="utf-8"),
        }
        if bif.cells(self.table, dag) <= bif.MAX_CELLS:
            files["best_model.bif"] = lambda path: bif.write(self.table, dag, path)
        for name, write in files.items():
            with replacing(folder / name) as partial:
                write(partial)
        return [folder / name for name in files]

    def to_networkx(self, permutation: IntArray, evaluated: Evaluated | None = None) -> "nx.DiGraph[str]":
        """Return the network of an ordering; its edges have the attributes confidence and direction."""
        permutation = validate(permutation, len(self.item_names))
        edges = exports.edges(self.item_names, self.dag(permutation), self.edge_probabilities(permutation, evaluated))
        return exports.to_networkx(self.item_names, edges)

    def to_pgmpy(self, permutation: IntArray) -> Any:
        """Return the network of an ordering as a `pgmpy.models.DiscreteBayesianNetwork`, fitted to the table.

        Raises:
            InputError: it has more than `objectives.nml.data.bif.MAX_CELLS` probabilities.
        """
        dag = self.dag(permutation)
        if (n_cells := bif.cells(self.table, dag)) > bif.MAX_CELLS:
            raise InputError(f"the network has {n_cells:,} conditional probabilities: use to_networkx, or max_parents")
        return bif.fitted(self.table, dag, self.table.names, self.table.states)
