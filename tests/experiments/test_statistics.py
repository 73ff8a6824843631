import numpy as np
import pandas as pd
import pytest

from experiments.statistics import average_ranks, in_joint_errors


def test_ties_share_the_lowest_rank_and_missing_problems_do_not_count() -> None:
    means = {"p": {"a": 1.0, "b": 2.0, "c": 2.0, "d": 3.0}, "q": {"a": 9.0, "b": 8.0}}
    table = pd.DataFrame(
        [{"problem": p, "method": m, "mean": mean} for p, of in means.items() for m, mean in of.items()]
    )
    assert average_ranks(table).to_dict() == {"a": 1.5, "b": 1.5, "c": 2.0, "d": 4.0}


def test_a_difference_is_in_joint_standard_errors() -> None:
    values = np.array([10.0, 16.0])  # 13 +- 3
    assert in_joint_errors(values, 23.0, 4.0) == pytest.approx(-2.0)
    assert np.isnan(in_joint_errors(values[:1], 23.0, 4.0))
