"""`minimize` and `resume`: the calls that start a driver actor and follow it to its end."""

import difflib
import inspect
import logging
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from ray.exceptions import RayError

from law_ray.driver.actor import Spec, Start, start_driver
from law_ray.driver.callbacks import Callback, CallbackError, Callbacks
from law_ray.driver.children import children_ended
from law_ray.driver.client import ignore_interrupts, interrupts, stop, user_error, watch
from law_ray.driver.cluster import check_request, connected
from law_ray.driver.detached import start_detached
from law_ray.driver.serialization import dumps
from law_ray.errors import InputError, Interrupted, RunError
from law_ray.methods.registry import METHODS
from law_ray.optimizer import Optimizer
from law_ray.result import Result, concluded
from law_ray.runs import backup as backups
from law_ray.runs import journal
from law_ray.runs.objective import BlackBox, say_what_runs
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings, options
from law_ray.utils.threads import available_cpus

log = logging.getLogger(__name__)

Objective = Callable[..., Any] | str | BlackBox

MANY_ITEMS = 200
"""Beyond this many items, fitting a model and searching it take minutes (`docs/explanation/limits.md`)."""
HANDOVER = 5.0
"""Seconds that a resume waits for a process that was killed to let go of the run folder (heuristic)."""


def minimize(
    objective: Objective,
    n_items: int | None = None,
    *,
    start: ArrayLike | str = "auto",
    out: str | Path | None = None,
    address: str | None = None,
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> Result:
    """Find the ordering with the smallest (or, with `maximize`, largest) value of an expensive black box, on Ray.

    An evaluation that raises, or returns no finite number, fails alone. Results depend on the seed, the batch size and
    the number of threads, not on the workers. For a cheap objective, or one that your own program evaluates, use
    `law_ray.Optimizer`.

    Args:
        objective: f(permutation) or f(permutation, rng) -> float or (float, standard_error), see
            `objectives.Objective`; or its name, such as "nml:sachs" or "path/to/file.py:function".
        n_items: The size of the permutations, unless the objective has it.
        start: What the initial design holds before it is filled up with random orderings. "auto": the orderings that
            the objective suggests (`starts`). An array of orderings: these, and then as "auto".
            "none": random orderings alone.
        out: The run folder, by default a new one in law-ray-runs. Every result is in its journal at once.
        address: The address of a Ray cluster to join. A cluster that this process has joined with `ray.init` takes
            precedence. By default a new cluster is started on this machine.
        progress: Whether to show a progress line on stderr.
        callbacks: Functions that are called in this process with each `Trial` that was told or has failed, in the
            order of the journal, but not with re-evaluations. A callback that raises ends the run, which can be
            resumed, and its error is raised here.
        **settings: The options below. Items in `before` and `fixed` may be given by name where the objective has names.

    Returns:
        What the run found.

    Raises:
        InputError: A bad argument.
        RunError: The run itself failed, or no evaluation succeeded.
        KeyboardInterrupt: The run was interrupted (Ctrl-C, SIGTERM). The message says how to continue it.

    Example:
        >>> result = minimize(lambda p: float(p[0]), 6, evals=30)  # doctest: +SKIP
        >>> result.best.value  # doctest: +SKIP
        0.0

        A callback can write to an experiment tracker, such as MLflow:

        >>> def track(trial):
        ...     if trial.state == "told":
        ...         mlflow.log_metric("value", trial.value, step=trial.id)
        >>> result = minimize(lambda p: float(p[0]), 6, evals=30, callbacks=[track])  # doctest: +SKIP

    Options:
    """
    black_box = _black_box(objective)
    spec = _spec(black_box, n_items, start, out, **settings)
    return _follow(black_box, spec, address, progress, callbacks)


def _document(function: Callable[..., Any]) -> None:
    """Give a function that takes the options of `Settings` their signature, and their help in its docstring."""
    own = inspect.signature(function)
    parameters = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    lines = []
    for group in dict.fromkeys(each.metadata["group"] for each in options().values()):
        lines.append(f"        {group}:")
        for name, each in options().items():
            if each.metadata["group"] == group:
                default = "auto" if name == "batch_size" else each.default
                parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
                lines.append(f"            {name} = {default!r}: {each.metadata['help']}")
    function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), *(line[4:] for line in lines), ""])


_document(minimize)


def launch(
    objective: Objective,
    name: str,
    address: str | None,
    n_items: int | None = None,
    start: ArrayLike | str = "auto",
    out: str | Path | None = None,
    **settings: Any,
) -> Path:
    """Start a run that goes on by itself on the Ray cluster at `address`, and return its folder, which is on this node.

    The name is what `attach` and `stop` take. The driver loads the objective by its name, so it must have been given by
    name. The other arguments and the errors are those of `minimize`.
    """
    spec = _spec(_black_box(objective), n_items, start, out, **settings)._replace(name=name)
    start_detached(spec, address)
    return spec.folder


def _black_box(objective: Objective) -> BlackBox:
    if isinstance(objective, BlackBox):
        return objective
    return BlackBox.load(objective) if isinstance(objective, str) else BlackBox(objective)


