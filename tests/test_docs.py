"""The documents name files that exist, and their code and the YAML files can be parsed.

This module needs only pytest and PyYAML, so that the documents can be checked without installing law_ray. The links
between the pages of the site are checked by its strict build, and `tests/docs` runs the code.
"""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
AT_ROOT = sorted(ROOT.glob("*.md"))
DOCUMENTS = [*AT_ROOT, *sorted(ROOT.glob("docs/**/*.md"))]
YAML_FILES = sorted(
    [
        *ROOT.glob("*.yaml"),
        ROOT / "mkdocs.yml",
        *ROOT.glob(".pre-commit-config.yaml"),
        *ROOT.glob("*.cff"),
        *ROOT.glob(".github/**/*.yml"),
    ]
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([^`\n]+)`")
# A quoted path in one of our folders. Names in capitals, such as law_ray/methods/NAME.py, are placeholders.
PATH = re.compile(r"(?:law_ray|objectives|experiments|tests|tools|docs|\.github)/[\w./-]*")
PLACEHOLDER = re.compile("NAME")


def ids(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def without_code(text: str) -> str:
    return FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ +(.+)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(text: str, *languages: str) -> Iterator[str]:
    return (code for language, code in FENCE.findall(text) if language in languages)


def test_documents_are_found():
    assert {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} <= {path.name for path in AT_ROOT}
    assert len(DOCUMENTS) > len(AT_ROOT) + 20
    assert {"cluster.yaml", "CITATION.cff", "ci.yml", "bug.yml"} <= {path.name for path in YAML_FILES}


@pytest.mark.parametrize("document", AT_ROOT, ids=ids(AT_ROOT))
def test_links_within_the_project_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    broken = []
    for link in LINK.findall(without_code(text)):
        if re.match(r"https?://|mailto:", link):
            continue
        file, _, anchor = link.partition("#")
        target = document.parent / file if file else document
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids(DOCUMENTS))
def test_quoted_paths_exist(document):
    quoted = QUOTED.findall(without_code(document.read_text(encoding="utf-8")))
    paths = [word for word in quoted if PATH.fullmatch(word) and not PLACEHOLDER.search(word)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids(DOCUMENTS))
def test_code_blocks_can_be_parsed(document):
    text = document.read_text(encoding="utf-8")
    for code in blocks(text, "python"):
        ast.parse(code)
    for code in blocks(text, "json"):
        json.loads(code)
    for code in blocks(text, "yaml"):
        yaml.safe_load(code)
    for code in blocks(text, "", "sh", "bash", "console"):
        if re.match(r"(law-ray|make|pip|git|python|export|\.venv/)", code):
            shlex.split(code, comments=True)  # raises ValueError where a quote is not closed


@pytest.mark.parametrize("file", YAML_FILES, ids=ids(YAML_FILES))
def test_yaml_files_can_be_parsed(file):
    assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)


def test_the_citation_has_the_version_of_the_package():
    version = re.search(r'__version__ = "(.+)"', (ROOT / "law_ray/__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    assert str(yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]) == version[1]


def test_workflows_call_targets_that_the_makefile_has():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        assert set(re.findall(r"\bmake ([\w-]+)", workflow.read_text(encoding="utf-8"))) <= targets
