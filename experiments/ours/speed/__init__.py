"""How long do the parts of a run take?

`python -m experiments.ours.speed` writes results/speed.md, in about an hour on two cores; `--part` measures a part of
it again. Figures are medians of several repeats, but of law-auto without an earlier fit. The choice of a batch is timed
as a whole, with the fit, the optimum estimate and all searches. It is the first model-based ask of an optimiser, so
there is no earlier fit, except where it is in a run. The values are lengths of tours through random cities, except
where a network or an assignment is named.
"""
