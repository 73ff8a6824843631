import dataclasses
import html
import itertools
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.image import imread

from law_ray.cli import cli
from law_ray.methods.pairwise import LEAST_VALUES
from law_ray.models.pairwise import fit_pairwise
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.runs.report.interactions import Interactions, describe, draw_interactions, parts, shares
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from law_ray.space.permutations import invert, sample
from tests.law_ray.runs.working import started, work
from tests.oracles.pairwise import symmetric, value

N_ITEMS = 8
SETTINGS = Settings(n_items=N_ITEMS, evals=130, batch_size=5, n_init=110)
NAMES = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"]
TEMPLATE = "In the order of their numbers, the positions fit a shape with known distances (line), which it uses as D."
DISTANCE = np.abs(np.subtract.outer(np.arange(N_ITEMS), np.arange(N_ITEMS))).astype(float)


def flows(n_items=N_ITEMS):
    return symmetric(np.random.default_rng(5), n_items)


def split(M):
    """Return the three parts of M, by least squares on its entries off the diagonal."""
    n_items = len(M)
    off = ~np.eye(n_items, dtype=bool)
    rows, columns = np.nonzero(off)
    indicators = np.eye(n_items)[rows] + np.eye(n_items)[columns]
    own = np.linalg.lstsq(indicators, M[off] - M[off].mean(), rcond=None)[0]
    ones = np.where(off, M[off].mean(), 0.0)
    linear = np.where(off, own[:, None] + own, 0.0)
    return ones, linear, np.where(off, M, 0.0) - ones - linear


def chains(F, D, n_chains=4, noise=0.0, seed=0):
    """Return an ensemble of (F, D) where each part of each chain has another sign and scale; the shifts differ too."""
    rng = np.random.default_rng(seed)
    off = 1.0 - np.eye(len(F))
    items, places = [], []
    for _ in range(n_chains):
        own, pairs = rng.uniform(0.2, 5.0, 2) * rng.choice([-1, 1], 2)
        F_parts, D_parts = (split(M + noise * symmetric(rng, len(F))) for M in (F, D))
        items.append(F_parts[1] / own + F_parts[2] / pairs + rng.normal() * off)
        places.append(D_parts[1] * own + D_parts[2] * pairs + rng.normal() * off)
    return Ensemble.of(np.array(items), np.array(places), np.zeros(n_chains), 0.01)


def expected(F, D):
    """Return what is shown of F and D: their third parts, that of D with mean square 1."""
    off = ~np.eye(len(F), dtype=bool)
    F, D = split(F)[2], split(D)[2]
    scale = np.sqrt(np.mean(D[off] ** 2))
    return F * scale, D / scale


