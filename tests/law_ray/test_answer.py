"""The answer of a run as the command line prints it."""

import json

from law_ray.answer import as_dict, as_lines
from law_ray.result import result_of
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working
from tests.law_ray.runs.report.runs import EXPLAINED


def test_the_answer_says_what_is_known_of_noisy_values_and_of_failures(tmp_path):
    settings = Settings(n_items=6, evals=8, n_init=8, batch_size=4, reevaluations=4)
    run = working.started(tmp_path, settings)
    for trial in run.ask(8):
        run.enter(trial.id, Outcome(float(trial.id), 5.0) if trial.id else Outcome(reason="no licence"))
    while again := run.ask_again():
        for trial, _ in again:
            run.enter_again(trial.id, Outcome(float(trial.id), 5.0))
    run.journal.close()

    def f(permutation):
        return 0.0

    finished = Run.load(tmp_path)
    found = as_dict(result_of(finished, BlackBox(f), "all evaluations were made"), finished, BlackBox(f))
    assert found["reevaluated"] == run.winner._asdict()
    assert found["reevaluated"]["repeats"] == 4
    assert found["best_permutation"] == run.optimizer.trials[run.winner.trial_id].permutation.tolist()
    assert (found["evaluations"], found["failed"], found["last_failure"]) == (8, 1, "no licence")
    assert (found["objective"], found["stopped"]) == ("f", "all evaluations were made")
    assert json.loads(json.dumps(found)) == found
    text = as_lines(found)
    winner, first = run.winner, run.optimizer.trials[run.winner.trial_id].value
    assert f"{winner.value:.3g}"[:3] in text.splitlines()[1]
    assert f"with probability {winner.confidence:.2f}; its first value was {first:g}" in text.splitlines()[1]
    assert "reevaluations" in text
    without = as_lines({**found, "reevaluated": {**found["reevaluated"], "repeats": 0}})
    assert f"with probability {winner.confidence:.2f}\n" in without


def test_the_answer_in_the_terminal_says_how_sure_each_edge_is():
    text = as_lines({"objective": "x", **EXPLAINED})
    assert "a -> b  (70% sure, its direction 100%)" in text
    assert "a - <f>  (25% sure)" in text
    assert "edge confidence" not in text
    assert "possible" not in as_lines({**EXPLAINED, "possible_edges": []})
    assert "a -> b\n" in as_lines({"edges": EXPLAINED["edges"]})


def test_of_many_edges_the_answer_lists_the_first_and_counts_the_rest():
    names = [f"v{k}" for k in range(81)]
    possible = [{"one": one, "other": "w", "confidence": 0.5} for one in names]
    text = as_lines({"edges": [[name, "w"] for name in names], "possible_edges": possible})
    assert text.count(" -> ") == 60 and "and 21 in best_dag.csv" in text
    assert text.count(" - ") == 20 and "and 61 less probable ones, in --json" in text
