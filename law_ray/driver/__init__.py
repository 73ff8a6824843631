"""Runs on Ray: the calls that start and follow a driver actor. This package alone imports Ray.

The client (`minimize`, `resume`) starts or joins a cluster and follows a driver actor on its own node; the actor holds
the run folder, chooses the batches and submits one task a trial; the tasks call the objective.
"""

import hashlib
import inspect
import os
import re
import sys
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from numpy.typing import ArrayLike
from ray.exceptions import RayError

from law_ray import copies, journal
from law_ray.constraints import Constraints
from law_ray.driver.actor import Spec, Start, start_driver
from law_ray.driver.cluster import check_request, connect
from law_ray.driver.detached import start_detached
from law_ray.driver.shipping import dumps, is_users, load_as
from law_ray.driver.watch import stop, understood, watch
from law_ray.errors import InputError, Interrupted, RunError
from law_ray.optimizer import Optimizer, Trial
from law_ray.rescore import Rescored
from law_ray.run import best_of, folder_for, replayed, settings_of, spans
from law_ray.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    best: Trial
    history: "pd.DataFrame"
    out: Path
    evaluations: int  # told and failed
    rounds: int  # model-based
    seconds_asking: float
    seconds_evaluating: float
    stop_reason: str
    files: tuple[Path, ...]  # that the objective wrote about the best ordering, into the run folder
    rescored: Rescored | None = None  # what is known of the best after repeated evaluations, where values are noisy
    behind: str = ""  # why the copy, if there is one, lacks something


def minimize(
    objective: Callable[..., Any],
    n_items: int | None = None,
    *,
    evals: int,
    batch_size: int | str = "auto",
    method: str = "law-auto",
    seed: int = 0,
    n_init: int = 20,
    start: ArrayLike | str = "auto",
    before: Iterable[tuple[int, int]] = (),
    fixed: Mapping[int, int] | None = None,
    maximize: bool = False,
    mode: str = "sync",
    out: str | Path | None = None,
    copy: str | None = None,
    timeout: float | None = None,
    max_time: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    memory: int = 0,
    resources: Mapping[str, float] | None = None,
    split: int = 1,
    rescore: int = 20,
    address: str | None = None,
    progress: bool = True,
    source: dict[str, Any] | None = None,
) -> Result:
    """Find the ordering with the least (or, with `maximize`, largest) value of an expensive black box, on Ray.

    objective: f(permutation) or f(permutation, rng) -> float or (float, standard_error), see `objectives.Objective`;
    an evaluation that raises, or returns no finite number, fails alone. n_items: the size of the permutations, unless
    the objective has it. evals: how many evaluations to make, the initial design of n_init and failures among them.
    start: what the initial design holds, before it is filled up with random orderings: by default those that the
    objective has to begin with (`.starts`), at most half; with an array of orderings these too; with "none" neither.
    before: pairs (a, b), item a must come before item b; fixed: {item: position}; both beside the constraints that the
    objective has (`.constraints`).
    batch_size: "auto" makes it as many as the cluster can run at once, read anew each round. mode: "sync", in rounds,
    or "async": each trial that ends makes room for another at once, for evaluations that take unequal times. num_cpus:
    CPUs (and threads) of one evaluation; num_gpus, memory in bytes and resources ({name: amount}, custom ones of Ray):
    what else it needs of its node. split: evaluate each ordering as so many tasks of that size, if the objective has
    parts (`.split(k)` and `.combine(values)`). rescore: where values come with standard errors, how many repeated
    evaluations of the best few may be made in the end to tell which is the best. timeout: seconds an evaluation may
    take before it is stopped and failed. Stop early after max_time seconds, at a value of target or better, or after
    patience rounds that brought nothing better; what was still running is then left to `resume`. out: the run folder,
    by default a new one in law-ray-runs, where every result is journaled; copy: a URI (s3://, gs://, file:///) where a
    copy of it is kept, see `copies`. address: of a Ray cluster to join; by default the one `ray.init` connected to,
    else one started on this machine. source: the name and options by which `objectives.load` finds the objective again.

    Raises InputError for a bad argument and RunError when the run fails. Results depend on the seed, the batch size and
    the number of threads, not on the workers.
    """
    spec = _spec(
        objective,
        n_items,
        evals=evals,
        batch_size=batch_size,
        method=method,
        seed=seed,
        n_init=n_init,
        start=start,
        before=before,
        fixed=fixed,
        maximize=maximize,
        mode=mode,
        out=out,
        copy=copy,
        timeout=timeout,
        max_time=max_time,
        target=target,
        patience=patience,
        num_cpus=num_cpus,
        num_gpus=num_gpus,
        memory=memory,
        resources=resources,
        split=split,
        rescore=rescore,
        source=source,
    )
    return _follow(objective, spec, address, progress)


