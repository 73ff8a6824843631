"""What a section of the page consists of. The template `assets/page.html` draws each kind of block."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Block = Any
"""One of the classes below."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind = "text"


@dataclass(frozen=True)
class Code:
    """Text to copy, with a button that does."""

    text: str
    label: str
    kind = "code"


@dataclass(frozen=True)
class Facts:
    """Pairs of what and how much."""

    pairs: Sequence[tuple[str, str]]
    kind = "facts"


@dataclass(frozen=True)
class Figure:
    """A Plotly figure."""

    name: str
    """the id of its element"""
    figure: Any
    per_item: bool = False
    """whether its points are trials, whose ordering is shown below the figure"""
    min_width: int = 0
    """in pixels: on a narrower screen the figure scrolls"""
    kind = "figure"

    @property
    def height(self) -> int:
        """In pixels."""
        return int(self.figure.layout.height)


@dataclass(frozen=True)
class Picture:
    """An SVG drawing made here."""

    name: str
    svg: str
    kind = "picture"


@dataclass(frozen=True)
class Ordering:
    """A cell of a table: items in order, and which of them to highlight."""

    items: Sequence[str]
    different: Sequence[bool]


@dataclass(frozen=True)
class Table:
    """A table that sorts by a click on a header."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    """cells: text, numbers, or `Ordering`"""
    kind = "table"


@dataclass(frozen=True)
class Details:
    """A line that opens to a longer text."""

    summary: str
    text: str
    kind = "details"


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    """the id of its element"""
    title: str
    lead: str
    """one plain sentence on how to read it"""
    blocks: Sequence[Block] = field(default_factory=tuple)
