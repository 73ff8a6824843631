import numpy as np
import pandas as pd
import pytest

from experiments.statistics import average_ranks, critical_difference, in_combined_errors


def test_ties_share_the_lowest_rank_and_missing_problems_do_not_count() -> None:
    means = {"p": {"a": 1.0, "b": 2.0, "c": 2.0, "d": 3.0}, "q": {"a": 9.0, "b": 8.0}}
    table = pd.DataFrame(
        [{"problem": p, "method": m, "mean": mean} for p, of in means.items() for m, mean in of.items()]
    )
    assert average_ranks(table).to_dict() == {"a": 1.5, "b": 1.5, "c": 2.0, "d": 4.0}


def test_a_difference_is_in_combined_standard_errors() -> None:
    values = np.array([10.0, 16.0])  # 13 +- 3
    assert in_combined_errors(values, 23.0, 4.0) == pytest.approx(-2.0)
    assert np.isnan(in_combined_errors(values[:1], 23.0, 4.0))


def test_the_critical_difference_is_the_published_one() -> None:
    # Demsar (2006), Table 5 (a), and the example of its Section 3.2.2: four classifiers on 14 data sets
    quantiles = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164}
    for k, q in quantiles.items():
        assert critical_difference(k, 10) == pytest.approx(q * (k * (k + 1) / 60.0) ** 0.5, rel=3e-4)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=0.005)
