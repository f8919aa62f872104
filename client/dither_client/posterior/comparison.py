"""Which of several families holds, as analysts read it."""

from collections.abc import Sequence

from dither_client.posterior.wire import FamilyEvidence

__all__ = ["comparison_lines"]


def comparison_lines(families: Sequence[FamilyEvidence], verdict: str) -> list[str]:
    """A line for each family, and one for the verdict."""
    lines = []
    for each in families:
        name = each.family if each.transform == "identity" else f"{each.family} ({each.transform})"
        lines.append(
            f"{name}: log evidence {each.log_evidence:.2f} ± {each.mc_error:.2f}, probability {each.probability:.4f}"
        )
    return [*lines, f"which family holds: {verdict}"]