def _spec(
    objective: BlackBox, n_items: int | None, start: ArrayLike | str, out: str | Path | None, **settings: Any
) -> Spec:
    """Check and resolve the arguments of `minimize`."""
    if unknown := settings.keys() - options().keys():
        known = [name for name in inspect.signature(minimize).parameters if name != "objective"]
        alike = difflib.get_close_matches(min(unknown), known, 1, cutoff=0.82)
        meant = f"do you mean {alike[0]}? There are" if alike else "choose among"
        raise InputError(f"there is no option {min(unknown)}: {meant} {', '.join(known)}")
    n_items = objective.n_items(n_items)
    fixed = settings.pop("fixed", None)
    constraints = objective.constraints(n_items, settings.pop("before", ()), () if fixed is None else fixed)
    batch_size = settings.pop("batch_size", "auto")
    resources = settings.pop("resources", None) or {}
    if not isinstance(resources, Mapping):
        raise InputError(f"resources is {resources!r}: give a dictionary of names and amounts")
    if isinstance(batch_size, str) and batch_size != "auto":
        raise InputError(f'batch_size is {batch_size!r}: give an integer of at least 1, or "auto"')
    resolved = Settings(
        n_items=n_items,
        batch_size=None if isinstance(batch_size, str) else batch_size,
        threads=available_cpus(),
        resources=tuple(resources.items()),
        before=constraints.before,
        fixed=constraints.fixed,
        **settings,
    )
    if n_items > MANY_ITEMS and METHODS[resolved.method].model is not None:
        log.warning(
            "%d items: %s is likely to take minutes to choose a batch; local-search takes none",
            n_items,
            resolved.method,
        )
    if resolved.split > 1 and not objective.has_parts:
        raise InputError(f"split is {resolved.split}, but {objective.name} has no parts: leave it out")
    if not isinstance(out, str | os.PathLike | None):
        raise InputError(f"out is {out!r}: give the path of a folder")
    folder = Path(out) if out is not None else journal.folder_for(objective.name, resolved.seed)
    journal.check_free(folder)
    if resolved.backup is not None:
        backups.check_free(resolved.backup)
    record = objective.to_record(launch=uuid.uuid4().hex)
    return Spec(folder.absolute(), resolved, record, _start(start, resolved, objective.item_names))


def _start(start: ArrayLike | str, settings: Settings, names: list[str] | None) -> Start:
    if isinstance(start, str):
        if start not in ("auto", "none"):
            raise InputError(f'start is {start!r}: give orderings, "auto" or "none"')
        return Start(with_suggested=start == "auto")
    checked = Optimizer(
        settings.n_items, n_init=settings.n_init, constraints=settings.constraints, start=start, item_names=names
    )
    return Start(checked.start.tolist())


def resume(
    out: str | Path,
    objective: Objective | None = None,
    *,
    evals: int | None = None,
    backup: str | None = None,
    address: str | None = None,
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Continue the run in a folder where its journal ends.

    Trials that were still pending are evaluated under the same ids, and with the same random numbers.

    Args:
        out: The run folder.
        objective: The objective that the run was started with. By default it is loaded by the name in the journal,
            which runs its code: the log says which, as a warning. Do so with your own runs only.
        evals: A larger budget, which extends the run.
        backup: A URI where to keep a copy of the run folder from now on; by default where it was kept so far.
            `law_ray.runs.backup.fetch` brings a run back from there.
        address: As for `minimize`.
        progress: As for `minimize`.
        callbacks: As for `minimize`; they are not called with trials that ended before this resume.

    Returns:
        What the run found.

    Raises:
        InputError: There is no run, it is of another objective, or a bad argument.
        RunError: The run itself failed.
    """
    folder = Path(out).absolute()
    run = Run.load(folder)
    settings = run.extended(evals)
    if objective is None:
        say_what_runs(run.objective, None if backup else run.settings.backup)
    black_box = BlackBox.from_record(run.objective) if objective is None else _black_box(objective)
    black_box.check_same(run.objective, folder)
    if backup is not None:
        backups.check_address(backup)  # before the journal keeps it for later resumes
    settings = replace(settings, backup=backup or settings.backup)
    black_box.n_items(settings.n_items)
    if run.is_complete(settings.evals):
        return concluded(run, black_box, settings.backup, run.end_reason)
    journal.wait_until_free(folder, HANDOVER)
    journal.Journal(folder).close()  # what it refuses is refused before Ray starts
    return _follow(black_box, Spec(folder, settings, None), address, progress, callbacks)


def _follow(
    objective: BlackBox, spec: Spec, address: str | None, progress: bool, functions: Sequence[Callback]
) -> Result:
    """Run a driver actor to its end, showing its progress."""
    folder, settings = spec.folder, spec.settings
    callbacks = Callbacks(folder, functions)
    pickled = dumps(objective.objective)
    if progress and sys.stderr.isatty():
        print("starting Ray ...", end="\r", file=sys.stderr)
    raised: Exception | None = None  # by a callback
    try:
        with interrupts() as interrupted, children_ended(folder), connected(address, len(pickled)):
            if interrupted.is_set():  # while Ray started
                ignore_interrupts()
                raise KeyboardInterrupt
            check_request(settings)
            driver = start_driver(spec)
            look = callbacks.catch_up if functions else None
            try:
                reason = watch(driver, pickled, folder, settings.max_time, interrupted, progress, look)
            except KeyboardInterrupt:
                ignore_interrupts()
                stop(driver, folder)
                callbacks.catch_up()
                raise
            except CallbackError:
                stop(driver, folder)
                raise
    except KeyboardInterrupt:
        raise _interrupted(folder, address) from None
    except (RayError, OSError) as error:
        raise user_error(error, folder) from None
    except CallbackError as failed:
        raised = failed.error
    if raised is not None:
        raise raised
    if not (folder / journal.NAME).exists():
        raise RunError(f"{reason} while the run was prepared, before it began: give more than {settings.max_time:g} s")
    return concluded(Run.load(folder), objective, settings.backup, reason)


def _interrupted(folder: Path, address: str | None) -> Interrupted:
    """Return the error that tells a user who interrupted a run how to continue it."""
    if not (folder / journal.NAME).exists():
        return Interrupted(f"interrupted before the run began: nothing is in {folder}")
    remedy = journal.how_to_resume(folder, address)
    return Interrupted(f"interrupted: every finished evaluation is kept, {remedy} continues")
