"""Published instances by name: from the user's folder, or downloaded once from the library that publishes them.

LAW_RAY_INSTANCES names the folder; its files are named as in the libraries: chr12a.dat, burma14.tsp, flowshop1.txt.
"""

import hashlib
import os
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from law_ray.errors import InputError
from objectives.instances.best_known import best_known

T = TypeVar("T")

FOLDER = "LAW_RAY_INSTANCES"

ADDRESSES = {
    "qap": "https://qaplib.mgi.polymtl.ca/data.d/{file}",  # Burkard, Karisch and Rendl's QAPLIB
    "fsp": "https://people.brunel.ac.uk/~mastjjb/jeb/orlib/files/{file}",  # Beasley's OR-library
    "tsp": "https://comopt.ifi.uni-heidelberg.de/software/TSPLIB95/tsp/{file}.gz",  # Reinelt's TSPLIB
}

HASHES = {
    "att48.tsp": "c81fc0d1082a35947bace7beb991f15535ba7a13fb96f7042b3b8825e7e59fdc",
    "bayg29.tsp": "98281a2e14ae60915c6e9e8f22f3bf31ab98e1b24a978b2adba878d9ab51719a",
    "burma14.tsp": "b7b862ffa17ebd8239bd110e218a4d7c980209593f9bdaabf765b34d1cbbe8aa",
    "chr12a.dat": "edd221fc3fac77e340ae4f13ae1bbf54958867bfce4aed8f29b4d9112f04eee0",
    "esc32a.dat": "37b34bc29dc7b0c762e320a911952f08e16a7b41c31d96b7c188610ac74ccc22",
    "flowshop1.txt": "7d3966ea06805ce7d4feff851560d8e24272535a4a4629b4c711f2a4c82601f7",
    "nug22.dat": "0a02ea87b907b99ba63cbedd0e1859197863fc979df64c3fff7b5f435c867f3c",
}
"""SHA-256 of a file's words joined by single blanks: line ends and indents differ between copies of a file."""


def is_path(source: str) -> bool:
    """Whether a source is the path of a file; the names of the libraries have neither a suffix nor a folder."""
    return bool(Path(source).suffix) or len(Path(source).parts) > 1


def read_instance(problem: str, file: str, parse: Callable[[Path], T]) -> T:
    """Return what `parse` reads from the file of a published problem.

    The file is looked for in the folder LAW_RAY_INSTANCES, then among earlier downloads in the user's cache, then, for
    problems in `objectives.instances.best_known`, on the library's site. A download is kept if it can be parsed and has
    the hash in `HASHES`; a file that is not listed there is trusted.

    Args:
        problem: its name, such as "qap:chr12a".
        file: the name of its file, such as "chr12a.dat".
        parse: reads the file at a path.

    Raises:
        InputError: in one line, if no file is found or it is not as expected.
    """
    folder = os.environ.get(FOLDER)
    if folder and (Path(folder) / file).is_file():
        return parse(Path(folder) / file)
    absent = f"{problem} is neither in {FOLDER} ({folder or 'not set'})"
    if problem not in best_known():
        raise InputError(f"{absent} nor a published problem: check the name, or give the path of a file")
    import pooch  # takes 0.2 s, and is rarely needed

    cache = Path(pooch.os_cache("law-ray"))
    if (cache / file).is_file():
        return parse(cache / file)
    address = ADDRESSES[problem.partition(":")[0]].format(file=file)
    remedy = f"download it from {address} into a folder and set {FOLDER} to that"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return _fetch(address, cache / file, parse)
    except Exception as error:  # from the network, the disk, the decompressor or the parser
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        reason = textwrap.shorten(f"{kind}{error}", 160, placeholder=" ...")  # network errors can fill half a screen
        raise InputError(f"{absent} nor could it be downloaded ({reason}): {remedy}") from error


def _fetch(address: str, target: Path, parse: Callable[[Path], T]) -> T:
    """Return what `parse` reads from the file at an address, and keep the file as `target`."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        path = _download(address, target.name, Path(scratch))
        try:
            found = parse(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), path.name)) from error
        path.replace(target)
        return found


def _download(address: str, file: str, folder: Path) -> Path:
    """Download and decompress a file into a folder; raises InputError if its hash is not the known one."""
    import pooch

    pooch.get_logger().setLevel("WARNING")  # at its default level it asks the user to note the hash
    processor = pooch.Decompress(name=file) if address.endswith(".gz") else None
    name = address.rpartition("/")[2]
    path = Path(pooch.retrieve(address, known_hash=None, fname=name, path=folder, processor=processor))
    words = " ".join(path.read_text(encoding="utf-8", errors="replace").split())
    digest = hashlib.sha256(words.encode()).hexdigest()
    if HASHES.get(file, digest) != digest:
        raise InputError(f"{file} there has unexpected contents")
    return path
