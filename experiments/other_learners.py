"""Structure learners of other libraries, and the greedy order search alone, behind one signature: a Table -> its DAG.

pgmpy (https://pgmpy.org) searches on BIC and is told the declared states.
causal-learn (https://causal-learn.readthedocs.io) has one score for discrete data, BDeu of sample size 1 with a prior
on the number of parents, and counts the states it observes.
"""

import multiprocessing
import random
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
import pandas as pd
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.search.PermutationBased.BOSS import boss
from causallearn.search.PermutationBased.GRaSP import grasp
from causallearn.utils.PDAG2DAG import pdag2dag
from pgmpy.causal_discovery import GES, HillClimbSearch
from pgmpy.structure_score import BIC

from law_ray.errors import RunError
from law_ray.seeding import generator
from objectives.contingency import BoolArray
from objectives.greedy import greedy_orderings
from objectives.grow_shrink import GrowShrink
from objectives.scores import QuotientNML
from objectives.tables import Table

Learner = Callable[[Table], BoolArray]


def hc_bic(table: Table) -> BoolArray:
    """Hill climbing over DAGs by adding, removing and turning edges, on BIC (pgmpy).

    Without a tabu list: pgmpy stops at the first local optimum all the same, and its list of 100 moves only keeps the
    search from removing what it added.
    """
    search = HillClimbSearch(scoring_method=_bic(table), tabu_length=0, return_type="dag", show_progress=False)
    return _of_pgmpy(search.fit(_frame(table)).adjacency_matrix_)


def ges_bic(table: Table) -> BoolArray:
    """Greedy equivalence search with a turning phase (Chickering 2002), on BIC (pgmpy)."""
    search = GES(scoring_method=_bic(table), return_type="dag")
    return _of_pgmpy(search.fit(_frame(table)).adjacency_matrix_)


def boss_bdeu(table: Table) -> BoolArray:
    """Best-order score search (Andrews et al. 2023), on BDeu (causal-learn)."""
    random.seed(0)  # causal-learn draws from Python's global generator
    return _of_causal_learn(boss(table.codes, score_func="local_score_BDeu", verbose=False))


def grasp_bdeu(table: Table) -> BoolArray:
    """Greedy relaxation of the sparsest permutation (Lam, Andrews & Ramsey 2022), on BDeu (causal-learn)."""
    random.seed(0)
    return _of_causal_learn(grasp(table.codes, score_func="local_score_BDeu", verbose=False))


def greedy_qnml(table: Table) -> BoolArray:
    """The best ordering of `objectives.greedy` on quotient NML, compilation included."""
    parent_sets = GrowShrink(QuotientNML(table.codes, table.cardinalities))
    orderings, _ = greedy_orderings(parent_sets, 1, generator(0, "greedy", 0))
    return parent_sets.dag(orderings[0])


LEARNERS: dict[str, Learner] = {
    "hc-bic": hc_bic,
    "ges-bic": ges_bic,
    "boss-bdeu": boss_bdeu,
    "grasp-bdeu": grasp_bdeu,
    "greedy-qnml": greedy_qnml,
}
"""The learners by name."""


class Learned(NamedTuple):
    """What a learner came to."""

    dag: BoolArray
    """(p, p) bool, dag[parent, child]"""
    seconds: float
    """wall time of the learner, without the start of its process and the imports"""


def learn(learner: Learner, table: Table, limit: float) -> Learned | None:
    """Run a learner in a process of its own; None when it is stopped after `limit` seconds, its start included.

    The learner is a function of a module, as pickle wants it. Raises RunError for one that fails; its traceback is on
    stderr.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, learner, table))
    process.start()
    sender.close()  # so that the end of the process ends the wait
    try:
        return receiver.recv() if receiver.poll(limit) else None
    except EOFError:
        raise RunError(f"{learner.__name__} failed on {table.name}: see its traceback above") from None
    finally:
        process.kill()
        process.join()


def _send(sender: Connection, learner: Learner, table: Table) -> None:
    start = time.perf_counter()
    dag = learner(table)
    sender.send(Learned(dag, time.perf_counter() - start))


def _frame(table: Table) -> pd.DataFrame:
    """The codes as categories of the declared states; columns are numbers, which hash alike in every process."""
    states = [range(r) for r in table.cardinalities]
    return pd.DataFrame({i: pd.Categorical.from_codes(table.codes[:, i], states[i]) for i in range(len(states))})


def _bic(table: Table) -> BIC:
    return BIC(_frame(table), state_names={i: list(range(r)) for i, r in enumerate(table.cardinalities)})


def _of_pgmpy(adjacency: pd.DataFrame) -> BoolArray:
    """pgmpy's matrix has a 1 from parent to child, its nodes in any order."""
    nodes = range(len(adjacency))
    return adjacency.loc[nodes, nodes].to_numpy() == 1


def _of_causal_learn(graph: GeneralGraph) -> BoolArray:
    """A member of the class of a CPDAG; causal-learn's matrix has a 1 at [child, parent] of a directed edge."""
    return np.asarray(pdag2dag(graph).graph == 1).T
