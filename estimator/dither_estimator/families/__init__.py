"""Families of distributions. A new family is a small module and an entry in `families`.

May import: `dither_client`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms
from dither_estimator.families.bernoulli import Bernoulli
from dither_estimator.families.beta import Beta
from dither_estimator.families.exponential import Exponential
from dither_estimator.families.gamma import Gamma
from dither_estimator.families.gumbel import Gumbel
from dither_estimator.families.laplace import LaplaceFamily
from dither_estimator.families.location_scale import LocationScale
from dither_estimator.families.logistic import Logistic
from dither_estimator.families.negative_binomial import NegativeBinomial
from dither_estimator.families.normal import Normal
from dither_estimator.families.other_names import meant
from dither_estimator.families.poisson import Poisson
from dither_estimator.families.student_t import StudentT, StudentTGiven
from dither_estimator.families.weibull import Weibull

__all__ = ["Family", "FloatArray", "LocationScale", "Normal", "Parameter", "PriorTerms", "families", "find_family"]

families: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            Normal(),
            LaplaceFamily(),
            Logistic(),
            StudentT(),
            Gumbel(),
            Exponential(),
            Gamma(),
            Weibull(),
            Beta(),
            Bernoulli(),
            Poisson(),
            NegativeBinomial(),
        )
    }
)
"""Every family by its name in a specification; `find_family` also accepts `student_t:DF`."""


def find_family(name: object) -> Family:
    """Return the family with this name; `student_t:4` is Student's t with 4 degrees of freedom.

    Raises `ValueError`, which says what to write instead of another name of a distribution.
    """
    if isinstance(name, str) and name in families:
        return families[name]
    if isinstance(name, str) and name.startswith("student_t:"):
        try:
            df = float(name.removeprefix("student_t:"))
        except ValueError:
            df = 0.0
        if 0.5 <= df <= 1_000:
            return StudentTGiven(df)
        raise ValueError("the family student_t:DF must have from 0.5 to 1000 degrees of freedom: give student_t:4")
    hint = f"that distribution is the family {known}; " if (known := meant(name)) else ""
    raise ValueError(f"{hint}family must be one of {', '.join(families)}, or student_t:DF")
