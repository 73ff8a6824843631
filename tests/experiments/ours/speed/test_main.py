"""The page of timings: its sections are replaced one by one, and those of a GPU only where there is one."""

from click.testing import CliRunner

from experiments.ours.speed import __main__ as speed


def test_a_section_takes_the_place_of_the_one_with_its_title(tmp_path):
    page = tmp_path / "speed.md"
    for title, text in (("One", "\na\n"), ("Two", "\nb\n\n| c |\n"), ("One", "\nd\n")):
        speed.put(page, title, text)
    assert page.read_text() == f"{speed.BEGIN}\n## One\n\nd\n\n## Two\n\nb\n\n| c |\n"


def test_sections_of_a_gpu_stay_where_there_is_none(tmp_path, monkeypatch):
    page = tmp_path / "speed.md"
    speed.put(page, "Choosing on a GPU", "\nmeasured elsewhere\n")
    before = page.read_text()
    monkeypatch.setattr(speed, "PAGE", page)
    monkeypatch.setattr(speed, "name_of_gpu", lambda: "")
    monkeypatch.setattr(speed, "PARTS", {**speed.PARTS, "fits": lambda: "## Fits\n| n |\n"})
    parts = [f"--part={name}" for name in (*speed.ON_A_GPU, "fits")]
    done = CliRunner().invoke(speed.main, ["--threads", "1", *parts])
    assert done.exit_code == 0, done.output
    assert [f"{name} is skipped" in done.output for name in speed.ON_A_GPU] == [True] * 3
    assert page.read_text().startswith(before)
    assert "## Fits\n" in page.read_text()
