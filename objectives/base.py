"""What an objective is, and `load`: from a name and options to an objective."""

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import IntArray
from objectives import user
from objectives.options import function_options, read_options

PROBLEMS = ("qap", "fsp", "tsp", "asteroid", "line", "slots")
"""The modules of problems with a name and a `load`."""


@runtime_checkable
class Objective(Protocol):
    """An expensive black box over permutations, minimised unless the run says otherwise.

    `permutation` is (n_items,) int64, permutation[k] = the item at position k. `rng` drives all of the objective's
    randomness, so the worker that runs a trial never affects its value. The value is a finite float, or a pair (float,
    standard error). An objective must pickle (with cloudpickle) and should import little in a worker.

    Optional attributes, read with getattr:
    optimum: float, the best known value;
    key(permutation) -> hashable: permutations with equal keys count as one point, evaluated once;
    constraints: {"before": [(a, b), ...], "fixed": {item: position}}, the orderings that are allowed;
    starts(count, rng) -> (k <= count, n_items): good orderings to begin with;
    prior_mean(permutations) -> (m,): a cheap proxy of the values of (m, n_items) permutations (`law_ray.Optimizer`);
    split(k) -> k parts, each part(permutation, rng) -> anything that pickles, and combine(values of the parts) -> the
    value: one evaluation by several tasks, with the same value for every k. All parts get the same state of rng;
    fingerprint: str, a hash of the data and options behind the values; a run folder is only resumed with the same one;
    item_names: n_items strings;
    explain(permutation, rng) -> dict: the parts of the final answer, ready for JSON; with a parameter `evaluated` it is
        also given all orderings (m, n_items) that have a value, and the values (m,);
    drawing(permutation) -> dict: what the page of a run draws of the best ordering: {"kind": "tour", "places":
        (n_items, 2) coordinates}, or {"kind": "schedule", "bars": dicts with job, machine, begin and end}, or {"kind":
        "floor", "places": (n_items, 2) coordinates of the positions, "weights": n_items numbers that colour the items,
        "what": what they are}, or {"kind": "orbits", "orbits": lists of points, "transfers": lists of points};
    noisy: whether values are noisy; without it, they are if the objective takes a generator;
    unit: what the values are, for the axes of figures, such as "minutes";
    write(permutation, folder) -> list of Path: the files of the final answer, written to an existing folder; it can
        take `evaluated` too.
    """

    n_items: int
    name: str

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> float | tuple[float, float]:
        """Return the value of a permutation, with or without its standard error."""
        ...


def families() -> dict[str, str]:
    """Return the forms of name that `load` accepts, each with a one-line description."""
    return {
        "nml:sachs": "protein signalling: 11 variables, 17 edges; options seed, n_rows and those of nml:FILE",
        "nml:child": "congenital heart disease: 20 variables, 25 edges; the same options",
        "nml:insurance": "car insurance risk: 27 variables, 52 edges; the same options",
        "nml:alarm": "patient monitoring: 37 variables, 46 edges; the same options",
        "nml:hailfinder": "weather: 56 variables, 66 edges; the same options",
        "nml:hepar2": "liver disorders: 70 variables, 123 edges; the same options",
        "nml:win95pts": "printing under Windows: 76 variables, 112 edges; the same options",
        "nml:andes": "a tutor of physics: 223 variables, 338 edges; the same options",
        "nml:FILE.csv": "network of your table (or .tsv, .parquet); options score, edges, bins, states, columns, ...",
        "qap:NAME": "quadratic assignment from QAPLIB, chr12a for example, or from a file, qap:FILE.dat",
        "fsp:NAME": "permutation flow shop: ta001..ta120, car5, hel2, reC19, ..., or a file, fsp:FILE.txt",
        "tsp:NAME": "travelling salesman from TSPLIB, burma14 for example, or from a file, tsp:FILE.tsp",
        "asteroid:N": "in which order to visit N asteroids, an expensive benchmark; option seed",
        "line:N": "N jobs on a production line, simulated with breakdowns; options seed, n_stations, buffer, ...",
        "slots:N": "which of N articles lies where in a warehouse, simulated; options seed, depth, n_waves",
        "tsp:planeN": "travelling salesman of N random cities in a square; option seed",
        "path/to/file.py:NAME": "your function, class or object in a Python file; options are its keyword arguments",
        "package.module:NAME": "the same in a module that Python can import from here",
    }


