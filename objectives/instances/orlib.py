"""The OR-library's files of flow shops: one instance, or several under headings such as "instance car5"."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray
from objectives.instances.tokens import Tokens, read_lines

FILE = "flowshop1.txt"
"""The file of car1..car8 (Carlier 1978), hel1, hel2 (Heller 1960) and reC01, reC03, ..., reC41 (Reeves 1995)."""

_HEADING = re.compile(r"\s*instance\s+(\S+)\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*\d+\s+\d+\s*")
_RULE = re.compile(r"[\s+]*(END OF DATA)?[\s+]*")


def read_flow_shop(path: Path, instance: str | None) -> FloatArray:
    """Return the processing times, (jobs, machines), of the instance named, or of the only one in a file.

    An instance is an optional description, a line with the numbers of jobs and machines, and a line for each job: pairs
    of a machine and a time, with the machines 0, 1, ... in this order.

    Raises:
        InputError: in one line, if the file holds anything else or it is not clear which instance is meant.
    """
    lines = read_lines(path)
    headings = {found[1]: i for i, line in enumerate(lines) if (found := _HEADING.fullmatch(line))}
    start = choose(path, headings or {path.stem: -1}, instance) + 1
    size = next((i for i in range(start, len(lines)) if _SIZE.fullmatch(lines[i])), None)
    end = min((i for i in headings.values() if i >= start), default=len(lines))
    if size is None or size >= end:
        raise InputError(f"{path}, line {start + 1}: no line with the numbers of jobs and machines follows: add it")
    while _RULE.fullmatch(lines[end - 1]):  # a rule separates it from the next instance
        end -= 1
    tokens = Tokens(path, lines[size:end], size + 1)
    n_jobs, n_machines = tokens.size("jobs"), tokens.size("machines")
    pairs = [tokens.numbers(2 * n_machines, f"job {job + 1}'s machines and times") for job in range(n_jobs)]
    tokens.end(f"job {n_jobs}")
    machines, times = np.moveaxis(np.reshape(pairs, (n_jobs, n_machines, 2)), 2, 0)
    wrong = np.flatnonzero((machines != np.arange(n_machines)).any(axis=1))
    if len(wrong):
        raise InputError(
            f"{path}: job {wrong[0] + 1} does not visit the machines 0..{n_machines - 1} in this order: "
            "only flow shops can be read"
        )
    return times


def choose(path: Path, instances: dict[str, int], instance: str | None) -> int:
    """Return the entry of the instance named, or the only entry if none is named.

    Raises:
        InputError: if there is no such instance, or several and none is named.
    """
    if instance is None and len(instances) == 1:
        return next(iter(instances.values()))
    if instance not in instances:
        raise InputError(f"{path} has no instance {instance!r}: set instance to {_listed(list(instances))}")
    return instances[instance]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 12 else f"one of {names[0]}, {names[1]}, ..., {names[-1]}"
