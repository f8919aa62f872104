"""What a server's misfit check has found, in a sentence."""

from typing import Any

from dither_client.errors import BadResponse

__all__ = ["misfit_sentence"]


def misfit_sentence(data: Any) -> str:
    """The `misfit` of a posterior's JSON in a sentence for people. Raises `BadResponse`."""
    try:
        family, made, following = str(data["family"]), len(data["looks"]), data["next_look"]
        if data["alarm"]:
            first = next(look for look in data["looks"] if look["p_value"] <= look["alpha"])
            return (
                f"The answers do not look {family}: p = {first['p_value']:.3f} at {first['check_answers']:,} check "
                f"answers, where {first['alpha']:.2g} or less is an alarm."
            )
        if not made:
            return f"Whether the family {family} fits is first checked at {following:,} check answers."
        until = "" if following is None else f"; the next look is at {following:,} check answers"
        return f"The answers fit the family {family} so far ({made} look{'' if made == 1 else 's'}{until})."
    except (KeyError, TypeError, ValueError, StopIteration):
        raise BadResponse("the server's misfit check is one that this version cannot read") from None
