"""The page of a run: report.html, one file that needs no network.

The figures are Plotly's, drawn as SVG: they print well, take their colours from the page's style, and users know how to
zoom them. Its script makes 4.8 MB of the page. The orderings that a reader sees when pointing at an evaluation are
stored once, as base64, and those of the best evaluations alone where all would take more than MAX_ORDERING_BYTES.
"""

import base64
import json
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import plotly.io
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from law_ray.errors import InputError
from law_ray.runs import backup, journal
from law_ray.runs.objective import BlackBox, code_of
from law_ray.runs.report.blocks import Section
from law_ray.runs.report.sections import (
    answer,
    cluster,
    convergence,
    learned,
    orderings,
    pictures,
    settled,
    trust,
)
from law_ray.runs.report.view import View
from law_ray.runs.run import Run
from law_ray.utils.files import replacing

NAME = backup.PAGE
MAX_ORDERING_BYTES = 160_000
"""Of the orderings in a page, so that it stays below 6 MB."""
SECTIONS = (answer, pictures, convergence, settled, orderings, learned, trust, cluster)


def load(folder: Path, with_code: bool = False) -> tuple[Run, BlackBox | None]:
    """Return the run in a folder, and its objective where the journal names one that can be loaded.

    Args:
        folder: The run folder, perhaps a stranger's.
        with_code: Whether code that the journal names may run; otherwise only objectives of our own are loaded.

    Raises:
        InputError: The folder holds no run, or its journal is damaged.
    """
    run = Run.load(folder)
    code = code_of(run.objective)
    if run.objective["source"] is None or (code and not with_code):
        if code and run.objective.get("tells_more", False):
            warnings.warn(f"the page lacks what only the objective can tell: --import runs {code}", stacklevel=2)
        return run, None
    try:
        objective = BlackBox.from_record(run.objective)
    except InputError as error:
        warnings.warn(f"the page lacks what only the objective can tell: {error}", stacklevel=2)
        return run, None
    return (run if objective.prior_mean is None else Run.load(folder, objective.prior_mean)), objective


def journal_size(folder: Path) -> int:
    """Return the size of the journal, in bytes; 0 if there is none."""
    path = folder / journal.NAME
    return path.stat().st_size if path.is_file() else 0


def write(run: Run, objective: BlackBox | None = None, path: Path | None = None, refresh: int | None = None) -> Path:
    """Write the page of a run.

    Args:
        run: The run, as `Run.load` returns it.
        objective: Its objective, for what only that can tell: names, pictures, the parts of the answer.
        path: Where to write it; by default report.html in the run folder.
        refresh: Seconds after which a browser reads the page again, for a run that goes on.

    Returns:
        The path.

    Raises:
        InputError: The page cannot be written.
    """
    path = path or run.folder / NAME
    text = render(View.of(run, objective), refresh)
    try:
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror}): give another path (--out FILE)") from None
    return path


def render(view: View, refresh: int | None = None) -> str:
    """Return the page as HTML."""
    sections = [section for each in SECTIONS if (section := each.section(view)) is not None]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("law_ray.runs.report", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    run, assets = view.run, Path(__file__).parent / "assets"
    return environment.get_template("page.html").render(
        title=run.objective["name"],
        headline=answer.headline(view),
        state=answer.state(view),
        evaluations=f"{len(run.ended)} of {run.settings.evals} evaluations",
        sections=sections,
        refresh=refresh,
        version=metadata.version("law-ray"),
        style=Markup((assets / "page.css").read_text(encoding="utf-8")),
        script=Markup((assets / "page.js").read_text(encoding="utf-8")),
        plotly=Markup(get_plotlyjs()),
        figures=_embedded(_figures(sections)),
        trials=_embedded(_orderings(view)),
        picture=Markup,
    )


def _figures(sections: list[Section]) -> dict[str, Any]:
    blocks = [block for section in sections for block in section.blocks if block.kind == "figure"]
    return {block.name: json.loads(plotly.io.to_json(block.figure, validate=False)) for block in blocks}


def _orderings(view: View) -> dict[str, Any]:
    """Return names and orderings, of all trials or of the best ones, for the script of the page."""
    n_items = len(view.names)
    dtype = np.dtype("u1" if n_items <= 256 else "<u2")
    trials = [view.told[k] for k in view.ranking] + view.failed
    stored = trials[: max(1, MAX_ORDERING_BYTES // (n_items * dtype.itemsize))]
    array = np.array([trial.permutation for trial in stored], dtype=dtype)
    return {
        "names": view.short_names,
        "bytes": dtype.itemsize,
        "ids": [trial.id for trial in stored],
        "orderings": base64.b64encode(array.tobytes()).decode(),
    }


def _embedded(data: Any) -> Markup:
    """Return JSON that can stand in a script element: no tag can end it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
