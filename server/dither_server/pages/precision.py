"""How many more answers a precision takes, for the slider on a collection's page."""

import asyncio
import math
from typing import Any

from dither_client.posterior.wire import PosteriorReply
from dither_estimator.planning.precision import Precision, precision_of_answers
from dither_server.collections.collection import Collection

__all__ = ["Plans"]

_STEPS = 40
_SMALLEST_SD_RATIO = 0.1
"""The smallest target sd, as a share of the present sd."""
_REPLAN_GROWTH = 1.1
"""A plan is recomputed when the number of answers has grown by this factor."""
_MAX_PLANS = 1_000


class Plans:
    """The plans of collections, each kept until its answers have grown by a tenth. For whoever has the `turn`.

    A design keeps a core busy for seconds, so there is one at a time, and others wait for it in no thread.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._known: dict[tuple[int, int], Precision] = {}

    def more_answers(self, collection: Collection, posterior: PosteriorReply) -> dict[str, Any]:
        """For each parameter, targets from its present sd to a tenth of that, and how many more answers each takes.

        Uses `dither_estimator.planning.precision` at the posterior mean: the respondents for the target less those for
        the present sd, or the present answers if that is too large to be planned. Raises `DesignError` if there is no
        plan.
        """
        plan = self._plan(collection, posterior)
        return {
            name: _steps(plan, name, summary.sd, posterior.answers) for name, summary in posterior.posterior.items()
        }

    def _plan(self, collection: Collection, posterior: PosteriorReply) -> Precision:
        key = (collection.number, int(math.log(posterior.answers + 1, _REPLAN_GROWTH)))
        plan = self._known.get(key)
        if plan is None:
            theta = [summary.mean for summary in posterior.posterior.values()]
            plan = precision_of_answers(collection.specification, theta)
            if len(self._known) >= _MAX_PLANS:
                self._known.clear()
            self._known[key] = plan
        return plan


def _steps(plan: Precision, name: str, sd: float, answers: int) -> dict[str, Any]:
    targets = [sd * _SMALLEST_SD_RATIO ** (step / _STEPS) for step in range(_STEPS + 1)]
    spent = plan.respondents({name: sd})
    if sd > plan.largest_target(name):
        spent = min(spent, answers)
    more = [max(0, plan.respondents({name: target}) - spent) for target in targets[1:]]
    return {"sd": targets, "more": [0, *more]}
