import csv
import itertools
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives import Objective, load
from objectives.nml.data import bif
from objectives.nml.data.networks import sample_network
from objectives.nml.data.tables import Table, read_table
from objectives.nml.graphs.structure import cpdag, dag_from_order
from objectives.nml.objective import NML
from objectives.nml.regret import importance
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores import decomposable
from objectives.nml.scores.contingency import max_log_likelihood
from objectives.nml.scores.decomposable import QuotientNML
from objectives.nml.scores.multinomial import multinomial_regret
from objectives.nml.search import greedy
from objectives.nml.search.confidence import WITHIN, edge_probabilities
from objectives.nml.search.greedy import greedy_orderings
from objectives.nml.search.grow_shrink import GrowShrink
from objectives.nml.search.pc_stable import skeleton
from tests.oracles.graphs import FRAME

TABLE = sample_network("sachs", 1000, 0)
SACHS = NML(TABLE)
PAPER = NML(TABLE, "nml-uniform", "skeleton", n_samples=50)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def permutations(objective: NML, size: int, seed: int) -> np.ndarray:
    return rng(seed).permuted(np.tile(np.arange(objective.n_items), (size, 1)), axis=1)


def test_the_value_is_likelihood_plus_regret() -> None:
    for permutation in permutations(SACHS, 5, 1):
        parts = SACHS.dag(permutation), TABLE.cardinalities, 1000
        fit = max_log_likelihood(TABLE.codes, TABLE.cardinalities, parts[0])
        regret = nml_regret(*parts, "importance", rng=rng(3))
        value, standard_error = SACHS(permutation, rng(3))
        assert value == pytest.approx(regret.value - fit, abs=1e-9)
        assert 0 < standard_error == regret.standard_error < 0.2
        uniform = nml_regret(PAPER.dag(permutation), *parts[1:], "uniform", 50, rng=rng(3)).value
        fit = max_log_likelihood(TABLE.codes, TABLE.cardinalities, PAPER.dag(permutation))
        assert PAPER(permutation, rng(3)) == pytest.approx(uniform - fit, abs=1e-9)


@pytest.mark.parametrize("score", decomposable.SCORES)
def test_a_decomposable_value_is_the_score_of_its_own_dag(score: str) -> None:
    objective, own = NML(TABLE, score), decomposable.SCORES[score](TABLE.codes, TABLE.cardinalities)
    for permutation in permutations(objective, 3, 1):
        dag = GrowShrink(own).dag(permutation)
        assert np.array_equal(objective.dag(permutation), dag)
        assert objective(permutation, rng()) == pytest.approx(own.dag(dag), abs=1e-9)
        assert objective.explain(permutation, rng())["total"] == objective(permutation, rng())


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_parts_of_an_evaluation_combine_to_its_value(k: int) -> None:
    for objective in (NML(TABLE, target_se=0.03), PAPER, NML(TABLE, "bic")):
        permutation = rng(k).permutation(11)
        values = [part(permutation, rng(5)) for part in cloudpickle.loads(cloudpickle.dumps(objective)).split(k)]
        assert objective.combine([cloudpickle.loads(cloudpickle.dumps(value)) for value in values]) == objective(
            permutation, rng(5)
        )
    batches = [len(part(np.arange(11), rng(5))["batches"]) for part in NML(TABLE, n_samples=2000).split(3)]
    assert min(batches) > 0


def test_the_skeleton_and_the_attributes_are_those_of_the_data() -> None:
    assert isinstance(SACHS, Objective)
    assert (SACHS.name, SACHS.n_items, SACHS.item_names) == ("nml:sachs", 11, TABLE.names)
    full = NML(TABLE, edges="skeleton", alpha=0.2, dof="full")
    expected = skeleton(TABLE.codes, TABLE.cardinalities, 0.2, "full")
    np.testing.assert_array_equal(full.skeleton, expected)
    permutation = rng(1).permutation(11)
    np.testing.assert_array_equal(full.dag(permutation), dag_from_order(expected, permutation))


@given(st.permutations(range(11)), st.permutations(range(11)))
def test_keys_are_equal_if_and_only_if_the_dags_are_equivalent(first: list[int], second: list[int]) -> None:
    for objective in (SACHS, PAPER):
        keys = [objective.key(np.array(permutation)) for permutation in (first, second)]
        dags = [objective.dag(np.array(permutation)) for permutation in (first, second)]
        assert (keys[0] == keys[1]) == np.array_equal(*map(cpdag, dags))


