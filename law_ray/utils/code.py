"""Whose code a file is: the user's own, or an installed package's."""

import os
import sysconfig
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
"""The folder that our packages share, of a checkout or of an installation."""
OUR_PACKAGES = ("law_ray", "objectives")
"""Every node has them installed, though this machine may use a checkout."""


def is_users(file: str, installed: tuple[str, ...] | None = None) -> bool:
    """Say whether a module's file is the user's own, and not part of an installed package or of this project.

    `installed` is what `installed_folders` returns; give it to check many files.
    """
    return not os.path.realpath(file).startswith(installed_folders() if installed is None else installed)


def installed_folders() -> tuple[str, ...]:
    """Return the folders of the installed packages and of this project; each ends with a separator."""
    installed = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    ours = [str(HOME / name) for name in OUR_PACKAGES]  # not where Python finds them: a user's file may have the name
    return tuple({os.path.join(os.path.realpath(folder), "") for folder in [*installed, *ours]})
