"""The answer: the best value and ordering, how sure it is, and how to get it again."""

import json
import shlex
from typing import Any

from law_ray.runs.report.blocks import Code, Facts, Section, Text
from law_ray.runs.report.view import View, number
from law_ray.runs.settings import options
from law_ray.trial import INITIAL

NOT_ON_THE_COMMAND_LINE = ("before", "fixed", "resources", "backup")
"""Settings that the command to reproduce a run spells in its own way, or leaves out."""


def section(view: View) -> Section:
    """Return the section."""
    lead = "The best ordering that the run found." if view.run.end_reason else "The best ordering so far."
    if not view.told:
        what = (
            "No evaluation has a value yet." if not view.failed else "No evaluation succeeded; see the failures below."
        )
        return Section("answer", "Answer", lead, [Text(what), Facts(_counts(view)), *_reproduce(view)])
    best, winner = view.run.best, view.run.winner
    value = number(best.value, 10)
    facts = [("best value", value), ("trial", f"{best.id}, in round {best.round}")]
    if winner is not None:
        value = f"{number(winner.value, 8)} ± {number(winner.standard_error, 2)}"
        repeated = winner.repeats > 0
        facts = [
            ("best value (mean of its repeats)" if repeated else "best value", value),
            *([("confidence", winner.sure)] if winner.sure else []),
            *(
                [("its first value", f"{number(best.value, 8)} (the best of many noisy values tends to be too good)")]
                if repeated
                else []
            ),
            ("repeated evaluations", str(winner.repeats)),
            *facts[1:],
        ]
    elif view.run.objective.get("noisy", False):
        facts.append(("note", "the objective is noisy, and without standard errors the best value seen is too good"))
    ordering = ", ".join(view.names[item] for item in best.permutation)
    blocks: list[Any] = [Facts([*facts, *_counts(view)]), Code(ordering, "ordering, first to last")]
    if view.named:
        blocks.append(Code(json.dumps(best.permutation.tolist()), "the same as numbers"))
    return Section("answer", "Answer", lead, [*blocks, *_reproduce(view)])


def headline(view: View) -> str:
    """Return the best value with its error, for the top of the page."""
    if not view.told:
        return "no value yet"
    winner = view.run.winner
    if winner is not None:
        return f"{number(winner.value, 7)} ± {number(winner.standard_error, 2)}"
    return number(view.run.best.value, 8)


def state(view: View) -> str:
    """Return what the run is doing, or why it ended."""
    if view.run.end_reason:
        return f"ended: {view.run.end_reason}"
    complete = len(view.run.ended) >= view.run.settings.evals  # older journals do not say that a run ended
    return "all evaluations were made" if complete else "unfinished"


def _counts(view: View) -> list[tuple[str, str]]:
    settings = view.run.settings
    rounds = max((trial.round for trial in view.run.ended), default=0)
    return [
        ("evaluations", f"{len(view.run.ended)} of {settings.evals}, {len(view.failed)} of them failed"),
        ("rounds", f"{max(rounds, 0)} after the initial design of {settings.n_init}"),
        ("state", state(view)),
        ("looked for", f"the {'largest' if settings.maximize else 'smallest'} value by {settings.method}"),
        ("folder", str(view.run.folder)),
    ]


def _reproduce(view: View) -> list[Any]:
    header = view.run.records[0]
    assert header["type"] == "run"
    versions = ", ".join(f"{name} {version}" for name, version in header["packages"].items())
    return [
        Code(command(view), "to reproduce"),
        *_starts(len(header.get("starts", ()))),
        Text(f"Made with {versions}, Python {header['python']}; threads of the driver: {view.run.settings.threads}."),
    ]


def _starts(n_given: int) -> list[Any]:
    """Return what to add if the initial design began with orderings: the journal does not say who gave them."""
    if not n_given:
        return []
    orderings = "one ordering" if n_given == 1 else f"{n_given} orderings"
    again = "What the objective suggests comes again by itself; give orderings of your own with `start`."
    return [Text(f"The initial design began with {orderings} that the objective or you suggested. {again}")]


def command(view: View) -> str:
    """Return the command, or the call, that starts such a run again."""
    settings, source = view.run.settings, view.run.objective["source"]
    changed = {
        name: getattr(settings, name)
        for name, each in options().items()
        if name not in NOT_ON_THE_COMMAND_LINE and getattr(settings, name) != each.default
    }
    changed = {"seed": settings.seed, "evals": settings.evals, **_batch_size(view), **changed}
    if source is None:
        arguments = "".join(f", {name}={value!r}" for name, value in changed.items())
        given = [f", {name}={getattr(settings, name)!r}" for name in ("before", "fixed") if getattr(settings, name)]
        if settings.resources:
            given.append(f", resources={dict(settings.resources)!r}")
        return f"law_ray.minimize({view.run.objective['name']}, n_items={settings.n_items}{arguments}{''.join(given)})"
    words = ["law-ray", "run", source["name"]]
    for name, value in source["options"].items():
        words += ["-o", f"{name}={value}"]
    if view.objective is None or not hasattr(view.objective.objective, "n_items"):
        words += ["--n-items", str(settings.n_items)]
    for name, value in changed.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    for first, second in settings.before:
        words += ["--before", f"{_spelled(view, first)}<{_spelled(view, second)}"]
    for item, position in settings.fixed:
        words += ["--fixed", f"{_spelled(view, item)}={position}"]
    for name, amount in settings.resources:
        words += ["--resources", f"{name}={amount:g}"]
    return shlex.join(words)


def _spelled(view: View, item: int) -> str:
    """Return an item as the command line reads it: by its name, since that may look like another item's number."""
    return view.names[item] if view.named and "<" not in view.names[item] else str(item)


def _batch_size(view: View) -> dict[str, int]:
    """Return the batch size that a run in rounds took from its cluster, as a setting; empty if it was given."""
    first = sum(trial.round == INITIAL + 1 for trial in view.run.optimizer.trials)
    automatic = view.run.settings.batch_size is None and view.run.settings.mode == "sync"
    return {"batch_size": first} if automatic and first else {}
