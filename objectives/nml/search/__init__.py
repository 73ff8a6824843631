"""Which edges does a table support, given an ordering or tests of independence, and which orderings are good to start?

Imports `objectives.nml.graphs` and `objectives.nml.scores`.
"""
