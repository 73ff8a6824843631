"""The command line: law-ray run | resume | attach | stop | report | list."""

import contextlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import law_ray
from law_ray import copies, items, journal, report
from law_ray.errors import InputError, Interrupted, RunError
from law_ray.run import best_of, replayed


class Folder(click.Path):
    """A folder; `~` is the home here too, since a job's command line goes through no shell that would say so."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(Path(value).expanduser(), param, ctx)


FOLDER = Folder()


class BatchSize(click.ParamType[int | str]):
    """`auto`, or an integer."""

    name = "auto|N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "auto":
            return "auto"
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither an integer nor auto", param, ctx)


class Bytes(click.ParamType[int]):
    """A number of bytes, with K, M or G for powers of 1024."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).upper().removesuffix("B")
        power = "KMG".find(text[-1:]) + 1 if text else 0
        try:
            return int(float(text[:-1] if power else text) * 1024**power)
        except ValueError:
            self.fail(f"{value!r} is not a number of bytes such as 500M or 4G", param, ctx)


class Amount(click.ParamType[tuple[str, float]]):
    """NAME=AMOUNT."""

    name = "name=amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        name, _, amount = value.rpartition("=")
        try:
            return name or self.fail(f"{value!r} is not of the form NAME=AMOUNT", param, ctx), float(amount)
        except ValueError:
            self.fail(f"{value!r} is not of the form NAME=AMOUNT", param, ctx)


def _output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Those of all commands that end with an answer."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print only one JSON object on stdout."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
    ):
        command = option(command)
    return command


