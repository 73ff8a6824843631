"""LAW as a search algorithm of Ray Tune, with Tune's storage and results. Needs the extra `tune`.

    python ray_tune.py

Tune keeps its results in a folder `tuned` here; without a storage_path it takes ~/ray_results.
"""

from pathlib import Path

from ray import tune

from law_ray.tune import LAWSearch

ITEMS = ["oak", "pine", "ash", "elm", "yew", "fir"]
RANK = {"ash": 0, "elm": 1, "fir": 2, "oak": 3, "pine": 4, "yew": 5}


def trainable(config):
    """Return how far the ordering is from the alphabet; a real one would train or simulate here."""
    order = [ITEMS[item] for item in config["permutation"]]
    return {"score": float(sum(abs(RANK[name] - k) for k, name in enumerate(order)))}


if __name__ == "__main__":
    search = LAWSearch(
        len(ITEMS), "score", "min", batch_size=4, n_init=8, before=[("elm", "yew")], item_names=ITEMS, seed=1
    )
    tuner = tune.Tuner(
        trainable,
        tune_config=tune.TuneConfig(search_alg=search, num_samples=24, max_concurrent_trials=4),
        run_config=tune.RunConfig(storage_path=str(Path("tuned").resolve()), verbose=0),
    )
    best = tuner.fit().get_best_result("score", "min")
    print("best order:", *(ITEMS[item] for item in best.config["permutation"]), "with", best.metrics["score"])
