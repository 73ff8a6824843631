"""The answer of a run as the command line prints it: as one JSON object, or in lines."""

from collections.abc import Mapping
from typing import Any

from law_ray.result import Result
from law_ray.runs.objective import BlackBox
from law_ray.runs.reevaluation import Reevaluated
from law_ray.runs.run import Run
from law_ray.runs.summary import about_winner

SHOWN_EDGES, SHOWN_POSSIBLE = 60, 20
"""Edges of a network that the answer lists, and edges that it lacks (heuristic): two screens at most."""


def as_dict(result: Result, finished: Run, objective: BlackBox) -> dict[str, Any]:
    """Return all that a run found, ready for JSON.

    Times are in seconds, and rounds do not count the initial design. `best_value` is the first value of the best trial.
    If values are noisy, it is biased (the winner's curse): use the mean of its repeats, in `reevaluated`.
    """
    found = {
        "objective": finished.objective["name"],
        "best_value": result.best.value,
        "best_permutation": result.best.permutation.tolist(),
        **({} if result.reevaluated is None else {"reevaluated": result.reevaluated._asdict()}),
        **objective.explain(result.best, finished.settings.seed, finished.evaluated),
        "evaluations": result.evaluations,
        "failed": len(finished.failures),
        "rounds": result.rounds,
        "seconds_asking": round(result.seconds_asking, 3),
        "seconds_evaluating": round(result.seconds_evaluating, 3),
        "stopped": result.stop_reason,
        "out": str(result.out),
    }
    if finished.failures:
        found["last_failure"] = finished.failures[-1]
    if result.files:
        found["files"] = [str(path) for path in result.files]
    return found


def as_lines(found: dict[str, Any]) -> str:
    """Return the answer as aligned lines; the edges of a network as one arrow per line, with their confidence."""
    found = dict(found)
    if winner := found.pop("reevaluated", None):
        first = f"; its first value was {_short(found['best_value'])}" if winner["repeats"] else ""
        found["best_value"] = about_winner(Reevaluated(**winner)) + first
        found["reevaluations"] = winner["repeats"]
    sure = {(edge["parent"], edge["child"]): edge for edge in found.pop("edge_confidence", ())}
    if not found.get("possible_edges", True):
        del found["possible_edges"]
    width = max(map(len, found)) + 2
    lines = []
    for key, value in found.items():
        if key == "edges" and value:
            arrows = [f"{parent} -> {child}{_sure(sure.get((parent, child)))}" for parent, child in value]
            value = ("\n" + " " * width).join(_first(arrows, SHOWN_EDGES, "in best_dag.csv"))
        elif key == "possible_edges":
            pairs = [f"{each['one']} - {each['other']}{_sure(each)}" for each in value]
            value = ("\n" + " " * width).join(_first(pairs, SHOWN_POSSIBLE, "less probable ones, in --json"))
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{name.replace('_', ' ')} {_short(number)}" for name, number in value.items())
        lines.append(f"{key.replace('_', ' '):<{width}}{_short(value)}")
    return "\n".join(lines)


def _first(lines: list[str], most: int, rest: str) -> list[str]:
    """Return the first lines and, where there are more, one that counts the rest and says where they are."""
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} {rest}"]


def _sure(edge: Mapping[str, Any] | None) -> str:
    if edge is None:
        return ""
    direction = f", its direction {edge['direction']:.0%}" if "direction" in edge else ""
    return f"  ({edge['confidence']:.0%} sure{direction})"


def _short(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, float) else value
