"""The confidence of each edge: its probability over all networks, by a Markov chain from the best ones evaluated.

A network G has the probability

    P(G) proportional to exp(-cost of G) prod_v 1 / C(p - 1, number of parents of v),

with the decomposable score as the cost. Its last factor is the prior of Friedman & Koller (2003): were it not for
cycles, each number of parents would be equally probable before the data, and each set of that many. Without it, the
best of very many sets of parents would look certain wherever there are few rows. The weights of the evaluated networks
alone would also call every edge certain that each of them has, however little it gains, because an ordering always
takes the best parents.

The chain is a Gibbs sampler. It goes over the pairs of variables and draws the state of each (no edge, a -> b, b -> a)
given all other edges, and then over the edges and draws the parent of each. The probabilities of the pairs' states,
averaged, say how probable an edge is, even where the chain never moves, as with many rows. Its direction is that in the
Markov equivalence class of each network visited; where the members of the class that knowledge allows disagree, both
directions get half.

`experiments.ours.edge_confidence` compares the result with the bootstrap and with the truth.
"""

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numba import njit

from law_ray.typing import BoolArray, FloatArray
from law_ray.utils.compiled import compiled
from objectives.nml.graphs.equivalence import canonical_member
from objectives.nml.graphs.structure import cpdag
from objectives.nml.scores.contingency import parents_of
from objectives.nml.scores.decomposable import DecomposableScore

WITHIN = 7.0
"""nats above the lowest total: networks further away begin no chain (heuristic)."""
MOST_SWEEPS, LEAST_SWEEPS, N_VISITS = 250, 20, 150_000
"""How often the chains go over all pairs, together: as often as it takes to visit this many pairs (heuristic).

With 50 rows of sachs and alarm, and 200 of child, other random numbers changed the probabilities by 0.009 to 0.017
(root mean square over the pairs), and by 0.08 to 0.2 for the pair that changed most, in single trials.
"""
NEGLIGIBLE = 1e-4
"""A pair without an edge, for which one is less probable than this in either direction, is left out of a sweep."""

LogOdds = Callable[[int, tuple[int, ...]], FloatArray]
"""(child, parents) -> (p,) the log odds of an edge from each variable, given the other parents; -inf if impossible."""


def edge_probabilities(
    score: DecomposableScore,
    dags: Sequence[BoolArray],
    costs: FloatArray,
    forbidden: BoolArray | None = None,
    required: BoolArray | None = None,
    max_parents: int | None = None,
) -> FloatArray:
    """Return the probability of every directed edge.

    Each network begins a chain whose length is its share among them, by its total and the prior. Where chains do not
    meet, as with many rows, the shares decide. The random numbers are always the same, so equal arguments give equal
    results. Cost: p families of p candidates, and those of one variable whenever it gets new parents; 0.4 s for 37
    variables and 10,000 rows, 0.4 s for 76 and 200, 2.2 s for 223 and 1,000.

    Args:
        score: The decomposable score that weighs the states of a pair.
        dags: The networks, (p, p) bool, dag[parent, child]; of different equivalence classes, with all required edges
            and no forbidden one.
        costs: (len(dags),) Their totals, in nats.
        forbidden: (p, p) bool, [parent, child]; such an edge has the probability 0.
        required: The same; such an edge has the probability 1.
        max_parents: No variable has more.

    Returns:
        (p, p), [parent, child]; the sum with its transpose is the probability that two variables are adjacent.
    """
    p = score.n_variables
    none = np.zeros((p, p), dtype=bool)
    forbidden, required = none if forbidden is None else forbidden, none if required is None else required
    known = forbidden | required | required.T
    rng = np.random.default_rng(0)

    @functools.cache
    def log_odds(child: int, parents: tuple[int, ...]) -> FloatArray:
        odds = _log_odds(score, child, parents, p if max_parents is None else max_parents)
        return np.where(known[:, child], -np.inf, odds)

    impossible = forbidden | required.T
    given_the_rest, directed, n_sweeps = np.zeros((p, p)), np.zeros((p, p)), _n_sweeps(p)
    for start, share in zip(dags, _shares(dags, costs, n_sweeps), strict=True):
        if share == 0:
            continue
        dag = canonical_member(start, impossible)
        odds = np.column_stack([log_odds(child, parents_of(dag, child)) for child in range(p)])
        for _ in range(share):
            given_the_rest += _draw_pairs(dag, odds, log_odds, rng)
            _draw_parents(dag, odds, log_odds, rng)
            graph = cpdag(dag, impossible)
            directed += np.where(graph & graph.T, 0.5, graph)
    adjacent = (given_the_rest + given_the_rest.T) / n_sweeps
    ways = np.where(directed + directed.T > 0.0, directed, given_the_rest)
    return np.where(required, 1.0, adjacent * ways / np.maximum(ways + ways.T, 1e-300))


