"""Structure learners of pyAgrum (https://pyagrum.gitlab.io), behind one signature: from Table to DAG.

They are given the declared states. MIIC (Verny, Sella, Affeldt, Singh & Isambert 2017) is constraint-based; here it
corrects its mutual information by NML.
"""

from typing import Any

import numpy as np
import pandas as pd
import pyagrum

from experiments.ours.networks.isolated import Learner
from law_ray.typing import BoolArray
from objectives.nml.data.tables import Table


def tabu_bic(table: Table) -> BoolArray:
    """Learn by hill climbing with a tabu list, on BIC."""
    learner = _learner(table)
    learner.useLocalSearchWithTabuList()
    learner.useScoreBIC()
    return _dag(learner, table)


def tabu_bdeu(table: Table) -> BoolArray:
    """Learn by hill climbing with a tabu list, on BDeu."""
    learner = _learner(table)
    learner.useLocalSearchWithTabuList()
    learner.useScoreBDeu()
    return _dag(learner, table)


def hc_bic(table: Table) -> BoolArray:
    """Learn by greedy hill climbing, on BIC."""
    learner = _learner(table)
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    return _dag(learner, table)


def miic_nml(table: Table) -> BoolArray:
    """Learn by MIIC with the NML correction."""
    learner = _learner(table)
    learner.useMIIC()
    learner.useNMLCorrection()
    return _dag(learner, table)


LEARNERS: dict[str, Learner] = {
    "agrum-tabu-bic": tabu_bic,
    "agrum-tabu-bdeu": tabu_bdeu,
    "agrum-hc-bic": hc_bic,
    "agrum-miic-nml": miic_nml,
}
"""The learners by name."""


def _learner(table: Table) -> Any:
    names = [str(i) for i in range(len(table.names))]
    template = pyagrum.BayesNet()
    for name, r in zip(names, table.cardinalities.tolist(), strict=True):
        template.add(pyagrum.LabelizedVariable(name, name, [str(state) for state in range(r)]))
    learner = pyagrum.BNLearner(pd.DataFrame(table.codes.astype(str), columns=names), template)
    learner.setNumberOfThreads(1)
    return learner


def _dag(learner: Any, table: Table) -> BoolArray:
    p = len(table.names)
    place = {learner.idFromName(str(i)): i for i in range(p)}
    dag = np.zeros((p, p), dtype=bool)
    for parent, child in learner.learnDAG().arcs():
        dag[place[parent], place[child]] = True
    return dag
