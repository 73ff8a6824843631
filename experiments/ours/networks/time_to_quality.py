"""The figure: how far a network's total lies above the lowest, against the seconds that its method took."""

from pathlib import Path

import pandas as pd

from experiments.figures import legend, panels
from experiments.ours.networks.methods import METHODS, OURS, START, TRUTH

FEW = 500
"""Rows of the first panel of a network; the second has the most."""
COLUMNS, PANEL = 4, (3.2, 2.8)
"""Panels in a row, and their width and height in inches."""
MARKERS = {"law": "o", "greedy": "s", "agrum": "^"}
"""Of a family of methods; the learners of pgmpy and causal-learn have diamonds."""
LINEAR = 1.0
"""nats above the lowest total up to which the axis is linear, so that 0 is on it."""
LEAST_SECONDS = 0.01
CURVE = (START, OURS)


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Draw panels for each network, of FEW rows and of the most, where law-nml has learned from them."""
    shown = [panel for _, of_network in rows.groupby("network", sort=False) for panel in _panels(of_network)]
    if not shown:
        return
    figure, all_axes = panels([title for title, _ in shown], COLUMNS, PANEL, beside=1.8)
    styles = _styles()
    for axes, (_, found) in zip(all_axes, shown, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=LINEAR)
        axes.set_xlabel("seconds")
        for name in found.index.difference(CURVE):
            at = found.loc[name]
            axes.plot(at["seconds"], at["above"], ls="", ms=5, label=name, **styles[name])
        ours = found.loc[[name for name in CURVE if name in found.index]]
        axes.plot(ours["seconds"], ours["above"], "k-o", ms=6, lw=1.5, label=OURS, zorder=3)
        axes.set_ylim(-0.1 * LINEAR, max(LINEAR, 1.5 * found["above"].max()))
    legend(figure, list(METHODS))
    figure.supylabel("nats above the lowest total", fontsize=10)
    figure.savefig(path, dpi=110)


def _styles() -> dict[str, dict[str, str]]:
    """The marker of each method by its family, and its color within that."""
    styles: dict[str, dict[str, str]] = {}
    for name in METHODS:
        marker = MARKERS.get(name.split("-")[0], "D")
        number = sum(style["marker"] == marker for style in styles.values())
        styles[name] = {"marker": marker, "color": f"C{number}"}
    return styles


def _panels(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Titles, and for each method its means over the data sets that it finished: seconds, and nats above the lowest."""
    sizes = rows.loc[rows["method"] == OURS, "n_rows"]
    return [_panel(rows[rows["n_rows"] == size]) for size in sorted({FEW, sizes.max()} & set(sizes))]


def _panel(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    own = rows[(rows["method"] != TRUTH) & rows["total"].notna()]
    above = own["total"] - own.groupby("seed")["total"].transform("min")
    own = own.assign(above=above, seconds=own["seconds"].clip(lower=LEAST_SECONDS))
    return f"{own['network'].iloc[0]}, {own['n_rows'].iloc[0]:,} rows", own.groupby("method")[
        ["seconds", "above"]
    ].mean()
