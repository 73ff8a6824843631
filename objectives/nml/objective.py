"""Bayesian-network structure learning as a black box over orderings: the score of the DAG that an ordering gives.

The NML score is total = -max log-likelihood + NML regret, in nats, minimised (paper, Section 5 "Structure learning",
and the supplement's "Normalized Maximum Likelihood"). The decomposable scores are alternatives to it.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.errors import InputError
from law_ray.space.permutations import validate
from law_ray.typing import BoolArray, FloatArray, IntArray
from objectives.nml.answers import Answers
from objectives.nml.arguments import EdgesFrom, check_parents, checked, read
from objectives.nml.data.knowledge import Edges, Tiers, read_knowledge
from objectives.nml.data.missing import IfMissing
from objectives.nml.data.row_order import RowOrder
from objectives.nml.data.rules import Bins, Columns, States
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import dag_from_order, equivalence_key
from objectives.nml.regret import importance
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores import decomposable
from objectives.nml.scores.contingency import log_likelihood
from objectives.nml.scores.decomposable import DecomposableScore, QuotientNML
from objectives.nml.search.greedy import greedy_orderings
from objectives.nml.search.grow_shrink import GrowShrink
from objectives.nml.search.oriented import OrientedScore
from objectives.nml.search.pc_stable import DegreesOfFreedom, skeleton

if TYPE_CHECKING:
    import pandas as pd

GUIDE = "qnml"
"""The decomposable score that replaces NML where parents are chosen one family at a time."""

GUIDE_FACTOR = 1.1
"""What multiplies the regret of quotient NML where it guides "nml".

A network's regret is larger than the sum of its families', and what another edge adds to it is larger than its share.
Of the factors 1 to 1.4, 1.1 and 1.15 gave greedy networks of the lowest totals, on seven networks of 11 to 76 variables
and 100 to 10,000 rows: up to 169 nats below those of the factor 1 with 100 rows, 0 to 25 with 500, and equally low with
10,000, where 1.15 ended 9 nats higher on insurance.
"""
PARENTS = "grow-shrink and exchanges"
"""How edges="score" chooses parents; a run that began with another way is not resumed."""
STAND_IN_FACTOR, STAND_IN_ERROR = 1.15, 0.04
"""What multiplies the regret of quotient NML where it replaces one out of reach, and the standard error of the result.

