"""What an objective is, and `load`: from a name, and options, to an objective."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, get_args, runtime_checkable

import numpy as np

from law_ray.errors import InputError
from objectives import user
from objectives.contingency import IntArray


@runtime_checkable
class Objective(Protocol):
    """An expensive black box over permutations, minimised unless the run says otherwise.

    `permutation` is (n_items,) int64, permutation[k] = the item at position k; `rng` drives all of the objective's
    randomness, so that the worker which runs a trial never affects its value. The value is a finite float, or a pair
    (float, standard error). An objective must pickle (with cloudpickle) and should import little in a worker.

    Optional attributes, read with getattr:
    optimum: float, the known best value;
    key(permutation) -> hashable: permutations with one key are one point, evaluated once;
    constraints: {"before": [(a, b), ...], "fixed": {item: position}}, the orderings that are allowed;
    starts(count, rng) -> (k <= count, n_items): good orderings to begin with;
    prior_mean(permutations) -> (m,): a cheap proxy of the values of (m, n_items) permutations (`law_ray.Optimizer`);
    split(k) -> k parts, each part(permutation, rng) -> anything that pickles, and combine(values of the parts) -> the
    value: one evaluation by several tasks, its value the same for every k;
    fingerprint: str, a hash of the data and options behind the values; a run folder written with another is refused;
    item_names: n_items strings;
    explain(permutation, rng) -> dict: the parts of the final answer, ready for JSON;
    write(permutation, folder) -> list of Path: the files of the final answer, written to an existing folder.
    """

    n_items: int
    name: str

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> float | tuple[float, float]: ...


def families() -> dict[str, str]:
    """The forms of name that `load` knows, each with a line on what it is."""
    return {
        "nml:sachs": "protein signalling: 11 variables, 17 edges; options seed, n_rows and those of nml:FILE",
        "nml:child": "congenital heart disease: 20 variables, 25 edges; the same options",
        "nml:insurance": "car insurance risk: 27 variables, 52 edges; the same options",
        "nml:alarm": "patient monitoring: 37 variables, 46 edges; the same options",
        "nml:FILE.csv": "network of your table (or .parquet); options score, edges, bins, states, required, ...",
        "qap:NAME": "quadratic assignment from QAPLIB, chr12a for example, or from a file, qap:FILE.dat",
        "fsp:NAME": "permutation flow shop: ta001..ta120, car5, hel2, reC19, ..., or a file, fsp:FILE.txt",
        "tsp:NAME": "travelling salesman from TSPLIB, burma14 for example, or from a file, tsp:FILE.tsp",
        "path/to/file.py:NAME": "your function, class or object in a Python file; options are its keyword arguments",
        "package.module:NAME": "the same in a module that Python can import from here",
    }


def load(name: str, /, **options: Any) -> Any:
    """The objective of a name such as "nml:sachs", "tsp:burma14", "path/to/file.py:cost" or "package.module:Cost".

    Options are keyword arguments: of `NML` (and `sample_network`) for nml; of `load` in `objectives.qap`, `fsp` and
    `tsp` for those; of the class, which is then instantiated, or of the function, to which they are bound, for one's
    own Python. An option given as a string, as the command line does, is read as the type its parameter is annotated
    with, or its default has. A module is searched in the current folder first, a published instance by
    `objectives.instances`. Raises InputError, in one line, for a name, file or option that does not exist or has no
    use.
    """
    family, colon, rest = name.rpartition(":") if ".py:" in name else name.partition(":")
    if not colon or not family or not rest:
        raise InputError(f"objective {name!r} is unknown: use one of {', '.join(families())}")
    if family == "nml":
        return _load_nml(rest, options)
    if family in ("qap", "fsp", "tsp"):
        load_problem = importlib.import_module(f"objectives.{family}").load  # imports numba, which takes 0.3 s
        parameters = dict(list(inspect.signature(load_problem).parameters.items())[1:])
        return load_problem(rest, **read_options(name, options, parameters))
    found = user.find(family, rest)
    if inspect.isclass(found):
        arguments = read_options(name, options, inspect.signature(found).parameters)
        try:
            found = found(**arguments)
        except InputError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"{name} cannot be made ({reason}): correct it, or its options") from error
    elif inspect.isfunction(found):
        arguments = read_options(name, options, _keywords(found))
        return user.bind(found, arguments) if arguments else found
    elif options:
        raise InputError(f"{name} is an object already made: it takes no options, remove {', '.join(options)}")
    if not callable(found):
        raise InputError(f"{name} is a {type(found).__name__} and cannot be called: name a function or a class")
    return found


def _keywords(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that options may set: all but the permutation and a second one that takes the generator."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if parameters and parameters[0].kind in by_position:
        second = parameters[0]
        parameters = parameters[1:] if second.name == "rng" or second.default is second.empty else parameters
    return {parameter.name: parameter for parameter in parameters}


def _load_nml(source: str, options: Mapping[str, Any]) -> Any:
    from objectives.networks import NETWORKS, sample_network
    from objectives.nml import NML

    if source not in NETWORKS and Path(source).suffix not in (".csv", ".parquet"):
        raise InputError(f"nml:{source} is unknown: choose {', '.join(NETWORKS)}, or a .csv or .parquet file")
    sampling = dict(inspect.signature(sample_network).parameters) if source in NETWORKS else {}
    scoring = dict(inspect.signature(NML).parameters)
    sampling.pop("name", None)
    scoring.pop("data")
    read = read_options(f"nml:{source}", options, sampling | scoring)
    sampled = {key: value for key, value in read.items() if key in sampling}
    data = sample_network(source, **sampled) if source in NETWORKS else source
    return NML(data, **{key: value for key, value in read.items() if key not in sampling})


def read_options(owner: str, options: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """The options, strings read as the types of their parameters; InputError for one that is unknown or unreadable."""
    catch_all = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    keyword = {key: each for key, each in parameters.items() if each.kind not in catch_all}
    anything = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for option in options:
        if option not in keyword and not anything:
            known = f"choose {', '.join(keyword)}" if keyword else "it takes none"
            raise InputError(f"option {option!r} of {owner} is unknown: {known}")
    missing = [key for key, each in keyword.items() if each.default is each.empty and key not in options]
    if missing:
        raise InputError(f"{owner} needs the option {missing[0]!r}: give it a value")
    return {key: _read(key, value, keyword.get(key)) for key, value in options.items()}


def _read(option: str, value: Any, parameter: inspect.Parameter | None) -> Any:
    if not isinstance(value, str) or parameter is None:
        return value
    kind = parameter.annotation
    alternatives = [each for each in get_args(kind) if each is not NoneType]
    kind = alternatives[0] if len(alternatives) == 1 else kind  # int | None reads as int
    kind = getattr(kind, "__name__", kind) if kind is not parameter.empty else type(parameter.default).__name__
    readers: dict[Any, tuple[Callable[[str], Any], str]] = {
        "int": (int, "an integer"),
        "float": (float, "a number"),
        "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    }
    if kind not in readers:
        return value
    read, what = readers[kind]
    try:
        return read(value)
    except (ValueError, KeyError):
        raise InputError(f"option {option}={value!r} is not {what}: give one") from None
