"""Decomposable scores of discrete Bayesian networks: the cost of a DAG is the sum of the costs of its families.

Costs are in nats and minimised. Notation (`objectives.nml.scores.contingency`): node i has r_i states and q_i parent
configurations. In n_ijk rows its parents are in configuration j and the node is in state k, n_ij is the sum over k, and
N is the number of rows. LL = sum_jk n_ijk log(n_ijk / n_ij). C(r, n) is the multinomial NML normaliser
(`objectives.nml.scores.multinomial`). The declared states count, observed or not.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from law_ray.errors import InputError
from law_ray.typing import BoolArray, FloatArray, IntArray
from law_ray.utils.compiled import compiled
from objectives.nml.scores.contingency import MAX_CELLS, check_codes, configurations, n_log_n, parents_of
from objectives.nml.scores.multinomial import multinomial_regrets

_DENSE = 4
"""Cells of a family per row up to which all cells are counted in a table; heuristic, by the two costs stated below."""
_DENSE_EXTENSION = 32
"""The same of an extension, where only the observed configurations of the parents have cells; heuristic."""


class Weights(NamedTuple):
    """What the counts of a family cost: the sum over j of parents[n_ij] - the sum over jk of cells[n_ijk] + constant.

    parents, cells: (N + 1,) nats by count, 0 for the count 0.
    """

    parents: FloatArray
    cells: FloatArray
    constant: float


class DecomposableScore(ABC):
    """A score over one table: codes (rows, p) states 0..r_i-1, cardinalities (p,) r_i.

    Families are computed once and kept, 200 bytes each. A new family takes a pass over the rows for each of its
    columns, 25 us for 10,000 rows; one of many extensions of the same family takes a single pass, 10 us, and is not
    kept. A family of more than 4 N cells is counted by sorting the rows, 0.7 ms. The first one in a process compiles
    for a second.

    Raises:
        InputError: if the codes do not fit the cardinalities.
    """

    def __init__(self, codes: IntArray, cardinalities: Sequence[int] | IntArray) -> None:
        codes, cardinalities = np.asarray(codes), np.asarray(cardinalities, dtype=np.int64)
        check_codes(codes, cardinalities)
        self.n_rows, self.n_variables = codes.shape
        self._r = [int(states) for states in cardinalities]
        smallest = np.min_scalar_type(max(self._r) - 1)
        self._columns = np.ascontiguousarray(codes.T, dtype=smallest)  # families read whole columns
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}
        self._n_log_n = n_log_n(np.arange(self.n_rows + 1))

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the cost of one node, in nats; `parents` in increasing order."""
        cost = self._known.get((child, parents))
        if cost is None:
            r, q = self._r[child], math.prod(self._r[parent] for parent in parents)
            cost = float(self._cost(*self._counts(child, parents, r * q), r, q))
            self._known[child, parents] = cost
        return cost

    def extensions(self, child: int, parents: tuple[int, ...], candidates: Sequence[int]) -> FloatArray:
        """Return the cost of a family with each of the candidates as one more parent, in nats: (len(candidates),).

        They are those of `family` up to rounding: by less than 1e-7 nats with 10 million rows.

        Args:
            child: The node.
            parents: Its parents, in increasing order.
            candidates: Other variables.
        """
        costs = np.empty(len(candidates))
        r, q = self._r[child], math.prod(self._r[parent] for parent in parents)
        others = np.array(candidates, dtype=np.int64)
        states = np.array([self._r[other] for other in candidates], dtype=np.int64)
        observed, n_labels = configurations(self._columns.T, self._r, parents, self.n_rows)
        labels = observed.astype(np.int32)
        for r_other in set(states.tolist()):
            mine = np.flatnonzero(states == r_other)
            if n_labels * r_other * r > _DENSE_EXTENSION * self.n_rows:
                costs[mine] = [self.family(child, tuple(sorted((*parents, other)))) for other in others[mine].tolist()]
                continue
            weights = self._weights(r, q * r_other)
            extended = _extended(
                self._columns, labels, n_labels, child, r, others[mine], r_other, weights.parents, weights.cells
            )
            costs[mine] = extended + weights.constant
        return costs

    def dag(self, dag: BoolArray) -> float:
        """Return the cost of a DAG, dag[parent, child], in nats."""
        return math.fsum(self.family(child, parents_of(dag, child)) for child in range(self.n_variables))

    def _counts(self, child: int, parents: tuple[int, ...], n_cells: int) -> tuple[IntArray, IntArray]:
        """The positive n_ij and the positive n_ijk."""
        family = (*parents, child)
        if n_cells <= _DENSE * self.n_rows:
            r = np.array([self._r[variable] for variable in family])
            return _positive_counts(self._columns, np.array(family), r)
        labels = [configurations(self._columns.T, self._r, variables, MAX_CELLS)[0] for variables in (parents, family)]
        n_ij, n_ijk = (np.unique(label, return_counts=True)[1] for label in labels)
        return n_ij, n_ijk

    def _cost(self, n_ij: IntArray, n_ijk: IntArray, r: int, q: int) -> float:
        """The cost of a family from its positive counts; q is an exact integer that may exceed 64 bits."""
        weights = self._weights(r, q)
        return float(weights.parents[n_ij].sum() - weights.cells[n_ijk].sum()) + weights.constant

    @abstractmethod
    def _weights(self, r: int, q: int) -> Weights:
        """What the counts of a family with r states and q parent configurations cost."""


