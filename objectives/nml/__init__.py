"""Which Bayesian network does an ordering give, and how well does it explain a table of discrete data?

`NML` is the objective. `data` reads tables and what is known of their network, `graphs` compares networks, `search`
turns an ordering into a network, `scores` and `regret` compute what is minimised. Within the package `graphs` and
`scores` import no other folder, `data`, `search` and `regret` import these two, and `objective` imports all.
"""

from objectives.nml.graphs.structure import dag_from_order
from objectives.nml.objective import NML
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores.contingency import max_log_likelihood
from objectives.nml.scores.multinomial import multinomial_regret
from objectives.nml.search.pc_stable import skeleton

__all__ = ["NML", "dag_from_order", "max_log_likelihood", "multinomial_regret", "nml_regret", "skeleton"]
