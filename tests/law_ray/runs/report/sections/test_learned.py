import dataclasses

import numpy as np
import pytest

from law_ray.runs.report import models
from law_ray.runs.report.sections import learned
from law_ray.runs.report.view import View
from tests.law_ray.runs.report.runs import made, view
from tests.oracles.weighted_precedence import some_weighted


@pytest.mark.parametrize(
    ("families", "expected"),
    [
        (["additive", "additive", "tour", "additive"], "Of 4 choices the additive model made 3, the tour model 1."),
        (
            ["additive", "tour", "pairwise", "pairwise", "pairwise", "tour"],
            "Of 6 choices the pairwise model made 3, the tour model 2 and the additive model 1.",
        ),
        (["tour", "tour"], None),
    ],
)
def test_the_page_says_how_often_each_model_chose_the_points(tmp_path, monkeypatch, families, expected):
    shown = view(tmp_path, n_init=10, evals=10 + 5 * len(families), batch_size=5)
    left = list(families)
    monkeypatch.setattr(models, "family", lambda view, model: left.pop(0))
    text = learned._who_chose(shown, learned.looked_at(shown), families[-1])
    assert text.startswith(f"At the end the {families[-1]} model chose the points: ")
    assert (text.endswith(expected) if expected else "Of" not in text) and not left


def test_in_a_long_run_the_page_says_that_only_some_choices_were_looked_at(tmp_path, monkeypatch):
    shown = view(tmp_path, n_init=10, evals=30, batch_size=5)
    monkeypatch.setattr(learned, "MAX_ROUNDS", 3)
    left = ["tour", "additive", "tour"]
    monkeypatch.setattr(models, "family", lambda view, model: left.pop(0))
    text = learned._who_chose(shown, learned.looked_at(shown), "tour")
    assert text.endswith("Of 3 choices that were looked at the tour model made 2, the additive model 1.")


def test_the_page_shows_which_items_matter_most(tmp_path):
    names = [f"item <{number}>" for number in range(70)]
    shown = View.of(made(tmp_path, n_items=70, names=names, method="law-auto", evals=15, n_init=10))
    weighted = some_weighted(np.random.default_rng(0), 70)
    optimizer = shown.run.optimizer
    selection = dataclasses.replace(optimizer.model.selection, weighted=weighted, weighted_errors=(1.8, 0.2))
    optimizer.model = dataclasses.replace(optimizer.model, selection=selection)
    section = learned.section(shown)
    (figure,) = [block for block in section.blocks if getattr(block, "name", "") == "fig-item-weights"]
    shares = np.array(figure.figure.data[0].y)
    assert len(shares) == 40
    assert (np.diff(shares) <= 0).all()
    a, b = np.triu_indices(70, 1)
    lost = weighted.reversals[a, b]
    totals = [lost[(a == item) | (b == item)].sum() for item in range(70)]
    assert shares[0] == pytest.approx(max(totals) / sum(totals))
    assert figure.figure.layout.xaxis.ticktext[0] == f"item &lt;{int(np.argmax(totals))}&gt;"
    assert "some pairs of items matter more" in section.blocks[0].text
    (named,) = [block.text for block in section.blocks if "whose order matters most" in getattr(block, "text", "")]
    assert named.count(" before ") == 10
    most = int(np.argmax(lost))
    first, second = sorted((int(a[most]), int(b[most])), key=shown.run.best.permutation.tolist().index)
    share = lost[most] / lost.sum()
    assert f": item <{first}> before item <{second}> ({share:.1%})," in named
    assert any("Shown are the 40 that matter most." in getattr(block, "text", "") for block in section.blocks)
    assert learned._shares(optimizer.model) == {"weighted precedence": 1.0}
