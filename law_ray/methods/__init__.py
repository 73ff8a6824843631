"""How is a batch chosen?

There is one file per method, and `registry` lists them all. `context` is what a method chooses from, `greedy` the loop
that most methods share. May import `law_ray.acquisition` and what that may import.
"""
