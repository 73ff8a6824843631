import json

import numpy as np
import pytest

from tests.golden.record import FILE, played
from tests.golden.scenarios import scenarios

if not np._core._multiarray_umath.__cpu_features__.get("X86_V3"):
    pytest.skip("the histories are those of x86 processors with AVX2", allow_module_level=True)
RECORDED = json.loads(FILE.read_text())


def is_slow(name):
    """Say whether a scenario is one of the longest, whose method is played on another problem too."""
    return name.startswith("mace") and not name.endswith("flow shop")


@pytest.fixture(scope="module")
def histories(request):
    """Play the scenarios of the tests that were selected."""
    items = [item for item in request.session.items if "histories" in getattr(item, "fixturenames", ())]
    return played([item.callspec.params["name"] for item in items])


def numbers(record):
    """Yield all numbers of a JSON record in its order, without its strings."""
    if isinstance(record, dict):
        record = list(record.values())
    if isinstance(record, list):
        for each in record:
            yield from numbers(each)
    elif not isinstance(record, str):
        yield record


def test_every_scenario_is_recorded():
    assert RECORDED.keys() == scenarios().keys()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if is_slow(name) else []) for name in RECORDED]
)
def test_proposals_and_fits_are_those_recorded(name, histories):
    found, recorded = histories[name], RECORDED[name]
    assert found["rounds"] == recorded["rounds"]
    assert (found["model"] is None) == (recorded["model"] is None)
    if found["model"] is not None:  # libraries of another build may differ in the last digits
        assert list(numbers(found["model"])) == pytest.approx(list(numbers(recorded["model"])), rel=1e-6, abs=1e-9)
