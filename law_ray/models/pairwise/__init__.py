"""What does the pairwise model believe: how pairs of items interact, and how pairs of positions do?

`fit_pairwise` is law-auto's model as a whole: the process of `law_ray.models.selection`, and the pairwise model beside
it. `ensemble` says what the pairwise model is, `gibbs` draws from its posterior.
"""
