"""What a client says when the run it follows fails."""

import pytest
import ray
from ray.exceptions import ActorDiedError, RaySystemError, RayTaskError

from law_ray.driver.client import user_error
from law_ray.errors import RunError
from law_ray.runs import journal


@ray.remote(num_cpus=0)
def failing(error):
    raise error


def raised(error):
    with pytest.raises(RayTaskError) as found:
        ray.get(failing.remote(error))
    return found.value


@pytest.mark.usefixtures("cluster")
class TestUserError:
    def test_what_the_driver_says_to_the_user_is_passed_on(self, tmp_path):
        said = user_error(raised(RunError("correct it")), tmp_path)
        assert type(said) is RunError
        assert str(said) == "correct it"

    def test_an_error_of_the_code_keeps_its_traceback(self, tmp_path):
        for error in (KeyError("k"), FileNotFoundError("f")):
            found = raised(error)
            assert user_error(found, tmp_path) is found

    def test_an_error_of_ray_within_the_driver_is_one_of_ray(self, tmp_path):
        said = str(user_error(raised(RaySystemError("Broken pipe")), tmp_path))
        assert said == "Ray failed (RaySystemError: System error: Broken pipe); the run has not begun"


@pytest.mark.parametrize("error", [ActorDiedError(), RaySystemError("gone\nand more"), ConnectionRefusedError()])
def test_a_run_that_has_begun_can_be_resumed_whatever_failed(tmp_path, error):
    (tmp_path / journal.NAME).touch()
    said = str(user_error(error, tmp_path))
    assert f"finished evaluations are in {tmp_path}: resume it" in said
    assert "\n" not in said