def load(name: str, /, **options: Any) -> Any:
    """Return the objective that a name stands for.

    Published instances are found by `objectives.instances.fetch`. A module is searched in the current folder first.

    Args:
        name: for example "nml:sachs", "tsp:burma14", "path/to/file.py:cost" or "package.module:Cost"; see `families`.
        **options: keyword arguments: of `NML` (and `sample_network`) for nml; of `load` in the module of a built-in
            problem, such as `objectives.tsp`; of the user's class, which is instantiated, or of the user's function, to
            which they are bound. A string, as the command line gives, is read as the type of its parameter's annotation
            or default.

    Raises:
        InputError: in one line, if the name, the file or an option does not exist or is unusable.
    """
    family, colon, rest = _parts(name)
    if not colon or not family or not rest:
        from objectives.nml.data.files import SUFFIXES

        remedy = f"use one of {', '.join(families())}"
        if Path(name).suffix.lower() in SUFFIXES:
            remedy = f"for a table, use nml:{name}"
        elif name.endswith(".py"):
            remedy = f"name a function or class in it, as in {name}:score"
        raise InputError(f"objective {name!r} is unknown: {remedy}")
    if family == "nml":
        return _load_nml(rest, options)
    if family in PROBLEMS:
        load_problem = importlib.import_module(f"objectives.{family}").load  # imports numba, which takes 0.3 s
        parameters = dict(list(inspect.signature(load_problem).parameters.items())[1:])
        return load_problem(rest, **read_options(name, options, parameters))
    return _load_user(name, user.find(family, rest), options)


def is_code(name: str) -> bool:
    """Return whether `load` imports a Python file or module that the name stands for: code that is not ours."""
    return _parts(name)[0] not in ("nml", *PROBLEMS)


def _parts(name: str) -> tuple[str, str, str]:
    """Return the family, file or module of a name, the colon, and the rest."""
    return name.rpartition(":") if ".py:" in name else name.partition(":")


def _load_nml(source: str, options: Mapping[str, Any]) -> Any:
    """Return the NML objective of a shipped network or a file; the import takes time, so only here."""
    from objectives.nml import NML
    from objectives.nml.data.files import SUFFIXES
    from objectives.nml.data.networks import LARGER, NETWORKS, sample_network

    shipped = (*NETWORKS, *LARGER)
    if source not in shipped and Path(source).suffix.lower() not in SUFFIXES:
        raise InputError(f"nml:{source} is unknown: choose {', '.join(shipped)}, or a {', '.join(SUFFIXES)} file")
    sampling = dict(inspect.signature(sample_network).parameters) if source in shipped else {}
    scoring = dict(inspect.signature(NML).parameters)
    sampling.pop("name", None)
    scoring.pop("data")
    read = read_options(f"nml:{source}", options, sampling | scoring)
    sampled = {key: value for key, value in read.items() if key in sampling}
    data = sample_network(source, **sampled) if source in shipped else source
    return NML(data, **{key: value for key, value in read.items() if key not in sampling})


def _load_user(name: str, found: Any, options: Mapping[str, Any]) -> Any:
    """Return the user's class instantiated, the user's function with its options bound, or the object itself."""
    if inspect.isclass(found):
        try:
            parameters = inspect.signature(found).parameters
        except ValueError:  # of a compiled class
            raise InputError(f"{name} does not say which arguments it takes: give a function that creates it") from None
        arguments = read_options(name, options, parameters)
        try:
            found = found(**arguments)
        except InputError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"{name} cannot be created ({reason}): correct it, or its options") from error
    elif inspect.isfunction(found):
        arguments = read_options(name, options, function_options(found, options))
        return user.bind(found, arguments) if arguments else found
    elif options:
        raise InputError(f"{name} is an object, which takes no options: remove {', '.join(options)}")
    if not callable(found):
        raise InputError(f"{name} is of type {type(found).__name__}, which cannot be called: name a function or class")
    return found
