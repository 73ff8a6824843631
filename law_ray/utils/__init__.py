"""What does every other package need: compiled loops, threads, random generators and the parsing of items?

It may import nothing of `law_ray` but `law_ray.typing` and `law_ray.errors`.
"""
