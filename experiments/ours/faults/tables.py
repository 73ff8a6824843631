"""Tables that the command line is given as nml:FILE.csv: odd encodings, odd names of columns, and a million rows."""

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import law_ray
from experiments.ours.faults.places import command
from experiments.ours.faults.rays import memory_of, one_node
from experiments.ours.faults.strangers import checked
from experiments.ours.faults.striking import Row
from objectives.nml.data.exports import read_csv

RUN = ["--evals", "24", "--method", "random", "--out", "run", "--json", "--quiet"]
ROWS = 1_000_000
FORMULAS = ["=1+1", "+b", "-c", "@d", "\te"]
"""Names that a spreadsheet would compute."""


def text(names: list[str], quoted: bool = False) -> str:
    """Return a table of three or more binary columns, each of which depends on the one before, as CSV."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(2, size=200)]
    while len(codes) < len(names):
        codes.append(np.where(rng.random(200) < 0.9, codes[-1], 1 - codes[-1]))
    quote = '"' if quoted else ""
    header = ",".join(f'"{name}"' for name in names)
    rows = [",".join(f"{quote}{'ja' if code else 'nein'}{quote}" for code in row) for row in zip(*codes, strict=True)]
    return "\n".join([header, *rows]) + "\n"


ACCEPTED = {
    "a byte order mark": text(["a", "b", "c"]).encode("utf-8-sig"),
    "UTF-16": text(["a", "b", "c"]).encode("utf-16"),
    "quotes": text(["a,1", 'b ""2""', "c"], quoted=True).encode(),
    "CR LF": text(["a", "b", "c"]).replace("\n", "\r\n").encode(),
    "a line break in a name": text(["a\nb", "c", "d"]).encode(),
    "paths as names": text(["../../a", "/etc/b", "c\\d"]).encode(),
    "HTML as names": text(["<script>x</script>", "<b>", "c"]).encode(),
}
REFUSED = {
    "repeated columns": text(["a", "b", "a"]).encode(),
    "no name": text(["a", "", "c"]).encode(),
    "Latin-1": text(["größe", "b", "c"]).encode("latin-1"),
    "no rows": b"a,b,c\n",
    "nothing": b"",
    "an image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
}
"""Contents of files, in words."""


def accepted() -> Row:
    """Return the row of tables that are odd, but sound."""
    wrong = []
    with tempfile.TemporaryDirectory() as name, one_node(), warnings.catch_warnings(record=True) as warned:
        for k, (kind, content) in enumerate(ACCEPTED.items()):
            home = Path(name) / str(k)
            home.mkdir()
            (home / "t.csv").write_bytes(content)
            result = law_ray.minimize(f"nml:{home / 't.csv'}", evals=5, n_init=3, out=home / "run", progress=False)
            run = law_ray.load(home / "run")
            page = run.write_page().read_text()
            edges = read_csv(home / "run" / "best_dag.csv")
            outside = {path.name for path in home.iterdir()} - {"t.csv", "run"}
            if run.failures or len(edges) != 2 or "<script>x" in page or outside:
                wrong.append(f"{kind}: {result}, {edges}, {outside}")
        wrong += [str(each.message) for each in warned if "t.csv" in str(each.message)]
        wrong += [path.name for path in Path(name).iterdir() if not path.name.isdecimal()]
    return checked(f"tables: {', '.join(ACCEPTED)}", not wrong, "; ".join(wrong)[:400] or "as any")


def refused() -> Row:
    """Return the row of tables that cannot be used, and of one that can once its encoding is given."""
    wrong = []
    for kind, content in REFUSED.items():
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            (home / "t.csv").write_bytes(content)
            done = command(home, "run", "nml:t.csv", *RUN)
            print(kind, done.returncode, done.stderr, file=sys.stderr)
            if done.returncode != 2 or done.stderr.count("\n") != 1 or "t.csv" not in done.stderr:
                wrong.append(f"{kind}: {done.stderr[-300:]}")
            if kind == "Latin-1":
                done = command(home, "run", "nml:t.csv", "-o", "encoding=latin-1", *RUN)
                if done.returncode or "größe" not in json.loads(done.stdout)["ordering"]:
                    wrong.append(f"its encoding given: {done.stderr[-300:]}")
    return checked(f"tables: {', '.join(REFUSED)}", not wrong, "; ".join(wrong) or "refused, each in one line")


def formulas() -> Row:
    """Return the row of a table whose columns are called like formulas of a spreadsheet."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "t.csv").write_bytes(text(FORMULAS).encode())
        done = command(home, "run", "nml:t.csv", *RUN)
        print(done.returncode, done.stderr, file=sys.stderr)
        cells = [cell for line in (home / "run" / "best_dag.csv").read_text().splitlines() for cell in line.split(",")]
    whole = len(cells) > 4 and not any(cell.strip('"').startswith(("=", "+", "-", "@", "\t")) for cell in cells)
    fault = "a table whose columns are called =1+1, +b, -c, @d"
    return checked(fault, whole, "best_dag.csv has no formula" if whole else " ".join(cells)[:200])


def million_rows() -> Row:
    """Return the row of a table of a million rows and ten columns: the time and the memory of the whole command."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        rng = np.random.default_rng(0)
        codes = rng.integers(3, size=(ROWS, 10))
        codes[:, 1:] = np.where(rng.random((ROWS, 9)) < 0.7, codes[:, :-1], codes[:, 1:])
        np.savetxt(home / "t.csv", codes, "%d", ",", header=",".join("abcdefghij"), comments="")
        begun = time.monotonic()
        with memory_of("") as memory:
            done = command(home, "run", "nml:t.csv", *RUN)
        seconds = time.monotonic() - begun
    whole = done.returncode == 0 and json.loads(done.stdout)["evaluations"] == 24
    how = f"{seconds:.0f} s, its largest process {max(memory) / 2**30:.1f} GiB" if whole else done.stderr[-300:]
    return checked(f"a table of {ROWS:,} rows and 10 columns", whole, how)


SCENES: dict[str, Callable[[], Row]] = {
    "tables": accepted,
    "tables-refused": refused,
    "formulas": formulas,
    "million-rows": million_rows,
}
