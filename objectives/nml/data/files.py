"""Read the file of a table: its encoding, what separates its columns, and their names."""

import codecs
import csv
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from law_ray.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

TEXT = (".csv", ".tsv")
SUFFIXES = (*TEXT, ".parquet")

_SEPARATORS = ",\t;|"
_SAMPLE = 100  # heuristic: lines that are read to find the separator
_CHUNK = 1 << 22  # characters that are searched at once
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read_file(
    path: Path,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    as_text: Collection[str] = (),
) -> "pd.DataFrame":
    """Return the table in a file, with the names of its columns as they are there, repeated and empty ones too.

    Args:
        path: a .csv, .tsv or .parquet file. In the text files, the first line that is not empty names the columns.
            Names and cells are read without the blanks around them, and a line break in a name as a blank. Only an
            empty cell is missing: NA, None or nan are texts like any other here. Columns in which a number begins
            with a zero, such as 007, are read as texts too.
        sep: what separates the columns of a text file, one character or "tab". By default it is the comma, tab,
            semicolon or vertical bar that divides the first 100 lines into equally many cells.
        decimal: the decimal mark of a text file, a point or a comma.
        as_text: columns of a text file whose cells are not to be read as numbers or booleans.
        encoding: how a text file encodes its characters, by the names that Python has for encodings; by default what
            its first bytes say (UTF-8 or UTF-16 with a byte order mark), else UTF-8.

    Raises:
        InputError: in one line that names the file, if it is absent or of another kind, cannot be read, or two
            separators divide its lines equally.
    """
    kind = path.suffix.lower()
    if not path.is_file():
        raise InputError(f"{path} does not exist: give the path of a {_kinds()} file")
    if kind not in SUFFIXES:
        raise InputError(f"{path} has the unknown extension {path.suffix!r}: pass {_kinds()}")
    if kind in TEXT:
        encoding = _encoding(path, encoding)
    elif given := [name for name, value in (("sep", sep), ("encoding", encoding), ("decimal", decimal)) if value]:
        raise InputError(f"{path} is not a text file: leave {given[0]} out")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal={decimal!r} is not a decimal mark: give a point or a comma")
    try:
        if not encoding:
            return _read_parquet(path)
        form = {"sep": _separator(path, sep, encoding, decimal), "encoding": encoding, "decimal": decimal or "."}
        return _read_text(path, form, as_text)
    except InputError:
        raise
    except UnicodeError:
        raise InputError(
            f"{path}, line {_undecodable_line(path, encoding or '')}, is not {encoding} text: save the file as UTF-8, "
            "or give its encoding, encoding=latin-1 for example"
        ) from None
    except Exception as error:  # the parsers raise many types
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        remedy = f"check that it is a {kind} file"
        if "fields in line" in reason:
            remedy = "give no line more cells than the first, which names the columns, and end none with a separator"
        raise InputError(f"{path} cannot be read ({reason}): {remedy}") from error


def _read_text(path: Path, form: dict[str, str], as_text: Collection[str]) -> "pd.DataFrame":
    import pandas as pd

    how: dict[str, Any] = {**form, "encoding_errors": "strict", "skipinitialspace": form["sep"] != " "}
    # With a first row of more cells, read_csv would take its first cells for labels of the rows; here it refuses that.
    header = pd.read_csv(path, header=None, nrows=2, dtype=str, na_filter=False, **how).iloc[0]
    how |= {"keep_default_na": False, "na_values": [""]}
    frame = _without_blanks(pd.read_csv(path, low_memory=False, **how))
    names = [" ".join(name.split()) for name in header]  # read_csv renames repeated and empty names
    zeros = _may_begin_with_zeros(path, form["sep"], form["encoding"])
    again = [i for i, name in enumerate(names) if name in as_text or (zeros and frame.dtypes.iloc[i].kind in "iuf")]
    if again:
        texts = _without_blanks(pd.read_csv(path, usecols=again, dtype=str, **how))
        for k, i in enumerate(again):
            if names[i] in as_text or texts.iloc[:, k].str.match(r"[-+]?0\d").any():
                frame.isetitem(i, texts.iloc[:, k])
    frame.columns = pd.Index(names)
    return frame


def _without_blanks(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Strip the texts of a frame, so that those of blanks alone are missing, and return it."""
    import pandas as pd

    for i in range(frame.shape[1]):
        if pd.api.types.infer_dtype(frame.iloc[:, i]) == "string":
            texts = frame.iloc[:, i].str.strip()
            frame.isetitem(i, texts.mask(texts == ""))
    return frame


def _may_begin_with_zeros(path: Path, sep: str, encoding: str) -> bool:
    """Whether a zero and another digit follow what a cell may begin with."""
    begins = re.compile(rf'[{re.escape(sep)}"\s][-+]?0\d')
    last = ""
    with path.open(encoding=encoding, newline="") as file:
        while more := file.read(_CHUNK):
            text = last + more
            if begins.search(text):
                return True
            last = text[-3:]
    return False


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(path)


def _kinds() -> str:
    return f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def _encoding(path: Path, given: str | None) -> str:
    """Return the encoding of a text file: as given, or by the mark that it begins with, or else UTF-8."""
    with path.open("rb") as file:
        start = file.read(3)
    by_mark = next((name for mark, name in _BOMS.items() if start.startswith(mark)), None)
    if given is None:
        return by_mark or "utf-8"
    try:
        name = codecs.lookup(given).name
    except LookupError:
        raise InputError(f"encoding={given!r} is unknown: give one that Python knows, latin-1 for example") from None
    return by_mark if by_mark == "utf-8-sig" and name == "utf-8" else name


def _undecodable_line(path: Path, encoding: str) -> int:
    """Return the number of the first line with a byte that the encoding does not have."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                decoder.decode(line)
            except UnicodeError:
                return number
    return number


def _separator(path: Path, given: str | None, encoding: str, decimal: str | None) -> str:
    """Return what separates the columns, which is not the decimal mark.

    `csv.Sniffer` is not used: it takes letters for separators, and fails on quoted cells.
    """
    if given is not None:
        sep = {"tab": "\t", "\\t": "\t"}.get(given, given)
        if len(sep) != 1 or sep in '"\r\n':
            raise InputError(f"sep={given!r} is not a separator: give one character, or tab")
        return sep
    with path.open(encoding=encoding, newline="") as file:
        lines = list(itertools.islice(file, _SAMPLE))
    possible = _SEPARATORS.replace(decimal or ".", "")
    evidence = {sep: _evidence(list(_cells(lines, sep)), cut=len(lines) == _SAMPLE) for sep in possible}
    equal = [sep for sep, (divides_equally, _) in evidence.items() if divides_equally]
    if len(equal) > 1 and len(lines) > 1:
        raise InputError(f"{path} could be separated by {' or '.join(map(repr, equal))}: say by which, with sep")
    return max(possible, key=evidence.__getitem__)  # the first of equals


def _cells(lines: list[str], sep: str) -> Iterator[int]:
    """Yield the number of cells of each row, of which a quoted cell may make several lines."""
    try:
        yield from (len(row) for row in csv.reader(lines, delimiter=sep, skipinitialspace=True) if row)
    except csv.Error:  # a cell of more than 131,072 characters, for example
        return


def _evidence(counts: list[int], cut: bool) -> tuple[bool, int]:
    """Return how well a separator explains the rows: whether it divides all alike, and the cells of the first.

    `cut` says that the last row may be incomplete.
    """
    cells = counts[0] if counts else 0
    return cells > 1 and len(set(counts[:-1] if cut else counts)) == 1, cells
