"""Names in texts of the command line: one that holds a separator stands in double quotes, `drop="Pay, net",id`."""

import re

_SEPARATORS = r",|;|\||=|->"
_NAME = r'"(?:[^"]|"")*"'
_QUOTED = rf"(?:^|(?<=[,;|=])|(?<=->))\s*{_NAME}(?=\s*(?:{_SEPARATORS}|$))"
"""A name in quotes between separators; elsewhere a double quote is a character like any other."""


def split(text: str, separator: str, most: int | None = None) -> list[str]:
    """Return the parts of a text between separators outside quotes, without blanks around them; quotes remain.

    With `most`, the last of this many parts is the rest of the text.
    """
    parts: list[str] = []
    begin = 0
    for match in re.finditer(f"{_QUOTED}|{re.escape(separator)}", text):
        if match.group() == separator and len(parts) + 1 != most:
            parts.append(text[begin : match.start()].strip())
            begin = match.end()
    return [*parts, text[begin:].strip()]


def unquote(part: str) -> str:
    """Return the name that a part of a text says, without its quotes if it has them."""
    return part[1:-1].replace('""', '"') if re.fullmatch(_NAME, part) else part


def names(text: str, separator: str) -> list[str]:
    """Return the names in a text between separators."""
    return [unquote(part) for part in split(text, separator)]


def quote(name: str) -> str:
    """Return a name as a text says it, in quotes where it needs them."""
    special = re.search(_SEPARATORS, name) or name.startswith('"') or name != name.strip()
    return '"' + name.replace('"', '""') + '"' if special else name
