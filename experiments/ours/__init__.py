"""What do we claim beyond the paper? Speed, scaling, faults, other problems, other learners and the parts of law-auto.

May import `law_ray`, `objectives` and the modules of `experiments` itself, but not `experiments.paper`. `speed` also
imports `tests.oracles`, to compare with the plain LAW of the tests.
"""
