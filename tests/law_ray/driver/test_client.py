"""What a client says when the run it follows fails."""

import os
import signal
import socket
from types import SimpleNamespace

import pytest
import ray
from ray.exceptions import ActorDiedError, RaySystemError, RayTaskError

from law_ray.driver import client
from law_ray.driver.client import End, _View, ignore_interrupts, interrupts, user_error
from law_ray.driver.progress import Progress, Status
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


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def handled():
    """Record the signals that reach the handlers of a program of the user's, which are restored."""
    seen, before = [], {number: signal.getsignal(number) for number in SIGNALS}
    for number in before:
        signal.signal(number, lambda received, frame: seen.append(received))
    yield seen
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_first_signal_is_noted_and_the_second_acts_as_before(handled, number, second):
    with interrupts() as interrupted:
        assert not interrupted.is_set()
        os.kill(os.getpid(), number)
        assert (interrupted.is_set(), handled) == (True, [])
        os.kill(os.getpid(), second)
        assert handled == [second]
    os.kill(os.getpid(), number)
    assert handled == [second, number]


def test_signals_are_ignored_while_ray_is_shut_down_and_then_act_as_before(handled):
    with interrupts():
        ignore_interrupts()
        for number in SIGNALS:
            os.kill(os.getpid(), number)
        assert handled == []
    os.kill(os.getpid(), signal.SIGTERM)
    assert handled == [signal.SIGTERM]


@pytest.mark.parametrize("at_a_terminal", [True, False])
def test_at_a_terminal_the_first_signal_is_answered_at_once(handled, at_a_terminal, monkeypatch, capfd):
    monkeypatch.setattr(client.sys.stderr, "isatty", lambda: at_a_terminal)
    with interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr().err.count("interrupted: the run is being ended") == at_a_terminal
    assert handled == [signal.SIGINT]


def test_what_nohup_has_ignored_stays_ignored(handled):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupts() as interrupted:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not interrupted.is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


class Ending:
    """A driver that ends, well or not, when it is asked for the third time."""

    def __init__(self, failing):
        self.failing, self.asked = failing, 0

    def result(self):
        self.asked += 1
        if self.asked < 3:
            return None
        if self.failing:
            raise RunError("no licence")
        return "the time was up"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("failing", [False, True])
def test_a_driver_that_says_that_it_goes_on_is_asked_again(failing):
    end = End(ray.remote(Ending).options(num_cpus=0).remote(failing))
    assert [end.within(60) for _ in range(4)] == [False, False, True, True]
    if failing:
        with pytest.raises(RunError, match="no licence"):
            end.reason()
    else:
        assert end.reason() == "the time was up"


@pytest.mark.parametrize("answers", [True, False])
def test_a_head_that_is_gone_is_noticed_whether_or_not_the_driver_answers(monkeypatch, answers):
    """Ray itself would end this process after a minute, without a word of the run."""
    clock, asked = Clock(), []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"  # where nobody listens
    stand_in = SimpleNamespace(
        wait=lambda asked, num_returns, timeout: (asked if answers else [], []),
        get=lambda asked: (Status(), []),
        get_runtime_context=lambda: SimpleNamespace(gcs_address=address),
    )
    method = SimpleNamespace(remote=lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(client, "ray", stand_in)
    monkeypatch.setattr(client, "time", clock)
    view = _View(SimpleNamespace(status=method, messages=method), Progress(wanted=False))
    patience = client.HEAD_PATIENCE if answers else 0
    for _ in range(patience + client.PATIENCE):
        view.look(last=False)
        clock.now += 1.0
    with pytest.raises(ConnectionRefusedError):
        view.look(last=False)
