"""The people of a simulation over HTTP, all of them or a part."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dither_estimator.families import FloatArray
from dither_server.simulate.behaviours import Roles

__all__ = ["Respondents"]

_SYSTEM = random.SystemRandom()


@dataclass(frozen=True)
class Respondents:
    """People in the order in which they are asked: number i holds `values[i]`, which has a row for several numbers."""

    values: FloatArray = field(repr=False)
    roles: Roles = field(repr=False)
    seed: int | None = None
    """If given, each one's noise comes from a seeded generator, whoever else answers; else from the system's."""
    choices: Sequence[Fraction] | None = None
    """The ε that each has chosen, where the collection offers a choice."""
    groups: Sequence[str] | None = None
    """The label of each one's group, where the collection has groups."""
    first: int = 0
    """The number of the first one in the whole population, of which these may be a part."""

    def __len__(self) -> int:
        return len(self.values)

    def noise(self, number: int) -> random.Random:
        """The generator of respondent `number`'s noise."""
        return _SYSTEM if self.seed is None else random.Random(self.seed << 32 | self.first + number)

    def parts(self, size: int) -> Iterator["Respondents"]:
        """The same people, at most `size` at a time."""
        for start in range(0, len(self), size):
            here = slice(start, start + size)
            yield Respondents(
                self.values[here],
                self.roles.part(here),
                self.seed,
                self.choices[here] if self.choices else None,
                self.groups[here] if self.groups else None,
                self.first + start,
            )
