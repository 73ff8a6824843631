import subprocess
import sys

COUNT = """
import numpy, scipy.linalg, threadpoolctl, sys
{first}
from law_ray import threads
threads.limit({n})
import numba
print({{pool["num_threads"] for pool in threadpoolctl.threadpool_info()}}, numba.get_num_threads())
"""


def counts(n, first=""):
    code = COUNT.format(n=n, first=first)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_all_pools_get_the_number_asked_for_whether_imported_before_or_after():
    assert counts(1) == "{1} 1"
    assert counts(1, "import numba") == "{1} 1"
    assert counts(2) == "{2} 2"