The regret was 1.02 to 1.14 times that of quotient NML, 1.07 +- 0.03 on average, for good and for random orderings of
six networks and 300 or 10,000 rows. So the estimate is high, and no network wins by its error.
"""


class NML(Answers):
    """The score of orderings of the columns of a discrete table; see `objectives.Objective` for the attributes.

    Cost: an evaluation of 10,000 rows of 11-37 columns takes 0.02-2 s. Where edges="score" finds dense networks, as it
    does for random orderings, it takes 0.5-40 s. Nearly all of it goes into the regret; the skeleton takes below a
    second. A pickle has one byte per cell of the table.

    Args:
        data: a DataFrame, the path of a .csv, .tsv or .parquet file, or a Table, for which the options from `bins` to
            `missing` are left out.
        score: "nml", the likelihood plus the accurate regret (`objectives.nml.regret.importance`); "nml-uniform", the
            paper's estimate from uniform data sets; or a decomposable score (`objectives.nml.scores.decomposable`):
            "bic", "fnml", "qnml", "bdeu".
        edges: how an ordering becomes a DAG. "score": the parents of each variable are chosen among its predecessors by
            grow-shrink and exchanges (`objectives.nml.search.grow_shrink`), on the decomposable score or else on
            quotient NML, whose regret counts GUIDE_FACTOR times for "nml".
            "skeleton", as in the paper: conditional-independence tests find the edges once
            (`objectives.nml.search.pc_stable`), and each points from the earlier to the later variable.
        alpha: the level of the tests.
        dof: the degrees of freedom of the tests; "full" is the paper's.
        max_parents: the most parents that edges="score" gives a variable; by default there is no limit.
        n_samples: the particles of "nml", or the data sets of "nml-uniform" (by default 10,000).
        target_se: the standard error, in nats, that "nml" reaches if n_samples is not given; by default 0.1, or what a
            minute of one core gives where 0.1 takes longer.
        bins: how to bin columns, see `objectives.nml.data.tables.read_table`.
        states: the declared states of columns, see there.
        columns: the columns to use, see there.
        drop: the columns to leave out, see there.
        sep: what separates the columns of a text file, by default found in it; see there.
        encoding: how a text file encodes its characters, by default UTF-8; see there.
        decimal: its decimal mark, by default a point; see there.
        missing: what becomes of missing values, see there.
        required: edges that the network must have, see `objectives.nml.data.knowledge.read_knowledge`.
        forbidden: edges that it cannot have, see there.
        tiers: groups of columns, in an order against which no edge goes, see there.
        rows: "independent" accepts a table whose rows do not look like independent draws, since their order tells
            something about their values (`objectives.nml.data.row_order`); "check" refuses it.

    Raises:
        InputError: if the data or an option cannot be used.
    """

    def __init__(
        self,
        data: "Table | pd.DataFrame | str | Path",
        score: str = "nml",
        edges: EdgesFrom = "score",
        *,
        alpha: float = 0.05,
        dof: DegreesOfFreedom = "adjusted",
        max_parents: int | None = None,
        n_samples: int | None = None,
        target_se: float | None = None,
        bins: Bins | None = None,
        states: States | None = None,
        columns: Columns | None = None,
        drop: Columns | None = None,
        sep: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        missing: IfMissing = "refuse",
        required: Edges | None = None,
        forbidden: Edges | None = None,
        tiers: Tiers | None = None,
        rows: RowOrder = "check",
    ) -> None:
        options = checked(score, edges, max_parents, n_samples, target_se)
        if edges != "skeleton" and (alpha, dof) != (0.05, "adjusted"):
            warnings.warn("alpha and dof belong to the tests of edges=skeleton: they change nothing here", stacklevel=2)
            alpha, dof = 0.05, "adjusted"
        form = {"sep": sep, "encoding": encoding, "decimal": decimal}
        how = {"bins": bins, "states": states, "columns": columns, "drop": drop, **form}
        how["missing"] = None if missing == "refuse" else missing
        self.table = read(data, {name: value for name, value in how.items() if value is not None}, rows)
        self.score = score
        self.max_parents, self.n_samples, self.target_se = options
        self.name = f"nml:{self.table.name}"
        self.n_items = len(self.table.names)
        self.item_names = self.table.names
        self.knowledge = read_knowledge(self.table.names, required, forbidden, tiers)
        check_parents(self.max_parents, self.knowledge.required, self.table.names)
        self.skeleton: BoolArray | None = None
        if edges == "skeleton":
            self.skeleton = skeleton(self.table.codes, self.table.cardinalities, alpha, dof)
        values = (score, edges, float(alpha), dof, *options, self.knowledge.precedences())
        choice = (PARENTS, self._guide_factor) if edges == "score" else ()
        known = self.knowledge.required.tobytes() + self.knowledge.forbidden.tobytes()
        digest = hashlib.sha256(repr((self.table.fingerprint, *values, *choice)).encode() + known)
        self.fingerprint = digest.hexdigest()
        self._prepare()

    def _prepare(self) -> None:
        """Set the attributes that a pickle leaves out: those that begin with an underscore."""
        known = self.knowledge
        self._score = self._decomposable()
        forbidden, required = known.forbidden, known.required
        self._undirected: BoolArray | None = None  # the edges that an ordering only directs
        if self.skeleton is not None:
            self._undirected = required = (self.skeleton & ~forbidden) | required
            forbidden = ~required
            self._oriented = OrientedScore(self._score, required)
        self._no_parent_sets = partial(GrowShrink, self._score, forbidden, required, self.max_parents)
        self._parent_sets = self._no_parent_sets()
        self._keys: dict[bytes, bytes] = {}
        self._edge_cache: tuple[Any, FloatArray] | None = None

    def _decomposable(self) -> DecomposableScore:
        """Return the score itself if it is decomposable, or the one that guides it."""
        data = self.table.codes, self.table.cardinalities
        if self.score in decomposable.SCORES:
            return decomposable.SCORES[self.score](*data)
        return QuotientNML(*data, self._guide_factor)

    @property
    def _guide_factor(self) -> float:
        return GUIDE_FACTOR if self.score == "nml" else 1.0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what `_prepare` sets again."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes, and set the others again."""
        vars(self).update(state)
        self._prepare()

    @property
    def constraints(self) -> dict[str, Any]:
        """The orderings that required edges and tiers allow."""
        return {"before": self.knowledge.precedences()}

    unit = "nats"

    @property
    def noisy(self) -> bool:
        """Whether the value is estimated by sampling."""
        return self.score in ("nml", "nml-uniform")

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> float | tuple[float, float]:
        """Return the total of an ordering in nats, with its standard error if the score is "nml".

        It depends on the permutation and the generator's state alone.
        """
        return self.combine([part(permutation, rng) for part in self.split(1)])

    def split(self, k: int) -> list[Callable[[IntArray, np.random.Generator], dict[str, Any]]]:
        """Return k parts of an evaluation, for `combine`; they share the batches of the accurate regret among them.

        The value does not depend on k. Each part repeats the planning, which takes 0.01 to 0.5 s: 1% to 7% of
        evaluations of more than 5 s, but up to half of those that take less than 0.1 s. For every other score the first
        part does all the work.
        """

        def part(index: int) -> Callable[[IntArray, np.random.Generator], dict[str, Any]]:
            return lambda permutation, rng: self._part(self.dag(permutation), rng, index, k)

        return [part(index) for index in range(k)]

    def combine(self, parts: Sequence[Mapping[str, Any]]) -> float | tuple[float, float]:
        """Return the total from what the parts returned."""
        whole = self._combined(parts)
        return (whole["total"], whole["standard_error"]) if "standard_error" in whole else whole["total"]

    def _part(self, dag: BoolArray, rng: np.random.Generator, index: int, k: int) -> dict[str, Any]:
        """Compute one part of k of the evaluation of a DAG; the first also holds all that is not divided."""
        r, n_rows = self.table.cardinalities, len(self.table.codes)
        if self.score == "nml":
            try:
                plan = importance.plan(dag, r, n_rows, self.n_samples, self.target_se, int(rng.integers(2**63)))
            except importance.OutOfReachError as error:
                if (self.n_samples, self.target_se) == (None, None):
                    return {} if index else self._stand_in(dag)
                given = "target_se" if self.n_samples is None else "n_samples"
                remedy = f"leave {given} out, to have such regrets estimated by quotient NML, or use score=nml-uniform"
                raise InputError(f"{error.reason}: {remedy}") from None
            part: dict[str, Any] = {"batches": importance.run(plan, range(index, len(plan.batches), k))}
            return part if index else {**part, "plan": plan, "neg_log_likelihood": self._neg_log_likelihood(dag)}
        if index:
            return {}
        if self.score == "nml-uniform":
            regret = nml_regret(dag, r, n_rows, "uniform", self.n_samples, rng=rng).value
            return {"neg_log_likelihood": self._neg_log_likelihood(dag), "regret": regret}
        return {"total": self._score.dag(dag)}

    def _combined(self, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The total and, for an NML score, what it consists of."""
        whole = dict(parts[0])
        if "plan" in whole:
            regret = importance.combine(whole.pop("plan"), [batch for part in parts for batch in part["batches"]])
            del whole["batches"]
            whole |= {"regret": regret.value, "standard_error": regret.standard_error, "regret_by": "importance"}
        if "regret" in whole:
            whole["total"] = whole["neg_log_likelihood"] + whole["regret"]
        return whole

    def _stand_in(self, dag: BoolArray) -> dict[str, Any]:
        """What takes the place of the accurate regret where that is out of reach: an upper estimate by quotient NML."""
        fit = self._neg_log_likelihood(dag)
        regret = (self._score.dag(dag) - fit) / GUIDE_FACTOR  # that of quotient NML itself
        error = {"regret": STAND_IN_FACTOR * regret, "standard_error": STAND_IN_ERROR * regret}
        return {"neg_log_likelihood": fit, **error, "regret_by": GUIDE}

    def parts_of(self, dag: BoolArray, rng: np.random.Generator) -> dict[str, Any]:
        """Return the total of a DAG and what it consists of, in nats, see `explain`."""
        parts = self._combined([self._part(dag, rng, 0, 1)])
        return parts if "neg_log_likelihood" in parts else {"neg_log_likelihood": self._neg_log_likelihood(dag)} | parts

    def _neg_log_likelihood(self, dag: BoolArray) -> float:
        return -log_likelihood(self.table.codes, self.table.cardinalities, dag)

    def dag(self, permutation: IntArray) -> BoolArray:
        """Return the DAG of an ordering, (p, p) bool, dag[parent, child].

        Raises:
            InputError: If the ordering contradicts a required edge, which the DAG would lack.
        """
        if self.knowledge.required.any():
            self._check_required(permutation)
        if self._undirected is None:
            return self._parent_sets.dag(validate(permutation, self.n_items))
        return dag_from_order(self._undirected, permutation)

    def _check_required(self, permutation: IntArray) -> None:
        for child, parent in np.argwhere(dag_from_order(self.knowledge.required.T, permutation)):
            names = f"{self.item_names[parent]!r} -> {self.item_names[child]!r}"
            raise InputError(f"the edge {names} is required, but the ordering has these two the other way round")

    def key(self, permutation: IntArray) -> bytes:
        """Return what orderings of equal value share: the DAG's Markov equivalence class, for "fnml" the DAG itself."""
        dag = self.dag(permutation)
        packed = np.packbits(dag).tobytes()
        if self.score == "fnml":
            return packed
        if packed not in self._keys:
            self._keys[packed] = equivalence_key(dag)
        return self._keys[packed]

    def starts(self, count: int, rng: np.random.Generator) -> IntArray:
        """Return orderings (k <= count, n_items) to begin with: the best that greedy searches find.

        The searches are on the decomposable score. Cost: some seconds (`objectives.nml.search.greedy`).
        """
        self._parent_sets = self._no_parent_sets()  # searches end after this many new sets: known ones would matter
        return greedy_orderings(self._parent_sets, count, rng, self.knowledge.precedences())[0]

    @property
    def prior_mean(self) -> OrientedScore:
        """The decomposable score of orderings, in nats; only with edges="skeleton", where it is cheap."""
        if self.skeleton is None:
            raise AttributeError("prior_mean")
        return self._oriented
