"""The pages of the documentation that are made from other files while MkDocs builds the site.

MkDocs loads this file as a hook (`mkdocs.yml`). It adds the pages of `experiments/results` as they are, the reference
of the command line from click's own declarations, and the notebooks of `docs/examples` with their stored outputs.
"""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from plotly.offline import get_plotlyjs

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
EXAMPLES = ROOT / "docs" / "examples"
IMAGES = {"image/png": "png", "image/svg+xml": "svg"}
"""The pictures that a notebook can hold, by their MIME types, and the suffixes of their files."""
PLOTLY = "application/vnd.plotly.v1+json"
PLOTLY_SCRIPT = "javascripts/plotly.min.js"
FIGURE = """<div id="{name}" class="notebook-figure"></div>
<script>Plotly.newPlot("{name}", {data}, {layout}, {{responsive: true, displayModeBar: false}});</script>"""


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the files of the site; MkDocs calls this once per build."""
    from mkdocs.structure.files import File

    for path, content in pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the options of `minimize`, and the example scripts, where a page asks for them by a comment.

    Links to pages of results and to notebooks are those of the repository, so that they work there too; here they lead
    to the pages of the site. MkDocs calls this for each page.
    """
    shown = markdown.replace("<!-- the options of minimize -->", minimize_options())
    shown = re.sub(r"<!-- the script (\w+\.py) -->", lambda found: script(found[1]), shown)
    shown = re.sub(r"\]\(\.\./((?:\.\./)*)experiments/results/", r"](\1results/", shown)
    return re.sub(r"\]\((\w+)\.ipynb\)", lambda found: f"]({_page_of(found[1])}.md)", shown)


def _page_of(notebook: str) -> str:
    return notebook.replace("_", "-")


def script(name: str) -> str:
    """Return a script of the examples as a block of code."""
    return f"```python\n{(EXAMPLES / name).read_text(encoding='utf-8')}```"


def minimize_options() -> str:
    """Return the options of `minimize` as tables, by group: their names, defaults and help."""
    from law_ray.runs.settings import options

    groups: dict[str, list[str]] = {}
    for name, each in options().items():
        default = "auto" if name == "batch_size" else each.default
        row = f"| `{name}` | `{default!r}` | {_cell(each.metadata['help'])} |"
        groups.setdefault(each.metadata["group"], []).append(row)
    tables = [
        f"**{group}**\n\n" + "\n".join(["| option | default | |", "|---|---|---|", *rows])
        for group, rows in groups.items()
    ]
    return "\n\n".join(["### The options of minimize", *tables])


def pages() -> dict[str, str | bytes]:
    """Return the generated files by their path within the site's sources."""
    found: dict[str, str | bytes] = {"reference/command-line.md": command_line()}
    for path in sorted(RESULTS.glob("*.md")):
        found[f"results/{path.name}"] = path.read_text(encoding="utf-8")
    for path in sorted(RESULTS.glob("*.png")):
        found[f"results/{path.name}"] = path.read_bytes()
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        name = _page_of(path.stem)
        text, images = notebook(json.loads(path.read_text(encoding="utf-8")), name)
        found[f"examples/{name}.md"] = text
        found |= {f"examples/{file}": image for file, image in images.items()}
    found[PLOTLY_SCRIPT] = get_plotlyjs()  # served by the site itself: no page asks another server
    return found


def command_line() -> str:
    """Return the reference of the command line: for each command its usage, its help, and its options in groups."""
    from law_ray.cli import cli

    context = click.Context(cli, info_name="law-ray")
    parts = ["# Command line", f"{_help(cli)} `python -m law_ray` is the same command."]
    parts += [part for name, command in cli.commands.items() for part in _command(name, command, context)]
    parts += [
        "## Exit status",
        "0: the run ended. 2: bad usage or bad input, with one line on stderr that names the culprit and the remedy. "
        "1: the run itself failed. 130: it was interrupted, and can be resumed.",
    ]
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield f"## law-ray {name}"
    yield "```\n" + " ".join([context.command_path, *command.collect_usage_pieces(context)]) + "\n```"
    yield _help(command)
    with _Recorder() as recorder:
        command.format_options(context, recorder)
    for group, rows in recorder.groups:
        yield f"**{group}**"
        lines = [f"| `{' '.join(option.split())}` | {_cell(about)} |" for option, about in rows]
        yield "\n".join(["| option | |", "|---|---|", *lines])


class _Recorder(click.HelpFormatter):
    """Takes down the groups of options that a command would print."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[tuple[str, list[tuple[str, str]]]] = []

    def __enter__(self) -> "_Recorder":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def write_heading(self, heading: str) -> None:
        self.groups.append((heading, []))

    def write_dl(self, rows: Any, *_: Any, **__: Any) -> None:
        self.groups[-1][1].extend(rows)


def _help(command: click.Command) -> str:
    return " ".join((command.help or "").split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def notebook(content: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and the pictures among its outputs by the names of their files.

    Args:
        content: The notebook, as JSON (nbformat 4).
        name: What the files of the pictures begin with.
    """
    parts = [f'<script src="../../{PLOTLY_SCRIPT}"></script>']
    images: dict[str, bytes] = {}
    for number, cell in enumerate(content["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for k, output in enumerate(cell["outputs"]):
            data = output.get("data", {"text/plain": output.get("text", "")})
            kind = next((kind for kind in IMAGES if kind in data), None)
            if PLOTLY in data:
                parts.append(_figure(f"{name}-{number}-{k}", data[PLOTLY]))
            elif kind:
                file = f"{name}-{number}-{k}.{IMAGES[kind]}"
                images[file] = _picture(kind, "".join(data[kind]))
                parts.append(f"![What the cell above draws]({file})")
            elif "text/html" in data:
                parts.append(f'<div class="notebook-output">{"".join(data["text/html"])}</div>')
            else:
                parts.append("```text\n" + "".join(data["text/plain"]).rstrip() + "\n```")
    return "\n\n".join(parts) + "\n", images


def _figure(name: str, figure: dict[str, Any]) -> str:
    data, layout = (json.dumps(figure[key]).replace("</", "<\\/") for key in ("data", "layout"))
    return FIGURE.format(name=name, data=data, layout=layout)


def _picture(kind: str, stored: str) -> bytes:
    return base64.b64decode(stored) if kind == "image/png" else stored.encode()
