"""How good is law-auto beside the optimisers that its users would pick instead?

`python -m experiments.ours.general_rivals` plays the runs that are missing, one per CPU, and writes
results/general_rivals.md. A finished run is a row of results/general_rivals.csv; `--seeds 0` only reports. The other
libraries are in the extra `rivals`. One that is not installed is skipped, with a line that says how to install it.
"""
