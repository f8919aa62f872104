"""The distributions of priors as SciPy has them, whoever writes their formulas in the estimator."""

from typing import Any

from scipy import stats

from dither_estimator.priors.distributions import Distribution

__all__ = ["scipy_distribution"]


def scipy_distribution(distribution: Distribution) -> Any:
    """SciPy's frozen distribution of the same name and numbers."""
    return getattr(stats, distribution.dist)(**distribution.numbers)