def test_parts_are_those_of_least_squares():
    M = flows()
    own, pairs = parts(M[None])
    above = np.triu_indices(N_ITEMS, 1)
    _, linear, rest = split(M)
    np.testing.assert_allclose(own[0], linear[above], atol=1e-9)
    np.testing.assert_allclose(pairs[0], rest[above], atol=1e-9)
    np.testing.assert_allclose(rest.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_chains_that_differ_in_the_factors_of_their_parts_predict_the_same(seed):
    q = invert(sample(N_ITEMS, 30, np.random.default_rng(2)))
    values = chains(flows(), DISTANCE, seed=seed).values(q)
    changes = values - values[0]
    np.testing.assert_allclose(changes, np.broadcast_to(changes[:, :1], changes.shape), atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seed", range(4))
def test_the_mean_recovers_f_and_d_from_chains_of_any_sign_scale_and_shift(sign, seed):
    found = Interactions.of(chains(sign * flows(), sign * DISTANCE, seed=seed))
    F, D = expected(flows(), DISTANCE)
    np.testing.assert_allclose(found.items, F, atol=1e-9)
    np.testing.assert_allclose(found.places, D, atol=1e-9)
    assert (found.agreement, found.order) == (pytest.approx(1.0), pytest.approx(1.0))


def test_the_share_is_that_of_the_variance_over_all_orderings():
    F, D = flows(5), DISTANCE[:5, :5]
    one = Ensemble.of(F[None], D[None], np.zeros(1), 0.01)
    rest = Ensemble.of(split(F)[2][None], D[None], np.zeros(1), 0.01)
    q = np.array(list(itertools.permutations(range(5))))
    assert shares(one) == pytest.approx(rest.values(q).var() / one.values(q).var())


def test_noise_in_the_chains_averages_out():
    found = Interactions.of(chains(flows(), DISTANCE, n_chains=50, noise=0.3))
    one = Interactions.of(chains(flows(), DISTANCE, n_chains=1, noise=0.3))
    F = expected(flows(), DISTANCE)[0]
    assert np.abs(found.items - F).mean() < 0.5 * np.abs(one.items - F).mean()
    assert 0.5 < found.agreement < 1.0


def test_a_constant_d_stays_finite():
    found = Interactions.of(chains(flows(), 1.0 - np.eye(N_ITEMS)))
    assert np.isfinite(found.items).all()
    assert np.isfinite(found.places).all()


def test_the_strongest_pairs_are_those_of_largest_f_above_0():
    F = np.zeros((5, 5))
    F[1, 3] = F[3, 1] = 2.0
    F[0, 4] = F[4, 0] = 3.0
    F[0, 1] = F[1, 0] = -9.0
    assert Interactions(F, np.zeros((5, 5)), 1.0, 1.0).strongest() == [(0, 4), (1, 3)]


def assigned(permutation):
    """A quadratic assignment: the sum of flows times distances."""
    return value(flows(), DISTANCE, 0.0, permutation)


def with_model(folder, settings, objective):
    run = started(folder, settings)
    work(run, objective)
    run.journal.close()
    return Run.load(folder)


@pytest.fixture(scope="module")
def won(tmp_path_factory):
    """A run in which the pairwise model wins; read from its journal, so without an ensemble."""
    return with_model(tmp_path_factory.mktemp("run"), SETTINGS, assigned)


def changed(run, **fields):
    """Return the run with a last fit that differs in some fields."""
    again = Run.load(run.folder)
    again.optimizer.model = dataclasses.replace(run.optimizer.model, **fields)
    return again


def test_what_was_learned_is_the_quadratic_assignment(won):
    model = won.optimizer.model
    X = np.array([trial.permutation for trial in won.optimizer.trials])
    y = np.array([trial.value for trial in won.optimizer.trials])
    found = Interactions.of(fit_pairwise.learned(model, X, y))
    for shown, truth in zip((found.items, found.places), expected(flows(), DISTANCE), strict=True):
        assert np.corrcoef(shown.ravel(), truth.ravel())[0, 1] > 0.99


def test_the_report_names_and_draws_the_items_that_want_to_be_close(won):
    kernel, comparison, template, share, positions, pairs = describe(won, NAMES)
    assert template == TEMPLATE
    assert kernel.startswith("At the end the Gaussian process used the ")
    assert comparison.startswith("The pairwise model predicts new values better than the Gaussian process (its mean")
    assert comparison.endswith("so it chose the points.")
    assert share.startswith("Interactions of pairs make ")
    assert positions.startswith("Positions count as further apart (D larger) the further apart they are")
    first, second = pairs.split("F: ")[1].split(" (")[0].split(" and ")
    F = expected(flows(), DISTANCE)[0]
    assert F[NAMES.index(first), NAMES.index(second)] == F.max()
    path = draw_interactions(won, NAMES)
    assert path == won.folder / "interactions.png"
    assert imread(path).std() > 0.01


def test_the_command_draws_it_for_papers_and_the_page_has_the_lines(won):
    done = CliRunner().invoke(cli, ["report", "--png", str(won.folder)], catch_exceptions=False)
    assert str(won.folder / "interactions.png") in done.output.splitlines()
    done = CliRunner().invoke(cli, ["report", str(won.folder)], catch_exceptions=False)
    text = Path(done.output.strip()).read_text(encoding="utf-8")
    for line in describe(won)[1:]:
        assert html.escape(line, quote=False) in text
    assert 'id="fig-interactions"' in text


def test_maximising_the_negative_finds_the_same_items(tmp_path, won):
    settings = dataclasses.replace(SETTINGS, maximize=True)
    run = with_model(tmp_path, settings, lambda permutation: -assigned(permutation))
    assert describe(run) == describe(won)


@pytest.mark.parametrize(
    ("errors", "line"),
    [
        ((1.2, 0.8), "(its mean square error is 1.5 times smaller), so it chose some of the points."),
        ((1.9998, 0.0002), "(its mean square error is more than 1000 times smaller), so it chose the points."),
        ((1.0, 1.0), "The Gaussian process predicts new values better than the pairwise model"),
        ((0.4, 1.6), "(its mean square error is 4 times smaller), so it chose the points."),
        ((0.0, 0.0), "The pairwise model has predicted no new value yet, so the Gaussian process chose the points."),
    ],
)
def test_the_line_says_which_model_predicts_better(won, tmp_path, errors, line):
    run = changed(won, prediction_errors=errors)
    assert line in describe(run)[1]
    wins = errors[0] > errors[1]
    assert (len(describe(run)) > 2) == wins
    assert (draw_interactions(run, path=tmp_path / "drawn.png") is not None) == wins
    assert (tmp_path / "drawn.png").exists() == wins


def test_the_shape_is_named_only_where_all_chains_that_are_used_know_it(won):
    chains = won.optimizer.model.chains
    assert TEMPLATE in describe(won)
    assert TEMPLATE not in describe(changed(won, chain_errors=len(chains) * (1.0,)))
    of_items = tuple(
        dataclasses.replace(chain, known=chain.known and chain.known._replace(of_items=True)) for chain in chains
    )
    assert TEMPLATE.replace("positions", "items").replace("as D", "as F") in describe(changed(won, chains=of_items))


def test_of_few_values_the_line_says_why_the_process_chose_all_the_same(won):
    few = changed(won, prediction_errors=(1.2, 0.8), n=LEAST_VALUES * N_ITEMS - 1)
    assert describe(few)[1].endswith("But it has too few values yet, so the Gaussian process chose the points.")
    assert len(describe(few)) == 2
    assert draw_interactions(few) is None


def nothing_is_shown(run):
    return describe(run) == [] and draw_interactions(run) is None and not (run.folder / "interactions.png").exists()


@pytest.mark.parametrize(
    ("method", "n_items"),
    [("law-est", N_ITEMS), ("random", N_ITEMS), ("law-auto", 6)],
    ids=["law-est", "random", "small"],
)
def test_nothing_is_shown_without_the_pairwise_model(tmp_path, method, n_items):
    settings = Settings(n_items=n_items, evals=16, batch_size=4, n_init=8, method=method)
    run = with_model(tmp_path, settings, lambda permutation: float(permutation @ range(n_items)))
    assert nothing_is_shown(run)


def test_nothing_is_shown_of_an_older_journal_or_in_the_initial_design_or_with_a_prior_mean(tmp_path, won):
    model = won.optimizer.model
    older = PairwiseHyperparameters.from_record(model.selection.to_record())
    with_prior_mean = Run.load(won.folder)
    with_prior_mean.objective = {**won.objective, "prior_mean": True}
    initial = Run.load(won.folder)
    initial.optimizer.model = None
    other = Run.load(won.folder)
    other.optimizer.model = older
    for run in (with_prior_mean, initial, other):
        run.folder = tmp_path
        assert nothing_is_shown(run)
