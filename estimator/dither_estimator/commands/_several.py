"""`dither design --components`: designs for several numbers of one person."""

from collections.abc import Mapping

import typer

from dither_client.commands._shared import print_table
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.mechanisms.query import check_epsilon
from dither_client.posterior.digits import rounded
from dither_estimator.dependence.design import JointDesign, joint_design
from dither_estimator.design.design import DesignError

__all__ = ["design_several", "print_joint"]


def design_several(
    components: int, epsilon: str | None, correlation: float, others: Mapping[str, object]
) -> JointDesign:
    """The design for so many numbers, of which each two have this correlation. Raises `DesignError`.

    `others` are the remaining options, which must be left out.
    """
    for name, value in others.items():
        if value is not None:
            raise DesignError(f"--{name} is not for --components: designs for several numbers are for normal ones")
    if epsilon is None:
        raise DesignError("--components needs --epsilon")
    return joint_design(components, correlation, check_epsilon(epsilon))


def print_joint(found: JointDesign) -> None:
    """Prints the design for people."""
    rows = [
        (f"{weight:.1%}", kind.name, kind.about, "" if kind.question is None else kind.question.n_answers)
        for kind, weight in zip(found.kinds, found.weights, strict=True)
    ]
    print_table(["people", "question", "numbers", "answers"], rows)
    typer.echo("")
    variances = zip(found.normals.names, found.variances.tolist(), strict=True)
    print_table(["parameter", "variance per respondent"], [(name, rounded(value, 6)) for name, value in variances])
    split, limit = found.split, found.limit
    typer.echo(
        f"\ncriterion {rounded(found.criterion, 6)} is the sum of all variances, per respondent\n"
        f"limit {rounded(limit.criterion, 6)} for any mechanism with ε = {epsilon_text(found.epsilon)} on a grid of "
        f"cells (certified to {limit.gap / limit.criterion:.1%}): efficiency {found.efficiency:.1%}\n"
        f"with questions about one number and about sides alone, {split.share:.1%} of the people are asked about one "
        f"number and {1 - split.share:.1%} about two or more: criterion {rounded(split.criterion, 6)}, efficiency "
        f"{limit.criterion / split.criterion:.1%}"
    )
