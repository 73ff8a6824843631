"""How is a batch chosen?

One file a method, and `registry` lists them all; `context` is what a method chooses from, `greedy` the loop that most
methods share. May import `law_ray.acquisition` and what that may import.
"""