_of_a_cluster_to_join = click.option(
    "--address", metavar="A", help="Of a Ray cluster to join; by default one is started here."
)
_of_the_cluster = click.option("--address", default="auto", metavar="A", help="Of the Ray cluster.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(law_ray.__version__, prog_name="law-ray")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find the best ordering for an expensive black box, in batches on a Ray cluster."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.argument("objective")
@click.option("-o", "options", multiple=True, metavar="KEY=VALUE", help="An option of the objective; repeatable.")
@click.option("--n-items", type=int, metavar="N", help="Items to order, for a function of your own.")
@click.option("--maximize", is_flag=True, help="Look for the largest value instead of the least.")
@click.option("--evals", type=int, default=120, show_default=True, help="Evaluations, initial design included.")
@click.option("--init", "n_init", type=int, default=20, show_default=True, help="Points to begin with.")
@click.option(
    "--start",
    default="auto",
    show_default="the objective's own good orderings",
    metavar="FILE|none",
    help="A file of orderings, one a line, that the first points hold too; none: random points alone.",
)
@click.option("--before", multiple=True, metavar="'A<B'", help="Item A must come before item B; repeatable.")
@click.option("--fix", multiple=True, metavar="ITEM=POSITION", help="An item's position, from 0; repeatable.")
@click.option(
    "--batch-size", type=BatchSize(), default="auto", show_default=True, help="auto: as many as fit the CPUs."
)
@click.option("--method", default="law-auto", show_default=True, help="How to choose a batch, see `law-ray list`.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--mode", default="sync", show_default=True, help="sync: in rounds; async: refill each free CPU at once.")
@click.option("--eval-cpus", "num_cpus", type=float, default=1, show_default=True, help="CPUs of one evaluation.")
@click.option("--eval-gpus", "num_gpus", type=float, default=0, help="GPUs of one evaluation.")
@click.option("--eval-memory", "memory", type=Bytes(), default=0, metavar="4G", help="Memory of one evaluation.")
@click.option("--eval-resource", "resources", type=Amount(), multiple=True, help="Custom resource of Ray; repeatable.")
@click.option("--split", type=int, default=1, show_default=True, metavar="K", help="Evaluate each ordering as K tasks.")
@click.option(
    "--rescore", type=int, default=20, show_default=True, metavar="N", help="Repeats to tell noisy best values apart."
)
@click.option("--timeout", type=float, metavar="S", help="Seconds after which an evaluation is stopped and failed.")
@click.option("--max-time", type=float, metavar="S", help="Stop after this many seconds.")
@click.option("--target", type=float, metavar="V", help="Stop at a value this good.")
@click.option("--patience", type=int, metavar="N", help="Stop after N rounds that brought nothing better.")
@click.option("--out", type=FOLDER, metavar="DIR", help="The run folder; by default a new one in law-ray-runs.")
@click.option("--copy", metavar="URI", help="Keep a copy of the run folder there: s3://, gs:// or file:///.")
@click.option("--detach", metavar="NAME", help="Let it go on by itself on the cluster, see `attach` and `stop`.")
@_of_a_cluster_to_join
@_output_options
def run(
    objective: str, options: tuple[str, ...], detach: str | None, quiet: bool, as_json: bool, **settings: Any
) -> None:
    """Optimise OBJECTIVE: nml:sachs, nml:FILE.csv, FILE.py:FUNCTION or package.module:FUNCTION."""
    from objectives import load

    chosen = dict(_key_value(option) for option in options)
    black_box = load(objective, **chosen)
    source = {"name": objective, "options": chosen}
    about = getattr(black_box, "n_items", settings["n_items"]) or 0, getattr(black_box, "item_names", None)
    settings["before"] = [items.read_pair(text, *about) for text in settings["before"]]
    settings["fixed"] = dict(items.read_fixed(text, *about) for text in settings.pop("fix"))
    if settings["start"] not in ("auto", "none"):
        settings["start"] = items.read_orderings(Path(settings["start"]), *about)
    settings["resources"] = dict(settings["resources"])
    with _one_way_out(as_json) as tell:
        if detach is None:
            result = law_ray.minimize(black_box, progress=not quiet, source=source, **settings)
            tell(_answer(result, black_box))
            _check_copy(result)
        else:
            from law_ray.driver import launch  # and Ray with it, once the input is known to be sound

            out = launch(black_box, detach, source=source, **settings)
            tell({"name": detach, "out": str(out), "progress": f"law-ray attach {detach}"})


@cli.command()
@click.argument("name")
@_of_the_cluster
@_output_options
def attach(name: str, address: str, quiet: bool, as_json: bool) -> None:
    """Follow the run NAME that was started with --detach, and print its answer."""
    from law_ray.driver import detached, reload, result_of

    with _one_way_out(as_json) as tell:
        spec, reason = detached.attach(name, address, not quiet)
        black_box = reload(journal.read(spec.folder))
        tell(_answer(result_of(spec.folder, black_box, reason), black_box))


@cli.command()
@click.argument("name")
@_of_the_cluster
def stop(name: str, address: str) -> None:
    """End the run NAME that was started with --detach, so that it can be resumed."""
    from law_ray.driver.detached import stop_detached

    spec = stop_detached(name, address)
    click.echo(f"stopped: every finished evaluation is kept, `law-ray resume {spec.folder}` continues")


@cli.command()
@click.argument("run", metavar="DIR|URI")
@click.option("--evals", type=int, help="A larger number of evaluations extends a finished run.")
@click.option("--out", type=FOLDER, metavar="DIR", help="Where a run at a URI goes; by default law-ray-runs/NAME.")
@_of_a_cluster_to_join
@_output_options
def resume(run: str, evals: int | None, out: Path | None, address: str | None, quiet: bool, as_json: bool) -> None:
    """Continue the run in DIR where it was left, or that of which a copy is at URI."""
    from law_ray.driver import reload

    copy = run if "://" in run else None
    folder = Path(run).expanduser() if copy is None else copies.fetch(copy, out)
    black_box = reload(journal.read(folder))
    with _one_way_out(as_json) as tell:
        result = law_ray.resume(folder, black_box, evals=evals, copy=copy, address=address, progress=not quiet)
        tell(_answer(result, black_box))
        _check_copy(result)


@cli.command("report")
@click.argument("folder", type=FOLDER, metavar="DIR")
def draw(folder: Path) -> None:
    """Draw the run in DIR as PNG: its convergence, its information gain and, where there is one, the network found."""
    from law_ray.driver import reload

    records = journal.read(folder)
    click.echo(report.draw_convergence(folder))
    if gains := report.draw_information_gain(folder):
        click.echo(gains)
    if records[0]["objective"]["source"] is not None:
        best, _ = best_of(replayed(records, None), records)
        found = report.explain(reload(records), best, records)
        if "edges" in found:
            click.echo(report.draw_dag(folder, found["ordering"], found["edges"]))


@cli.command("list")
def list_() -> None:
    """List the objectives and the methods."""
    from law_ray.methods import ABOUT
    from objectives import families

    for what, lines in (("objectives", families()), ("methods", ABOUT)):
        click.echo(what)
        for name, about in lines.items():
            click.echo(f"  {name:<34}{about}")


def _key_value(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals or not key:
        raise InputError(f"-o {option} is not of the form KEY=VALUE")
    return key, value


def _check_copy(result: law_ray.Result) -> None:
    if result.behind:
        raise RunError(f"the run ended, but its copy is behind ({result.behind}): bring {result.out} there yourself")


@contextlib.contextmanager
def _one_way_out(as_json: bool) -> Any:
    """Let only the answer reach stdout: what workers print, and Ray says, goes to stderr."""
    stdout = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield lambda found: print(json.dumps(found) if as_json else _text(found), file=stdout)


def _answer(result: law_ray.Result, objective: Any) -> dict[str, Any]:
    """All that a run found, ready for JSON. Times in seconds, rounds those a model chose."""
    records = journal.read(result.out)
    found = {
        "objective": records[0]["objective"]["name"],
        "best_value": result.best.value,
        "best_permutation": result.best.permutation.tolist(),
        **({} if result.rescored is None else {"rescored": result.rescored._asdict()}),
        **report.explain(objective, result.best, records),
        "evaluations": result.evaluations,
        "failed": int((result.history["state"] == "failed").sum()),
        "rounds": result.rounds,
        "seconds_asking": round(result.seconds_asking, 3),
        "seconds_evaluating": round(result.seconds_evaluating, 3),
        "stopped": result.stop_reason,
        "out": str(result.out),
    }
    reasons = [record["reason"] for record in records if record["type"] == "fail"]
    if reasons:
        found["last_failure"] = reasons[-1]
    if result.files:
        found["files"] = [str(path) for path in result.files]
    return found


def _text(found: dict[str, Any]) -> str:
    """The answer as aligned lines; the edges of a network as one arrow a line."""
    width = max(map(len, found)) + 2
    lines = []
    for key, value in found.items():
        if key == "edges" and value:
            value = ("\n" + " " * width).join(f"{parent} -> {child}" for parent, child in value)
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{name.replace('_', ' ')} {_short(number)}" for name, number in value.items())
        lines.append(f"{key.replace('_', ' '):<{width}}{_short(value)}")
    return "\n".join(lines)


def _short(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, float) else value


def main() -> None:
    """Entry point. Exit 0 on success, 2 on bad usage or input, 1 when the run failed, 130 when interrupted."""
    warnings.showwarning = lambda message, *_: print(f"law-ray: {message}", file=sys.stderr)
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.ClickException as error:
        _die(error.format_message(), 2)
    except InputError as error:
        _die(str(error), 2)
    except RunError as error:
        _die(str(error), 1)
    except click.Abort as error:  # what click makes of any KeyboardInterrupt
        known = isinstance(error.__cause__, Interrupted)
        _die(str(error.__cause__) if known else "interrupted: `law-ray resume` continues a run", 130)


def _die(message: str, code: int) -> None:
    print("law-ray: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(code)
