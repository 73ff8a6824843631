"""How the command line takes each option: the types of parameters, and the groups of the help."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from law_ray.methods.registry import METHODS
from law_ray.runs.settings import MODES, WHAT, options
from law_ray.utils.algebra import DEVICES


class Folder(click.Path):
    """A folder. `~` is the home here too, because a job's command line goes through no shell."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            path = Path(value).expanduser()
        except RuntimeError:
            self.fail(f"{value!r} names the home of a user who has none here", param, ctx)
        return super().convert(path, param, ctx)


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
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a number of bytes such as 500M or 4G", param, ctx)


class Amount(click.ParamType[tuple[str, float]]):
    """NAME=AMOUNT."""

    name = "name=amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        name, _, amount = value.rpartition("=")
        with contextlib.suppress(ValueError):
            if name:
                return name, float(amount)
        self.fail(f"{value!r} is not of the form NAME=AMOUNT", param, ctx)


# How the command line takes an option, where that does not follow from its default.
FORMS: dict[str, dict[str, Any]] = {
    "batch_size": {"type": BatchSize(), "default": "auto", "metavar": "auto|N"},
    "device": {"type": click.Choice(DEVICES)},
    "before": {"type": str, "multiple": True, "metavar": "'A<B'"},
    "fixed": {"type": str, "multiple": True, "metavar": "ITEM=POSITION"},
    "memory": {"type": Bytes(), "metavar": "4G"},
    "resources": {"type": Amount(), "multiple": True},
    "maximize": {"is_flag": True},
    "method": {"type": click.Choice(list(METHODS)), "metavar": "M"},  # the help would be longer than all others
    "mode": {"type": click.Choice(MODES)},
    "timeout": {"type": float, "metavar": "S"},
    "max_time": {"type": float, "metavar": "S"},
    "target": {"type": float, "metavar": "V"},
    "patience": {"type": int, "metavar": "N"},
    "num_cpus": {"type": float},
    "num_gpus": {"type": float},
    "backup": {"type": str, "metavar": "URI"},
}


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each field of `Settings`, with its name, default and help."""
    for name, each in reversed(options().items()):
        form = {"default": each.default, "show_default": each.default is not None, **FORMS.get(name, {})}
        if form.get("multiple") or form.get("is_flag") or not form["default"]:
            form["show_default"] = False
        text = each.metadata["help"] + (" Repeatable." if form.get("multiple") else "")
        command = click.option(f"--{name.replace('_', '-')}", name, help=text, **form)(command)
    return command


class GroupedCommand(click.Command):
    """A command whose help shows the options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                known = options().get(parameter.name or "")
                about = known.metadata["group"] if known else GROUPS.get(parameter.name or "", "Other")
                groups.setdefault(about, []).append(record)
        for group in sorted(groups, key=[*dict.fromkeys(ORDER), "Other"].index):
            with formatter.section(group):
                formatter.write_dl(groups[group])


ORDER = [WHAT, *(each.metadata["group"] for each in options().values())]
GROUPS = {
    "options": WHAT,
    "n_items": WHAT,
    "start": WHAT,
    "address": options()["num_cpus"].metadata["group"],
    "detach": options()["num_cpus"].metadata["group"],
    "out": options()["backup"].metadata["group"],
}
"""The groups of the options of `law-ray run` that are not settings."""