def _n_sweeps(p: int) -> int:
    return min(MOST_SWEEPS, max(LEAST_SWEEPS, N_VISITS // max(math.comb(p, 2), 1)))


def _shares(dags: Sequence[BoolArray], costs: FloatArray, n_sweeps: int) -> list[int]:
    """How many of the sweeps each network's chain has: in proportion to P(G) among them."""
    surprise = costs + [sum(_log_sets(len(dag), k) for k in dag.sum(axis=0).tolist()) for dag in dags]
    weights = np.exp(surprise.min() - surprise)
    until = np.rint(n_sweeps * np.cumsum(weights / weights.sum())).astype(int)
    return np.diff(until, prepend=0).tolist()


def _log_sets(p: int, k: int) -> float:
    """Return the logarithm of how many sets of k parents a variable of p can have."""
    return math.log(math.comb(p - 1, k))


def _log_odds(score: DecomposableScore, child: int, parents: tuple[int, ...], max_parents: int) -> FloatArray:
    """(p,) by how much an edge from each variable lowers the cost of the child, and the log odds of the prior."""
    p, k = score.n_variables, len(parents)
    odds = np.full(p, -np.inf)
    cost = score.family(child, parents) + _log_sets(p, k)
    for parent in parents:
        others = tuple(each for each in parents if each != parent)
        odds[parent] = score.family(child, others) + _log_sets(p, k - 1) - cost
    if k < min(max_parents, p - 1):
        candidates = [each for each in range(p) if each != child and each not in parents]
        odds[candidates] = cost - _log_sets(p, k + 1) - score.extensions(child, parents, candidates)
    return odds


def _draw_pairs(dag: BoolArray, odds: FloatArray, log_odds: LogOdds, rng: np.random.Generator) -> FloatArray:
    """Draw the state of every pair in a random order, and return the probabilities of the states, (p, p).

    The network and its odds, (p, p) [parent, child], are changed.
    """
    probabilities = np.zeros(dag.shape)
    most = np.maximum(odds, odds.T)
    visited = (most > math.log(NEGLIGIBLE)) | ((dag | dag.T) & (most > -np.inf))
    pairs = rng.permutation(np.argwhere(np.triu(visited, 1)))
    drawn, i = rng.random(len(pairs)), 0
    while i < len(pairs):
        i = _until_change(i, pairs, drawn, dag, odds, probabilities)
        for child in pairs[i - 1].tolist():
            odds[:, child] = log_odds(child, parents_of(dag, child))
    return probabilities


def _draw_parents(dag: BoolArray, odds: FloatArray, log_odds: LogOdds, rng: np.random.Generator) -> None:
    """Draw for one edge after the other which variable is the parent there, given all other edges.

    A parent that two variables explain equally well is rarely left by single pairs. The arguments are changed as by
    `_draw_pairs`.
    """
    for parent, child in rng.permutation(np.argwhere(dag)).tolist():
        dag[parent, child] = False
        among = np.where(_possible_parents(dag, child), log_odds(child, parents_of(dag, child)), -np.inf)
        chosen = parent
        if among[parent] > -np.inf:  # it may be required
            chances = np.cumsum(np.exp(among - among.max()))
            chosen = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
        dag[chosen, child] = True
        if chosen != parent:
            odds[:, child] = log_odds(child, parents_of(dag, child))


@compiled()
def _possible_parents(dag, child):  # type: ignore[no-untyped-def]
    """Which variables are no parent of this one, and would close no cycle as one: (p,)."""
    return ~(_below(dag, child) | dag[:, child])


@njit
def _below(dag, node):  # type: ignore[no-untyped-def]
    """Whether a path leads from a node to each one: (p,)."""
    p = len(dag)
    seen = np.zeros(p, dtype=np.bool_)
    waiting, n_waiting = np.empty(p, dtype=np.int64), 1
    waiting[0] = node
    while n_waiting > 0:
        n_waiting -= 1
        parent = waiting[n_waiting]
        for child in range(p):
            if dag[parent, child] and not seen[child]:
                seen[child] = True
                waiting[n_waiting] = child
                n_waiting += 1
    return seen


@compiled()
def _until_change(i, pairs, drawn, dag, odds, probabilities):  # type: ignore[no-untyped-def]
    """Draw the states of the pairs from the i-th on, until one changes; return the index after it."""
    for k in range(i, len(pairs)):
        a, b = pairs[k]
        forward_now, backward_now = dag[a, b], dag[b, a]
        dag[a, b] = dag[b, a] = False
        forward, backward = odds[a, b], odds[b, a]
        if forward > -np.inf and _below(dag, b)[a]:
            forward = -np.inf
        if backward > -np.inf and _below(dag, a)[b]:
            backward = -np.inf
        most = max(0.0, forward, backward)
        none, there, back = np.exp(-most), np.exp(forward - most), np.exp(backward - most)
        total = none + there + back
        probabilities[a, b], probabilities[b, a] = there / total, back / total
        threshold = drawn[k] * total - none
        dag[a, b], dag[b, a] = 0.0 <= threshold < there, threshold >= there and back > 0.0
        if dag[a, b] != forward_now or dag[b, a] != backward_now:
            return k + 1
    return len(pairs)
