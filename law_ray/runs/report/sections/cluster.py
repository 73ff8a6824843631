"""The cluster: where and when each evaluation ran, how long choosing took, and what failed."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from law_ray.runs.records import FailRecord, Record, TellAgainRecord, TellRecord
from law_ray.runs.report import look
from law_ray.runs.report.blocks import Details, Facts, Figure, Section, Table, Text
from law_ray.runs.report.view import View, number

MAX_FAILURES = 30
"""Failures in the table; further ones are counted."""
UNITS = ((1.0, "seconds"), (60.0, "minutes"), (3600.0, "hours"), (86400.0, "days"))
HERE = "this machine"
"""The node, where a journal does not say it."""


class Span(NamedTuple):
    """An evaluation, or the choice of a batch, in seconds since the run began; pauses between starts are left out."""

    begin: float
    end: float
    node: str
    slot: int
    """on the node, from 0"""
    trial: int
    state: str
    """told, failed, or again; choosing"""


def section(view: View) -> Section:
    """Return the section."""
    lead = "Each line is a slot of the cluster, each bar an evaluation; gaps are slots without work."
    spans = time_line(view)
    evaluated = [span for span in spans if span.state != "choosing"]
    if not evaluated:
        return Section("cluster", "The cluster", lead, [Text("No evaluation has ended yet.")])
    blocks: list[object] = [Facts(facts(view, spans)), Figure("fig-cluster", figure(spans), per_item=True)]
    return Section("cluster", "The cluster", lead, [*blocks, *_failures(view)])


def time_line(view: View) -> list[Span]:
    """Return the evaluations and choices in order of the journal.

    A slot is the first of its node that was free when the evaluation began.
    """
    names = _names(view.records)
    free: dict[str, list[float]] = defaultdict(list)  # by node: when each slot falls free
    begun: list[tuple[float, float, str, int, str]] = []
    choices: list[Span] = []
    pause, before = 0.0, float(view.run.records[0]["time"])
    start = before
    for record in view.records:
        if record["type"] == "resume" or record["time"] < before:  # or the clock was set back
            pause += record["time"] - before
        before = record["time"]
        now = record["time"] - start - pause
        if record["type"] == "ask":
            choices.append(Span(max(0.0, now - record["seconds"]), now, "", 0, -1, "choosing"))
        elif record["type"] in ("tell", "fail", "tell again"):
            state = {"tell": "told", "fail": "failed", "tell again": "again"}[record["type"]]
            seconds = record["seconds"] or 0.0
            begun.append((max(0.0, now - seconds), now, names[_node(record)], record["id"], state))
    spans = []
    for begin, end, node, trial, state in sorted(begun):
        slots = free[node]
        slot = next((k for k, until in enumerate(slots) if until <= begin + 0.01), len(slots))
        slots[slot : slot + 1] = [end]
        spans.append(Span(begin, end, node, slot, trial, state))
    return [*spans, *choices]


def _names(records: Sequence[Record]) -> dict[str, str]:
    """Return the name of each node: its own, or that of an earlier node of its host, which it replaces.

    Ray on one machine is another node after each resume. A node replaces one that took no part since the resume.
    """
    stretches: list[list[str]] = [[]]
    for record in records:
        if record["type"] == "resume":
            stretches.append([])
        elif record["type"] in ("tell", "fail", "tell again"):
            stretches[-1].append(_node(record))
    names: dict[str, str] = {}
    of_host: dict[str, list[str]] = defaultdict(list)
    for nodes in stretches:
        taken = {names[node] for node in nodes if node in names}
        for node in nodes:
            if node in names:
                continue
            known = of_host[node.rpartition("-")[0] or node]
            name = next((name for name in known if name not in taken), node)
            names[node] = name
            taken.add(name)
            if name == node:
                known.append(name)
    return names


def _node(record: TellRecord | FailRecord | TellAgainRecord) -> str:
    return record.get("worker", HERE).rpartition("/")[0] or HERE


def figure(spans: list[Span]) -> go.Figure:
    """Return the time line by node and slot."""
    last = max(span.end for span in spans)
    scale, unit = next(((s, u) for s, u in reversed(UNITS) if last >= 2 * s), UNITS[0])
    evaluated = [span for span in spans if span.state != "choosing"]
    rows = {key: k + 1 for k, key in enumerate(sorted({(span.node, span.slot) for span in evaluated}))}
    width = float(np.clip(420 / (len(rows) + 1), 2, 14))
    drawn = go.Figure()
    looks = {
        "choosing": ("choosing", look.GIVEN),
        "told": ("evaluating", look.CHOSEN),
        "again": ("evaluating again", look.AGAIN),
        "failed": ("failed", look.FAILED),
    }
    for state, (name, color) in looks.items():
        own = [span for span in spans if span.state == state]
        if not own:
            continue
        x: list[float | None] = []
        y: list[int] = []
        data: list[int] = []
        hover: list[str] = []
        for span in own:
            row = rows.get((span.node, span.slot), 0)
            inset = min(0.1 * (span.end - span.begin), 0.001 * last)  # tells neighbours apart
            x += [(span.begin + inset) / scale, (span.end - inset) / scale, None]
            y += [row, row, row]
            data += [span.trial, span.trial, -1]
            hover += 2 * [number(span.end - span.begin, 3)] + [""]
        drawn.add_scatter(
            x=np.array(x, dtype=np.float32),
            y=np.array(y, dtype=np.int16),
            customdata=np.array(data, dtype=np.int32),
            text=hover,
            hovertemplate=f"{name}{' trial %{customdata}' if state != 'choosing' else ''}, %{{text}} s<extra></extra>",
            mode="lines",
            line={"color": color, "width": width},
            name=name,
        )
    look.styled(
        drawn,
        f"{unit} since the start, without pauses",
        "",
        int(np.clip(22 * len(rows) + 150, 220, 900)),
        hovermode="closest",
    )
    several = len({node for node, _ in rows}) > 1
    labels = ["choosing", *(f"{node} · {slot}" if several or node != HERE else f"slot {slot}" for node, slot in rows)]
    step = -(-len(labels) // 60)
    drawn.update_yaxes(
        tickmode="array",
        tickvals=list(range(0, len(labels), step)),
        ticktext=look.plain(labels)[::step],
        autorange="reversed",
        tickfont={"size": 10},
        showgrid=False,
    )
    return drawn


def facts(view: View, spans: list[Span]) -> list[tuple[str, str]]:
    """Return times, the idle share of the slots, and what was lost or failed."""
    evaluated = [span for span in spans if span.state != "choosing"]
    slots = len({(span.node, span.slot) for span in evaluated})
    whole = max(span.end for span in spans)
    busy = sum(span.end - span.begin for span in evaluated)
    choosing = sum(span.end - span.begin for span in spans if span.state == "choosing")
    again = sum(record.get("attempts", 1) - 1 for record in view.records if record["type"] in ("tell", "fail"))
    found = [
        ("nodes", str(len({span.node for span in evaluated}))),
        ("slots", str(slots)),
        ("time in all", duration(whole)),
        ("evaluating, all slots together", duration(busy)),
        ("choosing", duration(choosing)),
        ("idle share of the slots", f"{max(0.0, 1.0 - busy / (slots * whole)):.0%}" if whole > 0 else "-"),
        ("median evaluation", duration(float(np.median([span.end - span.begin for span in evaluated])))),
        ("submitted again after a loss", str(again)),
        ("failed", str(len(view.failed))),
    ]
    return found


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 100:
        return f"{number(seconds, 3)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def _failures(view: View) -> list[object]:
    failed = [record for record in view.records if record["type"] == "fail"]
    if not failed:
        return []
    shown = failed[-MAX_FAILURES:]
    rows = [
        [
            record["id"],
            "" if record["seconds"] is None else number(record["seconds"], 3),
            record.get("worker", ""),
            record["reason"],
        ]
        for record in shown
    ]
    blocks: list[object] = []
    if len(failed) > len(shown):
        blocks.append(Text(f"The last {len(shown)} of {len(failed)} failures:"))
    blocks.append(Table("tab-failures", ["trial", "seconds", "worker", "reason"], rows))
    seen: set[str] = set()
    for record in shown:
        trace = record.get("traceback", "")
        if trace and trace not in seen:
            seen.add(trace)
            blocks.append(Details(f"traceback of trial {record['id']}", trace))
    return blocks
