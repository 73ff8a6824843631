"""The methods: law_ray with each score, its greedy starts alone, their probable edges, other libraries' learners."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import click

from experiments.ours.networks.isolated import Learner
from objectives.nml.arguments import SCORES
from objectives.nml.scores import decomposable


@dataclass(frozen=True)
class Method:
    """A method that returns a network."""

    kind: Literal["truth", "law", "greedy", "probable", "learner"]
    score: str = ""
    """of law_ray, and of its greedy starts"""
    module: str = ""
    """where a learner's function is"""
    needs: tuple[str, ...] = ()
    """modules of other libraries"""
    distributions: str = ""
    """what installs them"""

    @property
    def installed(self) -> bool:
        """Whether it can be used here."""
        return all(find_spec(name) for name in self.needs)


def _others(module: str, names: Sequence[str], needs: tuple[str, ...], distributions: str) -> dict[str, Method]:
    return {name: Method("learner", "", module, needs, distributions) for name in names}


TRUTH = "true-network"
OURS, START = "law-nml", "greedy-nml"
"""A run on NML, and where it begins."""
PROBABLE = "probable-nml"
METHODS: dict[str, Method] = {
    TRUTH: Method("truth"),
    **{f"law-{score}": Method("law", score) for score in SCORES},
    **{f"greedy-{score}": Method("greedy", score) for score in ("nml", *decomposable.SCORES)},
    PROBABLE: Method("probable", "nml"),
    **_others(
        "experiments.ours.networks.other_learners",
        ("hc-bic", "ges-bic", "boss-bdeu", "grasp-bdeu"),
        ("pgmpy", "causallearn"),
        "causal-learn",
    ),
    **_others(
        "experiments.ours.networks.pyagrum_learners",
        ("agrum-tabu-bic", "agrum-tabu-bdeu", "agrum-hc-bic", "agrum-miic-nml"),
        ("pyagrum",),
        "pyagrum",
    ),
}
"""The methods by name."""


def installed(names: Sequence[str]) -> list[str]:
    """Return the names that can be used here, of all methods if none is given; say how to install the others."""
    chosen = [name for name in METHODS if not names or name in names]
    for name in chosen:
        if not METHODS[name].installed:
            click.echo(f"{name} is skipped: install it with `pip install {METHODS[name].distributions}`", err=True)
    return [name for name in chosen if METHODS[name].installed]


def learner(name: str) -> Learner:
    """Return the function of a learner of another library, which is imported for it."""
    module: Any = importlib.import_module(METHODS[name].module)
    found: Learner = module.LEARNERS[name]
    return found
