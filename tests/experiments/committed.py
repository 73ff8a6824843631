"""Reports that were committed, against what is written from the committed rows today."""

import difflib
import re

from experiments import RESULTS

VERSIONS = re.compile(r"^law_ray [0-9][^ ]*, Python [^ ]*, NumPy [^ ]*[0-9]", re.MULTILINE)


def check_committed(name: str, report: str) -> None:
    """Assert that a committed report equals this one, but for the versions that wrote it."""
    committed = (RESULTS / f"{name}.md").read_text()
    before, now = (VERSIONS.sub("law_ray", text).splitlines(keepends=True) for text in (committed, report))
    assert before == now, "".join(difflib.unified_diff(before, now, f"committed {name}.md", "written now"))
