"""Run the notebooks of docs/examples and store their outputs, without paths of this machine.

    python tools/notebooks.py

Do so after a change of a notebook, or of what its outputs show.
"""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))
TIMEOUT = 300
"""Seconds of one cell."""


def executed(path: Path, folder: Path) -> Any:
    """Run a notebook in a folder and return it with its outputs, in which that folder is called `.`.

    Args:
        path: The notebook.
        folder: Where it runs; the files that it writes stay there.

    Raises:
        CellExecutionError: A cell raised.
    """
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"  # else each figure is stored with all of Plotly's script
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=TIMEOUT, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":  # what goes to stderr is about the machine: warnings of Ray, tqdm and the like
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    text = nbformat.writes(notebook)
    cleaned = nbformat.reads(re.sub(re.escape(str(folder)) + r"(?=[/\"\\ ])", ".", text), as_version=4)
    cleaned.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return cleaned


def main() -> None:
    """Run all notebooks in temporary folders, and write them back."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
