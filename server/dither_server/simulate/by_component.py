"""A population of people with several numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from dither_estimator.families import Family, FloatArray
from dither_estimator.specification.specification import Specification
from dither_server.simulate.population import InvalidPopulation, parse_truth

__all__ = ["PeopleOfComponents", "draw_people_of_components"]


@dataclass(frozen=True)
class PeopleOfComponents:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """The numbers themselves, in the order of the components; shape (n, d)."""
    truth: Mapping[str, Mapping[str, float]]
    """The parameters of each component, by its name."""
    correlation: float
    """The correlation of the normal scores of each two components."""

    @property
    def described(self) -> dict[str, object]:
        """The truth as a report has it."""
        return {**self.truth, "correlation": self.correlation}


def draw_people_of_components(
    rng: np.random.Generator,
    specification: Specification,
    drawn: Sequence[Family],
    text: str,
    correlation: float,
    size: int,
) -> PeopleOfComponents:
    """`size` people whose numbers have a Gaussian copula with one correlation of each two.

    `text` has the parameters of each component, in order, separated by semicolons; `drawn` has the family of each that
    has none of its own. Raises `InvalidPopulation`.
    """
    components, texts = specification.components, text.split(";")
    if len(texts) != len(components):
        names = ", ".join(each.name for each in components)
        raise InvalidPopulation(f"the truth must have the parameters of each of {names}, separated by semicolons")
    count = len(components)
    if not -1 / (count - 1) < correlation < 1:
        raise InvalidPopulation(
            f"the correlation of {count} components must be above {-1 / (count - 1):.3g} and below 1"
        )
    covariance = np.full((count, count), correlation) + (1 - correlation) * np.eye(count)
    levels = ndtr(rng.standard_normal((size, count)) @ np.linalg.cholesky(covariance).T)
    values, truth, of_others = np.empty((size, count)), {}, iter(drawn)
    for number, (each, part) in enumerate(zip(components, texts, strict=True)):
        own = each.specification.parametric
        family = each.specification.family if own else next(of_others)
        truth[each.name] = _parameters(each.name, part, family, not own)
        theta = np.array([list(truth[each.name].values())])
        values[:, number] = family.quantiles(theta, levels[:, number])[0]
        with np.errstate(over="ignore"):
            if each.specification.transform == "log" and own:
                values[:, number] = np.exp(values[:, number])
        support = each.specification.support
        low, high = (
            np.inf * sign if bound is None else bound for sign, bound in ((-1, support.minimum), (1, support.maximum))
        )
        if not (np.isfinite(values[:, number]) & (values[:, number] >= low) & (values[:, number] <= high)).all():
            other = "" if own else ", or name another family with --family"
            raise InvalidPopulation(
                f"some of the values of {each.name} are not within its bounds: change --truth{other}"
            )
        values[:, number] = support.rounded(values[:, number])
    return PeopleOfComponents(values, truth, correlation)


def _parameters(name: str, text: str, family: Family, chosen: bool) -> dict[str, float]:
    try:
        return parse_truth(text.strip(), family, chosen)
    except InvalidPopulation as error:
        raise InvalidPopulation(f"{name}: {error}") from None
