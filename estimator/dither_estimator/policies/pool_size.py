"""When a pool of questions is renewed: after so many answers that better ones would be asked. And how many it has.

Renewing costs the estimator's time, not renewing costs information: questions that are best for the posterior of `n`
answers are asked until `n (1 + f)`. Over the logarithm of n that wastes about `κ V f / 2` answers, `V` the variance per
respondent in units of the scale and κ about 1, beside the `κ V` that adapting costs whatever is done. So the share f
matters little once n is far above V, which is about `4 / C` with `C` the nats that an answer can tell.
"""

import math
from fractions import Fraction
from functools import lru_cache

__all__ = ["answers_until_renewal", "pool_size"]

_LEAST_NATS = 0.3
"""What the answers of one pool can tell in all, at the start."""
_SHARE = 8
"""Later the answers grow by one part in so many."""
_MANY_NATS = 100.0
_SHARE_OF_MANY = 4
"""The same when the answers have told more than so many nats."""
_FIRST_POOL = 64
"""Hundreds may be asked before the first answer, and a few questions would leave gaps between them."""
_LARGEST_POOL = 16


def answers_until_renewal(answers: int, epsilon: Fraction) -> int:
    """How many answers a pool of questions at ε serves that is made after `answers`."""
    told = _most_told(epsilon)
    share = _SHARE if answers * told < _MANY_NATS else _SHARE_OF_MANY
    return max(1, round(_LEAST_NATS / told), answers // share)


def pool_size(answers: int, outstanding: int) -> int:
    """How many questions a pool has that is made after `answers`, where so many people have one at a time."""
    return max(1, min(outstanding, _LARGEST_POOL if answers else _FIRST_POOL))


@lru_cache(maxsize=1024)
def _most_told(epsilon: Fraction) -> float:
    """The nats that an answer tells at most: of a fair bit, by randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    tail = math.exp(-epsilon) * truth
    return math.log(2) + truth * math.log(truth) + tail * math.log(tail)
