import subprocess
import sys

COUNT = """
import numpy, scipy.linalg, threadpoolctl, sys
{first}
from law_ray.utils import threads
threads.limit({n})
import numba
print({{pool["num_threads"] for pool in threadpoolctl.threadpool_info()}}, numba.get_num_threads())
"""


def counts(n, first=""):
    code = COUNT.format(n=n, first=first)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_all_thread_pools_get_the_given_number_whether_imported_before_or_after():
    assert counts(1) == "{1} 1"
    assert counts(1, "import numba") == "{1} 1"
    assert counts(2) == "{2} 2"


def test_blas_can_have_a_different_number_of_threads():
    code = COUNT.format(n=2, first="").replace("limit(2)", "limit(2, blas=1)")
    code = code.replace("threadpool_info()}", "threadpool_info() if pool['user_api'] == 'blas'}")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{1} 2"
