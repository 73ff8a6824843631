"""Which numbers support our claims? Each table and figure is written by one command.

`paper` repeats the tables of the paper, `ours` answers questions of our own, and the modules here are what both share.
They may import anything; nothing but the tests imports them.
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
"""The folder of the rows and reports, which are committed."""
