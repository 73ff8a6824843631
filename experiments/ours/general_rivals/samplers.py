"""Rivals that know only numbers: each ordering is encoded, by random keys or as a Lehmer code.

Each function plays one library until the black box ends it, asking for a batch and telling its values.
"""

import logging
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from experiments.ours.general_rivals.black_box import BlackBox
from experiments.ours.general_rivals.encodings import by_keys, by_lehmer_code
from law_ray.typing import IntArray

KEYS = "keys"


def optuna(box: BlackBox, seed: int, sampler: str, encoding: str = KEYS) -> None:
    """Play a sampler of Optuna: TPE, CMA-ES or a Gaussian process."""
    import optuna as library

    library.logging.set_verbosity(library.logging.ERROR)
    warnings.filterwarnings("ignore", category=library.exceptions.ExperimentalWarning)
    samplers: dict[str, Callable[[], Any]] = {
        "TPE": lambda: library.samplers.TPESampler(seed=seed, constant_liar=box.batch_size > 1),
        "CMA-ES": lambda: library.samplers.CmaEsSampler(seed=seed),
        "GP": lambda: library.samplers.GPSampler(seed=seed, deterministic_objective=not box.noisy),
    }
    study = library.create_study(sampler=samplers[sampler]())
    while True:
        trials = [study.ask() for _ in range(box.batch_size)]
        orderings = [_suggested(trial, box.n_items, encoding) for trial in trials]
        for trial, value in zip(trials, box.values(orderings), strict=True):
            study.tell(trial, value)


def _suggested(trial: Any, n_items: int, encoding: str) -> IntArray:
    if encoding == KEYS:
        return by_keys([trial.suggest_float(f"key {item}", 0.0, 1.0) for item in range(n_items)])
    return by_lehmer_code([trial.suggest_int(f"pick {k}", 0, n_items - 1 - k) for k in range(n_items)])


def nevergrad(box: BlackBox, seed: int, optimizer: str) -> None:
    """Play an optimiser of Nevergrad on random keys."""
    import nevergrad as ng

    warnings.filterwarnings("ignore", module="nevergrad")
    keys = ng.p.Array(shape=(box.n_items,))
    keys.random_state.seed(seed)
    found = ng.optimizers.registry[optimizer](keys, budget=box.budget, num_workers=box.batch_size)
    while True:
        candidates = [found.ask() for _ in range(box.batch_size)]
        values = box.values([by_keys(candidate.value) for candidate in candidates])
        for candidate, value in zip(candidates, values, strict=True):
            found.tell(candidate, value)


def smac(box: BlackBox, seed: int) -> None:
    """Play SMAC's usual facade, a random forest, on random keys; one ordering at a time."""
    from ConfigSpace import ConfigurationSpace, Float
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import TrialValue

    space = ConfigurationSpace(seed=seed)
    space.add([Float(f"key{item}", (0.0, 1.0)) for item in range(box.n_items)])
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(space, deterministic=not box.noisy, n_trials=box.budget, seed=seed, output_directory=folder)
        facade = HyperparameterOptimizationFacade(
            scenario, lambda config, seed: 0.0, overwrite=True, logging_level=False
        )
        while True:
            info = facade.ask()
            (value,) = box.values([by_keys([info.config[f"key{item}"] for item in range(box.n_items)])])
            facade.tell(info, TrialValue(cost=value))


def ax(box: BlackBox, seed: int) -> None:
    """Play Ax's client, with the Gaussian process that it chooses itself, on random keys."""
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig
    from ax.utils.common.logger import set_ax_logger_levels

    set_ax_logger_levels(logging.ERROR)
    warnings.filterwarnings("ignore", module="(ax|botorch|gpytorch|linear_operator)")
    names = [f"key{item}" for item in range(box.n_items)]
    client = Client(random_seed=seed)
    parameters = [RangeParameterConfig(name=name, parameter_type="float", bounds=(0.0, 1.0)) for name in names]
    client.configure_experiment(parameters=parameters)
    client.configure_optimization(objective="-value")
    while True:
        trials = client.get_next_trials(max_trials=box.batch_size)
        observed = box.observe([by_keys([keys[name] for name in names]) for keys in trials.values()])
        for index, (value, error) in zip(trials, observed, strict=True):
            client.complete_trial(trial_index=index, raw_data={"value": (value, error) if box.noisy else value})


tpe_keys = partial(optuna, sampler="TPE")
tpe_lehmer = partial(optuna, sampler="TPE", encoding="Lehmer")
cma_es = partial(optuna, sampler="CMA-ES")
gp = partial(optuna, sampler="GP")
ngopt = partial(nevergrad, optimizer="NGOpt")
one_plus_one = partial(nevergrad, optimizer="DiscreteOnePlusOne")
