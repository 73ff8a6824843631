"""Provoke the faults one after another, then write the report."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import pandas as pd

from experiments import RESULTS
from experiments.machine import machine
from experiments.markdown import publish, table
from experiments.ours.faults import (
    evaluations,
    folder,
    misbehaving,
    nodes,
    objectives,
    places,
    processes,
    signals,
    sizes,
    strangers,
    tables,
)
from experiments.ours.faults.rays import kill
from experiments.ours.faults.striking import Row

LIMIT = 240  # seconds after which a fault counts as not survived; heuristic
GROUPS = (evaluations, misbehaving, objectives, nodes, processes, signals, sizes, folder, places, tables, strangers)
SCENES: dict[str, Callable[[], Row]] = {name: scene for group in GROUPS for name, scene in group.SCENES.items()}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(SCENES)))
@click.option("--only", type=click.Choice(list(SCENES)), help="Provoke one fault here, and print its row.")
def main(names: tuple[str, ...], only: str | None) -> None:
    """Provoke the faults NAMES, or all, then write the report: the rows of others stay as they were."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if only is not None:
        click.echo(json.dumps(asdict(SCENES[only]())))
        return
    file = RESULTS / "faults.csv"
    frame, fresh = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=["fault"]), set[str]()
    for name in names or SCENES:
        row = provoked(name)
        click.echo(f"{name}: {row}")
        frame = with_row(frame, name, row)
        fresh.add(row["fault"])
        save(file, frame)
    if not names:  # others have gone from SCENES
        frame = frame[frame["fault"].isin(fresh)]
        save(file, frame)
    if not frame["survived"].all():
        raise click.ClickException(f"not survived: {', '.join(frame['fault'][~frame['survived']])}")


def with_row(frame: pd.DataFrame, scene: str, row: dict[str, Any]) -> pd.DataFrame:
    """Return the rows with this one in the place of an earlier one of its fault, or of the scene when it had no end."""
    others = frame[frame["fault"] != scene]
    return pd.concat([others, pd.DataFrame([row])]).drop_duplicates("fault", keep="last", ignore_index=True)


def save(file: Path, frame: pd.DataFrame) -> None:
    """Write the rows, and the report beside them."""
    publish(file, frame.to_csv(index=False))
    publish(file.with_suffix(".md"), report(frame))


def provoked(name: str) -> dict[str, Any]:
    """Return the row of one fault, provoked in a process of its own within LIMIT seconds."""
    command = [sys.executable, "-m", "experiments.ours.faults", "--only", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            kill(process.pid)
            output, errors = "", f"no end within {LIMIT} s"
    try:
        # Ray writes to stdout too.
        found: dict[str, Any] = json.loads([line for line in output.splitlines() if line.startswith("{")][-1])
    except (ValueError, IndexError):
        click.echo(errors, err=True)
        reason = (errors.strip().splitlines() or ["it ended without a message"])[-1][:100]
        found = asdict(Row(name, 0, 0, 0, float("nan"), False, reason))
    return found


def report(frame: pd.DataFrame) -> str:
    """Return the report: a table of the faults that strike evaluations, and one of the others."""
    shown = frame.assign(survived=frame["survived"].map({True: "yes", False: "NO"}))
    header = ["fault", "finished before", "of them lost", "repeated", "seconds", "survived", "how"]
    strike = shown["before"] > 0
    others = shown.loc[~strike, ["fault", "survived", "how"]]
    return REPORT.format(
        machine=machine(1),
        strike=table(header, shown[strike].to_numpy(dtype=object).tolist(), 1),
        others=table(["fault", "survived", "how"], others.to_numpy(dtype=object).tolist()),
    )


REPORT = """# What can go wrong

{machine} Regenerate with `python -m experiments.ours.faults`, or those with some NAMES alone with
`python -m experiments.ours.faults NAMES`.

Each fault strikes a run of 60 evaluations, in rounds of four, after at least 12 have finished; damage to a journal,
after all have. Repeated: evaluations that were made again although they had ended. Seconds: the longest time without a
result after the fault; an evaluation takes 0.2 s, on three nodes 0.5 s. Survived: the run ends with all its
evaluations, none that had finished is lost, and none counts twice.

{strike}
These strike no evaluation. Survived: what the last column says.

{others}"""


if __name__ == "__main__":
    main()