def test_orderings_of_one_class_share_their_key_and_their_value() -> None:
    """Of 300 orderings many give equivalent DAGs that are not equal."""
    dags: dict[bytes, np.ndarray] = {}
    pairs = 0
    for permutation in permutations(PAPER, 300, 0):
        key = PAPER.key(permutation)
        if key in dags and not np.array_equal(PAPER.dag(dags[key]), PAPER.dag(permutation)):
            pairs += 1
            if pairs <= 3:
                objective = NML(TABLE, edges="skeleton")
                assert objective(permutation, rng(1))[0] == pytest.approx(objective(dags[key], rng(1))[0], abs=1e-9)
        dags.setdefault(key, permutation)
    assert pairs > 3


def test_keys_of_factorised_nml_distinguish_equivalent_dags() -> None:
    objective = NML(TABLE, "fnml", "skeleton")
    some = permutations(objective, 100, 0)
    assert len({objective.key(p) for p in some}) == len({objective.dag(p).tobytes() for p in some})
    assert len({PAPER.key(p) for p in some}) < len({PAPER.dag(p).tobytes() for p in some})


def test_with_a_skeleton_the_prior_mean_is_the_decomposable_score() -> None:
    orderings = permutations(PAPER, 5, 2)
    guide = QuotientNML(TABLE.codes, TABLE.cardinalities)
    expected = [guide.dag(PAPER.dag(permutation)) for permutation in orderings]
    np.testing.assert_allclose(PAPER.prior_mean(orderings), expected, rtol=1e-12)
    again = cloudpickle.loads(cloudpickle.dumps(PAPER))
    np.testing.assert_array_equal(again.prior_mean(orderings), PAPER.prior_mean(orderings))
    assert not hasattr(SACHS, "prior_mean")


@pytest.mark.parametrize("edges", ["score", "skeleton"])
def test_every_dag_agrees_with_what_is_known_of_the_network(edges: str) -> None:
    names = TABLE.names
    known = {
        "required": [(names[3], names[7])],
        "forbidden": [(names[1], names[2]), (names[2], names[1])],
        "tiers": [names[:4], names[4:]],
    }
    objective, free = NML(TABLE, edges=edges, **known), NML(TABLE, edges=edges)
    assert objective.fingerprint != free.fingerprint
    before = objective.constraints["before"]
    assert (3, 7) in before
    orderings = [
        p for p in permutations(objective, 20_000, 0) if all(np.argsort(p)[a] < np.argsort(p)[b] for a, b in before)
    ]
    assert orderings
    for permutation in [*orderings, *objective.starts(3, rng())]:
        dag = objective.dag(permutation)
        assert dag[3, 7]
        assert not dag[1, 2]
        assert not dag[2, 1]
        assert not dag[4:, :4].any()
    assert free.constraints["before"] == ()


@pytest.mark.parametrize("edges", ["score", "skeleton"])
def test_an_ordering_that_contradicts_a_required_edge_is_refused(edges: str) -> None:
    names = TABLE.names
    objective = NML(TABLE, "qnml", edges, required=[(names[3], names[1])])
    allowed = np.array([3, 1, *(i for i in range(len(names)) if i not in (1, 3))])
    assert objective.dag(allowed)[3, 1]
    for call in (objective.dag, objective.key, lambda order: objective.explain(order, rng())):
        with pytest.raises(InputError, match=f"the edge '{names[3]}' -> '{names[1]}' is required"):
            call(np.roll(allowed, -1))


def test_starts_do_not_depend_on_what_was_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy, "_MAX_SETS", 60)
    fresh, used = NML(TABLE, "qnml"), NML(TABLE, "qnml")
    for permutation in permutations(used, 30, 1):
        used.dag(permutation)
    expected = fresh.starts(4, rng())
    for _ in range(2):
        np.testing.assert_array_equal(used.starts(4, rng()), expected)


@pytest.mark.parametrize("edges", ["score", "skeleton"])
def test_starts_are_better_than_random_orderings_and_of_different_classes(edges: str) -> None:
    objective = NML(TABLE, "qnml", edges)
    starts = objective.starts(4, rng())
    assert 1 <= len(starts) <= 4
    assert len({objective.key(start) for start in starts}) == len(starts)
    found = objective(starts[0], rng())
    assert found <= min(objective(permutation, rng()) for permutation in permutations(objective, 200, 2)) + 1e-6


