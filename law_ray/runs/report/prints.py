"""PNG and SVG figures of a run, from its journal, for papers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from law_ray.errors import InputError
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.models.standardize import Standardization
from law_ray.runs.report.graph_layout import SURE, Confidence, layout, line_style
from law_ray.runs.run import Run
from law_ray.theory import finite_space_gain_bound, information_gains, position_gain_bound
from law_ray.utils.files import replacing

DPI = 150
MAX_PIXELS = 6_000
"""Of the side of a network's picture; a larger one is drawn at fewer dots per inch."""


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
    return saved(figure, path or run.folder / "convergence.png")


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
    told = [trial for trial in run.ended if trial.state == "told"]
    X = np.array([trial.permutation for trial in told])
    standardize = Standardization.of(np.array([trial.value for trial in told]))
    known_noise = standardize.known_noise(np.array([trial.standard_error for trial in told]))
    number = np.unique(np.geomspace(1, len(X), 60).astype(int))
    figure = Figure(figsize=(7, 4.2))
    axes = figure.add_subplot()
    bounds = {"bound for any kernel": finite_space_gain_bound, "bound for the position kernel": position_gain_bound}
    if isinstance(model, DistanceHyperparameters):
        for (label, bound), style in zip(bounds.items(), ("k:", "k--"), strict=True):
            axes.plot(number, [bound(X.shape[1], int(n), model) for n in number], style, lw=1, label=label)
    axes.plot(np.arange(1, len(X) + 1), information_gains(X, model, known_noise), color="C0", label="of this run")
    axes.set(xlabel="evaluations", ylabel="information gain (nats)", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return saved(figure, path or run.folder / "information_gain.png")


def saved(figure: Any, path: Path, **options: Any) -> Path:
    """Write a figure of matplotlib as a whole, and return the path. Raises InputError if it cannot be written."""
    try:
        with replacing(path) as partial:
            form = path.suffix.removeprefix(".") or "png"
            figure.savefig(partial, format=form, **{"dpi": DPI, "bbox_inches": "tight"} | options)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror}): correct that, or copy the run folder") from None
    return path


def draw_dag(
    folder: Path, names: Sequence[str], edges: Sequence[Sequence[str]], sure: Confidence | None = None
) -> Path:
    """Draw a directed acyclic graph, parents above children: dag.png, at most MAX_PIXELS wide and high.

    An edge that is not `SURE` is dashed, an improbable one dotted; where the direction is not sure, the head of the
    arrow is hollow.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, Rectangle
    from matplotlib.path import Path as Curve

    drawn = layout(list(names), [(parent, child) for parent, child in edges])
    margin = 0.15
    width, height = drawn.width + 2 * margin, drawn.height + 2 * margin
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-margin, width - margin), ylim=(height - margin, -margin))
    axes.set_axis_off()
    for ends, points in drawn.edges.items():
        edge, direction = (sure or {}).get(ends, (1.0, 1.0))
        head = "0.4" if direction >= SURE else "white"
        curve = Curve(points, [Curve.MOVETO, *(len(points) - 1) * [Curve.CURVE4]])
        looks: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 10, "edgecolor": "0.4", "zorder": 1}
        axes.add_patch(FancyArrowPatch(path=curve, linestyle=line_style(edge), facecolor=head, **looks))
    for box in drawn.boxes.values():
        corner = (box.x - box.width / 2, box.y - box.height / 2)
        axes.add_patch(Rectangle(corner, box.width, box.height, facecolor="white", edgecolor="C0", zorder=2))
        axes.text(box.x, box.y, box.label.replace("$", r"\$"), ha="center", va="center", size=10, zorder=3)
    dpi = min(DPI, MAX_PIXELS / max(width, height))
    return saved(figure, folder / "dag.png", dpi=dpi, bbox_inches=None)
