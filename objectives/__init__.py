"""Which black boxes over permutations are built in, and how does a name such as "qap:chr12a" become one?

Objectives know orderings and never the optimiser: they import only `law_ray.space`, `typing`, `errors` and `utils`.
"""

from objectives.base import Objective, families, is_code, load

__all__ = ["Objective", "families", "is_code", "load"]
