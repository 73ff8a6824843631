"""The figures of a run, from its journal."""

from pathlib import Path
from typing import Any

import numpy as np

from law_ray.errors import InputError
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.runs.run import Run
from law_ray.theory import finite_space_gain_bound, information_gains, position_gain_bound

DPI = 150


def draw_convergence(run: Run, path: Path | None = None) -> Path:
    """Draw the values of a run, and the best so far, against the evaluations.

    Args:
        run: The run.
        path: Where to write the figure; by default convergence.png in the run folder.

    Raises:
        InputError: No evaluation has a value yet.
    """
    from matplotlib.figure import Figure

    told = [trial for trial in run.ended if trial.state == "told"]
    if not told:
        raise InputError(f"{run.folder} has no evaluation to draw yet: let the run go on")
    figure = Figure(figsize=(7, 4.2))
    axes = figure.add_subplot()
    number, values = np.array([[trial.id + 1, trial.value] for trial in told]).T
    best = (np.maximum if run.settings.maximize else np.minimum).accumulate(values)
    initial = np.array([trial.round == 0 for trial in told])
    axes.plot(number[initial], values[initial], "o", ms=3.5, color="0.65", label="initial design")
    axes.plot(number[~initial], values[~initial], "o", ms=3.5, color="C0", alpha=0.6, label="chosen by the method")
    axes.step(number, best, where="post", color="C3", label="best so far")
    failed = [trial.id + 1 for trial in run.ended if trial.state == "failed"]
    if failed:
        height = axes.get_ylim()[1]
        axes.plot(failed, [height] * len(failed), "x", ms=5, color="k", label="failed", clip_on=False)
    value = best[-1] if run.winner is None else run.winner.value  # the best of noisy values is too good
    axes.set(xlabel="evaluations", ylabel="value", title=f"{run.objective['name']}: best {value:.6g}")
    axes.ticklabel_format(useOffset=False)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return _saved(figure, path or run.folder / "convergence.png")


def draw_information_gain(run: Run, path: Path | None = None) -> Path | None:
    """Draw the information that the evaluations gained, by the last fit, beside the bounds on it.

    The bounds (`law_ray.theory`) hold for any choice of as many evaluations. They are drawn for the position kernel,
    for which both are known.

    Args:
        run: The run.
        path: Where to write the figure; by default information_gain.png in the run folder.

    Returns:
        The path, or None for a run without a fitted model.
    """
    from matplotlib.figure import Figure

    model = run.optimizer.model
    if model is None:
        return None
    X = np.array([trial.permutation for trial in run.ended if trial.state == "told"])
    number = np.unique(np.geomspace(1, len(X), 60).astype(int))
    figure = Figure(figsize=(7, 4.2))
    axes = figure.add_subplot()
    bounds = {"bound for any kernel": finite_space_gain_bound, "bound for the position kernel": position_gain_bound}
    if isinstance(model, DistanceHyperparameters):
        for (label, bound), style in zip(bounds.items(), ("k:", "k--"), strict=True):
            axes.plot(number, [bound(X.shape[1], int(n), model) for n in number], style, lw=1, label=label)
    axes.plot(np.arange(1, len(X) + 1), information_gains(X, model), color="C0", label="of this run")
    axes.set(xlabel="evaluations", ylabel="information gain (nats)", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return _saved(figure, path or run.folder / "information_gain.png")


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=DPI, bbox_inches="tight")
    return path


def draw_dag(folder: Path, names: list[str], edges: list[list[str]]) -> Path:
    """Draw a directed acyclic graph, parents above children: dag.png."""
    import networkx as nx
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    place = _layered(graph)
    x, y = np.array(list(place.values())).T
    figure = Figure(figsize=(max(5.0, 1.35 * np.ptp(x) + 1.5), 0.95 * np.ptp(y) + 1.0), dpi=DPI)  # boxes depend on it
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(x.min() - 0.6, x.max() + 0.6), ylim=(y.min() - 0.5, y.max() + 0.5))
    axes.set_axis_off()
    box = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": "C0"}
    labels = {
        name: axes.text(*place[name], name, ha="center", va="center", size=9, bbox=box, zorder=3) for name in names
    }
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]  # the boxes get their sizes, which the arrows end at
    for parent, child in edges:
        # An edge past other layers bends around what lies between, outwards.
        layers = place[parent][1] - place[child][1]
        middle = (place[parent][0] + place[child][0]) / 2
        bend = 0.0 if layers <= 1 else min(0.35, 0.12 * layers) * (1 if middle >= 0 else -1)
        arrow = {
            "arrowstyle": "-|>",
            "color": "0.45",
            "shrinkA": 0,
            "shrinkB": 1,
            "patchA": labels[parent].get_bbox_patch(),
            "patchB": labels[child].get_bbox_patch(),
            "connectionstyle": f"arc3,rad={bend}",
        }
        axes.annotate("", place[child], place[parent], arrowprops=arrow, zorder=2)
    path = folder / "dag.png"
    figure.savefig(path, dpi=DPI)
    return path


def _layered(graph: Any) -> dict[str, tuple[float, float]]:
    """Nodes by depth, each layer ordered by the mean place of its parents (the barycentre rule), roots on top."""
    import networkx as nx

    place: dict[str, tuple[float, float]] = {}
    for depth, layer in enumerate(nx.topological_generations(graph)):
        above = {node: [place[parent][0] for parent in graph.predecessors(node)] for node in layer}
        ordered = sorted(layer, key=lambda node: (np.mean(above[node]) if above[node] else 0.0, node))
        for k, node in enumerate(ordered):
            # Every other layer is shifted a little, so that no edge runs along a column of nodes.
            place[node] = (k - (len(ordered) - 1) / 2 + 0.25 * (depth % 2), -float(depth))
    return place
