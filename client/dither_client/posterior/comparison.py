"""Which of several families holds, as analysts read it."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["comparison_lines"]


def comparison_lines(families: Sequence[Mapping[str, Any]], verdict: str) -> list[str]:
    """A line for each family of a posterior's JSON, and one for the verdict."""
    lines = []
    for each in families:
        name = each["family"] if each["transform"] == "identity" else f"{each['family']} ({each['transform']})"
        lines.append(
            f"{name}: log evidence {each['log_evidence']:.2f} ± {each['mc_error']:.2f}, "
            f"probability {each['probability']:.4f}"
        )
    return [*lines, f"which family holds: {verdict}"]
