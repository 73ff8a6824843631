"""A noisy production line: in which order should nine jobs go through three machines?

    python noisy_line.py

Each evaluation simulates the line on several days, with random times, and returns the mean and its standard error. The
best few orderings are evaluated again in the end, so the answer is no lucky value. Each finished trial is logged to
MLflow, if that is installed.
"""

import importlib.util

import numpy as np

import law_ray

MINUTES = np.array(  # expected, of each job on each machine
    [[12, 9, 4], [5, 8, 14], [7, 3, 9], [15, 6, 6], [4, 11, 7], [9, 9, 9], [6, 14, 3], [3, 5, 12], [10, 7, 8]]
)
SPREAD = 0.25
"""of a time, as a share of its mean"""
BREAKDOWN, REPAIR = 0.05, 30.0
"""the chance that an operation meets a breakdown, and the minutes that it then takes longer"""
N_DAYS = 30


def makespan(permutation, rng):
    """Return the mean time at which the last job leaves the line, in minutes, and its standard error."""
    means = MINUTES[permutation]
    minutes = means * rng.gamma(1 / SPREAD**2, SPREAD**2, size=(N_DAYS, *means.shape))
    minutes += REPAIR * (rng.random(minutes.shape) < BREAKDOWN)
    free = np.zeros((N_DAYS, means.shape[1]))  # when each machine is free
    for job in range(len(means)):
        ready = np.zeros(N_DAYS)
        for machine in range(means.shape[1]):
            free[:, machine] = np.maximum(free[:, machine], ready) + minutes[:, job, machine]
            ready = free[:, machine]
    return ready.mean(), ready.std(ddof=1) / np.sqrt(N_DAYS)


def tracker():
    """Return the callbacks that log to MLflow; none where it is not installed."""
    if importlib.util.find_spec("mlflow") is None:
        return []
    import mlflow

    def log(trial):
        if trial.state == "told":
            mlflow.log_metrics({"minutes": trial.value, "standard_error": trial.standard_error}, step=trial.id)

    return [log]


if __name__ == "__main__":
    result = law_ray.minimize(makespan, n_items=len(MINUTES), evals=60, reevaluations=15, callbacks=tracker())
    print("best order:", *(f"job {item}" for item in result.best.permutation))
    print(f"its first value: {result.best.value:.1f} +- {result.best.standard_error:.1f} minutes")
    again = result.reevaluated
    print(f"evaluated again: {again.value:.1f} +- {again.standard_error:.1f} minutes")
    print(f"the best with confidence {again.confidence:.0%}")
    print("run folder:", result.out)
