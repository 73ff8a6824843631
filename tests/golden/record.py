"""`python -m tests.golden.record` records the histories again; a commit that does so must say why they changed."""

import json
from pathlib import Path

from tests.golden.scenarios import scenarios

HISTORIES = Path(__file__).parent / "histories.json"


def main() -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(play(*arguments))}" for name, (play, *arguments) in scenarios().items()]
    HISTORIES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
