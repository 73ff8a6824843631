"""Ask and tell with processes of your own: a new ordering for each process that falls free, without Ray.

    python async_processes.py

The objective takes a random time and sometimes fails, as real ones do.
"""

import random
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

import law_ray

N_ITEMS, N_PROCESSES, EVALS = 8, 2, 40


def slow_score(permutation):
    """Return the value of an ordering, after a time that differs from call to call."""
    time.sleep(random.uniform(0.01, 0.1))
    if permutation[0] == 0:
        raise ValueError("machine 0 cannot be first")
    return float(sum(abs(item - k) for k, item in enumerate(permutation)))


def main():
    """Keep all processes busy until EVALS orderings were asked for and have ended."""
    optimizer = law_ray.Optimizer(N_ITEMS, seed=1, n_init=12)
    running: dict[Future, law_ray.Trial] = {}
    with ProcessPoolExecutor(N_PROCESSES) as pool:
        while running or len(optimizer.trials) < EVALS:
            while len(running) < N_PROCESSES and len(optimizer.trials) < EVALS:
                # The pending orderings count as if they had their predicted value, so the new one differs from them.
                [trial] = optimizer.ask(1)
                running[pool.submit(slow_score, trial.permutation)] = trial
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                trial = running.pop(future)
                if error := future.exception():
                    optimizer.fail(trial.id, str(error))
                else:
                    optimizer.tell(trial.id, future.result())
    print("best order:", *optimizer.best.permutation, "with", optimizer.best.value)
    print(optimizer.history.state.value_counts().to_dict())


if __name__ == "__main__":
    main()
