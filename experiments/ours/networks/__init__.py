"""Does the true NML find better networks than its decomposable stand-ins and other learners, and from how many rows?

`python -m experiments.ours.networks` plays the runs that are missing, one per CPU, and writes results/networks.md. A
finished run is a row of results/networks.csv. `--seeds 0` only reports on the rows that exist.

A run is a method on a data set: a network, a number of rows, and a seed. All methods on a data set get the same rows.
Networks are compared by their total (-max log-likelihood + NML regret), their distance from the true network, and the
log-likelihood of 10,000 fresh rows.
"""