def test_parents_are_chosen_by_quotient_nml_whose_regret_counts_as_much_as_that_of_nml() -> None:
    """So the starts have lower totals than those by quotient NML itself, which has too many edges."""
    few = sample_network("sachs", 200, 0)
    objective, plain = NML(few), GrowShrink(QuotientNML(few.codes, few.cardinalities))
    guide = GrowShrink(QuotientNML(few.codes, few.cardinalities, 1.1))
    for permutation in permutations(objective, 20, 5):
        np.testing.assert_array_equal(objective.dag(permutation), guide.dag(permutation))
    by_plain = plain.dag(greedy_orderings(plain, 1, rng())[0][0])
    by_guide = objective.dag(objective.starts(1, rng())[0])
    assert by_guide.sum() < by_plain.sum()
    totals = [objective.parts_of(dag, rng())["total"] for dag in (by_guide, by_plain)]
    assert totals[0] < totals[1] - 1.0  # nats; the standard errors are 0.1


def out_of_reach(*_: object) -> None:
    raise importance.OutOfReachError("the regret would take 3 GB", "use fewer rows")


def test_where_the_regret_is_out_of_reach_an_upper_estimate_by_quotient_nml_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    permutation = rng(2).permutation(11)
    dag = SACHS.dag(permutation)
    accurate = SACHS.explain(permutation, rng(1))
    monkeypatch.setattr(importance, "_refuse_hopeless", out_of_reach)
    found = SACHS.explain(permutation, rng(1))
    guide = QuotientNML(TABLE.codes, TABLE.cardinalities).dag(dag) - found["neg_log_likelihood"]
    assert (accurate["regret_by"], found["regret_by"]) == ("importance", "qnml")
    assert found["neg_log_likelihood"] == accurate["neg_log_likelihood"]
    assert found["regret"] == pytest.approx(1.15 * guide)
    assert found["standard_error"] == pytest.approx(0.04 * guide)
    assert found["total"] == pytest.approx(found["neg_log_likelihood"] + found["regret"])
    assert found["regret"] > accurate["regret"]
    assert found["regret"] - accurate["regret"] < 4 * found["standard_error"]
    assert SACHS.combine([part(permutation, rng(1)) for part in SACHS.split(3)]) == SACHS(permutation, rng(1))
    for own in ({"target_se": 0.2}, {"n_samples": 50}):
        with pytest.raises(InputError, match=f"3 GB: leave {next(iter(own))} out, .* score=nml-uniform$"):
            NML(TABLE, **own)(permutation, rng(1))  # kept, or refused


def test_explain_is_json_and_its_total_is_the_value() -> None:
    permutation = rng(2).permutation(11)
    for objective in (SACHS, PAPER):
        parts = json.loads(json.dumps(objective.explain(permutation, rng(4))))
        value = objective(permutation, rng(4))
        assert parts["total"] == parts["neg_log_likelihood"] + parts["regret"]
        assert value == ((parts["total"], parts["standard_error"]) if objective is SACHS else parts["total"])
        assert parts["ordering"] == [objective.item_names[item] for item in permutation]
        place = {name: k for k, name in enumerate(parts["ordering"])}
        assert all(place[parent] < place[child] for parent, child in parts["edges"])
        assert len(parts["edges"]) == parts["n_edges"] == objective.dag(permutation).sum()
        distance = parts["structural_hamming_distance"]
        ours, truth = cpdag(objective.dag(permutation)), cpdag(TABLE.true_dag)
        pairs = np.triu(np.ones((11, 11), dtype=bool), 1)
        assert distance["total"] == ((ours != truth) | (ours != truth).T)[pairs].sum()
        assert distance["skeleton"] == ((ours | ours.T) != (truth | truth.T))[pairs].sum()
        assert distance["total"] == distance["skeleton"] + distance["orientation"]


def test_explain_of_the_users_data_has_no_distance_to_a_true_network() -> None:
    assert "structural_hamming_distance" not in NML(FRAME).explain(np.arange(4), rng())


def test_links_in_the_folder_are_replaced_and_not_followed(tmp_path: Path) -> None:
    """A run folder from somebody else may hold some to the reader's files."""
    mine = tmp_path / "mine"
    mine.write_text("precious")
    for name in ("best_dag.csv", "best_dag.dot", "best_model.bif"):
        (tmp_path / name).symlink_to(mine)
    paths = SACHS.write(np.arange(11), tmp_path)
    assert mine.read_text() == "precious"
    assert not any(path.is_symlink() for path in paths)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "best_dag.csv",
        "best_dag.dot",
        "best_model.bif",
        "mine",
    ]


