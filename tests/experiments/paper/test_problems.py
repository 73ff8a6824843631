from experiments.paper import published
from experiments.paper.problems import PROBLEMS


def test_the_budgets_are_those_of_the_paper() -> None:
    figures = published.figures()
    theirs = figures[figures["method"] == "q-est"].set_index("problem")["evaluations"]  # never cut short
    assert {problem: budget.evaluations() for problem, budget in PROBLEMS.items()} == theirs[list(PROBLEMS)].to_dict()
