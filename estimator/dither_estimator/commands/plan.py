"""Find how many respondents a precision needs, or what precision a number of respondents gives."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import typer
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import Json, fail, print_json, print_table, working
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.digits import rounded
from dither_estimator.commands import _by_group as by_group
from dither_estimator.commands import _options as options
from dither_estimator.commands import _without_family as without_family
from dither_estimator.commands._parameters import parse_numbers, parse_theta
from dither_estimator.design.design import DesignError
from dither_estimator.design.goal import Goal
from dither_estimator.planning.goal import cheapest_goal
from dither_estimator.planning.precision import precise_names, precision_of_answers, precision_of_values
from dither_estimator.planning.without_family import Wanted, foresee, foresee_precision, sds_of_values
from dither_estimator.specification.contradictions import new_specification
from dither_estimator.specification.fields import CATEGORICAL, NONPARAMETRIC
from dither_estimator.specification.groups import Groups
from dither_estimator.specification.specification import Specification

__all__ = ["app"]

EXTRA = "estimator"

app = typer.Typer(add_completion=False)

_CONFIDENCES = (0.5, 0.9999)
_BEST = "best"
_MOST_COLUMNS = 4
_LEFT_OUT = ("quantile_0.1", "quantile_0.25", "quantile_0.75", "quantile_0.9")
_NO_PLAN_OF_CATEGORIES = (
    "categories have no plan, for the precision depends on their shares: 1,000 answers at epsilon 1 "
    "leave at most about ± 0.1 (90% sure) on the share of each, and four times as many half of that"
)
_NOT_WITH_GROUPS = (
    "--groups are planned with a family, on average and for a given goal: without a family groups do not borrow from "
    "each other, and the plan of each is its own"
)


@app.command()
def plan(
    epsilon: options.PlannedEpsilon,
    sd: options.Sd = None,
    respondents: options.PlannedRespondents = None,
    confidence: options.Confidence = None,
    family: options.Family = "normal",
    theta: options.GuessedTheta = None,
    transform: options.PlannedTransform = None,
    groups: options.Groups = None,
    value_range: options.ValueRange = None,
    minimum: options.PlannedMinimum = None,
    maximum: options.PlannedMaximum = None,
    goal: options.PlannedGoal = None,
    mechanism: options.Mechanism = None,
    data: without_family.Data = None,
    column: without_family.Column = None,
    population: without_family.Population = None,
    atoms: without_family.Atoms = None,
    decimals: without_family.Decimals = None,
    as_json: Json = False,
) -> None:
    """Find how many respondents bring the posterior's standard deviations down to --sd, or what --respondents give.

    Beside the parameters, --sd may name what --goal asks for: quantile_0.5, above_1000, distribution. Parameters are on
    the scale of --transform, quantiles in the values' own units.

    The figures are those of a collection with this family, --range or --minimum and --maximum, --goal and --mechanism,
    and the policy adaptive.

    For example: dither plan --theta mu=50,sigma=3 --epsilon 0.5,1,2,5 --sd mu=0.5 --confidence 0.9

    With --groups, three collections of groups that borrow from each other are simulated, and set beside groups that
    stand alone; --respondents are those of all groups.

    Without a family, three collections from a population like the one you expect are simulated, which takes about a
    minute for each ε. --sd then names distribution (of the share below a value), quantile_0.5 and its like, or
    above_1000.

    For example: dither plan --family nonparametric --data wages.csv --column wage --epsilon 1 --sd quantile_0.5=10
    """
    _check_options(sd, respondents, confidence, family, groups, goal)
    people = without_family.PeopleOptions(data, column, population, transform, minimum, maximum, atoms, decimals)
    fields: dict[str, object] = {"mechanism": mechanism, "goal": "all" if goal == _BEST else goal}
    if value_range is not None:
        fields["range"] = _ends(value_range)
    choices = [{**fields, "epsilon": text.strip()} for text in epsilon.split(",")]
    if family == NONPARAMETRIC.name:
        _plan_without_family(people, theta, choices, sd, respondents, as_json)
        return
    replace(people, transform=None, minimum=None, maximum=None).refuse()
    family_fields: dict[str, object] = {"family": family, "transform": transform or "identity"}
    family_fields |= {"minimum": minimum, "maximum": maximum}
    if groups is not None:
        family_fields["groups"] = by_group.parse_groups(groups)
    specs = [new_specification({**asked, **family_fields}) for asked in choices]
    targets = None if sd is None else _parse_targets(sd, precise_names(specs[0]))
    if specs[0].groups is not None:
        _plan_groups(specs, specs[0].groups, theta, targets, respondents, as_json)
    else:
        _plan_family(specs, theta, targets, respondents, confidence, goal == _BEST, as_json)


def _ends(value_range: str) -> object:
    """The numbers of a range; what is none stays as it is, and is refused with the specification."""
    try:
        return [float(end) for end in value_range.split(",")]
    except ValueError:
        return value_range


def _check_options(
    sd: str | None, respondents: int | None, confidence: float | None, family: str, groups: str | None, goal: str | None
) -> None:
    """Ends the command for options that cannot go together."""
    if (sd is None) == (respondents is None):
        fail("give either --sd or --respondents", 2)
    if confidence is not None and not _CONFIDENCES[0] <= confidence <= _CONFIDENCES[1]:
        fail(f"confidence must be from {_CONFIDENCES[0]} to {_CONFIDENCES[1]}", 2)
    if goal == _BEST and sd is None:
        fail("goal best needs --sd: best is the goal that reaches it with the fewest respondents", 2)
    if family == CATEGORICAL.name:
        fail(_NO_PLAN_OF_CATEGORIES, 2)
    if groups is not None and (confidence is not None or goal == _BEST or family == NONPARAMETRIC.name):
        fail(_NOT_WITH_GROUPS, 2)
    if family == NONPARAMETRIC.name and (confidence is not None or goal == _BEST):
        fail("--confidence and the goal best are for a family: without one, precision is foreseen on average", 2)


def _plan_without_family(
    people: without_family.PeopleOptions,
    theta: str | None,
    choices: Sequence[Mapping[str, Any]],
    sd: str | None,
    respondents: int | None,
    as_json: bool,
) -> None:
    with threadpool_limits(1, user_api="blas"), working("Simulating collections"):
        planned = [_row_without_family(people, theta, asked, sd, respondents) for asked in choices]
    aimed = _parse_targets(sd, list(planned[0][0]["sd"])) if sd is not None else {}
    _show([row for row, _ in planned], [goal for _, goal in planned], None, as_json, aimed)


def _plan_family(
    specs: Sequence[Specification],
    theta: str | None,
    targets: Mapping[str, float] | None,
    respondents: int | None,
    confidence: float | None,
    best: bool,
    as_json: bool,
) -> None:
    member = parse_theta(theta, specs[0].family)
    with threadpool_limits(1, user_api="blas"), working("Finding how many it takes"):
        if best and targets is not None:
            specs = [replace(spec, goal=cheapest_goal(spec, member, targets, confidence)) for spec in specs]
        rows = [_row(spec, member, targets, respondents, confidence) for spec in specs]
    _show(rows, [spec.goal for spec in specs], confidence, as_json)


def _plan_groups(
    specs: Sequence[Specification],
    groups: Groups,
    theta: str | None,
    targets: Mapping[str, float] | None,
    respondents: int | None,
    as_json: bool,
) -> None:
    members = by_group.parse_thetas(theta, specs[0].family, len(groups.labels))
    with threadpool_limits(1, user_api="blas"), working("Simulating collections"):
        rows = [by_group.row_by_group(spec, members, targets, respondents) for spec in specs]
    if as_json:
        _print_json(rows)
    else:
        by_group.print_groups(rows)


def _show(
    rows: Sequence[Mapping[str, Any]],
    goals: Sequence[Goal],
    confidence: float | None,
    as_json: bool,
    aimed: Collection[str] = (),
) -> None:
    if as_json:
        _print_json(rows)
    else:
        _print(rows, goals, confidence, aimed)


def _print_json(rows: Sequence[Mapping[str, Any]]) -> None:
    print_json(rows[0] if len(rows) == 1 else {"rows": rows})


def _shown(sds: Mapping[str, Any], aimed: Collection[str]) -> list[str]:
    """The names for which a table has room: without a family it leaves out some quantiles that no target is for."""
    names = list(sds)
    return [name for name in names if len(names) <= _MOST_COLUMNS or name not in _LEFT_OUT or name in aimed]


def _row_without_family(
    people: without_family.PeopleOptions,
    theta: str | None,
    asked: Mapping[str, Any],
    sd: str | None,
    respondents: int | None,
) -> tuple[dict[str, Any], Goal]:
    """A row of the plan, and its goal."""
    spec = without_family.specified(people, asked)
    population, wanted = people.known(theta, spec), Wanted.of(spec.goal)
    targets = {} if sd is None else _parse_targets(sd, wanted.names)
    if respondents is None:
        found = foresee(spec, population, targets)
        number, sds = found.answers, found.sds
    else:
        number, sds = respondents, foresee_precision(spec, population, respondents)
    of_values = sds_of_values(population, wanted)
    reached = targets or {name: sds[name] for name in wanted.asked(spec.goal)}
    without = max(1, *(math.ceil((of_values[name] / target) ** 2) for name, target in reached.items() if target > 0))
    return _fields(spec, number, without, sds), spec.goal


def _parse_targets(text: str, names: Sequence[str]) -> dict[str, float]:
    allowed = f"sd must be such as {names[0]}=0.5, a number above 0 for any of {', '.join(names)}"
    targets = parse_numbers(text, allowed)
    if not set(targets) <= set(names) or not all(0 < target < math.inf for target in targets.values()):
        raise DesignError(allowed)
    return targets


def _row(
    spec: Specification,
    theta: Sequence[float],
    targets: Mapping[str, float] | None,
    respondents: int | None,
    confidence: float | None,
) -> dict[str, Any]:
    answers, values = (
        precision_of_answers(spec, theta),
        precision_of_values(spec.family, theta, spec.goal, spec.transform),
    )
    try:
        answers.check(targets or {}, confidence)
    except DesignError as error:
        raise DesignError(f"at epsilon {epsilon_text(spec.epsilon)}, {error}") from None
    number = respondents or answers.respondents(targets or {}, confidence)
    sds = answers.sd(number, confidence)
    wanted = precise_names(spec)[0 if spec.goal.of_parameters else len(spec.family.names) :]
    known = {name: sd for name in wanted if (sd := sds[name]) is not None}
    if not known:
        raise DesignError(
            f"{number:,} respondents are too few at epsilon {epsilon_text(spec.epsilon)} to predict a precision; "
            f"give at least {answers.least:,}"
        )
    return _fields(spec, number, values.respondents(targets or known, confidence), sds)


def _fields(spec: Specification, number: int, without: int, sds: Mapping[str, float | None]) -> dict[str, Any]:
    return {
        "epsilon": spec.epsilon,
        "respondents": number,
        "without_privacy": without,
        "price_of_privacy": number / without,
        "sd": sds,
        "mechanism": spec.mechanism,
        "goal": spec.goal.to_json(),
    }


def _print(
    rows: Sequence[Mapping[str, Any]], goals: Sequence[Goal], confidence: float | None, aimed: Collection[str]
) -> None:
    names = _shown(rows[0]["sd"], aimed)
    print_table(
        ["ε", "respondents", "without privacy", "price", *(f"sd of {name}" for name in names)],
        [
            (
                epsilon_text(row["epsilon"]),
                f"{row['respondents']:,}",
                f"{row['without_privacy']:,}",
                rounded(row["price_of_privacy"], 3),
                *("unknown" if (sd := row["sd"][name]) is None else rounded(sd, 4) for name in names),
            )
            for row in rows
        ],
    )
    by_goal: dict[str, list[str]] = {}
    for row, goal in zip(rows, goals, strict=True):
        by_goal.setdefault(str(goal), []).append(epsilon_text(row["epsilon"]))
    reached = "on average" if confidence is None else f"with probability {confidence:g}"
    typer.echo(
        f"\nposterior standard deviations reached {reached}; price: respondents per respondent without privacy\n"
        f"mechanism {rows[0]['mechanism']}"
    )
    for text, epsilons in by_goal.items():
        typer.echo(f"goal {text}" + (f" at ε = {', '.join(epsilons)}" if len(by_goal) > 1 else ""))
