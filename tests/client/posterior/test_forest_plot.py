"""The picture of public groups: what stands in it, for numbers and for categories."""

from typing import Any

import pytest
from matplotlib.figure import Figure

from dither_client import RandomizedResponse
from dither_client.posterior.particles import Particles
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.wire import to_json
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.specification.specification import Specification

NORMAL = {"family": "normal", "range": [0, 100]}


def posterior(labels: list[str], **fields: Any) -> Posterior:
    """The second group has no answers; of the others, the later the more."""
    groups = {"groups": {"name": "region", "labels": labels}}
    learner = GroupedLearner(Specification.from_json({"epsilon": 2, "particles": 100} | groups | fields), 1)
    for place, label in enumerate(labels):
        if place != 1:
            query = learner.ask(group=label) if "categories" in fields else RandomizedResponse([50], 2)
            learner.learn_group_counts({label: {query: [20 + place] * query.n_answers}})
    found = learner.posterior()
    return parse_posterior("wages", to_json(found.described(found.reply())), lambda: Particles((), (), ()))


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.subfigs[-1].legends for text in legend.get_texts()]


def test_groups_have_names_a_unit_and_a_legend() -> None:
    labels = ["north $1", "south", "west"]
    figure = posterior(labels, **NORMAL).plot("Wages", "€")
    whole, groups = figure.axes
    assert [whole.get_title(loc="left"), groups.get_title(loc="left")] == ["all groups together", "group (answers)"]
    assert (whole.get_xlabel(), groups.get_xlabel()) == ("€", "median, €")
    assert [each.get_text() for each in groups.get_yticklabels()] == [r"north \$1 (40)", "south (0)", "west (44)"]
    assert texts(figure) == [
        "all together, 90% interval", "90% interval", "50% interval", "median", "median, no answers"
    ]  # fmt: skip
    marks = [line for line in groups.lines if line.get_marker() == "o"]
    assert [line.get_ydata().tolist() for line in marks] == [[0, 2], [1]]  # type: ignore[union-attr]
    figure.canvas.draw()


def test_of_very_many_groups_those_with_the_most_answers_are_shown() -> None:
    figure = posterior([f"county {place}" for place in range(62)], **NORMAL).plot()
    groups = figure.axes[1]
    assert len(groups.get_yticks()) == 60
    assert groups.get_title(loc="left") == "group (answers): the 60 with the most of 62"
    assert {"county 0", "county 1"}.isdisjoint(each.get_text().rpartition(" ")[0] for each in groups.get_yticklabels())


def test_categories_have_a_colour_each(tmp_path: Any) -> None:
    figure = posterior(["north", "south"], family="categorical", categories=["never", "daily"]).plot("Smoking")
    [groups] = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["never", "daily"]
    assert groups.get_xlabel() == "share of the people, with its 50% and 90% intervals"
    figure.savefig(tmp_path / "shares.png")


@pytest.mark.parametrize("fields", [{"epsilon": 2}, NORMAL | {"transform": "log", "range": [1, 1000]}])
def test_without_a_family_and_on_the_scale_of_logarithms(fields: dict[str, Any]) -> None:
    """The log of the cut is so far from the range that densities have no floats: there is no distribution then."""
    assert posterior(["north", "south"], **fields).plot().axes[-1].get_xlabel() == "median"
