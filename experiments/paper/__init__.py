"""Do we reproduce the paper? Its tables from our runs, beside the figures that it published.

May import `law_ray`, `objectives` and the modules of `experiments` itself, but not `experiments.ours`.
"""
