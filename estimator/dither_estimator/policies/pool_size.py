"""How many questions a pool has, and after how many answers it is renewed.

Renewing a pool costs computing time; not renewing it costs information, because questions that are best after `n`
answers are asked until `n (1 + f)`. Per unit of log n that wastes about `κ V f / 2` answers, where `V` is the variance
per respondent in units of the scale and κ is about 1; adapting itself costs `κ V` in any case. So the share f matters
little once n is far above V, which is about `4 / C` where `C` is the most nats that an answer conveys.
"""

import math
from fractions import Fraction
from functools import lru_cache

__all__ = ["answers_until_renewal", "pool_size"]

_FIRST_POOL_NATS = 0.3
"""The most nats that all answers of one pool convey at the start."""
_RENEWAL_DIVISOR = 8
"""Later a pool serves one answer per this many learnt."""
_LATE_FROM_NATS = 100.0
_LATE_RENEWAL_DIVISOR = 4
"""The divisor once the answers may have conveyed `_LATE_FROM_NATS` nats."""
_MAX_FIRST_POOL = 64
"""The largest pool before the first answer: hundreds may be asked by then, and few questions would leave gaps."""
_MAX_EARLY_POOL, _MAX_POOL = 32, 16
_FEW_ROUNDS = 6
"""With fewer answers than these from each of those who are asked at a time, pools are early.

Each time that all have answered, questions come nearer to the people by about as many times as there are different
ones: with 16, 1,000 answers to 256 at a time end far from a population of 1 under a prior of 100,000. With 64 it is
found no better than with 32, for half as much time again.
"""


def answers_until_renewal(answers: int, epsilon: Fraction) -> int:
    """How many answers at ε a pool serves if it is made after `answers`."""
    told = _most_told(epsilon)
    share = _RENEWAL_DIVISOR if answers * told < _LATE_FROM_NATS else _LATE_RENEWAL_DIVISOR
    return max(1, round(_FIRST_POOL_NATS / told), answers // share)


def pool_size(answers: int, outstanding: int) -> int:
    """How many questions a pool has if it is made after `answers` and `outstanding` people are asked at a time."""
    early = _MAX_EARLY_POOL if answers < _FEW_ROUNDS * outstanding else _MAX_POOL
    return max(1, min(outstanding, early if answers else _MAX_FIRST_POOL))


@lru_cache(maxsize=1024)
def _most_told(epsilon: Fraction) -> float:
    """The most nats that an answer conveys: the mutual information of a fair bit and its randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    tail = math.exp(-epsilon) * truth
    return math.log(2) + truth * math.log(truth) + tail * math.log(tail)
