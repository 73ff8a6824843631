"""Text in CSV files that a spreadsheet must not take for a formula.

Spreadsheets compute a cell that begins with one of `= + - @`, a tab or a carriage return. In front of these, and of an
apostrophe so that reading back is exact, an apostrophe is written, which spreadsheets understand as "text".
"""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def as_cell(text: str) -> str:
    """Return the text as a cell that no spreadsheet computes."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def from_cell(cell: str) -> str:
    """Return the text that `as_cell` has made a cell of."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
