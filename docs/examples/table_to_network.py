"""From a table to a network: learn which variables depend on which, with what is known of their order.

    python table_to_network.py

The table is made up, so that the true network is known: of a factory's line, whose shift and supplier influence the
temperature and the wear, and these the defects.
"""

import numpy as np
import pandas as pd

import law_ray
from objectives.nml import NML


def table(n_rows, seed=0):
    """Return a table of discrete columns; the comments are the true network."""
    rng = np.random.default_rng(seed)

    def yes(chance):
        return np.where(rng.random(n_rows) < chance, "yes", "no")

    shift = rng.choice(["early", "late", "night"], n_rows)
    supplier = rng.choice(["A", "B"], n_rows, p=[0.7, 0.3])
    hot = yes(np.where(shift == "night", 0.1, np.where(shift == "late", 0.6, 0.3)))  # shift -> hot
    worn = yes(np.where(supplier == "A", 0.15, 0.5))  # supplier -> worn
    chance = np.select([(hot == "yes") & (worn == "yes"), (hot == "yes") | (worn == "yes")], [0.6, 0.15], 0.02)
    defect = yes(chance)  # hot -> defect, worn -> defect
    alarm = yes(np.where(defect == "yes", 0.9, 0.03))  # defect -> alarm
    return pd.DataFrame(
        {"shift": shift, "supplier": supplier, "hot": hot, "worn": worn, "defect": defect, "alarm": alarm}
    )


if __name__ == "__main__":
    frame = table(n_rows=3000)
    # Causes that lie outside the line come first; no edge goes from a later tier to an earlier one.
    objective = NML(frame, tiers=[["shift", "supplier"], ["hot", "worn"], ["defect", "alarm"]])
    result = law_ray.minimize(objective, evals=40)
    explained = objective.explain(result.best.permutation, np.random.default_rng(0))
    print(f"total {explained['total']:.2f} nats, after {result.evaluations} evaluations")
    for parent, child in explained["edges"]:
        print(f"{parent} -> {child}")
    print("files:", *result.files)
