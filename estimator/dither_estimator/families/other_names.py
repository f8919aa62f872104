"""Distributions that people know by another name than the one that a specification takes."""

import re

__all__ = ["meant"]

_LOG = "{0} with transform log"
_MEANT = {
    "lognormal": _LOG.format("normal"),
    "lognorm": _LOG.format("normal"),
    "loglogistic": _LOG.format("logistic"),
    "fisk": _LOG.format("logistic"),
    "frechet": _LOG.format("gumbel"),
    "loglaplace": _LOG.format("laplace"),
    "gaussian": "normal",
    "gauss": "normal",
    "norm": "normal",
    "t": "student_t",
    "student": "student_t",
    "cauchy": "student_t:1",
    "gumbelr": "gumbel",
    "doubleexponential": "laplace",
    "expon": "exponential",
    "nbinom": "negative_binomial",
    "binary": "bernoulli",
    "multinomial": "categorical",
    "uniform": "nonparametric with a minimum and a maximum",
    "none": "nonparametric",
}
"""What to write instead, by the name in lower case without anything but letters."""


def meant(name: object) -> str | None:
    """What to write for a distribution of this name; None if the name is not one of those."""
    return _MEANT.get(re.sub("[^a-z]", "", name.lower())) if isinstance(name, str) else None
