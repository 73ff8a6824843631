"""How well does a network fit a table, by counting: likelihoods, decomposable scores and closed-form regrets?

Imports no other folder of `objectives`.
"""
