"""The shares of values that many people have exactly, as rows of a table."""

from collections.abc import Mapping

from dither_client.posterior.digits import rounded
from dither_client.posterior.wire import QUANTILES, ParameterSummary

__all__ = ["MOST_TOLD", "atom_numbers", "percents"]

MOST_TOLD = 3
"""How many atoms sentences tell of. Where there are more, the table has all of them."""
_DIGITS = 12


def atom_numbers(atoms: Mapping[str, ParameterSummary] | None) -> dict[str, tuple[str, ...]]:
    """Each atom's share as `population_numbers` writes numbers; none where sentences tell of all."""
    found = atoms or {}
    if len(found) <= MOST_TOLD:
        return {}
    return {f"Exactly {rounded(float(atom), _DIGITS)}": percents(share) for atom, share in found.items()}


def percents(share: ParameterSummary) -> tuple[str, ...]:
    """Mean, sd and quantiles of a share."""
    return tuple(f"{100 * getattr(share, each):.1f}%" for each in ("mean", "sd", *QUANTILES))