def launch(objective: Any, name: str, address: str | None, n_items: int | None = None, **options: Any) -> Path:
    """Start a run that goes on by itself on the Ray cluster at `address`, under a name to `attach` to or to `stop`.

    Its `options` are those of `minimize`, `source` among them, by which its driver loads the objective. Returns the run
    folder, which is on this node. Errors as for `minimize`.
    """
    spec = _spec(objective, n_items, name=name, **options)
    start_detached(spec, address)
    return spec.folder


def _spec(
    objective: Any,
    n_items: int | None,
    *,
    batch_size: int | str = "auto",
    start: ArrayLike | str = "auto",
    before: Iterable[tuple[int, int]] = (),
    fixed: Mapping[int, int] | None = None,
    resources: Mapping[str, float] | None = None,
    out: str | Path | None = None,
    source: dict[str, Any] | None = None,
    name: str | None = None,
    **settings: Any,
) -> Spec:
    """What the arguments of `minimize` come to, checked."""
    n_items = _n_items(objective, n_items)
    constraints = _constraints(objective, n_items, before, fixed or {})
    resolved = Settings(
        n_items=n_items,
        batch_size=_batch_size(batch_size),
        threads=len(os.sched_getaffinity(0)),
        resources=tuple((resources or {}).items()),
        before=constraints.before,
        fixed=constraints.fixed,
        **settings,
    )
    about = {**_describe(objective), "source": source, "folder": os.getcwd(), "launch": uuid.uuid4().hex}
    if resolved.split > 1 and not hasattr(objective, "split"):
        raise InputError(f"split is {resolved.split}, but {about['name']} has no parts: leave it out")
    folder = Path(out) if out is not None else folder_for(about["name"], resolved.seed)
    journal.check_free(folder)
    if resolved.copy is not None:
        copies.check_free(resolved.copy)
    return Spec(folder.absolute(), resolved, about, _start(start, resolved), name)


def resume(
    out: str | Path,
    objective: Callable[..., Any] | None = None,
    *,
    evals: int | None = None,
    copy: str | None = None,
    address: str | None = None,
    progress: bool = True,
) -> Result:
    """Take up the run in the folder `out` where its journal ends; `evals`, if larger, extends it.

    Trials that were asked for and not told are evaluated under their ids and seeds. The objective is loaded by the name
    in the journal unless it is given, and must be the one the run was started with. A copy goes on where it was kept,
    or at `copy`; `copies.fetch` brings a run back from one.
    """
    folder = Path(out).absolute()
    records = journal.read(folder)
    about = records[0]["objective"]
    if objective is None:
        objective = reload(records)
    here = _describe(objective)
    if here["name"] != about["name"]:
        raise InputError(f"{folder} is a run of another objective: of {about['name']}, and this one is {here['name']}")
    if here["fingerprint"] != about["fingerprint"]:
        raise InputError(f"{folder} is a run of another objective: the data or options of {here['name']} have changed")
    if here["code"] != about.get("code"):
        warnings.warn(f"the code of {here['name']} has changed since the run began; old values stay", stacklevel=2)
    settings = settings_of(records)
    if evals is not None and evals < settings.evals:
        raise InputError(f"evals is {evals}, but the run in {folder} was given {settings.evals}: give no fewer")
    settings = replace(settings, evals=evals or settings.evals, copy=copy or settings.copy)
    _n_items(objective, settings.n_items)
    return _follow(objective, Spec(folder, settings, None), address, progress)


def reload(records: list[journal.Record]) -> Any:
    """The objective that a journal's records name, loaded anew from where the run was started."""
    return load_as(records[0]["objective"])


def _describe(objective: Any) -> dict[str, Any]:
    name = getattr(objective, "name", None) or getattr(objective, "__qualname__", type(objective).__qualname__)
    return {"name": name, "fingerprint": getattr(objective, "fingerprint", None), "code": _code(objective)}


