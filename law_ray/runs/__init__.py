"""What is on disk, and how does a run resume and end?

`journal` is the file and `records` its lines; `run` replays them and `active` adds to them; `settings` has every option
of a run. `plots` has the figures of a run as its methods, and the folder `report` draws them. May import
`law_ray.optimizer` and what that may import; no module here imports Ray.
"""
