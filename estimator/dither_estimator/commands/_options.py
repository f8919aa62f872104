"""Options that `dither design` and `dither plan` share, as annotated types."""

from typing import Annotated

import typer

from dither_estimator.design.design import Mechanism as MechanismName

__all__ = ["Family", "Mechanism"]

Family = Annotated[str, typer.Option(help="The family of distributions, or nonparametric: none.")]

Mechanism = Annotated[
    MechanismName | None,
    typer.Option(help="How answers are made private.", show_default="laplace; without a family randomized_response"),
]
