import os

import pytest

from law_ray.utils.files import replacing


def test_the_file_is_there_as_a_whole_or_as_before(tmp_path):
    path = tmp_path / "page.html"
    with replacing(path) as partial:
        partial.write_text("new")
        assert not path.exists()
        assert (partial.parent, partial.suffix) == (tmp_path, ".html")
    assert path.read_text() == "new"

    def fail():
        with replacing(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (path.read_text(), os.listdir(tmp_path)) == ("new", ["page.html"])


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "page.html").symlink_to(tmp_path / "mine")
    with replacing(tmp_path / "page.html") as partial:
        partial.write_text("new")
    assert (tmp_path / "mine").read_text() == "precious"
    assert (tmp_path / "page.html").read_text() == "new"


def test_the_file_has_the_rights_that_new_files_have(tmp_path):
    (tmp_path / "other").touch()
    with replacing(tmp_path / "page.html"):
        pass
    assert (tmp_path / "page.html").stat().st_mode == (tmp_path / "other").stat().st_mode
