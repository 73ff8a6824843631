import pytest

from experiments.figures import legend, panels


@pytest.mark.parametrize(("n", "shape"), [(1, (3.0, 2.4)), (3, (7.0, 2.4)), (4, (7.0, 4.4)), (7, (7.0, 6.4))])
def test_panels_stand_in_rows_and_have_their_titles(n: int, shape: tuple[float, float]) -> None:
    figure, all_axes = panels([f"panel {i}" for i in range(n)], columns=3, size=(2.0, 2.0), beside=1.0)
    assert tuple(figure.get_size_inches()) == pytest.approx(shape)
    assert [axes.get_title() for axes in all_axes] == [f"panel {i}" for i in range(n)]
    assert [axes.get_visible() for axes in figure.axes] == [i < n for i in range(len(figure.axes))]


def test_the_legend_has_each_label_once_in_the_given_order() -> None:
    figure, (left, right) = panels(["a", "b"], columns=2, size=(2.0, 2.0), beside=1.0)
    left.plot([0, 1], [0, 1], label="second")
    right.plot([0, 1], [0, 1], label="first")
    right.plot([0, 1], [1, 0], label="second")
    legend(figure, ["first", "absent", "second"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["first", "second"]
