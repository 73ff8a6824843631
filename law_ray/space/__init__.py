"""Which orderings exist, and which of them are allowed and still free?

It may import `law_ray.utils`, `law_ray.typing` and `law_ray.errors`.
"""
