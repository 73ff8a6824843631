"""Runs that go on without the client that started them, as named drivers on a cluster."""

from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from law_ray.driver.actor import NAMESPACE, Spec, start_driver
from law_ray.driver.client import POLL, End, interrupts, stop, user_error, watch
from law_ray.driver.cluster import check_request, connected
from law_ray.driver.progress import PREPARING
from law_ray.errors import InputError, Interrupted


def start_detached(spec: Spec, address: str | None) -> None:
    """Start a named driver on the cluster at `address`, and return as soon as its run is in its folder.

    Raises:
        InputError: There is no address, the name is in use, or the cluster cannot run an evaluation.
        Interrupted: The user pressed Ctrl-C before the run began.
        RunError: The run, or Ray, failed.
    """
    if address is None:
        raise InputError("a detached run needs a Ray cluster that outlives this command: give its address (--address)")
    with interrupts() as interrupted, connected(address):
        check_request(spec.settings)
        try:
            driver = start_driver(spec)
        except ValueError:
            raise InputError(
                f"a driver named {spec.name} is on this cluster already: attach to it, stop it, or choose another name"
            ) from None
        try:
            end = End(driver)
            while ray.get(driver.status.remote()).doing == PREPARING and not end.within(POLL):
                if interrupted.is_set():
                    stop(driver, spec.folder)
                    raise Interrupted(f"interrupted while {spec.name} was prepared: nothing goes on")
            if end.within(0):
                end.reason()  # raises the error that ended the run
        except RayError as error:
            ray.kill(driver)  # it would keep the name
            raise user_error(error, spec.folder) from None


def attach(name: str, address: str, progress: bool) -> tuple[Spec, str]:
    """Follow the driver of that name to its end, and remove it.

    Returns:
        What the driver knew of its run, and why the run ended.

    Raises:
        InputError: There is no such driver.
        Interrupted: The user pressed Ctrl-C; the run goes on.
        RunError: The run, or Ray, failed.
    """
    with interrupts() as interrupted, connected(address):
        driver = _named(name)
        spec: Spec = ray.get(driver.spec.remote())
        try:
            reason = watch(driver, b"", spec.folder, spec.settings.max_time, interrupted, progress)
        except KeyboardInterrupt:
            raise Interrupted(f"the run goes on: `law-ray attach {name}` shows it again") from None
        except (RayError, OSError) as error:
            if isinstance(error, RayTaskError):  # the run has ended
                ray.kill(driver)
            raise user_error(error, spec.folder) from None
        ray.kill(driver)
    return spec, reason


def stop_detached(name: str, address: str) -> Spec:
    """End the run of the driver of that name, so that it can be resumed.

    Returns:
        What the driver knew of its run.

    Raises:
        InputError: There is no such driver.
    """
    with connected(address):
        driver = _named(name)
        spec: Spec = ray.get(driver.spec.remote())
        stop(driver, spec.folder)
    return spec


def _named(name: str) -> Any:
    try:
        return ray.get_actor(name, NAMESPACE)
    except ValueError:
        running = [
            each["name"] for each in ray.util.list_named_actors(all_namespaces=True) if each["namespace"] == NAMESPACE
        ]
        raise InputError(
            f"no driver named {name} is on this cluster: there is {', '.join(sorted(running)) or 'none'}; "
            "`law-ray resume DIR` continues a run that has ended"
        ) from None
