"""The page: for each network and number of rows a table of the methods, and a summary over all of them."""

import numpy as np
import pandas as pd

from experiments import markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.networks.methods import METHODS, OURS, PROBABLE, START, TRUTH
from experiments.ours.networks.playing import (
    BATCH_SIZE,
    EFFORT,
    FRESH_DRAWS,
    FRESH_ROWS,
    N_INIT,
    PER,
    PSEUDO_COUNT,
    SEARCH_SE,
)
from experiments.statistics import standard_error
from law_ray.runs.reevaluation import N_FINALISTS
from objectives.nml.objective import GUIDE_FACTOR

SCORES = {"total": -1, "shd_total": -1, "held_out": 1}
"""What is compared, and whether larger values are better (1) or worse (-1)."""
SAME_HELD_OUT = 0.5
"""nats: members of one equivalence class differ by up to 0.4, since each family has pseudo counts of its own."""
MEASURES = {
    "total": "Total, in nats",
    "shd_total": "Structural Hamming distance",
    "held_out": f"Log-likelihood of {PER:,} fresh rows, in nats",
}
KEYS = ["network", "n_rows"]
METHODS_IN_WORDS = f"""\
| method | what it is |
| --- | --- |
| law-SCORE | law_ray's search with that score in one process: up to {N_INIT} networks of greedy searches, then \
batches of {BATCH_SIZE}, {EFFORT.evals} evaluations in all. As `law-ray run` does, but for nml with standard errors of \
the regret of {SEARCH_SE} nats instead of 0.1, and the {N_FINALISTS} best evaluated {FRESH_DRAWS} times more |
| greedy-SCORE | the best of its greedy searches alone, for nml on quotient NML with {GUIDE_FACTOR} times its regret |
| {PROBABLE} | the network of {START} without the edges that are less probable than not |
| hc-bic, ges-bic | pgmpy's hill climbing and GES |
| boss-bdeu, grasp-bdeu | causal-learn's BOSS and GRaSP |
| agrum-tabu-bic, agrum-tabu-bdeu, agrum-hc-bic | pyAgrum's tabu search and hill climbing |
| agrum-miic-nml | pyAgrum's MIIC: independence tests, with its NML correction |
"""


def report(rows: pd.DataFrame) -> str:
    """Return the page."""
    parts = [
        "# Networks: which score, which learner, how many rows\n",
        f"{played_on(rows)} Regenerate with `python -m experiments.ours.networks`.\n",
        "Means over the data sets +- their standard errors.\n",
        METHODS_IN_WORDS,
        f"total: -max log-likelihood + NML regret, minus that of {OURS} on the same data, in nats; of {START} where "
        f"{OURS} was not played. SHD: structural Hamming distance of the equivalence classes from the true network, "
        f"the sum of its skeleton and orientation parts. held-out: log-likelihood of {PER:,} fresh rows, estimated "
        f"from the mean over {FRESH_ROWS:,}, minus that of the same method, in nats; {PSEUDO_COUNT} is added to each "
        "count of the table. seconds: processor time of our methods, wall time of others.\n",
        f"The factor {GUIDE_FACTOR} on quotient NML's regret and the share of path reversals among the kicks of greedy "
        "searches were tuned on some of these networks. Missing entries were not run.\n",
        "## In how many settings\n",
        f"A setting is a network and a number of rows. Only settings count in which {OURS} learned "
        f"{_data_sets(rows).max()} data sets, the maximum. A method is best or tied if no other method's mean is "
        "better by more than the standard error of their paired differences, by more than that of the totals "
        f"themselves, and for held-out by more than {SAME_HELD_OUT} nats, by which members of one equivalence class "
        f"differ. {TRUTH} does not count; nor does {PROBABLE}, which is a part of a network, except in its own line. "
        "The last line counts the settings in which the one or the other is best or tied.\n",
        summary(whole(rows)),
        f"## Where {OURS} is not the nearest to the truth\n",
        "The methods that are best or tied in SHD there.\n",
        nearer(whole(rows)),
        "## By the number of rows\n",
        f"Differences from {OURS}, averaged over the networks where the method learned the same data sets. Methods are "
        "comparable where these networks are the same, so their number is given.\n",
        *(f"{title}:\n\n{by_rows(rows, measure)}" for measure, title in MEASURES.items()),
        "## In how much time\n",
        "Means over the data sets, one thread each. The line goes from the greedy start of law_ray to its answer.\n",
        "![nats above the lowest total, against seconds](networks.png)\n",
        *(section(name, of_network) for name, of_network in rows.groupby("network", sort=False)),
    ]
    return "\n".join(parts)


def whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the settings in which OURS learned the most data sets."""
    learned = _data_sets(rows)
    return rows[(learned == learned.max()) & (learned > 0)]


def _data_sets(rows: pd.DataFrame) -> "pd.Series[int]":
    """Return how many data sets OURS learned in the setting of each row."""
    return (rows["method"] == OURS).groupby([rows[key] for key in KEYS]).transform("sum")


def summary(rows: pd.DataFrame) -> str:
    """Return a Markdown table: in how many settings each method is best or tied, by each measure."""
    networks = rows[rows["method"] != PROBABLE]
    best = {measure: best_or_tied(networks, measure) for measure in SCORES}
    settings = rows[rows["method"] != TRUTH].groupby("method")[KEYS].apply(lambda own: len(own.drop_duplicates()))
    counts: dict[str, list[object]] = {
        method: [sum(method in tied for tied in best[measure]) for measure in SCORES] for method in METHODS
    }
    with_probable = best_or_tied(rows, "shd_total")
    counts[PROBABLE] = ["", sum(PROBABLE in tied for tied in with_probable), ""]
    lines = [[method, int(settings[method]), *counts[method]] for method in METHODS if method in settings.index]
    if PROBABLE in settings.index:
        either = [PROBABLE in one or OURS in other for one, other in zip(with_probable, best["shd_total"], strict=True)]
        lines.append([f"{OURS} or {PROBABLE}", len(either), "", sum(either), ""])
    return markdown.table(["method", "settings", "best or tied: total", "SHD", "held-out"], lines)


def nearer(rows: pd.DataFrame) -> str:
    """Return a Markdown table of the settings where OURS is not best or tied in SHD, with the networks that are."""
    lines = []
    networks = rows[rows["method"] != PROBABLE]
    probable = rows[rows["method"] == PROBABLE].groupby(KEYS)["shd_total"].mean()
    for (setting, own), tied in zip(_settings(networks), best_or_tied(networks, "shd_total"), strict=True):
        means = own.groupby("method")["shd_total"].mean()
        if OURS in means and OURS not in tied:
            names = [method for method in METHODS if method in tied]
            nearest = ", ".join(f"{method} {means[method]:.1f}" for method in names)
            lines.append(
                [*setting, f"{means[OURS]:.1f}", f"{probable[setting]:.1f}" if setting in probable else "", nearest]
            )
    return markdown.table(["network", "rows", OURS, PROBABLE, "nearest"], lines)


def _settings(rows: pd.DataFrame) -> list[tuple[tuple[str, int], pd.DataFrame]]:
    """Return the settings, each with the rows of all methods but the truth."""
    groups = rows[rows["method"] != TRUTH].groupby(KEYS, sort=False)
    return [((str(network), int(n_rows)), own) for (network, n_rows), own in groups]


def by_rows(rows: pd.DataFrame, measure: str) -> str:
    """Return a Markdown table: how each method differs from OURS in a measure, by the number of rows.

    Only settings count in which the method learned all data sets that OURS did.
    """
    ours = rows[rows["method"] == OURS].set_index([*KEYS, "seed"])
    sizes = sorted(ours.index.unique("n_rows"))
    lines = []
    for method in METHODS:
        own = rows[rows["method"] == method].set_index([*KEYS, "seed"])
        if method == OURS or own.empty:
            continue
        apart = (own[measure] - ours[measure]).dropna().groupby(KEYS)
        same = apart.mean()[apart.size() == ours.groupby(KEYS).size().reindex(apart.size().index)]
        means = same.groupby("n_rows").agg(["mean", "size"])
        if len(means):
            found = (
                f"{means['mean'][size]:+.1f} ({means['size'][size]})" if size in means.index else "" for size in sizes
            )
            lines.append([method, *found])
    return markdown.table(["method", *(f"{size:,} rows" for size in sizes)], lines)


def best_or_tied(rows: pd.DataFrame, measure: str) -> list[set[str]]:
    """Return, for each setting, the methods that no other one is better than beyond the error of the difference."""
    found = []
    for _, setting in _settings(rows):
        values = SCORES[measure] * setting.pivot(index="seed", columns="method", values=measure)
        errors = setting.pivot(index="seed", columns="method", values="standard_error").fillna(0.0)
        values = values.dropna(axis=1, how="all")
        tied = set()
        for method in values:
            ahead = (values.drop(columns=method).sub(values[method], axis=0)).dropna(axis=1, how="all")
            least = np.full(ahead.shape[1], SAME_HELD_OUT if measure == "held_out" else 0.0)
            if measure == "total":  # the totals have errors of their own
                joint = np.hypot(errors[ahead.columns], errors[[method]].to_numpy()).where(ahead.notna())
                least = (np.sqrt((joint**2).sum()) / joint.count()).to_numpy()
            if not (ahead.mean() > np.fmax(ahead.sem().to_numpy(), least)).any():
                tied.add(str(method))
        found.append(tied)
    return found


def section(network: str, rows: pd.DataFrame) -> str:
    """Return the section of a network: a Markdown table of the methods, by the number of rows."""
    header = ["rows", "method", "total", "SHD", "skeleton", "orientation", "held-out", "edges", "seconds", "data sets"]
    lines = []
    for n_rows, setting in rows.groupby("n_rows"):
        reference = OURS if OURS in set(setting["method"]) else START
        ours = setting[setting["method"] == reference].set_index("seed")
        for method in METHODS:
            own = setting[setting["method"] == method]
            if own.empty:
                continue
            apart = {name: own[name] - own["seed"].map(ours[name]) for name in ("total", "held_out")}
            means = [
                _mean(apart["total"]),
                *(_mean(own[f"shd_{part}"]) for part in ("total", "skeleton", "orientation")),
                _mean(apart["held_out"]),
                _mean(own["edges"]),
            ]
            stopped = int(own["stopped"].astype(bool).sum())
            data_sets = f"{len(own)}, stopped on {stopped}" if stopped else str(len(own))
            lines.append([n_rows, method, *means, float(own["seconds"].mean()), data_sets])
    return f"## {network}\n\n{markdown.table(header, lines, 1)}"


def _mean(values: "pd.Series[float]") -> str:
    known = values.dropna().to_numpy(dtype=np.float64)
    return plus_minus(float(known.mean()), standard_error(known), 1) if len(known) else ""
