"""The random collections of `benchmarks.products`: specifications, truths, and what is looked for among them."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.random_collections.additions import add
from benchmarks.random_collections.claims import claims
from benchmarks.random_collections.collection import RandomCollection
from benchmarks.random_collections.drawing import FIRST_WITH_ADDITIONS, draw_collection
from benchmarks.random_collections.numbers import draw_number
from benchmarks.random_collections.people import people
from benchmarks.random_collections.running import run, simulate
from benchmarks.random_collections.standing_out import false_claims, far_off, pairs
from benchmarks.random_collections.truths import Member, Truth
from dither_estimator.families import find_family
from dither_estimator.specification.specification import Specification


@pytest.mark.parametrize("seed", range(8))
def test_what_is_drawn_is_a_specification(seed: int) -> None:
    for number in (*range(10 * seed, 10 * seed + 10), *range(10_000 + 10 * seed, 10_010 + 10 * seed)):
        collection = draw_collection(number)
        spec = Specification.from_json(collection.fields)
        assert (spec.rho is not None, spec.rivals != ()) == (
            "rho" in collection.settings,
            "families" in collection.settings,
        )
        assert (spec.misfit_check is not None) == ("check" in collection.settings)
        assert (spec.panel is not None, spec.member_cuts is not None) == tuple(
            name in collection.settings for name in ("panel", "institutions")
        )
        assert collection.settings == draw_collection(number).settings


def test_people_are_those_of_the_truth() -> None:
    """The shares at or below three quantiles of 40 populations are five sds off once in 15,000 times."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        truth = draw_number(rng).truth
        values = truth.draw(rng, 2_000)
        assert ((values >= truth.bounds[0]) & (values <= truth.bounds[1])).all()
        for level in (0.25, 0.5, 0.75):
            at = truth.quantile(level)
            share = truth.cdf(np.array([at]))[0]
            assert share >= level - 1e-9
            room = 1e-9 * (abs(at) + truth.spread)
            assert abs((values <= at + room).mean() - share) < 5 * np.sqrt(0.25 / 2_000)


def test_quantiles_of_values_of_all_magnitudes_are_found() -> None:
    """A Student t on the scale of logarithms, whose values go from 1e-70 to 1e60."""
    truth = Truth((Member(find_family("student_t:4"), (-14.0, 0.9), "log"),), (1.0,))
    assert truth.quantile(0.5) == pytest.approx(np.exp(-14.0), rel=1e-9)


def test_a_collection_is_judged() -> None:
    found = run(7)
    assert "error" not in found
    assert {told["name"] for told in found["told"]} == {"mu", "sigma", "0.25", "0.5", "0.75", "mean"}


def test_settings_that_fail_are_printed_and_others_are_not() -> None:
    def collection(seed: int, levels: str, z: float) -> dict[str, object]:
        told = {"part": "", "name": "mu", "kind": "parameter", "holds": z < 1.6, "z": z, "promised": None}
        return {"seed": seed, "settings": {"levels": levels, "goal": "none"}, "told": [told], "missed": 0.0}

    found = [collection(seed, "2", 1.0 if seed % 10 else 2.0) for seed in range(100)]
    assert not list(pairs(found))
    found += [collection(seed, "63", 6.0 if seed % 2 else 1.0) for seed in range(100, 140)]
    assert {words for words, *_ in pairs(found)} == {"levels=63", "goal=none & levels=63"}
    assert [seed for seed, *_ in far_off(found)] == list(range(101, 140, 2))


def _first_with(addition: str, value: str = "yes") -> RandomCollection:
    drawn = map(draw_collection, range(FIRST_WITH_ADDITIONS, FIRST_WITH_ADDITIONS + 1_000))
    return next(each for each in drawn if each.settings.get(addition) == value and each.respondents <= 500)


def test_what_is_added_leaves_the_rest_as_it_was() -> None:
    plain = draw_collection(FIRST_WITH_ADDITIONS - 1)
    before = dict(plain.fields), dict(plain.settings)
    assert all(add(np.random.default_rng(seed), plain).seed == plain.seed for seed in range(20))
    assert (plain.fields, plain.settings) == before


def test_people_of_a_panel_keep_their_places() -> None:
    """In a panel that does not drift as many people as answer have at most as many values as there are people."""
    drawn = map(draw_collection, range(FIRST_WITH_ADDITIONS, FIRST_WITH_ADDITIONS + 2_000))
    panels = (each for each in drawn if "panel" in each.settings and each.fields["panel"]["answers"] > 1)
    collection = next(each for each in panels if not each.fields["drift"] and "negative" not in each.fields["family"])
    spec = Specification.from_json(collection.fields)
    assert spec.panel is not None
    values, labels = people(np.random.default_rng(1), collection, spec)
    assert labels == sorted(labels or ())
    size = collection.respondents // spec.panel.answers
    assert len(values) == size * spec.panel.answers
    assert len(np.unique(values)) <= size


@pytest.mark.parametrize("addition", ["institutions", "check", "rho", "fixed", "known shares", "panel"])
def test_what_is_added_is_judged(addition: str) -> None:
    found = run(_first_with(addition).seed)
    assert "error" not in found
    assert found["told"]
    assert not found["warnings"]


def test_a_wrong_family_is_no_false_claim_and_is_not_judged() -> None:
    collection = _first_with("families", "the first is wrong")
    spec, _, reply = simulate(collection)
    assert run(collection.seed)["told"] == []
    listed = [each["family"] for each in collection.fields["families"]]
    holding = collection.truths[""].members[0].family.name
    assert listed[0] != holding == listed[1]
    for verdict, true in (
        ("cannot tell yet", True),
        (f"{spec.family.name} with transform {spec.transform}", False),
        (f"{holding} with transform {collection.fields['families'][1].get('transform', 'identity')}", True),
        ("none of these", False),
    ):
        (said,) = (each for each in claims(collection, spec, replace(reply, verdict=verdict)) if each.kind == "verdict")
        assert said.true == true


def test_false_claims_are_counted() -> None:
    def said(seed: int, what: str, true: bool) -> dict[str, object]:
        return {"seed": seed, "said": [{"kind": "verdict", "said": what, "true": true}]}

    found = [said(1, "", True), said(2, "gamma", True), said(3, "beta", False)]
    assert list(false_claims(found)) == [("verdict", 3, 2, 1, "3: beta")]
