"""With few rows, does the true NML find better networks than its decomposable stand-ins and other learners?

`python -m experiments.ours.few_rows` plays the runs that are missing, one per CPU, and writes results/few_rows.md. A
finished run is a row of results/few_rows.csv. `--seeds 0` only reports on the rows that exist.

A run is a method on a data set: a network, a number of rows, and a seed. All methods on a data set get the same rows.
Networks are compared by their total (-max log-likelihood + NML regret), their distance from the true network, and the
log-likelihood of 10,000 fresh rows.
"""
