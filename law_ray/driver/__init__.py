"""What does Ray do? The calls that start and follow a driver actor, and what that actor does.

The client (`api`) starts or joins a cluster and follows a driver actor on its own node. The actor holds the run folder,
chooses the batches and submits a task for each trial; the tasks call the objective. May import `law_ray.runs` and what
that may import; beside `law_ray.tune`, no other module of the library imports Ray.
"""
