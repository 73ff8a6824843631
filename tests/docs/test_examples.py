"""The scripts and notebooks of docs/examples run, and what is stored of the notebooks tells nothing of a machine."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.docs.documents import DOCS, ROOT

EXAMPLES = DOCS / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
SAYS = {
    "async_processes.py": r"best order:( \d){8} with \d",
    "noisy_line.py": r"evaluated again: \d+\.\d \+- \d+\.\d minutes\nthe best with confidence \d+%",
    "ray_tune.py": r"best order:( \w+){6} with \d",
    "table_to_network.py": r"hot -> defect\n(.*\n)*worn -> defect\n(.*\n)*defect -> alarm",
}
"""What each script prints, as a regular expression; of the network, edges that are true."""


def names(paths):
    return [path.name for path in paths]


def test_the_examples_are_all_there_and_on_their_page():
    assert set(names(SCRIPTS)) == SAYS.keys()
    assert len(NOTEBOOKS) == 2
    page = (EXAMPLES / "index.md").read_text(encoding="utf-8")
    assert [name for name in names(SCRIPTS + NOTEBOOKS) if name not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_a_script_runs_and_says_what_it_found(script, tmp_path):
    # Tune joins any Ray that it finds on the machine, unless told otherwise.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_ADDRESS": "local"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[script.name], done.stdout), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_a_notebook_runs_and_has_the_outputs_it_had(notebook, tmp_path, monkeypatch):
    pytest.importorskip("nbclient", reason="needs the extra `docs`")
    from tools.notebooks import executed

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kinds = [outputs(cell) for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]]
    assert [outputs(cell) for cell in executed(notebook, tmp_path).cells] == kinds


def outputs(cell):
    """The kinds of the outputs of a cell."""
    return [sorted(output.get("data", [output.get("name")])) for output in cell.get("outputs", [])]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_a_stored_notebook_has_figures_and_no_paths_of_a_machine(notebook):
    text = notebook.read_text(encoding="utf-8")
    assert "application/vnd.plotly.v1+json" in text
    assert re.findall(r"(?<![\w.])/(?:home|root|tmp|usr|Users|work|opt)/[^\"\s]*", text) == []
    assert '"stderr"' not in text
    assert len(text) < 500_000
