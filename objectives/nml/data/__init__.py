"""How do a table and the user's knowledge become codes and matrices, and how is a fitted network written?

Imports `objectives.nml.graphs` and `objectives.nml.scores`.
"""
