"""`python -m tests.golden.record` records the histories again; a commit that does so must say why they changed.

The last digits of a model depend on the processor: OpenBLAS has kernels for each kind, and where several points are
nearly as good a last digit decides. So there is a file for each kind of kernels: SkylakeX, those of processors with
AVX-512, and Haswell, those of processors without, recorded with the environment variable OPENBLAS_CORETYPE=Haswell.
"""

import json
from pathlib import Path

import numpy  # noqa: F401 - loads the BLAS that is asked for its kernels
from threadpoolctl import threadpool_info

from tests.golden.scenarios import scenarios

FOLDER = Path(__file__).parent / "histories"


def file() -> Path:
    """Return where the histories with this process's BLAS kernels are, recorded or not."""
    kinds = [info["architecture"] for info in threadpool_info() if info["user_api"] == "blas"]
    return FOLDER / f"{kinds[0] if kinds else 'unknown'}.json"


def main() -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(play(*arguments))}" for name, (play, *arguments) in scenarios().items()]
    file().write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
