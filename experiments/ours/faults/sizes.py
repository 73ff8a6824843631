"""Runs that are as small, large or short as can be, and machines that lack something: what the command line does."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import law_ray
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.processes import client
from experiments.ours.faults.rays import head, kill
from experiments.ours.faults.strangers import COMMAND, checked
from experiments.ours.faults.striking import EVALS, Row

CLUSTER_PORT = 7389  # of the head that several runs join
LIMIT = 120  # seconds of one run; heuristic
OBJECTIVE = """
import time

def quick(permutation):
    return float(permutation[0])

def slow(permutation):
    time.sleep(0.3)
    return float(permutation[0])
"""
RANDOM = ["--method", "random"]


def run(
    fault: str, options: list[str], says: str, code: int = 0, function: str = "quick", before: str = "", **more: str
) -> Row:
    """Return the row of a run by the command line.

    Args:
        fault: In words.
        options: Of the command.
        says: What its answer, or its last line, has to say.
        code: The exit code that it must have.
        function: Which of OBJECTIVE.
        before: What the shell does before.
        more: Environment variables; an empty one is removed.
    """
    with tempfile.TemporaryDirectory() as name:
        begun = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", f'{before} exec "$@"', "bash", *_command(name, function), *options],
            cwd=name,
            env={key: value for key, value in (os.environ | {"PYTHONPATH": os.getcwd()} | more).items() if value},
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        last = (done.stderr.strip().splitlines() or [""])[-1]
        said = " ".join(" ".join((done.stdout, last)).split())
        whole = done.returncode == code and says in said and "Traceback" not in done.stderr
        how = f'exit {code}, "{says}"' if whole else f"exit {done.returncode}: {last[:200]}"
        row = checked(fault, whole, how)
        return Row(**{**row.__dict__, "seconds": round(time.monotonic() - begun, 1)})


def _command(name: str, function: str) -> list[str]:
    (Path(name) / "problem.py").write_text(OBJECTIVE)
    return [*COMMAND, "run", f"problem.py:{function}", "--out", "run"]


def three_at_once() -> Row:
    """Return the row of three runs that are started at the same time, each with a Ray of its own."""
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(3)]
        options = ["--n-items", "6", "--evals", "30", *RANDOM, "--json"]
        environment = os.environ | {"PYTHONPATH": os.getcwd()}
        started = [
            subprocess.Popen(
                [*_command(name, "slow"), *options], cwd=name, env=environment, stdout=subprocess.PIPE, text=True
            )
            for name in names
        ]
        answers = [each.communicate(timeout=LIMIT)[0] for each in started]
        whole = all('"evaluations": 30' in answer for answer in answers)
        return checked("three runs at once on one machine", whole, "all end" if whole else " ".join(answers)[:200])


def from_stdin() -> Row:
    """Return the row of a program that Python reads from its standard input, where no module has its objective."""
    code = (
        "import law_ray, tempfile\n"
        "def cost(permutation): return float(permutation[0])\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    print(law_ray.minimize(cost, 5, evals=24, method='random', out=folder + '/run').evaluations)\n"
    )
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, timeout=LIMIT)
    whole = done.stdout.strip() == "24"
    return checked("the program comes from standard input", whole, "as any" if whole else done.stderr[-200:])


def one_cluster() -> Row:
    """Return the row of three runs at once that join one cluster with two CPUs."""
    with tempfile.TemporaryDirectory() as name:
        first = head(CLUSTER_PORT)
        try:
            homes = [Path(name) / str(k) for k in range(3)]
            for home in homes:
                home.mkdir()
            address = f"'127.0.0.1:{CLUSTER_PORT}'"
            started = [client(home, address) for home in homes]
            said = [each.communicate(timeout=LIMIT)[1] for each in started]
        finally:
            kill(first.pid)
        ended = [len(law_ray.load(home / "run").ended) == EVALS for home in homes if (home / "run").exists()]
        repeated = sum(Faulty(home, 0).repeated() for home in homes)
        whole = ended == 3 * [True] and not repeated and not any(each.returncode for each in started)
        how = "all end, and nothing is made twice" if whole else f"{ended}, {repeated}: {' '.join(said)[-200:]}"
        return checked("three runs at once in one cluster", whole, how)


def little_shared_memory() -> Row:
    """Return the row of a run where /dev/shm has 16 MB, in a mount namespace of its own; needs root."""
    inside = shlex.quote('mount -t tmpfs -o size=16M tmpfs /dev/shm && exec "$@"')
    return run(
        "16 MB of shared memory (/dev/shm)",
        ["--n-items", "6", "--evals", "24", *RANDOM],
        "all evaluations",
        before=f'exec unshare --mount bash -c {inside} bash "$@";',
    )


def from_repl() -> Row:
    """Return the row of a session of Python in which the objective was typed: no file has its code."""
    typed = (
        "import law_ray, tempfile\n"
        "def cost(permutation):\n    return float(shift + permutation[0])\n\n"
        "shift = 1\n"
        "folder = tempfile.mkdtemp() + '/run'\n"
        "result = law_ray.minimize(cost, 5, evals=24, method='random', out=folder, progress=False)\n"
        "shift = 2\n"
        "result = law_ray.resume(folder, cost, evals=28, progress=False)\n"
        "print(result.evaluations, result.best.value)\n"
    )
    done = subprocess.run([sys.executable, "-i", "-q"], input=typed, capture_output=True, text=True, timeout=LIMIT)
    whole = done.stdout.strip() == "28 1.0" and "Traceback" not in done.stderr
    return checked("the objective is typed at Python's prompt", whole, "as any" if whole else done.stderr[-200:])


def within_a_task() -> Row:
    """Return the row of a run that is started within a Ray task."""
    code = (
        "import ray, law_ray, tempfile\n"
        "ray.init('local', num_cpus=2, include_dashboard=False, logging_level='ERROR', log_to_driver=False)\n"
        "@ray.remote\n"
        "def task():\n"
        "    with tempfile.TemporaryDirectory() as folder:\n"
        "        options = {'evals': 24, 'method': 'random', 'out': folder + '/run', 'progress': False}\n"
        "        return law_ray.minimize(lambda permutation: float(permutation[0]), 5, **options).evaluations\n"
        "print(ray.get(task.remote()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT)
    whole = done.stdout.strip().endswith("24")
    return checked("a run is started within a Ray task", whole, "as any" if whole else done.stderr[-200:])


SCENES: dict[str, Callable[[], Row]] = {
    "two-items": lambda: run("two items", ["--n-items", "2"], "nothing new was left to evaluate"),
    "one-ordering": lambda: run(
        "constraints that allow one ordering",
        ["--n-items", "4", "--before", "0<1", "--before", "1<2", "--before", "2<3"],
        "nothing new was left to evaluate",
    ),
    "no-ordering": lambda: run(
        "constraints that allow none", ["--n-items", "4", "--before", "0<1", "--before", "1<0"], "before has a cycle", 2
    ),
    "beyond": lambda: run(
        "a budget beyond all orderings", ["--n-items", "4", "--evals", "1000"], "nothing new was left to evaluate"
    ),
    "timeout": lambda: run(
        "a time-out of 0.01 s, asynchronous",
        ["--n-items", "7", "--evals", "30", "--timeout", "0.01", "--mode", "async", *RANDOM],
        "timed out after 0.01 s",
        1,
        "slow",
    ),
    "max-time": lambda: run("--max-time 1", ["--n-items", "7", "--max-time", "1"], "the time was up", 0, "slow"),
    "files": lambda: run(
        "256 open files", ["--n-items", "6", "--evals", "24", *RANDOM], "all evaluations", before="ulimit -n 256;"
    ),
    "ray-address": lambda: run(
        "RAY_ADDRESS is rubbish", ["--n-items", "6", "--evals", "24", *RANDOM], "all evaluations", RAY_ADDRESS="a:b:c"
    ),
    "thousand": lambda: run(
        "1,000 items, by local search",
        ["--n-items", "1000", "--evals", "60", "--method", "local-search"],
        "all evaluations",
    ),
    "thousand-auto": lambda: run(
        "1,000 items, by law-auto, --max-time 40",
        ["--n-items", "1000", "--evals", "30", "--max-time", "40"],
        "the time was up",
    ),
    "shared-memory": little_shared_memory,
    "one-cluster": one_cluster,
    "prompt": from_repl,
    "home": lambda: run("no HOME", ["--n-items", "6", "--evals", "24"], "all evaluations", HOME=""),
    "three": three_at_once,
    "stdin": from_stdin,
    "task": within_a_task,
}
