"""The figures that the paper published in its supplement, with which ours are compared.

*Batch Bayesian Optimization on Permutations using the Acquisition Weighted Kernel* (NeurIPS 2022) gives the mean of the
best values of each method, its standard error, and after how many evaluations. Means are over 15 runs of a benchmark,
and over 5 of structure learning (`nml:`, in nats).

Its main text differs in places. Table 1 rounds the benchmarks further, leaves out the variants of LAW that use the
prior, and swaps the ranks of q-EI and LAW-EI on burma14. Table 2 prints the values of insurance 2,000 nats lower, and
that of the genetic algorithm on alarm 1,000 nats lower.
"""

from pathlib import Path

import pandas as pd

FIGURES = Path(__file__).parent / "paper_tables.csv"
TABLE_1 = (
    *("bucb", "dpp-max-est", "dpp-sample-est", "mace-ucb", "mace-est"),
    *("q-ei", "q-est", "law-ei", "law-est"),
)
"""The nine methods that Table 1 ranks."""


def figures() -> pd.DataFrame:
    """Return one row per figure, with the columns problem, method, evaluations, mean and standard_error."""
    return pd.read_csv(FIGURES)
