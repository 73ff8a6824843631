"""`python -m law_ray` is the command line `law-ray`."""

from law_ray.cli import main

main()
