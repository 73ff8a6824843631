"""Where is it worth looking next, and how is the best place found?

It may import `law_ray.models`, and whatever that may import: `law_ray.kernels`, `law_ray.space` and `law_ray.utils`.
"""
