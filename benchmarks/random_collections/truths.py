"""Populations whose distribution is known: mixtures of members of families, and of values that many people have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dither_client import Transform
from dither_estimator.families import Family, FloatArray

__all__ = ["Member", "Truth", "with_atoms"]

_HALVINGS = 200
_TAIL = 1e-9
_NEXT_TO = 1e-12


@dataclass(frozen=True)
class Member:
    """A member of a family, on the scale `transform`, times `factor` and moved by `shift`."""

    family: Family
    theta: tuple[float, ...]
    transform: Transform = "identity"
    shift: float = 0.0
    factor: float = 1.0

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """The values of so many people, in their own units."""
        return self._values(self.family.sample(rng, np.array(self.theta), size))

    def cdf(self, x: FloatArray) -> FloatArray:
        """The share of the people at or below each of these values."""
        inside = (x - self.shift) / self.factor
        if self.transform == "log":
            inside = np.log(np.maximum(inside, 1e-300))
        return self.family.cdf(np.array([self.theta]), inside)[0]

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """The values that these shares do not exceed."""
        return self._values(self.family.quantiles(np.array([self.theta]), levels)[0])

    @property
    def mean(self) -> float:
        """The mean of the values."""
        found = float(self.family.mean(np.array([self.theta]), self.transform)[0])
        return self.shift + self.factor * found

    def _values(self, drawn: FloatArray) -> FloatArray:
        return self.shift + self.factor * (np.exp(drawn) if self.transform == "log" else drawn)


@dataclass(frozen=True)
class Truth:
    """The distribution of a population."""

    members: tuple[Member, ...]
    shares: tuple[float, ...]
    """The share of the people in each member, and then at each atom."""
    atoms: tuple[float, ...] = ()
    bounds: tuple[float, float] = (-np.inf, np.inf)
    """Values beyond are moved to the nearer bound: these are so few that nothing tells of them."""

    @classmethod
    def together(cls, truths: Sequence["Truth"], shares: Sequence[float]) -> "Truth":
        """Several populations as one, with the share of each."""
        members = tuple(member for truth in truths for member in truth.members)
        atoms = tuple(atom for truth in truths for atom in truth.atoms)
        of_members = [share * own for truth, share in zip(truths, shares, strict=True) for own in truth._of_members]
        of_atoms = [share * own for truth, share in zip(truths, shares, strict=True) for own in truth._of_atoms]
        return cls(members, (*of_members, *of_atoms), atoms, truths[0].bounds)

    @property
    def _of_members(self) -> tuple[float, ...]:
        return self.shares[: len(self.members)]

    @property
    def _of_atoms(self) -> tuple[float, ...]:
        return self.shares[len(self.members) :]

    @property
    def stepwise(self) -> bool:
        """Whether values are whole numbers."""
        return self.members[0].family.discrete

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """The values of so many people, in their own units."""
        part = rng.choice(len(self.shares), size, p=self.shares)
        values = np.empty(size)
        for number, member in enumerate(self.members):
            here = part == number
            values[here] = member.draw(rng, int(here.sum()))
        for number, atom in enumerate(self.atoms, len(self.members)):
            values[part == number] = atom
        return np.asarray(values.clip(*self.bounds))

    def cdf(self, x: FloatArray) -> FloatArray:
        """The share of the people at or below each of these values."""
        below = [member.cdf(x) for member in self.members] + [(x >= atom) * 1.0 for atom in self.atoms]
        return np.asarray(np.tensordot(self.shares, np.array(below), axes=1))

    def quantile(self, level: float) -> float:
        """The least value that this share does not exceed."""
        return float(self.values_at(np.array([level]))[0])

    def values_at(self, levels: FloatArray) -> FloatArray:
        """The values that these shares (n,) do not exceed."""
        if len(self.members) == 1 and not self.atoms:  # halving would not end between e^-14 and e^150
            return np.asarray(self.members[0].quantiles(levels).clip(*self.bounds))
        ends = np.array([member.quantiles(np.array([_TAIL, 1 - _TAIL])) for member in self.members])
        low = np.full(len(levels), min(ends.min(), *self.atoms, np.inf))
        high = np.full(len(levels), max(ends.max(), *self.atoms, -np.inf))
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            reached = self.cdf(middle) >= levels
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        found = np.round(high) if self.stepwise else high
        for atom in self.atoms:  # halving does not end at 0
            found = np.where(np.abs(found - atom) < _NEXT_TO * (ends.max() - ends.min()), atom, found)
        return np.asarray(found.clip(*self.bounds))

    @property
    def mean(self) -> float:
        """The mean of the values; infinite or NaN where it does not exist."""
        means = [member.mean for member in self.members] + list(self.atoms)
        return float(np.dot(self.shares, means))

    @property
    def spread(self) -> float:
        """About a standard deviation of those who have no atom; above 0."""
        smooth = replace(self, shares=tuple(np.array(self._of_members) / sum(self._of_members)), atoms=())
        if smooth.members[0].family.values == "yes-no":
            return 0.5
        wide = (smooth.quantile(0.9) - smooth.quantile(0.1)) / 2.56
        return wide or 0.5


def with_atoms(truth: Truth, atoms: Sequence[float], shares: Sequence[float]) -> Truth:
    """The population after these shares of the people have these values."""
    others = 1 - sum(shares)
    return replace(truth, shares=(*(others * share for share in truth.shares), *shares), atoms=tuple(atoms))
