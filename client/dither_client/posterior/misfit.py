"""What a server's misfit check has found, in a sentence."""

from dither_client.errors import BadResponse
from dither_client.posterior.wire import Misfit

__all__ = ["misfit_sentence"]


def misfit_sentence(misfit: Misfit) -> str:
    """What the check has found, in a sentence for people. Raises `BadResponse` where it contradicts itself."""
    family, made, following = misfit.family, len(misfit.looks), misfit.next_look
    if misfit.alarm:
        first = next((look for look in misfit.looks if look.p_value <= look.alpha), None)
        if first is None:
            raise BadResponse("the server's misfit check has an alarm that no look gave")
        return (
            f"The answers do not look {family}: p = {first.p_value:.3f} at {first.check_answers:,} check "
            f"answers, where {first.alpha:.2g} or less is an alarm."
        )
    if not made and following is not None:
        return f"Whether the family {family} fits is first checked at {following:,} check answers."
    until = "" if following is None else f"; the next look is at {following:,} check answers"
    return f"The answers fit the family {family} so far ({made} look{'' if made == 1 else 's'}{until})."
