"""All code on the pages runs: the Python as it stands, the commands as far as their options go."""

import click
import pytest

from law_ray.cli import cli
from tests.docs.documents import PAGES, blocks, commands, name, run

WITH_PYTHON = [pytest.param(page, id=name(page)) for page in PAGES if blocks(page, "python")]
WITH_COMMANDS = [pytest.param(page, id=name(page)) for page in PAGES if commands(page)]


def parse(arguments):
    """Let click read a command line as `law-ray` would, without running the command."""
    parent = click.Context(cli, info_name="law-ray", **cli.context_settings)
    command, *rest = arguments
    return cli.commands[command].make_context(command, rest, parent=parent)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster", "clean_imports")
@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_of_a_page_runs_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert run(page, tmp_path) > 0


def test_pages_with_python_are_found():
    assert len(WITH_PYTHON) >= 15


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_block_that_is_not_run_says_why(page):
    for block in blocks(page, "python"):
        assert block.reason is None or len(block.reason.split()) >= 3


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_are_understood(page):
    for arguments in commands(page):
        parse(arguments)


def test_commands_are_found_in_jobs_and_on_continued_lines():
    found = commands(next(page for page in PAGES if name(page) == "docs/how-to/cluster.md"))
    assert ["run", "my_objective.py:score", "--n-items", "12"] in [arguments[:4] for arguments in found]
    assert any("s3://my-bucket/run1" in arguments for arguments in found)


@pytest.mark.parametrize("wrong", [["run", "f.py:f", "--evasl", "3"], ["resume"], ["run", "f.py:f", "--evals", "many"]])
def test_a_wrong_command_would_be_noticed(wrong):
    with pytest.raises(click.UsageError):
        parse(wrong)
