"""The command line: law-ray run | resume | attach | stop | report | list."""

import contextlib
import json
import logging
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

import law_ray
from law_ray.answer import as_dict, as_lines
from law_ray.errors import InputError, Interrupted, RunError
from law_ray.methods.registry import METHODS
from law_ray.parameters import FOLDER, GroupedCommand, settings_options
from law_ray.result import Result, concluded
from law_ray.runs import backup as backups
from law_ray.runs import journal
from law_ray.runs.objective import BlackBox, known_objectives, say_what_runs
from law_ray.runs.run import Run
from law_ray.utils.parsing import read_fixed, read_orderings, read_pair

OLD_SPELLINGS = {
    "init": "n-init",
    "eval-cpus": "num-cpus",
    "eval-gpus": "num-gpus",
    "eval-memory": "memory",
    "eval-resource": "resources",
    "fix": "fixed",
    "rescore": "reevaluations",
    "copy": "backup",
}
"""Options of earlier versions, which are still understood."""

WATCHED = 10
"""Seconds between two looks of `report --watch` at the journal."""
RESTARTING = 3
"""Looks in a row that may find no process working on the run (heuristic): a driver that died is started again."""


def _output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of all commands that end with an answer."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print only one JSON object on stdout."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
        click.option(
            "-v",
            "--verbose",
            count=True,
            help="Say on stderr what happens: rounds, failures with tracebacks, what objectives print; -vv says more.",
        ),
    ):
        command = option(command)
    return command


_of_a_cluster_to_join = click.option(
    "--address", metavar="A", help="The address of a Ray cluster to join; by default one is started here."
)
_of_the_cluster = click.option("--address", default="auto", metavar="A", help="The address of the Ray cluster.")


@click.group(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda token: OLD_SPELLINGS.get(token, token),
    },
    invoke_without_command=True,
)
@click.version_option(law_ray.__version__, prog_name="law-ray")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find the best ordering for an expensive black box, in batches on a Ray cluster."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command(cls=GroupedCommand)
@click.argument("objective")
@click.option(
    "-o",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the objective; repeatable. An unknown one lists all.",
)
@click.option("--n-items", type=int, metavar="N", help="Items to order, for a function of your own.")
@click.option(
    "--start",
    default="auto",
    show_default="the orderings that the objective suggests",
    metavar="FILE|none",
    help="A file of orderings, one per line, that the initial design begins with; none: random orderings alone.",
)
@settings_options
@click.option("--out", type=FOLDER, metavar="DIR", help="The run folder; by default a new one in law-ray-runs.")
@click.option(
    "--detach", metavar="NAME", help="Start the run on the cluster under this name, and return; see `attach`."
)
@_of_a_cluster_to_join
@_output_options
def run(
    objective: str,
    options: tuple[str, ...],
    detach: str | None,
    quiet: bool,
    verbose: int,
    as_json: bool,
    **settings: Any,
) -> None:
    """Optimise OBJECTIVE: nml:sachs, nml:FILE.csv, FILE.py:FUNCTION or package.module:FUNCTION."""
    with _answer_on_stdout_only(as_json) as tell, _logging(verbose):
        black_box = BlackBox.load(objective, dict(_key_value(option) for option in options))
        items = black_box.n_items(settings["n_items"]), black_box.item_names
        settings["before"] = [read_pair(text, *items) for text in settings["before"]]
        settings["fixed"] = [read_fixed(text, *items) for text in settings["fixed"]]
        if settings["start"] not in ("auto", "none"):
            settings["start"] = read_orderings(Path(settings["start"]), *items)
        settings["resources"] = dict(settings["resources"])
        if detach is None:
            result = law_ray.minimize(black_box, progress=not quiet, **settings)
            tell(_with_page(result, black_box))
            _check_backup(result)
        else:
            from law_ray.driver.api import launch  # and Ray with it, once the input is known to be sound

            out = launch(black_box, detach, **settings)
            tell({"name": detach, "out": str(out), "progress": f"law-ray attach {detach}"})


@cli.command()
@click.argument("name")
@_of_the_cluster
@_output_options
def attach(name: str, address: str, quiet: bool, verbose: int, as_json: bool) -> None:
    """Follow the run NAME that was started with --detach, and print its answer."""
    from law_ray.driver import detached

    with _answer_on_stdout_only(as_json) as tell, _logging(verbose):
        spec, reason = detached.attach(name, address, not quiet)
        found = Run.load(spec.folder)
        black_box = BlackBox.from_record(found.objective)
        result = concluded(found, black_box, spec.settings.backup, reason)
        tell(_with_page(result, black_box))
        _check_backup(result)


@cli.command()
@click.argument("name")
@_of_the_cluster
def stop(name: str, address: str) -> None:
    """End the run NAME that was started with --detach; it can be resumed."""
    from law_ray.driver import detached

    folder = detached.stop_detached(name, address).folder
    click.echo(f"stopped: {journal.how_to_resume(folder, address)} continues it")


