"""Measure all parts of the page, or some of them."""

from collections.abc import Callable
from pathlib import Path

import click

from experiments import RESULTS
from experiments.machine import cpus, machine
from experiments.markdown import publish
from experiments.ours.speed import choosing, devices, growing, rest
from experiments.ours.speed.devices import name_of_gpu
from law_ray.utils import threads

PAGE = RESULTS / "speed.md"
BEGIN = "# Speed\n\nRegenerate with `python -m experiments.ours.speed`, or one part with `--part`.\n"
PARTS: dict[str, Callable[[], str]] = {
    "batches": choosing.batches,
    "asks": choosing.asks_in_a_run,
    "asks-on-a-gpu": choosing.asks_on_a_gpu,
    "devices": devices.algebra_by_device,
    "choices-by-device": devices.choices_by_device,
    "against-plain": choosing.against_plain,
    "growth": choosing.growth,
    "growth-in-a-run": growing.growth_in_a_run,
    "fits": rest.fits,
    "evaluations": rest.evaluations,
    "overhead": rest.overhead,
}
"""Each returns a section of the page."""
ON_A_GPU = ("asks-on-a-gpu", "devices", "choices-by-device")
"""The parts that mean nothing without one."""


@click.command()
@click.option(
    "--threads", "n_threads", type=click.IntRange(1), default=cpus(), show_default=True, help="How many threads to use."
)
@click.option("--part", "names", multiple=True, type=click.Choice(list(PARTS)), default=list(PARTS))
def main(n_threads: int, names: tuple[str, ...]) -> None:
    """Measure parts of the page, print their tables and put them in the page; the other parts stay."""
    threads.limit(n_threads)
    for name in names:
        if name in ON_A_GPU and not name_of_gpu():
            click.echo(f"{name} is skipped, and its section stays: torch finds no GPU here", err=True)
            continue
        title, rest_of_part = PARTS[name]().split("\n", 1)
        put(PAGE, title.removeprefix("## "), f"\n{machine(n_threads)}\n{rest_of_part}")


def put(page: Path, title: str, text: str) -> None:
    """Put a section in the page, in the place of the one with this title."""
    before = page.read_text(encoding="utf-8").split("\n## ")[1:] if page.exists() else []
    sections = dict(section.split("\n", 1) for section in before) | {title: text}
    parts = [f"## {name}\n{section.rstrip()}\n" for name, section in sections.items()]
    publish(page, "\n".join([BEGIN, *parts]))


if __name__ == "__main__":
    main()