def test_write_writes_the_edges_and_the_model(tmp_path: Path) -> None:
    permutation = rng(2).permutation(11)
    paths = SACHS.write(permutation, tmp_path)
    assert [path.name for path in paths] == ["best_dag.csv", "best_dag.dot", "best_model.bif"]
    with paths[0].open(newline="") as file:
        rows = list(csv.reader(file))
    explained = SACHS.explain(permutation, rng())
    assert rows[0] == ["parent", "child", "confidence", "direction"]
    assert [row[:2] for row in rows[1:]] == explained["edges"]
    sure = [[edge["confidence"], edge["direction"]] for edge in explained["edge_confidence"]]
    np.testing.assert_allclose(np.array([row[2:] for row in rows[1:]], dtype=float), sure, rtol=1e-3)
    assert paths[1].read_text().count(" -> ") == len(rows) - 1
    from pgmpy.readwrite import BIFReader

    assert {tuple(row[:2]) for row in rows[1:]} == set(BIFReader(str(paths[2])).get_model().edges())


def test_the_confidence_is_averaged_over_the_best_classes_evaluated_each_counted_once() -> None:
    few = sample_network("sachs", 200, 0)  # with few rows several networks are nearly as good as the best
    objective = NML(few, "qnml")
    orderings = np.vstack([objective.starts(6, rng()), permutations(objective, 30, 4)])
    values = np.array([objective(each, rng()) for each in orderings])
    best = int(values.argmin())
    near = np.flatnonzero(values <= values[best] + WITHIN)
    classes = {objective.key(orderings[i]): i for i in near[::-1]}
    assert len(classes) > 1
    chosen = sorted(classes.values(), key=lambda i: values[i])
    guide = decomposable.SCORES["qnml"](few.codes, few.cardinalities)
    expected = edge_probabilities(guide, [objective.dag(orderings[i]) for i in chosen], values[chosen])
    twice = np.vstack([orderings, orderings]), np.concatenate([values, values])
    np.testing.assert_allclose(objective.edge_probabilities(orderings[best], twice), expected, atol=1e-12)
    alone = objective.edge_probabilities(orderings[best])
    assert not np.allclose(alone, expected)
    explained = objective.explain(orderings[best], rng(), twice)
    first = explained["edge_confidence"][0]
    a, b = (few.names.index(first[end]) for end in ("parent", "child"))
    assert first["confidence"] == pytest.approx(expected[a, b] + expected[b, a])
    joined = {frozenset(edge) for edge in explained["edges"]}
    assert all(frozenset((each["one"], each["other"])) not in joined for each in explained["possible_edges"])


def test_equivalent_networks_count_once_for_the_confidence_though_factorised_nml_tells_them_apart() -> None:
    data = rng(2)
    a = data.integers(0, 2, 150)
    b = np.where(data.random(150) < 0.8, a * 3, data.integers(0, 6, 150))
    objective = NML(pd.DataFrame({"a": a, "b": b}), score="fnml", rows="independent")
    orderings = np.array([[0, 1], [1, 0], [1, 0]])
    totals = np.array([*(objective(ordering, rng()) for ordering in orderings[:2]), np.nan])
    assert totals[0] != totals[1]
    best = orderings[np.nanargmin(totals)]
    found = objective.edge_probabilities(best, (orderings, totals))
    np.testing.assert_array_equal(found, objective.edge_probabilities(best))
    assert found[0, 1] == found[1, 0] > 0.45


def test_confidence_respects_what_is_known() -> None:
    known = {"required": [TABLE.names[:2]], "forbidden": [(TABLE.names[2], TABLE.names[3])]}
    objective = NML(TABLE, **known)
    found = objective.edge_probabilities(objective.starts(1, rng())[0])
    assert (found[0, 1], found[1, 0], found[2, 3]) == (1, 0, 0)


