import json

import pytest

from law_ray.runs.report.sections.cluster import duration, facts, time_line
from law_ray.runs.report.view import View
from law_ray.runs.run import Run
from tests.law_ray.runs.report.runs import made


def told(number, time, seconds, worker):
    return {
        "type": "tell",
        "id": number,
        "value": 1.0,
        "standard_error": 0.0,
        "time": time,
        "seconds": seconds,
        "worker": worker,
    }


@pytest.fixture
def by_hand(tmp_path):
    """A run of four evaluations on two nodes, with a pause of 100 s between the second and the third."""
    made(tmp_path, limit=0)
    journal = tmp_path / "journal.jsonl"
    first = json.loads(journal.read_text().splitlines()[0])
    first["time"] = 1000.0
    del first["check"]
    permutations = [[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5], [2, 1, 0, 3, 4, 5], [3, 1, 2, 0, 4, 5]]
    trials = [{"id": k, "permutation": p} for k, p in enumerate(permutations)]
    ask = {"type": "ask", "time": 1002.0, "seconds": 2.0, "round": 0, "batch_size": 4, "model": None, "trials": trials}
    records = [
        first,
        ask,
        told(0, 1006.0, 4.0, "a/1"),
        told(1, 1006.0, 3.0, "a/2"),
        {"type": "resume", "time": 1106.0, "evals": 30},
        told(2, 1110.0, 4.0, "b/1"),
        {**told(3, 1112.0, 2.0, "b/1"), "attempts": 3},
    ]
    journal.write_text("".join(json.dumps(record) + "\n" for record in records))
    return View.of(Run.load(tmp_path))


def test_evaluations_have_slots_of_their_node_and_times_without_pauses(by_hand):
    spans = {span.trial: span for span in time_line(by_hand)}
    assert spans[-1][:2] == (0.0, 2.0)  # choosing
    assert [spans[k][:2] for k in range(4)] == [(2.0, 6.0), (3.0, 6.0), (6.0, 10.0), (10.0, 12.0)]
    assert [(spans[k].node, spans[k].slot) for k in range(4)] == [("a", 0), ("a", 1), ("b", 0), ("b", 0)]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (["m-1", "resume", "m-2", "resume", "m-3"], ["m-1", "m-1", "m-1"]),  # Ray started again on one machine
        (["m-1", "m-2"], ["m-1", "m-2"]),  # two nodes of one machine
        (["m-1", "m-2", "resume", "m-2", "m-3"], ["m-1", "m-2", "m-2", "m-1"]),  # one of them stayed
        (["m-1", "m-2", "resume", "m-3", "m-1"], ["m-1", "m-2", "m-2", "m-1"]),
        (["m-1", "resume", "k-2"], ["m-1", "k-2"]),  # another machine
    ],
)
def test_after_a_resume_a_new_node_of_a_machine_replaces_one_that_is_gone(by_hand, nodes, expected):
    first, ask = (dict(record) for record in by_hand.run.records[:2])
    trials = iter(range(4))
    by_hand.run.records = [first, ask] + [
        {"type": "resume", "time": 1010.0, "evals": 30}
        if node == "resume"
        else told(next(trials), 1011.0, 1.0, f"{node}/7")
        for node in nodes
    ]
    spans = {span.trial: span.node for span in time_line(by_hand) if span.state == "told"}
    assert [spans[k] for k in range(len(expected))] == expected


def test_a_clock_that_is_set_back_makes_no_time_negative(by_hand):
    records = [dict(record) for record in by_hand.run.records]
    for record in records[4:]:
        record["time"] -= 5000.0
    by_hand.run.records = records
    spans = [span for span in time_line(by_hand) if span.state == "told"]
    assert [(span.begin, span.end) for span in sorted(spans, key=lambda span: span.trial)] == [
        (2.0, 6.0),
        (3.0, 6.0),
        (6.0, 10.0),
        (10.0, 12.0),
    ]


def test_the_idle_share_is_that_of_all_slots(by_hand):
    found = dict(facts(by_hand, time_line(by_hand)))
    assert found["nodes"] == "2"
    assert found["slots"] == "3"
    assert found["idle share of the slots"] == f"{1 - 13 / 36:.0%}"
    assert found["submitted again after a loss"] == "2"


def test_no_slot_has_two_evaluations_at_once(tmp_path):
    spans = [span for span in time_line(View.of(made(tmp_path, evals=40))) if span.state != "choosing"]
    assert len(spans) == 40
    for one in spans:
        for other in spans:
            if one is not other and (one.node, one.slot) == (other.node, other.slot):
                assert one.end <= other.begin + 0.02 or other.end <= one.begin + 0.02


def test_durations_have_the_unit_that_suits_them():
    assert [duration(s) for s in (0.5, 99.0, 150.0, 7300.0)] == ["0.5 s", "99 s", "2 min 30 s", "2 h 1 min"]
