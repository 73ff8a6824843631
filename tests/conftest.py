import os
import sys
from collections.abc import Iterator

import pytest
import scipy.linalg  # noqa: F401  # its BLAS is a library of its own
from threadpoolctl import threadpool_limits

threadpool_limits(1, "blas")  # matrices are small here: two threads are no faster, and far slower on a busy machine
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else Ray writes a token under the user's home
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """One local Ray of two CPUs for all the tests that need one in this process."""
    import ray

    options = {"include_dashboard": False, "object_store_memory": 100_000_000, "logging_level": "ERROR"}
    ray.init("local", num_cpus=2, **options)  # and not whichever Ray another process has started
    yield
    ray.shutdown()


@pytest.fixture
def clean_imports() -> Iterator[None]:
    """Modules named `for_checks` are imported anew by every test, which leaves the path as it was."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - modules:
        if "for_checks" in name:
            del sys.modules[name]
    sys.path[:] = path
