"""What does a run look like, on its page and in figures?

`page` writes report.html, from what the folder `sections` returns: blocks (`blocks`), most of them Plotly figures, made
from a `View` of the run. Python users get the same figures from `law_ray.load(folder).plot_convergence()` and the like.
`prints` draws PNG and SVG with Matplotlib, for papers. Nothing outside this folder imports it at the top: Plotly takes
half a second to import.
"""
