"""`dither plan --groups`: how many people each of several public groups needs, borrowing from each other and alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import typer

from dither_client.commands._shared import print_table
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.digits import rounded
from dither_estimator.commands._parameters import parse_theta
from dither_estimator.design.design import DesignError
from dither_estimator.families import Family, FloatArray
from dither_estimator.planning.by_group import foresee_groups, foresee_groups_precision
from dither_estimator.planning.precision import precision_of_answers
from dither_estimator.specification.specification import Specification

__all__ = ["parse_groups", "parse_thetas", "print_groups", "row_by_group"]

_PARTICLES = 1_000


def parse_groups(text: str) -> dict[str, Any]:
    """The field `groups` of a specification whose groups have the labels in a text such as `north,south`."""
    return {"name": "group", "labels": [label.strip() for label in text.split(",")]}


def parse_thetas(text: str | None, family: Family, groups: int) -> FloatArray:
    """The member of each group (groups, d): separated by semicolons, or one for all. Raises `DesignError`."""
    parts = [parse_theta(part, family) for part in (text.split(";") if text else [None])]
    if len(parts) not in (1, groups):
        raise DesignError(f"theta must have the parameters of each of the {groups} groups, separated by semicolons")
    return np.array(parts * groups if len(parts) == 1 else parts)


def row_by_group(
    spec: Specification, theta: FloatArray, targets: Mapping[str, float] | None, respondents: int | None
) -> dict[str, Any]:
    """What a plan says of groups at one ε. `respondents` are those of all groups. Raises `DesignError`.

    A precision that is too low to be planned for a group alone has there the fewest people for whom there is a plan.
    """
    assert spec.groups is not None
    pooled, alone = replace(spec, particles=_PARTICLES), replace(spec, groups=None)
    size = len(spec.groups.labels)
    if respondents is None:
        people, sds = foresee_groups(pooled, theta, targets or {})
    else:
        people = respondents // size
        sds = foresee_groups_precision(pooled, theta, people)
    groups = {}
    for label, row in zip(spec.groups.labels, theta, strict=True):
        own = precision_of_answers(alone, row)
        groups[label] = {
            "respondents": people,
            "respondents_alone": own.respondents(targets or sds[label]),
            "sd": sds[label],
            "sd_alone": own.sd(people),
        }
    return {
        "epsilon": spec.epsilon,
        "respondents": people * size,
        "respondents_alone": sum(group["respondents_alone"] for group in groups.values()),
        "groups": groups,
        "mechanism": spec.mechanism,
        "goal": spec.goal.to_json(),
    }


def print_groups(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints rows of `row_by_group` for people, a line for each group and ε."""
    names = list(next(iter(rows[0]["groups"].values()))["sd"])
    print_table(
        ["ε", "group", "respondents", "alone", *(part for name in names for part in (f"sd of {name}", "alone"))],
        [
            (
                epsilon_text(row["epsilon"]),
                label,
                f"{group['respondents']:,}",
                f"{group['respondents_alone']:,}",
                *(_sd(group[kind][name]) for name in names for kind in ("sd", "sd_alone")),
            )
            for row in rows
            for label, group in row["groups"].items()
        ],
    )
    typer.echo(
        "\nposterior standard deviations reached on average, with equally many people in every group; alone: by a "
        "collection of this group only,\nas many respondents for the same precision, and the precision of as many "
        f"respondents\nmechanism {rows[0]['mechanism']}"
    )


def _sd(sd: float | None) -> str:
    return "unknown" if sd is None else rounded(sd, 4)
