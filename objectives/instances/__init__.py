"""Where are the published instances, in which file formats, and what are their best known values?

One module reads each format. They import `law_ray.typing` and `errors` only.
"""
