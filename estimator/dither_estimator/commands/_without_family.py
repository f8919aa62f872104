"""`dither design` and `dither plan` without a family: which population is asked, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dither_client import Transform
from dither_client.commands._shared import print_table
from dither_client.posterior.digits import rounded
from dither_client.tables.values import read_values
from dither_client.typed_numbers import MAX_DECIMALS
from dither_estimator.commands._parameters import parse_theta
from dither_estimator.design.design import DesignError
from dither_estimator.families import Family, find_family
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.prospect import Certificate, expect
from dither_estimator.specification.contradictions import new_specification
from dither_estimator.specification.fields import NONPARAMETRIC
from dither_estimator.specification.specification import Specification

__all__ = [
    "Atoms",
    "Column",
    "Data",
    "Decimals",
    "Maximum",
    "Minimum",
    "PeopleOptions",
    "Population",
    "Respondents",
    "Scale",
    "certify",
    "print_certificate",
    "specified",
]

_PANEL = "Without a family"
_RESPONDENTS = 20_000
_MIN_RESPONDENTS, _MAX_RESPONDENTS = 1_000, 10_000_000
_LARGEST_EPSILON = 5
"""Above this ε, questions have so many cells that the limit would take minutes, and nearly all of it is reached."""

Data = Annotated[
    Path | None,
    typer.Option(help="A CSV or Parquet file of the population's values.", show_default=False, rich_help_panel=_PANEL),
]
Column = Annotated[
    str | None, typer.Option(help="The column with the values.", show_default=False, rich_help_panel=_PANEL)
]
Population = Annotated[
    str | None,
    typer.Option(
        help="Instead of --data: a family, of which the population is the member --theta.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Scale = Annotated[
    Transform | None,
    typer.Option(
        help="The scale on which the family of --population holds; values are above 0 with log.",
        show_default="identity",
        rich_help_panel=_PANEL,
    ),
]
Minimum = Annotated[float | None, typer.Option(help="No value is below.", show_default=False, rich_help_panel=_PANEL)]
Maximum = Annotated[float | None, typer.Option(help="No value is above.", show_default=False, rich_help_panel=_PANEL)]
Atoms = Annotated[
    str | None,
    typer.Option(
        help="Values that many people have exactly, such as 0,100.", show_default=False, rich_help_panel=_PANEL
    ),
]
Decimals = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MAX_DECIMALS,
        help="How many decimals values have: 0 for whole numbers.",
        show_default="any",
        rich_help_panel=_PANEL,
    ),
]
Respondents = Annotated[
    int | None,
    typer.Option(
        min=_MIN_RESPONDENTS,
        max=_MAX_RESPONDENTS,
        help="How many answer.",
        show_default=f"{_RESPONDENTS:,}",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True)
class PeopleOptions:
    """The options that say which population is asked; None where they are left out."""

    data: Data = None
    column: Column = None
    population: Population = None
    transform: Scale = None
    minimum: Minimum = None
    maximum: Maximum = None
    atoms: Atoms = None
    decimals: Decimals = None

    def refuse(self) -> None:
        """Raises `DesignError` if one is given: for a family they have no meaning."""
        for field in fields(self):
            if getattr(self, field.name) is not None:
                raise DesignError(f"--{field.name} is for --family {NONPARAMETRIC.name} only")

    def support(self) -> Mapping[str, Any]:
        """The fields of a specification that say where values lie. Raises `DesignError`."""
        try:
            atoms = [float(atom) for atom in self.atoms.split(",")] if self.atoms else None
        except ValueError:
            raise DesignError("atoms must be numbers such as 0,100") from None
        return {
            "transform": self.transform or "identity",
            "minimum": self.minimum,
            "maximum": self.maximum,
            "atoms": atoms,
            "decimals": self.decimals,
        }

    def known(self, theta: str | None, spec: Specification) -> KnownPopulation:
        """The population. Raises `DesignError`, `ValueError` and the errors of `read_values`."""
        if (self.data is None) == (self.population is None):
            raise DesignError("without a family, give the population with either --data or --population")
        if self.data is None:
            family = find_family(self.population)
            member = np.array(parse_theta(theta, family))
            return KnownPopulation.of_member(family, member, self._scale(family), spec.support)
        if theta is not None:
            raise DesignError("--theta is the member of --population: leave it out with --data")
        return KnownPopulation.of_values(np.array(read_values(self.data, self.column)), spec.support)

    def _scale(self, family: Family) -> Transform:
        scale = self.transform or "identity"
        if scale not in family.transforms:
            raise DesignError(f"transform of {family.name} must be {' or '.join(family.transforms)}")
        return scale


def specified(people: PeopleOptions, asked: Mapping[str, Any]) -> Specification:
    """The specification of a collection without a family; `asked` are its fields that say how it asks.

    Raises `DesignError` and `SpecificationError`.
    """
    return new_specification({"family": NONPARAMETRIC.name, **asked, **people.support()})


def certify(people: PeopleOptions, theta: str | None, asked: Mapping[str, Any], respondents: int | None) -> Certificate:
    """How near the questions of a collection without a family come to the limit, after so many answers.

    `asked` as for `specified`. Raises `DesignError` and what reading raises.
    """
    spec = specified(people, asked)
    if spec.goal.quantiles or spec.goal.above:
        raise DesignError("without a family, goal must be distribution")
    if spec.epsilon > _LARGEST_EPSILON:
        raise DesignError(f"without a family, epsilon must be at most {_LARGEST_EPSILON} for a design")
    cells = None if spec.levels is None else spec.levels + 1
    templates = spec.templates(spec.epsilon)
    prospect = expect(people.known(theta, spec), templates, respondents or _RESPONDENTS, cells)
    return prospect.certificate(prospect.questions(templates, cells))


def print_certificate(found: Certificate) -> None:
    """Prints the certificate for people."""
    print_table(
        ["weight", "answers", "cut at"],
        [
            (f"{1 / len(found.queries):.1%}", query.n_answers, " ".join(rounded(edge, 5) for edge in query.edges))
            for query in found.queries
        ],
    )
    typer.echo(
        f"\ncriterion {rounded(found.criterion, 6)} is the mean variance of the distribution function, times "
        "respondents\n"
        f"after {found.respondents:,} answers the sd of the share below a value is about {rounded(found.sd, 2)}\n"
        f"limit {rounded(found.limit.criterion, 6)} for any mechanism with this epsilon: "
        f"efficiency {found.efficiency:.1%}\n"
        f"the best mechanism would tell as much with {found.enough:,.0f} respondents"
    )
