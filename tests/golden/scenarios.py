"""Small optimisations whose every proposal is recorded: each method on three problems, and each special case."""

import json
import sys

import numpy as np

from law_ray import METHODS, Constraints, Optimizer

N_ITEMS = 9
_RNG = np.random.default_rng(2026)
FLOW, DISTANCE = _RNG.integers(0, 20, (2, N_ITEMS, N_ITEMS)).astype(float)
TIMES = _RNG.integers(1, 99, (N_ITEMS, 4)).astype(float)
_CITIES = _RNG.random((N_ITEMS, 2))
LENGTHS = np.rint(100 * np.linalg.norm(_CITIES[:, None] - _CITIES, axis=2))
COST = _RNG.random((N_ITEMS, N_ITEMS))


def assignment(permutation):
    return float((FLOW * DISTANCE[np.ix_(permutation, permutation)]).sum())


def flow_shop(permutation):
    done = np.zeros(TIMES.shape[1])
    for job in permutation:
        clock = 0.0
        for machine, duration in enumerate(TIMES[job]):
            clock = done[machine] = max(clock, done[machine]) + duration
    return float(done[-1])


def tour(permutation):
    return float(LENGTHS[permutation, np.roll(permutation, -1)].sum())


def tour_key(permutation):
    rolled = np.roll(permutation, -int(np.argmin(permutation)))
    if rolled[1] > rolled[-1]:
        rolled[1:] = rolled[:0:-1].copy()
    return rolled.tobytes()


PROBLEMS = {"assignment": assignment, "flow shop": flow_shop, "tour": tour}


def noisy(trial_id, value):
    rng = np.random.default_rng(trial_id)
    return value + 50 * rng.normal(), 20 + 60 * rng.random()


def play(optimizer, objective, sizes, *, fail=(), hold=(), continued=(), noise=False):
    """Return the proposals of each round, and the hyperparameters that were fitted last.

    `fail` and `hold` have pairs (round, index) of trials that fail, or stay pending; `continued` has the rounds that
    continue the one before.
    """
    rounds = []
    for number, size in enumerate(sizes):
        trials = optimizer.ask(size, continue_round=number in continued)
        rounds.append(["".join(map(str, trial.permutation)) for trial in trials])
        for index, trial in enumerate(trials):
            if (number, index) in fail:
                optimizer.fail(trial.id, "as planned")
            elif (number, index) not in hold:
                value = objective(trial.permutation)
                optimizer.tell(trial.id, *(noisy(trial.id, value) if noise else (value,)))
    model = None if optimizer.model is None else optimizer.model.to_record()
    for chain in (model or {}).get("pairwise", {}).get("chains", []):
        del chain["state"]  # text of bytes, whose numbers a test could not compare but for their last digits
    return {"rounds": rounds, "model": model}


def method_on(method, problem):
    optimizer = Optimizer(N_ITEMS, method=method, seed=3, n_init=12, key=tour_key if problem == "tour" else None)
    return play(optimizer, PROBLEMS[problem], [12, 3, 3, 3])


def constrained(method):
    constraints = Constraints(N_ITEMS, before=[(0, 1), (1, 4), (7, 2)], fixed={8: 0, 3: 5})
    return play(Optimizer(N_ITEMS, method=method, seed=5, n_init=8, constraints=constraints), flow_shop, [8, 4, 4])


def failed_and_pending(method):
    optimizer = Optimizer(N_ITEMS, method=method, seed=6, n_init=10)
    return play(optimizer, assignment, [10, 4, 4, 4], fail={(0, 1), (1, 0), (2, 3)}, hold={(1, 2), (2, 1)})


def asynchronous(method):
    optimizer = Optimizer(N_ITEMS, method=method, seed=7, n_init=10, key=tour_key)
    return play(optimizer, tour, [10, 4, 1, 1, 2, 4, 1], continued={2, 3, 4, 6}, hold={(1, 0), (2, 0), (5, 2)})


def with_noise(method):
    optimizer = Optimizer(N_ITEMS, method=method, seed=8, n_init=10, maximize=method == "law-est")
    return play(optimizer, assignment, [10, 4, 4], noise=True)


def with_prior_mean(method):
    def proxy(permutations):
        return COST[permutations, np.arange(N_ITEMS)].sum(axis=1)

    def objective(permutation):
        return assignment(permutation) / 1e3 + 5 * float(proxy(permutation[None])[0])

    start = [list(range(N_ITEMS)), list(range(N_ITEMS))[::-1]]
    optimizer = Optimizer(N_ITEMS, method=method, seed=9, n_init=10, prior_mean=proxy, start=start)
    return play(optimizer, objective, [10, 4, 4, 4])


def on_a_plateau():
    def objective(permutation):
        return float(max(0, int(np.abs(permutation - np.arange(N_ITEMS)).sum()) // 8))

    return play(Optimizer(N_ITEMS, seed=1, n_init=20), objective, [20, 8, 8, 8])


def used_up():
    return play(Optimizer(4, seed=1, n_init=5), lambda p: float(p @ np.arange(4)), [5, 5, 5, 5, 4])


def scenarios():
    """Return the functions by name, each of which plays one scenario."""
    found = {f"{method} on {problem}": (method_on, method, problem) for method in METHODS for problem in PROBLEMS}
    special = (constrained, failed_and_pending, asynchronous, with_noise, with_prior_mean)
    for scenario in special:
        for method in ("law-auto", "law-est", "q-ei", "ga"):
            found[f"{method}, {scenario.__name__.replace('_', ' ')}"] = (scenario, method)
    return {**found, "law-auto, on a plateau": (on_a_plateau,), "law-auto, used up": (used_up,)}


def main():
    """Play the scenarios that are named, and print their histories by name."""
    chosen = {name: scenarios()[name] for name in sys.argv[1:]}
    print(json.dumps({name: play(*arguments) for name, (play, *arguments) in chosen.items()}))


if __name__ == "__main__":
    main()
