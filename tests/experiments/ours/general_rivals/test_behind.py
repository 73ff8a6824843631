import numpy as np

from experiments.ours.general_rivals.behind import behind
from tests.experiments.ours.general_rivals.test_report import cells_of, made_up


def test_settings_in_which_another_method_is_lower_are_listed_with_the_difference_in_combined_errors():
    text = behind(
        made_up(
            ("line:20", "law-auto", 200, 0, "1:300 150:200"),
            ("line:20", "law-auto", 200, 1, "1:302 150:202"),
            ("line:20", "DEAP", 200, 0, "1:290 150:210"),
            ("line:20", "DEAP", 200, 1, "1:296 150:210"),
            ("line:20", "random", 200, 0, "1:299"),
            ("line:20", "law-auto informed", 200, 0, "1:100"),
            ("line:20", "NEH", 1, 0, "1:120"),
        )
    )
    assert "the lowest mean in 1 of\n2 settings, and in 0 others" in text
    combined = (301 - 293) / np.sqrt(1.0**2 + 3.0**2)
    assert cells_of(text) == [["line:20", "5", "100", "301.00 +- 1.00", "DEAP", "293.00 +- 3.00", f"{combined:.1f}"]]


def test_published_means_count_and_a_difference_of_two_combined_errors_is_a_tie():
    text = behind(
        made_up(
            ("qap:kra30a", "law-auto", 100, 0, "1:115311"),
            ("qap:kra30a", "law-auto", 100, 1, "1:117311"),
            ("qap:kra30a", "random", 100, 0, "1:125000"),
        )
    )
    assert "the lowest mean in 0 of\n1 settings, and in 1 others" in text
    assert cells_of(text)[0][4:6] == ["FAT-RLS (published)", "115811.00 +- 961.80"]


def test_a_difference_from_a_single_run_has_no_error_and_is_no_tie():
    text = behind(made_up(("line:20", "law-auto", 100, 0, "1:300"), ("line:20", "DEAP", 100, 0, "1:290")))
    assert "in 0 of\n1 settings, and in 0 others" in text
    assert "| 300.00 | DEAP | 290.00 |  |\n" in text


def test_without_runs_of_law_auto_or_of_another_method_there_is_no_section():
    assert behind(made_up(("line:20", "DEAP", 100, 0, "1:290"))) == ""
    assert behind(made_up(("line:20", "law-auto", 100, 0, "1:290"))) == ""
