"""How alike are two orderings?

`protocol` says what a Gaussian process asks of a kernel; `distance`, `additive`, `tour` and `weighted_precedence` are
the kernels, and `loops` their compiled loops. May import `law_ray.space` and what every folder needs (`typing`,
`errors`, `utils`).
"""
