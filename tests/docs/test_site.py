"""The site is complete, its generated pages are right, and it builds strictly and loads nothing from elsewhere."""

import posixpath
import re
import subprocess
import sys
from typing import get_args

import click
import numpy as np
import pytest
import yaml

import law_ray
from law_ray.cli import cli
from law_ray.runs import records
from law_ray.runs.settings import options
from tests.docs.documents import DOCS, ROOT
from tools import docs_pages, law_in_pictures

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def in_navigation(entries):
    """The pages that a part of the navigation lists."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from [below] if isinstance(below, str) else in_navigation(below)


def test_every_page_is_in_the_navigation_once():
    listed = list(in_navigation(CONFIGURATION["nav"]))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    generated = {path for path in docs_pages.pages() if path.endswith(".md")}
    assert sorted(listed) == sorted(written | generated)


def test_every_page_of_results_is_introduced():
    introduction = (DOCS / "results" / "index.md").read_text(encoding="utf-8")
    pages = [path.name for path in (ROOT / "experiments" / "results").glob("*.md")]
    assert len(pages) >= 10
    assert [page for page in pages if f"(../../experiments/results/{page})" not in introduction] == []


def test_every_link_of_a_page_leads_to_a_file_of_the_repository_too():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 150
    dead = {link for page, link in links if "://" not in link and not (page.parent / link).exists()}
    assert dead == {"command-line.md"}  # that page is in the site alone


def test_links_to_results_and_notebooks_lead_to_pages_of_the_site():
    generated = set(docs_pages.pages())
    for page in DOCS.rglob("*.md"):
        shown = docs_pages.on_page_markdown(page.read_text(encoding="utf-8"), None, None, None)
        for link in LINK.findall(shown):
            target = posixpath.normpath(posixpath.join(page.parent.relative_to(DOCS).as_posix(), link))
            assert "://" in link or target in generated or (DOCS / target).exists(), (page, link)


def test_the_page_of_the_command_line_has_every_command_and_option():
    page = docs_pages.command_line()
    for name, command in cli.commands.items():
        _, _, rest = page.partition(f"## law-ray {name}\n")
        section = rest.partition("\n## ")[0]
        flags = [flag for each in command.params if isinstance(each, click.Option) for flag in each.opts]
        assert [flag for flag in flags if flag not in section] == [], name
    assert "**How to choose**" in page


def test_the_options_of_minimize_are_on_its_page():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    shown = docs_pages.on_page_markdown(page, None, None, None)
    assert len(options()) > 10
    assert [name for name in options() if f"| `{name}` |" not in shown] == []


def test_the_scripts_are_on_the_page_of_examples():
    shown = docs_pages.on_page_markdown((DOCS / "examples" / "index.md").read_text(encoding="utf-8"), None, None, None)
    scripts = list((DOCS / "examples").glob("*.py"))
    assert len(scripts) == 4
    assert [path.name for path in scripts if f"```python\n{path.read_text(encoding='utf-8')}```" not in shown] == []


def test_the_page_of_the_journal_names_every_record_and_key():
    page = (DOCS / "reference" / "journal.md").read_text(encoding="utf-8")
    kinds = [*get_args(records.Record), records.ObjectiveRecord, records.TrialRecord]
    keys = {key for kind in kinds for key in kind.__annotations__}
    types = {get_args(kind.__annotations__["type"])[0] for kind in get_args(records.Record)}
    assert {"ask", "tell", "fail", "resume"} <= types
    assert "traceback" in keys
    assert sorted(word for word in keys | types if not re.search(rf'[`"]{word}[`"]', page)) == []


def test_the_columns_of_the_history_are_those_on_the_page():
    page = (DOCS / "how-to" / "reading-back.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.+?`) \| (?:int64|float64|object|text) \|", page, re.MULTILINE)
    documented = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    old = next((ROOT / "tests/law_ray/runs/data").iterdir())
    assert documented == list(law_ray.load(old).history.columns)


def test_a_notebook_becomes_text_code_figures_and_tables():
    figure = {"data": [{"y": [1], "text": "</script>"}], "layout": {}}
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {
            "cell_type": "code",
            "source": ["x = 1"],
            "outputs": [
                {"data": {docs_pages.PLOTLY: figure}},
                {"data": {"text/html": "<table></table>", "text/plain": "table"}},
                {"data": {"image/png": "iVBORw0KGgo="}},
                {"name": "stdout", "text": ["said\n"]},
            ],
        },
    ]
    text, images = docs_pages.notebook({"cells": cells}, "a")
    assert "# Title" in text
    assert "```python\nx = 1\n```" in text
    assert text.count("</script>") == 2  # the library's and the figure's own: none ends within the data
    assert '<div class="notebook-output"><table></table></div>' in text
    assert images == {"a-1-2.png": b"\x89PNG\r\n\x1a\n"}
    assert "```text\nsaid\n```" in text


@pytest.fixture(scope="module")
def toy():
    return law_in_pictures.toy()


def test_the_batch_of_the_toy_is_the_greedy_maximum_of_the_determinant(toy):
    free = np.setdiff1d(np.arange(len(toy.orderings)), toy.known)
    assert toy.batch[0] == free[toy.acquisition[free].argmax()]
    for size in range(1, len(toy.batch)):
        chosen = toy.batch[:size]
        candidates = np.setdiff1d(free, chosen)
        determinants = [np.linalg.det(toy.weighted_kernel(np.append(chosen, each))) for each in candidates]
        assert toy.batch[size] == candidates[int(np.argmax(determinants))]


def test_what_the_page_says_of_the_toy_is_so(toy):
    page = (DOCS / "explanation" / "law.md").read_text(encoding="utf-8")
    best = "".join(law_in_pictures.JOBS[item] for item in toy.orderings[toy.values.argmin()])
    assert f"the best of all orderings, {best}" in page
    assert toy.batch[0] == toy.values.argmin()
    largest = toy.weighted_kernel(toy.best_by_acquisition)
    scale = np.sqrt(np.diag(largest))
    correlations = largest / np.outer(scale, scale) - np.eye(len(scale))
    assert f"up to {correlations.max():.2f}" in page
    assert np.linalg.slogdet(toy.weighted_kernel(toy.batch))[1] > np.linalg.slogdet(largest)[1]


def test_the_figures_of_the_toy_are_drawn_and_the_page_shows_them(toy, tmp_path):
    drawn = {path.name for path in law_in_pictures.draw(toy, tmp_path)}
    page = (DOCS / "explanation" / "law.md").read_text(encoding="utf-8")
    assert drawn == set(re.findall(r"\(\.\./images/([\w-]+\.svg)\)", page))
    assert all((DOCS / "images" / name).exists() for name in drawn)


@pytest.mark.slow
def test_the_site_builds_strictly_and_no_page_loads_anything_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="needs the extra `docs`")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 35
    loads = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?https?:|<link[^>]*stylesheet[^>]*https?:")
    assert [page.name for page in pages if loads.search(page.read_text(encoding="utf-8"))] == []
