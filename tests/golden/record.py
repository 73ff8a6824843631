"""`python -m tests.golden.record` records the histories again; a commit that does so must say why they changed.

The last digits of a model depend on the processor: numba, NumPy and OpenBLAS have code for each kind, and where several
points are nearly as good a last digit decides. So the scenarios are played in a process where all three use their code
for processors with AVX2, which is what most have in common.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.golden.scenarios import scenarios

FILE = Path(__file__).parent / "histories.json"
FEATURES = "avx avx2 bmi bmi2 cmov cx16 f16c fma lzcnt mmx movbe popcnt sse sse2 sse3 sse4.1 sse4.2 ssse3"
"""Those of a Haswell, which was the first kind of processor with AVX2."""
ENVIRONMENT = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in FEATURES.split()),
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
}


def played(names: Iterable[str]) -> dict[str, Any]:
    """Play some scenarios in a process with `ENVIRONMENT`; return their histories by name."""
    _play(["law-auto on tour"])  # the process that compiles these loops gets other last digits than those after it
    return json.loads(_play(names))


def _play(names: Iterable[str]) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tests.golden.scenarios", *names],
        cwd=Path(__file__).parents[2],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def main() -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(history)}" for name, history in played(scenarios()).items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
