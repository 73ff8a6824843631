"""Taillard's flow shops ta001..ta120, generated from the seeds he published, and files in his format.

E. Taillard, Benchmarks for basic scheduling problems, European Journal of Operational Research 64 (1993), 278-285.
"""

import re
from pathlib import Path

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray
from objectives.instances.orlib import choose
from objectives.instances.tokens import Tokens, read_lines

# Jobs, machines and the time seeds of ten instances, from the tables of the paper.
_TIME_SEEDS = """
20 5 873654221 379008056 1866992158 216771124 495070989 402959317 1369363414 2021925980 573109518 88325120
20 10 587595453 1401007982 873136276 268827376 1634173168 691823909 73807235 1273398721 2065119309 1672900551
20 20 479340445 268827376 1958948863 918272953 555010963 2010851491 1519833303 1748670931 1923497586 1829909967
50 5 1328042058 200382020 496319842 1203030903 1730708564 450926852 1303135678 1273398721 587288402 248421594
50 10 1958948863 575633267 655816003 1977864101 93805469 1803345551 49612559 1899802599 2013025619 578962478
50 20 1539989115 691823909 655816003 1315102446 1949668355 1923497586 1805594913 1861070898 715643788 464843328
100 5 896678084 1179439976 1122278347 416756875 267829958 1835213917 1328833962 1418570761 161033112 304212574
100 10 1539989115 655816003 960914243 1915696806 2013025619 1168140026 1923497586 167698528 1528387973 993794175
100 20 450926852 1462772409 1021685265 83696007 508154254 1861070898 26482542 444956424 2115448041 118254244
200 10 471503978 1215892992 135346136 1602504050 160037322 551454346 519485142 383947510 1968171878 540872513
200 20 2013025619 475051709 914834335 810642687 1019331795 2056065863 1342855162 1325809384 1988803007 765656702
500 20 1368624604 450181436 1927888393 1759567256 606425239 19268348 1298201670 2041736264 379756761 28837162
"""

_INSTANCES = [
    (int(n_jobs), int(n_machines), int(seed))
    for n_jobs, n_machines, *seeds in map(str.split, _TIME_SEEDS.strip().splitlines())
    for seed in seeds
]

NAMES = tuple(f"ta{number:03}" for number in range(1, len(_INSTANCES) + 1))

# The linear congruential generator of Bratley, Fox and Schrage (1983).
_MULTIPLIER, _MODULUS = 16807, 2**31 - 1

_CAPTION = re.compile(r"\s*number of jobs", re.IGNORECASE)
_TIMES = re.compile(r"\s*processing times", re.IGNORECASE)


def generate(name: str) -> FloatArray:
    """Return the processing times, (jobs, machines), of one of `NAMES`."""
    return draw_times(*_INSTANCES[NAMES.index(name)])


def draw_times(n_jobs: int, n_machines: int, seed: int) -> FloatArray:
    """Draw times uniform on 1..99, (jobs, machines), machine by machine as the paper does.

    The generator is x <- 16807 x mod (2^31 - 1), and a time is floor(1 + 99 x / (2^31 - 1)), in exact integers.
    """
    times = np.empty((n_machines, n_jobs))
    x = seed
    for cell in range(times.size):
        x = _MULTIPLIER * x % _MODULUS
        times.flat[cell] = 1 + 99 * x // _MODULUS
    return times.T


def is_taillard(lines: list[str]) -> bool:
    """Whether these are the lines of a file in Taillard's format, which has a caption over every size."""
    return any(_CAPTION.match(line) for line in lines)


def read_flow_shop(path: Path, instance: str | None) -> FloatArray:
    """Return the processing times, (jobs, machines), of instance number `instance`, or of the only one in a file.

    An instance is a caption "number of jobs, number of machines, ...", a line with these numbers, the caption
    "processing times :", and a row for each machine.

    Raises:
        InputError: in one line, if the file holds anything else or it is not clear which instance is meant.
    """
    lines = read_lines(path)
    captions = [i for i, line in enumerate(lines) if _CAPTION.match(line)]
    start = choose(path, {str(number): i for number, i in enumerate(captions, 1)}, instance)
    end = min((i for i in captions if i > start), default=len(lines))
    heading = next((i for i in range(start + 1, end) if _TIMES.match(lines[i])), None)
    if heading is None:
        raise InputError(f'{path}, line {start + 1}: no line "processing times :" follows: add it')
    size = Tokens(path, lines[start + 1 : heading], start + 2)
    n_jobs, n_machines = size.size("jobs"), size.size("machines")
    widths = [len(line.split()) for line in lines[heading + 1 : end] if line.strip()]
    if n_jobs != n_machines and widths == [n_machines] * n_jobs:
        raise InputError(
            f"{path}, line {start + 2}: there are {n_jobs} rows of {n_machines} times, but a row is for a machine: "
            "exchange the numbers of jobs and machines, or the rows and columns"
        )
    tokens = Tokens(path, lines[heading + 1 : end], heading + 2)
    rows = [tokens.numbers(n_jobs, f"machine {machine + 1}'s times") for machine in range(n_machines)]
    tokens.end(f"machine {n_machines}")
    return np.array(rows).T
