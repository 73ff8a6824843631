"""How large is the NML regret of a network, by the paper's estimator, by sequential Monte Carlo or exactly?

Imports `objectives.nml.graphs` and `objectives.nml.scores`.
"""
