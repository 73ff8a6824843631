"""Draw the figures of docs/explanation/law.md: one batch of LAW on a toy of five jobs, whose 120 orderings fit a page.

    python tools/law_in_pictures.py [FOLDER]

FOLDER is docs/images by default. Everything in the figures is computed by the functions that a run uses.
"""

import sys
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.acquisition.functions import est, sigmoid_weight
from law_ray.kernels.distance import position_distances
from law_ray.methods.context import BatchContext
from law_ray.methods.law import estimate_optimum, gain_of, law_est
from law_ray.models import fit_distance
from law_ray.models.gp import GaussianProcess
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import enumerate_all
from law_ray.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
JOBS = "ABCDE"
MINUTES = np.array([3, 6, 2, 5, 4])
DUE = np.array([5, 20, 9, 12, 7])
N_KNOWN, BATCH, SEED = 10, 4, 1


def total_tardiness(permutations: IntArray) -> FloatArray:
    """Return by how many minutes the jobs are late in all, (m,), when done in the order of (m, 5) permutations."""
    ends = np.cumsum(MINUTES[permutations], axis=1)
    late: FloatArray = np.maximum(ends - DUE[permutations], 0).sum(axis=1).astype(float)
    return late


@dataclass(frozen=True)
class Toy:
    """The state in which the batch is chosen, and the batch."""

    orderings: IntArray
    """(120, 5) all orderings"""
    values: FloatArray
    """(120,) minutes late, which the method knows only at `known`"""
    known: IntArray
    """(N_KNOWN,) indices of the evaluated orderings"""
    posterior: GaussianProcess
    batch: IntArray
    """(BATCH,) indices of the orderings that LAW-EST chooses, in its order"""
    optimum_estimate: float

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """The posterior mean and variance, each (120,), in standardized units."""
        return self.posterior.predict(self.orderings)

    @cached_property
    def acquisition(self) -> FloatArray:
        """EST's a(x), (120,)."""
        return est(*self.moments, self.optimum_estimate)

    def gains(self, size: int) -> FloatArray:
        """Return what each ordering would add to the log determinant of a batch of the first `size` points, (120,)."""
        given = self.posterior.condition(self.orderings[self.batch[:size]]) if size else self.posterior
        gain = gain_of(partial(est, optimum_estimate=self.optimum_estimate), sigmoid_weight)
        return gain(*self.moments, given.predict(self.orderings)[1])

    def weighted_kernel(self, points: IntArray) -> FloatArray:
        """Return L^AW of some orderings, (m, m); the observation noise is on the diagonal, as in the algorithm."""
        V = self.posterior.whiten(self.orderings[points])
        L = self.posterior.kernel(self.orderings[points], self.orderings[points]) - V.T @ V
        L[np.diag_indices(len(points))] += self.posterior.hyperparameters.noise
        w = sigmoid_weight(self.acquisition[points])
        return np.outer(w, w) * L

    @cached_property
    def best_by_acquisition(self) -> IntArray:
        """The indices (BATCH,) of the free orderings with the largest acquisition: a batch without diversity."""
        free = np.setdiff1d(np.arange(len(self.orderings)), self.known)
        return free[np.argsort(-self.acquisition[free], kind="stable")[:BATCH]]

    @cached_property
    def map(self) -> FloatArray:
        """Each ordering as a point of the plane, (120, 2): classical scaling of their position distances."""
        squared = position_distances(self.orderings, self.orderings).astype(float) ** 2
        centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
        values, vectors = np.linalg.eigh(-centred / 2)
        return vectors[:, -2:] * np.sqrt(values[-2:])


def toy() -> Toy:
    """Evaluate N_KNOWN random orderings, fit the model, and choose a batch by LAW-EST."""
    rng = np.random.default_rng(SEED)
    orderings = enumerate_all(len(JOBS))
    values = total_tardiness(orderings)
    known = rng.choice(len(orderings), N_KNOWN, replace=False)
    X, y = orderings[known], values[known]
    posterior = GaussianProcess(X, y, fit_distance.fit(X, y, rng))
    constraints = Constraints(len(JOBS))
    context = BatchContext(
        X, y, np.zeros(N_KNOWN), 1, Exclusions(None, X), constraints, rng, np.empty((0, len(JOBS)), np.int64), posterior
    )
    optimum = estimate_optimum(posterior, context.best, constraints, rng)
    chosen = law_est(context, BATCH)
    batch = np.array([int(np.flatnonzero((orderings == point).all(axis=1))[0]) for point in chosen])
    return Toy(orderings, values, known, posterior, batch, optimum)


