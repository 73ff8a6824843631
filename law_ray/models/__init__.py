"""What does the model believe about orderings that were not evaluated?

`gp` is the Gaussian process and has the notation table of the library; `fit_distance`, `fit_additive`, `fit_tour` and
`fit_weighted_precedence` fit the kernels, and `selection` chooses between them. May import `law_ray.kernels` and what
that may import.
"""
