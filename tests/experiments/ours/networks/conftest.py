from importlib.util import find_spec

# These compare with causal-learn, which is in the extra `oracles`.
collect_ignore = [] if find_spec("causallearn") else ["test_other_learners.py"]
