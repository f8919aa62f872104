"""The random collections of `benchmarks.products`: specifications, truths, and what is looked for among them."""

import numpy as np
import pytest

from benchmarks.random_collections.drawing import draw_collection
from benchmarks.random_collections.numbers import draw_number
from benchmarks.random_collections.running import run
from benchmarks.random_collections.standing_out import far_off, pairs
from dither_estimator.specification.specification import Specification


@pytest.mark.parametrize("seed", range(8))
def test_what_is_drawn_is_a_specification(seed: int) -> None:
    for number in range(10 * seed, 10 * seed + 10):
        collection = draw_collection(number)
        assert Specification.from_json(collection.fields).epsilon > 0
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
