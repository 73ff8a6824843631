import pytest

from law_ray.runs.report import models
from law_ray.runs.report.sections import learned
from tests.law_ray.runs.report.runs import view


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