@cli.command()
@click.argument("run", metavar="DIR|URI")
@click.option("--evals", type=int, help="A larger budget, to extend the run.")
@click.option("--out", type=FOLDER, metavar="DIR", help="Where to fetch the run at URI; by default law-ray-runs/NAME.")
@click.option("--backup", metavar="URI", help="Where to keep a copy from now on; by default where it was kept so far.")
@_of_a_cluster_to_join
@_output_options
def resume(
    run: str,
    evals: int | None,
    out: Path | None,
    backup: str | None,
    address: str | None,
    quiet: bool,
    verbose: int,
    as_json: bool,
) -> None:
    """Continue the run in DIR where it was left, or the run whose backup is at URI."""
    is_backup = "://" in run
    if out is not None and not is_backup:
        raise InputError(f"--out {out} is where to fetch a run at a URI, but {run} is a folder: leave it out")
    folder = backups.fetch(run, out) if is_backup else FOLDER.convert(run, None, None)
    backup = backup or (run if is_backup else None)
    found = Run.load(folder)
    found.extended(evals)  # what is refused is refused before its code is named and loaded
    with _answer_on_stdout_only(as_json) as tell, _logging(verbose):
        say_what_runs(found.objective, None if backup else found.settings.backup)
        black_box = BlackBox.from_record(found.objective)
        result = law_ray.resume(folder, black_box, evals=evals, backup=backup, address=address, progress=not quiet)
        tell(_with_page(result, black_box))
        _check_backup(result)


@cli.command("report")
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="By default DIR/report.html."
)
@click.option("--watch", is_flag=True, help=f"Write the page again every {WATCHED} seconds while the run goes on.")
@click.option("--png", is_flag=True, help="Write figures for papers into DIR instead.")
@click.option(
    "--import",
    "with_code",
    is_flag=True,
    help="Run the code of the objective that the journal names, to add what only it can tell; only if you trust it.",
)
def report(folder: Path, out: Path | None, watch: bool, png: bool, with_code: bool) -> None:
    """Write the page of the run in DIR: one HTML file with its answer, figures, model and time line."""
    from law_ray.runs.report import page

    if png:
        if watch or out is not None:
            raise InputError("--png writes figures into the run folder: leave out --watch and --out")
        found, black_box = page.load(folder, with_code)
        for path in _figures(found, black_box):
            click.echo(path)
        return
    while True:
        size = page.journal_size(folder)  # before it is read: what comes later is shown later
        found, black_box = page.load(folder, with_code)
        path = page.write(found, black_box, out, WATCHED if watch and not found.end_reason else None)
        click.echo(path)
        if not watch or found.end_reason:
            return
        alone = 0  # looks in a row at which no process held the run
        while page.journal_size(folder) == size:
            time.sleep(WATCHED)
            alone = 0 if journal.is_held(folder) else alone + 1
            if alone > RESTARTING:
                raise RunError(f"no process is working on the run: {journal.how_to_resume(folder)} continues it")


def _figures(run: Run, black_box: BlackBox | None) -> Iterator[Path]:
    """Draw the convergence and, where there are any, the network and the interactions, into the run folder."""
    from law_ray.runs.report import interactions, prints
    from law_ray.runs.report.graph_layout import confidence_of

    yield prints.draw_convergence(run)
    names = None if black_box is None else black_box.item_names
    explained = {} if black_box is None else black_box.explain(run.best, run.settings.seed, run.evaluated)
    if "edges" in explained:
        yield prints.draw_dag(run.folder, explained["ordering"], explained["edges"], confidence_of(explained))
    if drawn := interactions.draw_interactions(run, names):
        yield drawn


def _with_page(result: Result, black_box: BlackBox) -> dict[str, Any]:
    """Write the page of the run, and return the answer with the page's path."""
    from law_ray.runs.report import page

    finished = Run.load(result.out, black_box.prior_mean)
    found = as_dict(result, finished, black_box)
    try:
        found["page"] = str(page.write(finished, black_box))
    except Exception as error:  # the run is done: it must not fail for its page
        warnings.warn(f"the page of the run was not written: {error}", stacklevel=2)
    return found


@cli.command("list")
def list_() -> None:
    """List the objectives and the methods."""
    abouts = {name: method.about for name, method in METHODS.items()}
    for what, lines in (("objectives", known_objectives()), ("methods", abouts)):
        click.echo(what)
        for name, about in lines.items():
            click.echo(f"  {name:<34}{about}")


def _key_value(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals or not key:
        raise InputError(f"-o {option} is not of the form KEY=VALUE")
    return key, value


def _check_backup(result: Result) -> None:
    if result.backup_error:
        raise RunError(f"the run ended, but its backup is behind: {result.backup_error}")


@contextlib.contextmanager
def _answer_on_stdout_only(as_json: bool) -> Any:
    """Let only the answer reach stdout: what the objective prints here, and Ray says, goes to stderr."""
    stdout = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield lambda found: print(json.dumps(found) if as_json else as_lines(found), file=stdout)


@contextlib.contextmanager
def _logging(verbose: int) -> Iterator[None]:
    """Write what the library logs to stderr: warnings, or more with `verbose`."""
    logger, handler = logging.getLogger("law_ray"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("law-ray: %(message)s"))
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def main() -> None:
    """Run the command line. Exit 0 on success, 2 on bad usage or input, 1 when the run failed, 130 if interrupted."""
    warnings.showwarning = lambda message, *_: print(f"law-ray: {message}", file=sys.stderr)
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.ClickException as error:
        _die(error.format_message(), 2)
    except InputError as error:
        _die(str(error), 2)
    except RunError as error:
        for note in getattr(error, "__notes__", []):  # the traceback of an evaluation
            print(note, file=sys.stderr)
        _die(str(error), 1)
    except click.Abort as error:  # what click makes of any KeyboardInterrupt
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more would only change the exit code
        known = isinstance(error.__cause__, Interrupted)
        _die(str(error.__cause__) if known else "interrupted: `law-ray resume` continues a run", 130)


def _die(message: str, code: int) -> None:
    lines = (line.strip() for line in message.splitlines())  # blanks within a line may belong to a path
    print(f"law-ray: {' '.join(filter(None, lines))}", file=sys.stderr)
    sys.exit(code)
