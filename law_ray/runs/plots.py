"""The figures of a run as Plotly figures, from Python, and its page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from law_ray.errors import InputError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from law_ray.runs.run import Run


class Plots:
    """The plots of `law_ray.Run`; a notebook shows what they return.

    They need no objective; names of items are those in the journal.

    Example:
        >>> import law_ray
        >>> law_ray.load("law-ray-runs/my-run").plot_convergence().show()  # doctest: +SKIP
    """

    def plot_convergence(self, path: str | Path | None = None) -> "go.Figure | Path":
        """Draw the values and the best so far against the evaluations.

        Args:
            path: Where to write the figure for a paper, as PNG, SVG or PDF by its suffix. Without it, nothing is
                written.

        Returns:
            The Plotly figure, or the path.

        Raises:
            InputError: No evaluation has a value yet.
        """
        if path is not None:
            from law_ray.runs.report.prints import draw_convergence

            return draw_convergence(self._run, Path(path))
        from law_ray.runs.report.sections import convergence

        return convergence.figure(self._view())

    def plot_precedence(self) -> "go.Figure":
        """Draw how often each item comes before each other one, in the best and in all evaluations.

        Raises:
            InputError: No evaluation has a value yet.
        """
        from law_ray.runs.report.sections import settled

        return settled.precedence_figure(self._view())

    def plot_neighbours(self) -> "go.Figure":
        """Draw how often two items are neighbours on the closed tour, in the best and in all evaluations.

        Raises:
            InputError: No evaluation has a value yet.
        """
        from law_ray.runs.report.sections import settled

        return settled.neighbour_figure(self._view())

    def plot_positions(self) -> "go.Figure":
        """Draw how often each item has each position, in the best and in all evaluations.

        Raises:
            InputError: No evaluation has a value yet.
        """
        from law_ray.runs.report.sections import settled

        return settled.position_figure(self._view())

    def plot_rounds(self) -> "go.Figure":
        """Draw the weights and the noise of the model by round. Raises InputError without a model."""
        from law_ray.runs.report.sections import learned

        self._with_model()
        view = self._view()
        return learned.rounds_figure(view, learned.looked_at(view))

    def plot_predictions(self) -> "go.Figure":
        """Draw the observed values against those predicted before. Raises InputError without predictions."""
        from law_ray.runs.report import models
        from law_ray.runs.report.sections import trust

        self._with_model()
        view = self._view()
        found = trust.foresight(view) if models.predictable(view) else None
        if found is None or len(found.trials) < 2:
            raise InputError("the run has no values that came after a prediction: let it go on")
        return trust.prediction_figure(view, found)

    def plot_time_line(self) -> "go.Figure":
        """Draw when each evaluation ran, by node and slot. Raises InputError before any has ended."""
        from law_ray.runs.report.sections import cluster

        spans = cluster.time_line(self._view(with_value=False))
        if all(span.state == "choosing" for span in spans):
            raise InputError("no evaluation has ended yet: let the run go on")
        return cluster.figure(spans)

    def plot_information_gain(self, path: str | Path) -> Path:
        """Draw the information gain of the evaluations beside its bounds into a PNG, SVG or PDF file.

        Raises:
            InputError: The run has no fitted model.
        """
        from law_ray.runs.report.prints import draw_information_gain

        drawn = draw_information_gain(self._with_model(), Path(path))
        assert drawn is not None  # there is a model
        return drawn

    def write_page(self, path: str | Path | None = None, objective: Any = None) -> Path:
        """Write the page of the run, one HTML file, by default report.html in the run folder.

        Args:
            path: Where to write it.
            objective: The objective of the run, or its name, for what only that can tell: the network, tour or schedule
                of the best ordering.

        Returns:
            The path.

        Raises:
            InputError: The file cannot be written.
        """
        from law_ray.runs.objective import BlackBox
        from law_ray.runs.report import page

        if isinstance(objective, str):
            objective = BlackBox.load(objective)
        elif objective is not None and not isinstance(objective, BlackBox):
            objective = BlackBox(objective)
        return page.write(self._run, objective, None if path is None else Path(path))

    def _view(self, with_value: bool = True) -> Any:
        from law_ray.runs.report.view import View

        view = View.of(self._run)
        if with_value and not view.told:
            raise InputError("no evaluation has a value yet: let the run go on")
        return view

    def _with_model(self) -> "Run":
        run = self._run
        if run.optimizer.model is None:
            raise InputError(f"{run.folder} has no fitted model: choose a method with a model, or let the run go on")
        return run

    @property
    def _run(self) -> "Run":
        return cast("Run", self)
