import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import scipy.linalg  # noqa: F401  # its BLAS is a library of its own
from threadpoolctl import threadpool_limits

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1_000)
hypothesis.settings.load_profile("repeatable")

threadpool_limits(1, "blas")  # matrices are small here: two threads are no faster, and far slower on a busy machine
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else Ray writes a token under the user's home
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


NEED_RAY = ("tests/docs/", "tests/law_ray/driver/", "tests/law_ray/test_cli.py", "tests/law_ray/test_tune.py")
"""Where the tests are that use the fixture `cluster`."""


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run all tests that need Ray in one process, and the golden histories, where tests run in several (`make test`).

    The mark `xdist_group` would say the same, but pytest 9.2 ignores what pytest-xdist 3.8 makes of it.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/golden/"):
                return "golden"
            return "ray" if nodeid.startswith(NEED_RAY) else nodeid

    return Grouped(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """Start one Ray of two CPUs for all the tests of this process that need one: it takes seconds."""
    import ray

    options = {"include_dashboard": False, "object_store_memory": 100_000_000, "logging_level": "ERROR"}
    ray.init("local", num_cpus=2, **options)  # not a Ray that another process has started
    yield
    ray.shutdown()


@pytest.fixture
def clean_imports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget the modules that a test has imported from a temporary folder, and restore the path."""
    path = list(sys.path)
    yield
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).is_relative_to(tmp_path_factory.getbasetemp()):
            del sys.modules[name]
    sys.path[:] = path
