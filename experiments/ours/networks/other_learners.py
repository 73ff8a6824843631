"""Structure learners of other libraries behind one signature: from Table to DAG.

pgmpy (https://pgmpy.org) searches on BIC and is given the declared states. causal-learn
(https://causal-learn.readthedocs.io) has one score for discrete data, BDeu with sample size 1 and a prior on the number
of parents, and counts the states that it observes.
"""

import random

import numpy as np
import pandas as pd
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.search.PermutationBased.BOSS import boss
from causallearn.search.PermutationBased.GRaSP import grasp
from causallearn.utils.PDAG2DAG import pdag2dag
from pgmpy.causal_discovery import GES, HillClimbSearch
from pgmpy.structure_score import BIC

from experiments.ours.networks.isolated import Learner
from law_ray.typing import BoolArray
from objectives.nml.data.tables import Table


def hc_bic(table: Table) -> BoolArray:
    """Learn by hill climbing over DAGs, adding, removing and reversing edges, on BIC (pgmpy).

    There is no tabu list. With one, pgmpy stops at the first local optimum all the same, and its list of 100 moves only
    keeps the search from removing edges that it added.
    """
    search = HillClimbSearch(scoring_method=_bic(table), tabu_length=0, return_type="dag", show_progress=False)
    return _of_pgmpy(search.fit(_frame(table)).adjacency_matrix_)


def ges_bic(table: Table) -> BoolArray:
    """Learn by greedy equivalence search with a turning phase (Chickering 2002), on BIC (pgmpy)."""
    search = GES(scoring_method=_bic(table), return_type="dag")
    return _of_pgmpy(search.fit(_frame(table)).adjacency_matrix_)


def boss_bdeu(table: Table) -> BoolArray:
    """Learn by best-order score search (Andrews et al. 2023), on BDeu (causal-learn)."""
    random.seed(0)  # causal-learn draws from Python's global generator
    return _of_causal_learn(boss(table.codes, score_func="local_score_BDeu", verbose=False))


def grasp_bdeu(table: Table) -> BoolArray:
    """Learn by greedy relaxations of the sparsest permutation (Lam, Andrews & Ramsey 2022), on BDeu (causal-learn)."""
    random.seed(0)
    return _of_causal_learn(grasp(table.codes, score_func="local_score_BDeu", verbose=False))


LEARNERS: dict[str, Learner] = {
    "hc-bic": hc_bic,
    "ges-bic": ges_bic,
    "boss-bdeu": boss_bdeu,
    "grasp-bdeu": grasp_bdeu,
}
"""The learners by name."""


def _frame(table: Table) -> pd.DataFrame:
    """Return the codes as categories of the declared states; columns are numbers, whose hashes never vary."""
    states = [range(r) for r in table.cardinalities]
    return pd.DataFrame({i: pd.Categorical.from_codes(table.codes[:, i], states[i]) for i in range(len(states))})


def _bic(table: Table) -> BIC:
    return BIC(_frame(table), state_names={i: list(range(r)) for i, r in enumerate(table.cardinalities)})


def _of_pgmpy(adjacency: pd.DataFrame) -> BoolArray:
    """Return the DAG of pgmpy's matrix, which has a 1 at [parent, child] and its nodes in any order."""
    nodes = range(len(adjacency))
    return adjacency.loc[nodes, nodes].to_numpy() == 1


def _of_causal_learn(graph: GeneralGraph) -> BoolArray:
    """Return a DAG of the class of a CPDAG; causal-learn's matrix has a 1 at [child, parent] of a directed edge."""
    return np.asarray(pdag2dag(graph).graph == 1).T
