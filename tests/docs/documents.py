"""The code blocks of the documents, and how they are run.

A page's Python blocks run in order, in one namespace, in a folder of their own. A block whose first line is `# NAME.py`
is saved as that file and run as a script. A block that cannot run has a comment before it that says why:

    <!-- not run: it needs a cluster -->
"""

import re
import runpy
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\n?)?```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    code: str
    line: int
    """of the page, of its first line of code"""
    reason: str | None
    """why it is not run"""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(match["language"], match["code"], line, match["reason"]))
    return [block for block in found if block.language in languages]


def run(page: Path, folder: Path) -> int:
    """Run a page's Python blocks in a folder, which is the current one and on the path. Return how many ran."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks(page, "python"):
        if block.reason is not None:
            continue
        count += 1
        file = FILE.match(block.code)
        if file:
            (folder / file[1]).write_text(block.code, encoding="utf-8")
            runpy.run_path(str(folder / file[1]), run_name="__main__")
        else:  # with as many empty lines before it that a traceback has the line of the page
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), namespace)
    return count


def commands(page: Path) -> list[list[str]]:
    """Return the arguments of each `law-ray` command in the shell blocks of a page."""
    found = []
    for block in blocks(page, "", "sh"):
        for line in block.code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:3] == ["python", "-m", "law_ray"]:
                found.append(words[3:])
            elif "law-ray" in words and (words[0] == "law-ray" or "--" in words):
                found.append(words[words.index("law-ray") + 1 :])
    return found
