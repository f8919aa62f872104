"""The distributions of priors as SciPy has them, whoever writes their formulas in the estimator."""

from typing import Any

from scipy import stats

from dither_estimator.priors.distributions import Law

__all__ = ["scipy_law"]


def scipy_law(law: Law) -> Any:
    """SciPy's frozen distribution of the same name and numbers."""
    return getattr(stats, law.dist)(**law.numbers)
