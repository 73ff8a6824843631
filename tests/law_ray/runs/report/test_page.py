import json
import re
import shutil

import pytest

from law_ray.errors import InputError
from law_ray.runs.objective import BlackBox
from law_ray.runs.report import page
from objectives import load
from tests.law_ray.runs.report.runs import HOSTILE, TRACEBACK, made

MAX_BYTES = 6_000_000
EXTERNAL = re.compile(r"""(?:src|href)=["']?https?:""")


def own_part(text):
    """The page without Plotly's script."""
    return text.replace(page.get_plotlyjs(), "")


def test_the_page_is_one_small_file_that_refers_to_no_other(tmp_path):
    run = made(tmp_path)
    path = page.write(run)
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "report.html"
    assert path.stat().st_size < MAX_BYTES
    assert not EXTERNAL.search(own_part(text))
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".report")] == []


def test_names_stay_text(tmp_path):
    text = own_part(page.write(made(tmp_path, names=HOSTILE)).read_text(encoding="utf-8"))
    assert "<b>bold" not in text
    assert "<script>alert" not in text
    assert "&lt;b&gt;bold" in text


def test_a_traceback_stays_text(tmp_path):
    text = own_part(page.write(made(tmp_path, fails={3, 12})).read_text(encoding="utf-8"))
    assert "<i>machine" not in text
    assert text.count("line 7, in &lt;module&gt;") == 1  # the same one is shown once
    assert TRACEBACK.startswith("Traceback")


def test_embedded_json_can_be_read_back_and_ends_no_script():
    data = {"a": "</script><!--", "b": [1.5, None]}
    text = str(page._embedded(data))
    assert "<" not in text
    assert json.loads(text) == data


def test_orderings_of_the_best_are_kept_where_all_are_too_many(tmp_path, monkeypatch):
    run = made(tmp_path)
    monkeypatch.setattr(page, "MAX_ORDERING_BYTES", 6 * 4)
    kept = page._orderings(page.View.of(run))
    by_value = sorted(run.ended, key=lambda trial: trial.value)
    assert kept["ids"][0] == by_value[0].id
    assert len(kept["ids"]) == 4


@pytest.mark.parametrize("limit", [0, 1, 10, 11])
def test_unfinished_runs_have_a_page(tmp_path, limit):
    run = made(tmp_path, limit=limit)
    assert len(run.ended) == limit
    text = own_part(page.write(run, refresh=10).read_text(encoding="utf-8"))
    assert f"{limit} of 30 evaluations" in text
    assert 'http-equiv="refresh"' in text
    assert "unfinished" in text


def test_a_run_that_only_failed_has_a_page(tmp_path):
    run = made(tmp_path, fails=set(range(10)), limit=10)
    assert "No evaluation succeeded" in page.write(run).read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(tmp_path):
    run = made(tmp_path / "run")
    with pytest.raises(InputError, match=r"nowhere/report.html.*--out FILE"):
        page.write(run, path=tmp_path / "nowhere" / "report.html")
    assert page.write(run, path=tmp_path / "elsewhere.html").exists()


@pytest.mark.parametrize(
    ("name", "figure"),
    [("tsp:plane8", "tour"), ("fsp:ta001", "schedule"), ("asteroid:4", "orbits"), ("slots:12", "floor")],
)
def test_the_objective_adds_its_picture(name, figure, tmp_path):
    objective = load(name)
    run = made(tmp_path / "run", n_items=objective.n_items, method="random")
    assert f'id="fig-{figure}"' in page.write(run, BlackBox(objective)).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, driven by Playwright."""
    sync_api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser, path, **options):
    """The page in a browser, and what it complained about or asked for."""
    tab = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
    complaints, requests = [], []
    tab.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(path.as_uri())
    tab.wait_for_function(
        "document.querySelectorAll('.figure').length == document.querySelectorAll('.main-svg:first-child').length"
    )
    return tab, complaints, [url for url in requests if not url.startswith(("file:", "data:"))]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_every_section_has_its_marks_and_nothing_is_fetched(tmp_path, browser, scheme):
    run = made(tmp_path, names=HOSTILE, fails={4}, error=1.0, evals=45, method="law-auto")
    tab, complaints, requests = opened(browser, page.write(run), color_scheme=scheme)
    assert complaints == []
    assert requests == []
    sections = tab.eval_on_selector_all("section", "all => all.map(each => each.id)")
    assert sections == ["answer", "convergence", "settled", "orderings", "learned", "trust", "cluster"]
    for figure in ("convergence", "relations", "positions", "rounds", "predictions", "cluster"):
        marks = tab.locator(f"#fig-{figure}").locator(".point, .scatterlayer path, .heatmaplayer image").count()
        assert marks > 0, figure
    points = tab.locator("#fig-convergence .scatterlayer .point").count()
    assert points == len(run.ended) + len(run.repeats)
    assert tab.locator("#tab-top tbody tr").count() == 20
    assert tab.locator("b", has_text="bold").count() == 0  # the name is no element
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1200
    tab.close()


@pytest.mark.slow
def test_in_a_browser_an_evaluation_shows_its_ordering_and_tables_sort(tmp_path, browser):
    run = made(tmp_path, names="abcdef")
    tab, complaints, _ = opened(browser, page.write(run))
    chosen = run.ended[17]
    shown = tab.evaluate(f"ordering({chosen.id})")
    assert shown == ["abcdef"[item] for item in chosen.permutation]
    tab.click("#tab-top th:nth-child(1) button")
    ids = [int(text) for text in tab.locator("#tab-top tbody td:first-child").all_text_contents()]
    assert ids == sorted(ids)
    tab.click("#tab-top th:nth-child(1) button")
    again = [int(text) for text in tab.locator("#tab-top tbody td:first-child").all_text_contents()]
    assert again == ids[::-1]
    assert complaints == []
    tab.close()


@pytest.mark.slow
def test_in_a_browser_on_a_phone_only_parts_scroll_sideways(tmp_path, browser):
    run = made(tmp_path, n_items=60, method="random", names=[f"operation number {k}" for k in range(60)])
    tab, complaints, _ = opened(browser, page.write(run))
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert complaints == []
    tab.close()


@pytest.mark.slow
def test_in_a_browser_figures_fit_on_paper(tmp_path, browser):
    tab, complaints, _ = opened(browser, page.write(made(tmp_path)))
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.wait_for_function(
        "[...document.querySelectorAll('.figure .main-svg')].every((each) => each.getAttribute('width') <= 680)"
    )
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.wait_for_function("document.querySelector('#fig-convergence .main-svg').getAttribute('width') > 900")
    assert complaints == []
    tab.close()


@pytest.mark.slow
def test_a_large_run_stays_small(tmp_path):
    run = made(tmp_path, n_items=200, evals=5000, method="random", batch_size=500)
    assert page.write(run).stat().st_size < MAX_BYTES
