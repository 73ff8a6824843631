import os
import sysconfig

import numpy as np
import pytest

import law_ray
import objectives
from law_ray.utils.code import is_users


def test_only_files_that_are_neither_installed_nor_of_this_project_are_the_users(tmp_path):
    assert is_users(str(tmp_path / "mine.py"))
    assert is_users(__file__)
    for installed in (np.__file__, os.__file__, pytest.__file__):
        assert not is_users(installed)
    assert not is_users(law_ray.__file__)
    assert not is_users(objectives.__file__)


def test_a_virtual_environment_in_the_users_folder_is_installed(tmp_path, monkeypatch):
    real = sysconfig.get_path
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "venv") if name == "purelib" else real(name))
    assert not is_users(str(tmp_path / "venv" / "library.py"))
    assert is_users(str(tmp_path / "mine.py"))
