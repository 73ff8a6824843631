"""What a Gaussian process asks of a kernel and of its hyperparameters."""

from typing import Any, Protocol

from law_ray.typing import FloatArray, Int32Array


class Covariance(Protocol):
    """The covariance as a function of what `Kernel.distances` returned: a table, a polynomial or an exponential."""

    def __getitem__(self, distances: Any, /) -> FloatArray: ...


class Kernel(Protocol):
    """The part of a covariance between orderings that is computed from the orderings.

    `Hyperparameters.covariance` is the function of it. Every type of kernel has a neighbourhood of moves, registered
    in `law_ray.acquisition.neighbourhoods`.
    """

    def distances(self, q: Int32Array, P: Int32Array, /) -> Any:
        """Return the distances, or similarities, of positions q (m, n_items) to P (n, n_items).

        Shape (m, n), or (m, n_components, n) where a kernel has several distances.
        """
        ...


class Hyperparameters(Protocol):
    """The hyperparameters of a kernel and of the likelihood, in units of the standardized values."""

    @property
    def kernel(self) -> Kernel:
        """The kernel, which computes distances."""
        ...

    def covariance(self, n_items: int) -> Covariance:
        """Return the covariance as a function of the kernel's distances."""
        ...

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        ...

    @property
    def noise(self) -> float:
        """The variance of the observation noise."""
        ...

    @property
    def mean(self) -> float:
        """The constant mean."""
        ...

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them, ready for JSON."""
        ...
