"""What is on disk, and how does a run resume, end and report?

`journal` is the file and `records` its lines; `run` replays them and `active` adds to them; `settings` has every option
of a run. May import `law_ray.optimizer` and what that may import; no module here imports Ray.
"""