def test_other_libraries_get_the_same_network() -> None:
    permutation = rng(2).permutation(11)
    edges = {tuple(edge) for edge in SACHS.explain(permutation, rng())["edges"]}
    assert set(SACHS.to_networkx(permutation).edges) == edges
    model = SACHS.to_pgmpy(permutation)
    assert set(model.edges()) == edges
    assert set(model.nodes()) == set(TABLE.names)
    assert model.check_model()
    fit = max_log_likelihood(TABLE.codes, TABLE.cardinalities, SACHS.dag(permutation))
    rows = zip(*(TABLE.codes[:, i] for i in range(11)), strict=True)
    theirs = 0.0
    tables = {name: model.get_cpds(name) for name in TABLE.names}
    parents = {name: [TABLE.names.index(each) for each in tables[name].variables] for name in TABLE.names}
    for row in rows:
        theirs += sum(np.log(tables[name].values[tuple(row[i] for i in parents[name])]) for name in TABLE.names)
    assert theirs == pytest.approx(fit)


def test_the_answers_take_lists_and_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    objective, order = NML(FRAME, score="bic"), [2, 0, 3, 1]
    assert objective.explain(order, rng()) == objective.explain(np.array(order), rng())
    assert set(objective.to_networkx(order).edges) == set(objective.to_networkx(np.array(order)).edges)
    paths = objective.write(order, tmp_path / "new" / "folder")
    assert all(path.is_file() and path.parent == tmp_path / "new" / "folder" for path in paths)
    with pytest.raises(InputError, match="not a permutation of 4 items"):
        objective.explain([0, 1], rng())


def test_a_model_that_is_too_large_is_left_out_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bif, "MAX_CELLS", 10)
    assert SACHS.write(np.arange(11), tmp_path) == [tmp_path / "best_dag.csv", tmp_path / "best_dag.dot"]
    with pytest.raises(InputError, match=r"^the network has \d+ conditional probabilities: use to_networkx"):
        SACHS.to_pgmpy(np.arange(11))


def test_the_fingerprint_covers_the_data_and_the_options() -> None:
    other = Table("sachs", TABLE.names, TABLE.states, TABLE.codes[::-1], TABLE.true_dag)
    options: list[dict] = [
        {},
        {"score": "qnml"},
        {"edges": "skeleton"},
        {"edges": "skeleton", "alpha": 0.1},
        {"edges": "skeleton", "dof": "full"},
        {"max_parents": 2},
        {"n_samples": 7},
        {"target_se": 0.2},
        {"forbidden": [TABLE.names[:2]]},
        {"required": [TABLE.names[:2]]},
    ]
    prints = [NML(TABLE, **each).fingerprint for each in options] + [NML(other).fingerprint]
    assert len(set(prints)) == len(prints)
    assert NML(TABLE).fingerprint == prints[0]


