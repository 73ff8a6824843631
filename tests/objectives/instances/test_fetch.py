import gzip
import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives import load
from objectives.instances import fetch
from objectives.instances.fetch import FOLDER, is_path

DATA = "2\n0 1 2 0\n0 3 5 0\n"
PROBLEM, FILE = "qap:nug12", "nug12.dat"


class Library:
    """A site with files, which counts how often it is asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        library = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rpartition("/")[2]
                library.asked.append(name)
                content = library.files.get(name)
                self.send_response(200 if content is not None else 404)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "law-ray"


@pytest.fixture
def library(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    library = Library()
    thread = threading.Thread(target=library.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    for family, suffix in (("qap", ""), ("fsp", ""), ("tsp", ".gz")):
        monkeypatch.setitem(fetch.ADDRESSES, family, library.address + "{file}" + suffix)
    yield library
    library.server.shutdown()
    library.server.server_close()
    thread.join()


def test_a_source_with_a_suffix_or_a_folder_is_a_path() -> None:
    assert [is_path(source) for source in ("a.dat", "folder/a", "/a", "chr12a", "ta001")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_file_is_downloaded_once(library: Library, cache: Path) -> None:
    library.files[FILE] = DATA.encode()
    for _ in range(2):
        qap = load(PROBLEM)
        assert (qap.name, qap.optimum, qap([0, 1])) == (PROBLEM, 578, 13)
    assert library.asked == [FILE]
    assert [path.name for path in cache.iterdir()] == [FILE]


def test_a_compressed_file_is_kept_decompressed(library: Library, cache: Path) -> None:
    text = "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n"
    library.files["eil51.tsp.gz"] = gzip.compress(text.encode())
    assert load("tsp:eil51")([0, 1]) == 10
    assert library.asked == ["eil51.tsp.gz"]
    assert [(path.name, path.read_text()) for path in cache.iterdir()] == [("eil51.tsp", text)]


def test_the_users_folder_comes_first_and_needs_no_network(
    library: Library, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.files[FILE] = DATA.encode()
    load(PROBLEM)
    (tmp_path / FILE).write_text("1\n7\n1\n")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert load(PROBLEM)([0]) == 7
    (tmp_path / "unpublished.dat").write_text("1\n9\n1\n")
    own = load("qap:unpublished")
    assert (own([0]), own.optimum) == (9, None)
    assert library.asked == [FILE]


def test_a_known_hash_depends_on_the_words_alone(
    library: Library, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fetch.HASHES, FILE, hashlib.sha256(b"2 0 1 2 0 0 3 5 0").hexdigest())
    library.files[FILE] = DATA.replace("3", "4").encode()
    with pytest.raises(InputError, match=rf"{FILE} there has unexpected contents") as caught:
        load(PROBLEM)
    assert f"download it from {library.address}{FILE} into a folder and set {FOLDER}" in str(caught.value)
    assert list(cache.iterdir()) == []
    library.files[FILE] = DATA.replace("\n", "\r\n  ").encode()
    assert load(PROBLEM)([0, 1]) == 13


@pytest.mark.parametrize(
    ("name", "content", "culprit"),
    [
        (FILE, None, "404"),
        (FILE, b"<html>Sign in first</html>", r"nug12\.dat, line 1: '<html>Sign' is not a number of facilities"),
        ("eil51.tsp.gz", b"no gzip", "BadGzipFile|not.*gzip"),
    ],
)
def test_a_failed_download_is_reported_in_one_line_and_leaves_nothing(
    library: Library, cache: Path, name: str, content: bytes | None, culprit: str
) -> None:
    if content is not None:
        library.files[name] = content
    problem = "tsp:eil51" if name.endswith(".gz") else PROBLEM
    with pytest.raises(InputError, match=culprit) as caught:
        load(problem)
    message = str(caught.value)
    assert message.startswith(f"{problem} is neither in {FOLDER} (not set) nor could it be downloaded (")
    assert message.endswith(f"download it from {library.address}{name} into a folder and set {FOLDER} to that")
    assert "\n" not in message
    assert str(cache) not in message
    assert list(cache.iterdir()) == []


def test_an_unreachable_site_is_reported_in_one_line(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.server.server_close()
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(
        InputError, match=rf"^tsp:eil51 is neither in {FOLDER} \({tmp_path}\) nor could it be downl"
    ) as caught:
        load("tsp:eil51")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("problem", ["qap:nug13", "tsp:nowhere", "fsp:car9", "fsp:ta121"])
def test_unpublished_names_are_not_requested(library: Library, problem: str) -> None:
    with pytest.raises(InputError, match=rf"{problem} is neither in {FOLDER} \(not set\) nor a published problem"):
        load(problem)
    assert library.asked == []


# The published instances themselves.

SOLUTIONS = {
    "tsp:att48": "0 7 37 30 43 17 6 27 5 36 18 26 16 42 29 35 45 32 19 46 20 31 38 47 4 41 23 9 44 34 3 25 1 28 33 40 "
    "15 21 2 22 13 24 12 10 11 14 39 8",
    "tsp:bayg29": "0 27 5 11 8 25 2 28 4 20 1 19 9 3 14 17 13 16 21 10 18 24 6 22 7 26 15 12 23",
    "tsp:burma14": "0 9 8 10 7 12 6 11 5 4 3 2 13 1",
    "qap:chr12a": "6 4 11 1 0 2 8 10 9 5 7 3",
    "qap:nug22": "1 20 8 9 6 2 0 18 7 19 16 4 12 5 11 15 10 21 17 3 13 14",
    "fsp:car5": "4 1 3 0 2 7 5 9 8 6",
    "fsp:hel1": "0 48 82 53 80 1 94 86 28 62 45 65 83 12 17 91 73 67 52 36 59 63 27 96 13 58 5 47 56 81 55 34 69 15 60 "
    "37 14 19 64 97 16 22 98 78 42 51 2 49 72 70 33 89 88 26 99 29 50 76 40 85 75 7 30 6 90 10 39 61 54 3 21 9 "
    "25 71 31 74 24 43 35 8 84 32 95 38 57 92 20 41 23 87 66 68 79 18 4 77 44 93 11 46",
    "fsp:hel2": "0 13 8 14 19 16 1 7 2 3 12 15 6 18 5 9 17 11 10 4",
}

needs_folder = pytest.mark.skipif(
    FOLDER not in os.environ, reason=f"set {FOLDER} to a folder with {', '.join(fetch.HASHES)}"
)


@needs_folder
@pytest.mark.parametrize("problem", SOLUTIONS)
def test_the_best_known_values_are_those_of_known_solutions(problem: str) -> None:
    objective = load(problem)
    assert objective([int(item) for item in SOLUTIONS[problem].split()]) == objective.optimum


@needs_folder
@pytest.mark.parametrize(
    ("problem", "n_items"), [("qap:esc32a", 32), ("fsp:reC19", 30), ("fsp:reC41", 75), ("fsp:hel1", 100)]
)
def test_no_permutation_is_better_than_the_best_known_value(problem: str, n_items: int) -> None:
    objective = load(problem)
    rng = np.random.default_rng(0)
    assert objective.n_items == n_items
    assert objective.values(rng.permuted(np.tile(np.arange(n_items), (1000, 1)), axis=1)).min() > objective.optimum


@needs_folder
@pytest.mark.parametrize("file", fetch.HASHES)
def test_the_known_hashes_are_those_of_the_published_files(file: str) -> None:
    words = " ".join((Path(os.environ[FOLDER]) / file).read_text().split())
    assert hashlib.sha256(words.encode()).hexdigest() == fetch.HASHES[file]
