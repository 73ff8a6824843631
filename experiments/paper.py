"""The figures of the paper's supplement, with which ours are compared.

*Batch Bayesian Optimization on Permutations using the Acquisition Weighted Kernel* (NeurIPS 2022): the mean best value
of every method and its standard error, over 15 runs of a benchmark and 5 of structure learning (`nml:`, in nats), and
after how many evaluations. Table 1 prints the benchmarks with fewer digits and without the variants of LAW that use the
prior; on burma14 it exchanges the ranks of q-EI and LAW-EI. Table 2 prints insurance 2,000 nats lower, and the genetic
algorithm on alarm 1,000.
"""

from pathlib import Path

import pandas as pd

FIGURES = Path(__file__).parent / "paper_tables.csv"
TABLE_1 = (
    *("bucb", "dpp-max-est", "dpp-sample-est", "mace-ucb", "mace-est"),
    *("q-ei", "q-est", "law-ei", "law-est"),
)  # the methods that it ranks


def figures() -> pd.DataFrame:
    """One row each, with the columns problem, method, evaluations, mean and standard_error."""
    return pd.read_csv(FIGURES)