@pytest.mark.parametrize("same", [{"n_samples": 30}, {"max_parents": 2}, {"target_se": 1}])
def test_equal_numbers_are_the_same_option(same: dict) -> None:
    ((name, number),) = same.items()
    for other in (float(number), np.int64(number), np.float64(number)):
        objective = NML(TABLE, **{name: other})
        assert objective.fingerprint == NML(TABLE, **same).fingerprint
        assert objective(np.arange(11), rng(0)) == NML(TABLE, **same)(np.arange(11), rng(0))


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"score": "aic"}, "score='aic' is unknown: choose nml, nml-uniform, bic"),
        ({"edges": "both"}, "edges='both' is unknown: choose score, skeleton"),
        ({"n_samples": 0}, "n_samples=0"),
        ({"n_samples": 1}, "n_samples=1 is too few samples: choose a whole number of at least 2"),
        (
            {"max_parents": 1, "required": [(TABLE.names[0], TABLE.names[5]), (TABLE.names[1], TABLE.names[5])]},
            f"max_parents=1 is less than the 2 required parents of '{TABLE.names[5]}': raise it",
        ),
        ({"n_samples": 2.5}, "n_samples=2.5"),
        ({"target_se": 0.0}, r"target_se=0\.0"),
        ({"target_se": 0.1, "n_samples": 100}, "choose one of them"),
        ({"target_se": 0.1, "score": "nml-uniform"}, "belongs to score='nml'"),
        ({"n_samples": 10, "score": "bic"}, "n_samples=10 has no use for 'bic'"),
        ({"alpha": 2.0, "edges": "skeleton"}, "alpha=2.0"),
        ({"alpha": "0.1", "edges": "skeleton"}, "alpha='0.1' is not a significance level"),
        ({"max_parents": 2.5}, "max_parents=2.5 is not a number of parents: choose a whole number"),
        ({"max_parents": "2"}, "max_parents='2'"),
        ({"n_samples": math.inf}, "n_samples=inf"),
        ({"target_se": "0.1"}, "target_se='0.1' is not a standard error"),
        ({"dof": "none", "edges": "skeleton"}, "dof='none'"),
        ({"max_parents": -1}, "max_parents=-1"),
        ({"max_parents": 2, "edges": "skeleton"}, "max_parents=2 belongs to edges='score'"),
        ({"forbidden": "a->b"}, "'a'"),
    ],
)
def test_unusable_options_are_refused(options: dict, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        NML(TABLE, **options)


@pytest.mark.parametrize("bad", [[0, 1, 2], [0] * 11, list(range(1, 12)), [0.0] * 11])
def test_anything_but_a_permutation_is_refused(bad: list) -> None:
    with pytest.raises(InputError, match="not a permutation"):
        SACHS(np.array(bad), rng())


def test_a_table_without_any_edge_still_has_a_score() -> None:
    codes = np.tile(np.array(list(itertools.product((0, 1), repeat=3))), (13, 1))
    table = Table("t", ("a", "b", "c"), (("0", "1"),) * 3, codes)
    for objective in (NML(table), NML(table, edges="skeleton", alpha=1e-9)):
        assert objective.key(np.array([2, 0, 1])) == objective.key(np.arange(3))
        value, standard_error = objective(np.arange(3), rng())
        assert value == pytest.approx(3 * multinomial_regret(2, 104) + 3 * 104 * np.log(2))
        assert standard_error == 0


@pytest.mark.parametrize("given", [{"alpha": 0.1}, {"dof": "full"}])
def test_options_of_the_skeletons_tests_bring_a_warning_where_no_skeleton_is_learned(given: dict[str, object]) -> None:
    with pytest.warns(UserWarning, match="alpha and dof belong to the tests of edges=skeleton"):
        NML(TABLE, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NML(TABLE, edges="skeleton", **given)
        NML(TABLE)


def test_load_reads_networks_and_files_with_options_as_text(tmp_path: Path) -> None:
    sampled = load("nml:sachs", n_rows="200", seed="3", n_samples="40", edges="skeleton", alpha="0.1", dof="full")
    expected = NML(sample_network("sachs", 200, 3), n_samples=40, edges="skeleton", alpha=0.1, dof="full")
    assert sampled.fingerprint == expected.fingerprint
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    read = load(f"nml:{tmp_path / 'data.csv'}", n_samples="30")
    assert read.fingerprint == NML(read_table(tmp_path / "data.csv"), n_samples=30).fingerprint
    assert read.name == "nml:data.csv"
    assert load(f"nml:{tmp_path / 'data.csv'}", max_parents="1", target_se="0.5").max_parents == 1


def test_load_reads_a_part_of_a_text_file_of_any_kind(tmp_path: Path) -> None:
    part = FRAME[["colour", "size", "on"]]
    path = tmp_path / "data.tsv"
    FRAME.assign(note="é").to_csv(path, index=False, sep="#", encoding="latin-1")
    how = {"sep": "#", "encoding": "latin-1"}
    expected = NML(part, n_samples=30).fingerprint
    assert load(f"nml:{path}", n_samples="30", drop="note, grade", **how).fingerprint == expected
    assert load(f"nml:{path}", n_samples="30", columns="size,colour,on", **how).fingerprint == expected
    assert NML(path, n_samples=30, columns=["on", "size", "colour"], **how).fingerprint == expected


def test_options_that_read_a_table_are_refused_where_nothing_is_read() -> None:
    with pytest.raises(InputError, match="sachs is a table of discrete columns already: leave bins, drop out"):
        load("nml:sachs", n_rows="100", drop="Akt", bins="3")


def test_a_worker_gets_the_same_value_and_imports_nothing_heavy(tmp_path: Path) -> None:
    permutation = rng(2).permutation(11)
    (tmp_path / "objective.pkl").write_bytes(cloudpickle.dumps(SACHS))
    script = f"""
import pickle, sys
import numpy as np
objective = pickle.load(open({str(tmp_path / "objective.pkl")!r}, "rb"))
print(objective(np.array({permutation.tolist()}), np.random.default_rng(6))[0].hex())
print([name for name in ("pandas", "pgmpy", "torch", "scipy.stats", "ray", "networkx") if name in sys.modules])
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    value, heavy = done.stdout.splitlines()
    assert float.fromhex(value) == SACHS(permutation, rng(6))[0]
    assert heavy == "[]"
    assert len(cloudpickle.dumps(SACHS)) < 1000 * 11 + 5000
