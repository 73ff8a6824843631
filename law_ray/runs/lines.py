"""A record as one line of a journal, with a checksum that chains it to the lines before it.

The last key of a line, `check`, is the CRC-32 of the line without it, continued from that of the line before. So a
changed byte is seen, and also a line that is missing, doubled or moved. Journals of older versions have no checksums at
first; after a line with one, each line must have one.
"""

import json
import re
import zlib
from typing import Any, NamedTuple

from law_ray.runs.records import Record

FIRST = b'{"type": "run"'
"""What every journal begins with."""
_CHECK = re.compile(rb', "check": "([0-9a-f]{8})"}\r?\n')


class Lines(NamedTuple):
    """The whole lines that a journal begins with."""

    records: list[Record]
    length: int
    """bytes that they take"""
    check: int | None
    """the checksum of the last one; None if it has none"""
    damaged: bool
    """whether more follows than a torn last line, which a crash leaves"""


def write(record: Record, before: int | None) -> tuple[bytes, int]:
    """Return the line of a record and its checksum; `before` is the checksum of the line before it."""
    text = json.dumps(record, allow_nan=False).encode()
    check = zlib.crc32(text, before or 0)
    return text[:-1] + b', "check": "%08x"}\n' % check, check


def read(content: bytes) -> Lines:
    """Read a journal up to its end, or to the first line that is not whole."""
    records: list[Record] = []
    length, check = 0, None
    for line in content.splitlines(keepends=True):
        try:
            record, check = _read(line, check)
        except (ValueError, RecursionError):
            torn = not line.endswith(b"\n") and length + len(line) == len(content)
            return Lines(records, length, check, not torn)
        records.append(record)
        length += len(line)
    return Lines(records, length, check, False)


def _read(line: bytes, before: int | None) -> tuple[Any, int | None]:
    """Return the record of a line and its checksum. Raises ValueError if the line is not as it was written."""
    found, check = _CHECK.search(line), None
    if found is not None:
        check = zlib.crc32(line[: found.start()] + b"}", before or 0)
    if not line.endswith(b"\n") or (before is not None and found is None) or (found and check != int(found[1], 16)):
        raise ValueError
    record = json.loads(line)
    if not isinstance(record, dict) or "type" not in record:
        raise ValueError
    record.pop("check", None)
    return record, check
