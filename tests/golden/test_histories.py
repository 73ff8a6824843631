import json

import pytest

from tests.golden.record import FOLDER, file
from tests.golden.scenarios import scenarios

if not file().exists():
    pytest.skip(f"no histories were recorded with the BLAS kernels {file().stem}", allow_module_level=True)
RECORDED = json.loads(file().read_text())


def numbers(record):
    """Yield all numbers of a JSON record in its order, without its strings."""
    if isinstance(record, dict):
        record = list(record.values())
    if isinstance(record, list):
        for each in record:
            yield from numbers(each)
    elif not isinstance(record, str):
        yield record


def test_every_scenario_is_recorded_for_every_kind_of_kernels():
    for path in FOLDER.glob("*.json"):
        assert json.loads(path.read_text()).keys() == scenarios().keys()


def is_slow(name):
    """Say whether a scenario is one of the longest, whose method is played on another problem too."""
    return name.startswith("mace") and not name.endswith("flow shop")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if is_slow(name) else []) for name in RECORDED]
)
def test_proposals_and_fits_are_those_recorded(name):
    play, *arguments = scenarios()[name]
    found, recorded = json.loads(json.dumps(play(*arguments))), RECORDED[name]
    assert found["rounds"] == recorded["rounds"]
    assert (found["model"] is None) == (recorded["model"] is None)
    if found["model"] is not None:  # the last digits depend on the kind of processor
        assert list(numbers(found["model"])) == pytest.approx(list(numbers(recorded["model"])), rel=1e-6, abs=1e-9)