def draw(toy: Toy, folder: Path) -> list[Path]:
    """Draw the three figures as SVG into a folder, and return their paths."""
    import matplotlib

    matplotlib.rcParams.update({"svg.hashsalt": "law", "font.size": 9, "svg.fonttype": "none"})
    drawn = {"law-model": draw_model(toy), "law-batch": draw_batch(toy), "law-determinant": draw_determinant(toy)}
    paths = []
    for name, figure in drawn.items():
        paths.append(folder / f"{name}.svg")
        figure.savefig(paths[-1], metadata={"Date": None}, facecolor="white", bbox_inches="tight")
    return paths


def draw_model(toy: Toy) -> "Figure":
    """Draw what is true, and what the model believes: the values, the posterior mean, its deviation, the weight."""
    figure, axes = _panels(2, 2, (7.6, 6.4))
    mean, variance = toy.moments
    standardize = toy.posterior.standardize
    scale = {"vmin": toy.values.min(), "vmax": toy.values.max(), "cmap": "viridis"}
    deviation = np.sqrt(variance) * np.ptp(standardize.inverse(np.array([0.0, 1.0])))
    _map(figure, axes[0, 0], toy, toy.values, "1. The truth, which nobody knows\nminutes late", **scale)
    _map(figure, axes[0, 1], toy, standardize.inverse(mean), "2. What the model expects\nminutes late", **scale)
    _map(figure, axes[1, 0], toy, deviation, "3. How unsure it is\nstandard deviation, minutes", cmap="cividis")
    weight = sigmoid_weight(toy.acquisition)
    _map(figure, axes[1, 1], toy, weight, "4. Where it is worth looking\nweight w(a(x))", cmap="magma")
    best = int(toy.values.argmin())
    axes[0, 0].annotate(
        f"best: {_name(toy.orderings[best])}",
        toy.map[best],
        xytext=(0.98, 0.98),
        textcoords="axes fraction",
        ha="right",
        va="top",
        arrowprops={"arrowstyle": "->", "color": "0.3"},
    )
    for each in axes.flat:
        each.plot(*toy.map[toy.known].T, "o", mfc="none", mec="#d62728", mew=1.4, ms=9)
    return figure


def draw_batch(toy: Toy) -> "Figure":
    """Draw how the batch grows: what each ordering would add, and the point that is taken."""
    figure, axes = _panels(2, BATCH // 2, (7.6, 6.4))
    for b, each in enumerate(axes.flat):
        shown = toy.acquisition if b == 0 else toy.gains(b)
        title = f"point {b + 1}: {_name(toy.orderings[toy.batch[b]])}\n" + ("acquisition a(x)" if b == 0 else "gain")
        shown = shown.copy()
        shown[[*toy.known, *toy.batch[:b]]] = np.nan  # they may not be proposed
        _map(figure, each, toy, shown, title, cmap="magma")
        each.plot(*toy.map[toy.known].T, "o", mfc="none", mec="#d62728", mew=1.2, ms=7)
        each.plot(*toy.map[toy.batch[:b]].T, "s", mfc="none", mec="#1f77b4", mew=1.6, ms=9)
        each.plot(*toy.map[toy.batch[b]], "*", color="#2ca02c", mec="white", ms=16)
    return figure


def draw_determinant(toy: Toy) -> "Figure":
    """Draw the weighted kernel of the batch beside that of the points with the largest acquisition."""
    figure, axes = _panels(1, 2, (7.2, 3.6))
    for each, points, title in zip(
        axes.flat, (toy.best_by_acquisition, toy.batch), ("the four largest a(x)", "LAW's batch"), strict=True
    ):
        L = toy.weighted_kernel(points)
        names = [_name(toy.orderings[i]) for i in points]
        scale = np.sqrt(np.outer(np.diag(L), np.diag(L)))
        image = each.imshow(L / scale, cmap="RdBu_r", vmin=-1, vmax=1)
        for (i, j), value in np.ndenumerate(L / scale):
            each.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.7 else "black")
        each.set_xticks(range(BATCH), names)
        each.set_yticks(range(BATCH), names)
        each.set_title(f"{title}: log det = {np.linalg.slogdet(L)[1]:.2f}")
        each.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, shrink=0.8, label="correlation")
    return figure


def _panels(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, Any]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _map(figure: "Figure", axes: "Axes", toy: Toy, values: FloatArray, title: str, **style: Any) -> None:
    """Draw all orderings on the map, coloured by `values`."""
    points = axes.scatter(toy.map[:, 0], toy.map[:, 1], c=values, s=34, linewidths=0, **style)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.set_title(title, fontsize=9.5)
    axes.spines[:].set_visible(False)
    figure.colorbar(points, ax=axes, shrink=0.75)


def _name(permutation: IntArray) -> str:
    return "".join(JOBS[item] for item in permutation)


def main() -> None:
    """Draw into the folder that the command line names."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    for path in draw(toy(), folder):
        print(path)


if __name__ == "__main__":
    main()
