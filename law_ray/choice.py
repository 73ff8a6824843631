"""The model of law-auto: the mixture, or the latent kernel where that foretells values better."""

from dataclasses import dataclass
from typing import Any

from law_ray.kernels import Form
from law_ray.latent import LatentHyperparameters
from law_ray.mixture import MixtureHyperparameters


@dataclass(frozen=True)
class ChoiceHyperparameters:
    """Of both models, in units of the normalised values; of the process they are those of the chosen one."""

    mixture: MixtureHyperparameters
    latent: LatentHyperparameters
    misses: tuple[float, float]
    """mean square errors with which either has foretold the latest values, relative to each other; 0 before there are
    any"""
    n: int
    """values they were fitted to"""

    @classmethod
    def of(cls, record: dict[str, Any]) -> "ChoiceHyperparameters":
        """From what `dataclasses.asdict` makes of them, through JSON too."""
        mixture, latent = MixtureHyperparameters(**record["mixture"]), LatentHyperparameters(**record["latent"])
        first, second = record["misses"]
        return cls(mixture, latent, (first, second), record["n"])

    @property
    def chosen(self) -> MixtureHyperparameters | LatentHyperparameters:
        return self.latent if self.misses[1] < self.misses[0] else self.mixture

    @property
    def kernel(self) -> Form:
        return self.chosen.kernel

    @property
    def components(self) -> dict[str, list[float]]:
        return self.mixture.components

    @property
    def weights(self) -> list[float]:
        return self.latent.weights

    @property
    def signal_variance(self) -> float:
        return self.chosen.signal_variance

    @property
    def noise(self) -> float:
        return self.chosen.noise

    @property
    def mean(self) -> float:
        return self.chosen.mean