@compiled()
def _positive_counts(columns, family, cardinalities):  # type: ignore[no-untyped-def]
    """The positive n_ij and n_ijk of a family, its child last, from a table of all its cells."""
    labels = np.zeros(columns.shape[1], np.int32)
    n_cells = 1
    for i in range(len(family) - 1, -1, -1):  # the child varies fastest
        column = columns[family[i]]
        stride = np.int32(n_cells)
        for row in range(len(labels)):
            labels[row] += stride * np.int32(column[row])
        n_cells *= cardinalities[i]
    cells = np.zeros(n_cells, np.int32)
    for row in range(len(labels)):
        cells[labels[row]] += 1
    r = cardinalities[-1]
    n_ij, n_ijk = np.empty(n_cells // r, np.int64), np.empty(n_cells, np.int64)
    filled, positive = 0, 0
    for start in range(0, n_cells, r):
        total = 0
        for cell in range(start, start + r):
            if cells[cell] > 0:
                n_ijk[positive] = cells[cell]
                total += cells[cell]
                positive += 1
        if total > 0:
            n_ij[filled] = total
            filled += 1
    return n_ij[:filled], n_ijk[:positive]


@compiled()
def _extended(columns, labels, q, child, r, candidates, r_candidate, parent_weights, cell_weights):  # type: ignore[no-untyped-def]
    """The weighted counts of the families of a child with parents in configurations `labels` and each candidate."""
    n_rows = labels.shape[0]
    base = np.empty(n_rows, np.int32)
    own = columns[child]
    width = r_candidate * r
    for row in range(n_rows):
        base[row] = labels[row] * width + own[row]
    cells = np.empty(q * width, np.int32)
    totals = np.empty(len(candidates))
    for i in range(len(candidates)):
        column = columns[candidates[i]]
        cells[:] = 0
        for row in range(n_rows):
            cells[base[row] + column[row] * r] += 1
        total = 0.0
        for start in range(0, q * width, r):
            n = 0
            for cell in range(start, start + r):
                n += cells[cell]
                total -= cell_weights[cells[cell]]
            total += parent_weights[n]
        totals[i] = total
    return totals


class BIC(DecomposableScore):
    """The cost -LL + (log N)/2 (r_i - 1) q_i (Schwarz 1978)."""

    def _weights(self, r: int, q: int) -> Weights:
        return Weights(self._n_log_n, self._n_log_n, math.log(self.n_rows) / 2 * (r - 1) * q)


class FactorisedNML(DecomposableScore):
    """The cost -LL + sum_j log C(r_i, n_ij).

    Silander, Roos, Kontkanen & Myllymaki 2008, "Factorized normalized maximum likelihood criterion for learning
    Bayesian network structures". From its first use, keeps log C(r, n) for every cardinality r that occurs and every n
    up to N, 8 bytes each: 6 s for 2,000 states and 300,000 rows.
    """

    @cached_property
    def _of_parents(self) -> dict[int, FloatArray]:
        states = sorted(set(self._r))
        log_c = multinomial_regrets(states, self.n_rows)
        return dict(zip(states, log_c + self._n_log_n, strict=True))

    def _weights(self, r: int, q: int) -> Weights:
        return Weights(self._of_parents[r], self._n_log_n, 0.0)


class QuotientNML(DecomposableScore):
    """The cost -LL + factor (log C(r_i q_i, N) - log C(q_i, N)); equal for Markov equivalent DAGs.

    Silander, Leppa-aho, Jaasaari & Roos 2018, "Quotient normalized maximum likelihood criterion for learning Bayesian
    network structures". Theirs has the factor 1; with a larger one it comes closer to the NML of the whole network.
    """

    def __init__(self, codes: IntArray, cardinalities: Sequence[int] | IntArray, factor: float = 1.0) -> None:
        super().__init__(codes, cardinalities)
        self._factor = factor
        self._log_c: dict[int, float] = {}

    def _weights(self, r: int, q: int) -> Weights:
        return Weights(self._n_log_n, self._n_log_n, self._factor * self._regret(r, q))

    def _regret(self, r: int, q: int) -> float:
        if q > 2**100:  # to float precision, log C(K, N) is then N log K + a constant
            return self.n_rows * math.log(r)
        return self._log_normaliser(r * q) - self._log_normaliser(q)

    def _log_normaliser(self, n_states: int) -> float:
        if n_states not in self._log_c:
            self._log_c[n_states] = log_normaliser(float(n_states), self.n_rows)
        return self._log_c[n_states]


@compiled()
def log_normaliser(n_states, n_rows):  # type: ignore[no-untyped-def]
    """Return log C(n_states, n_rows) in nats for any number of states up to 1e200, given as a float.

    C(K, N) = sum_m N! / ((N - m)! N^m) (K - 1) K ... (K - 2 + m) / m!, m = 0..N (Mononen & Myllymaki 2008, "Computing
    the multinomial stochastic complexity in sub-linear time"). The terms are positive, rise and then fall, so the sum
    ends where they become negligible. The error is below 1e-9 nats up to N = 1e6. Cost: 5 ns a term, a few sqrt(N K)
    terms and at most N.
    """
    term = total = 1.0
    scalings = 0
    for m in range(n_rows):
        term *= (n_rows - m) / n_rows * ((n_states - 1 + m) / (m + 1))
        total += term
        if term < 1e-18 * total:
            break
        while total > 2.0**300:
            term /= 2.0**300
            total /= 2.0**300
            scalings += 1
    return np.log(total) + 300 * scalings * np.log(2.0)


class BDeu(DecomposableScore):
    """The cost -log marginal likelihood under Dirichlet priors; equal for Markov equivalent DAGs.

    It is sum_j log Gamma(a_ij + n_ij) / Gamma(a_ij) - sum_jk log Gamma(a_ijk + n_ijk) / Gamma(a_ijk), where a is the
    equivalent sample size, a_ijk = a / (r_i q_i) and a_ij = sum_k a_ijk (Heckerman, Geiger & Chickering 1995).
    """

    def __init__(
        self, codes: IntArray, cardinalities: Sequence[int] | IntArray, equivalent_sample_size: float = 1.0
    ) -> None:
        super().__init__(codes, cardinalities)
        if not 0 < equivalent_sample_size < math.inf:
            raise InputError(f"equivalent_sample_size={equivalent_sample_size}: choose a finite number above 0")
        self._sample_size = float(equivalent_sample_size)

    def _weights(self, r: int, q: int) -> Weights:
        size = self._sample_size
        return Weights(_log_rising_table(size / q, self.n_rows), _log_rising_table(size / (r * q), self.n_rows), 0.0)

    def _cost(self, n_ij: IntArray, n_ijk: IntArray, r: int, q: int) -> float:  # without a table for each q
        of_parents = _log_rising_factorials(self._sample_size / q, n_ij)
        return float(of_parents - _log_rising_factorials(self._sample_size / (r * q), n_ijk))


@compiled()
def _log_rising_factorials(a, counts):  # type: ignore[no-untyped-def]
    """Sum log Gamma(a + n) / Gamma(a) over positive counts n."""
    log_gamma = math.lgamma(a)
    total = 0.0
    for n in counts:
        total += math.lgamma(a + n) - log_gamma
    return total


@lru_cache(maxsize=16)
def _log_rising_table(a: float, max_n: int) -> FloatArray:
    """Log Gamma(a + n) / Gamma(a) for n = 0..max_n.

    A sum of logarithms would be off by 4e-6 nats at 6 million rows: enough that a search for parents, which compares
    such costs with those of `_log_rising_factorials`, would go back and forth between two equal parents.
    """
    return np.asarray(gammaln(a + np.arange(max_n + 1)) - gammaln(a))


SCORES: dict[str, type[DecomposableScore]] = {
    "bic": BIC,
    "fnml": FactorisedNML,
    "qnml": QuotientNML,
    "bdeu": BDeu,
}
"""The decomposable scores by name."""
