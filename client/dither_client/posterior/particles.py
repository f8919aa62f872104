"""The weighted particles of a posterior, as the server gives them to analysts."""

import math
from dataclasses import dataclass, field
from typing import Any

from dither_client.errors import BadResponse

__all__ = ["Particles", "parse_particles"]


@dataclass(frozen=True, slots=True)
class Particles:
    """A weighted sample of the posterior: `values[i][j]` is parameter j of particle i, `weights` sum to 1."""

    parameters: tuple[str, ...]
    values: tuple[tuple[float, ...], ...] = field(repr=False)
    weights: tuple[float, ...] = field(repr=False)

    def quantile(self, parameter: str, probability: float) -> float:
        """The smallest value of the parameter at or below which at least `probability` of the weight lies."""
        column = self.parameters.index(parameter)
        ordered = sorted((value[column], weight) for value, weight in zip(self.values, self.weights, strict=True))
        target = probability * math.fsum(self.weights)
        below = 0.0
        for value, weight in ordered:
            below += weight
            if below >= target:
                return value
        return ordered[-1][0]

    def resampled(self) -> list[int]:
        """The numbers of as many particles as there are, each as often as its weight says, in increasing order.

        Systematic resampling with the first position at one half.
        """
        size = len(self.weights)
        step = math.fsum(self.weights) / size
        places: list[int] = []
        above = 0.0
        for i, weight in enumerate(self.weights):
            above += weight
            last = i == size - 1
            while len(places) < size and (last or (len(places) + 0.5) * step <= above):
                places.append(i)
        return places

    def equally_weighted(self) -> dict[str, list[float]]:
        """As many draws of each parameter as there are particles, each particle as often as its weight says, by row."""
        rows = [self.values[place] for place in self.resampled()]
        return {name: [row[j] for row in rows] for j, name in enumerate(self.parameters)}


def parse_particles(data: Any) -> Particles:
    """Raises `BadResponse`."""
    try:
        particles = Particles(
            tuple(map(str, data["parameters"])),
            tuple(tuple(map(float, particle)) for particle in data["particles"]),
            tuple(map(float, data["weights"])),
        )
    except (KeyError, TypeError, ValueError):
        raise BadResponse("the server's particles are not ones that this version can read") from None
    if not particles.values or len(particles.values) != len(particles.weights):
        raise BadResponse("the server's particles and weights do not belong together")
    return particles
