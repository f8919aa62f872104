"""What the questions of a collection leave unknown, in a sentence, before anybody is asked.

Answers at few cuts say only how many people lie below each of them, which may not tell all parameters of a family.
"""

import math
from collections.abc import Sequence

import numpy as np

from dither_client.posterior.digits import rounded
from dither_estimator.design.identified import cannot_tell
from dither_estimator.specification.specification import Specification

__all__ = ["caution", "caution_of", "unknown_at"]

_PRIOR_DRAWS = 500
_CUTS_SHOWN = 4
"""The most cuts that a sentence lists."""


def caution(specification: Specification) -> str | None:
    """What the one question of policy `fixed` leaves unknown, in a sentence; None if it leaves nothing."""
    fixed = specification.fixed_query(specification.epsilon)
    return None if fixed is None else caution_of(specification, [*fixed.edges, *(specification.member_cuts or ())])


def caution_of(specification: Specification, cuts: Sequence[float]) -> str | None:
    """A sentence on `unknown_at` these cuts; None if they tell all parameters, or if there are none."""
    unknown = unknown_at(specification, cuts)
    if not unknown:
        return None
    own = sorted({math.exp(cut) if specification.transform == "log" else cut for cut in cuts})
    where = ", ".join(rounded(cut, 6) for cut in own[:_CUTS_SHOWN]) + (", …" if len(own) > _CUTS_SHOWN else "")
    which = " and ".join(filter(None, [", ".join(unknown[:-1]), unknown[-1]]))
    needed = len(specification.family.parameters)
    fix = f"ask at {needed} or more cuts" if len(own) < needed else "ask at other cuts"
    return (
        f"answers at {len(own)} cut{'' if len(own) == 1 else 's'} alone ({where}) cannot tell {which}, however "
        f"many there are, for they say only how many people lie below: {fix}, or with policy adaptive"
    )


def unknown_at(specification: Specification, cuts: Sequence[float]) -> tuple[str, ...]:
    """Which parameters answers at these cuts on the transformed scale cannot tell, however many there are."""
    if not specification.parametric or not cuts:
        return ()
    draws = specification.family.constrain(specification.prior.sample(np.random.default_rng(0), _PRIOR_DRAWS))
    return cannot_tell(specification.family, draws, cuts)