def _code(objective: Any) -> str | None:
    """A hash of the user's source file, None for what is installed or has no file."""
    function = getattr(objective, "func", objective)  # within a functools.partial
    module = inspect.getmodule(function if inspect.isroutine(function) else type(function))
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and is_users(file) else None


def _n_items(objective: Any, n_items: int | None) -> int:
    own: int | None = getattr(objective, "n_items", None)
    if n_items is None and own is None:
        raise InputError("n_items is not known: give it (--n-items), the number of items to order")
    if n_items is not None and own is not None and n_items != own:
        raise InputError(f"n_items is {n_items}, but the objective {_describe(objective)['name']} has {own} items")
    number = own if n_items is None else n_items
    assert number is not None
    return number


def _constraints(
    objective: Any, n_items: int, before: Iterable[tuple[int, int]], fixed: Mapping[int, int]
) -> Constraints:
    """The user's constraints and those that the objective has."""
    own = getattr(objective, "constraints", {})
    pairs = [*own.get("before", ()), *before]
    try:
        return Constraints(n_items, pairs, [*own.get("fixed", {}).items(), *fixed.items()])
    except InputError as error:
        names = getattr(objective, "item_names", None)
        if names is None:
            raise
        raise InputError(re.sub(r"\bitem (\d+)", lambda item: f"{names[int(item[1])]}", str(error))) from None


def _start(start: ArrayLike | str, settings: Settings) -> Start:
    if isinstance(start, str):
        if start not in ("auto", "none"):
            raise InputError(f'start is {start!r}: give orderings, "auto" or "none"')
        return Start(greedy=start == "auto")
    given = Optimizer(settings.n_items, n_init=settings.n_init, constraints=settings.constraints, starts=start).starts
    return Start(given.tolist())


def _batch_size(batch_size: int | str) -> int | None:
    if isinstance(batch_size, str) and batch_size != "auto":
        raise InputError(f'batch_size is {batch_size!r}: give an integer of at least 1, or "auto"')
    return None if isinstance(batch_size, str) else batch_size


def _follow(objective: Any, spec: Spec, address: str | None, progress: bool) -> Result:
    """Run a driver actor to its end, showing its progress."""
    folder, settings = spec.folder, spec.settings
    pickled = dumps(objective)
    if progress and sys.stderr.isatty():
        print("starting Ray ...", end="\r", file=sys.stderr)
    started_here = connect(address, len(pickled))
    driver = None
    try:
        check_request(settings)
        driver = start_driver(spec)
        reason = watch(driver, pickled, settings.evals, progress)
    except KeyboardInterrupt:
        if driver is not None:
            stop(driver)
        if not (folder / journal.NAME).exists():
            raise
        source = journal.read(folder)[0]["objective"]["source"]
        how = f"law_ray.resume({str(folder)!r}, objective)" if source is None else f"`law-ray resume {folder}`"
        raise Interrupted(f"interrupted: every finished evaluation is kept, {how} continues") from None
    except (RayError, OSError) as error:
        raise understood(error, folder) from None
    finally:
        if started_here:
            ray.shutdown()
    result = result_of(folder, objective, reason)
    if settings.copy is not None:
        with copies.Copy(folder, settings.copy) as copy:
            pass  # what the driver could not copy, and the files written since
        result = replace(result, behind=copy.behind)
    return result


def result_of(folder: Path, objective: Any, reason: str) -> Result:
    """The result of the run whose journal is in `folder`."""
    records = journal.read(folder)
    optimizer = replayed(records, getattr(objective, "key", None))
    asking, evaluating = spans(records)
    done = [trial for trial in optimizer.trials if trial.state in ("told", "failed")]
    if all(trial.state == "failed" for trial in done):
        raise RunError(f"no evaluation succeeded before {reason}: resume {folder}")
    rounds = max((trial.round for trial in done), default=0)
    best, winner = best_of(optimizer, records)
    try:
        files = tuple(objective.write(best.permutation.copy(), folder)) if hasattr(objective, "write") else ()
    except OSError as error:
        raise RunError(f"cannot write the answer to {folder} ({error.strerror}): mend that, then resume it") from None
    return Result(best, optimizer.history, folder, len(done), rounds, asking, evaluating, reason, files, winner)
