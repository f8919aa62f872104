"""How analysts read which family holds."""

from typing import Any

import pytest

from dither_client import BadResponse
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.sentences import verdict_lines
from dither_client.posterior.wire import to_json
from testing.servers.fake_server import POSTERIOR

FAMILIES = [
    {"family": "normal", "transform": "log", "log_evidence": -100.5, "mc_error": 0.02, "probability": 0.75},
    {"family": "gamma", "transform": "identity", "log_evidence": -101.6, "mc_error": 0.03, "probability": 0.25},
]


def _parsed(**fields: Any) -> Posterior:
    def particles() -> Any:
        raise AssertionError("not needed")

    return parse_posterior("wages", POSTERIOR | fields, particles)


def test_the_families_and_the_verdict() -> None:
    posterior = _parsed(families=FAMILIES, verdict="cannot tell yet")
    assert to_json(posterior.families) == FAMILIES
    assert posterior.verdict == "cannot tell yet"
    assert repr(posterior).splitlines()[-3:] == [
        "  lognormal: log evidence -100.50 ± 0.02, probability 0.7500",
        "  gamma: log evidence -101.60 ± 0.03, probability 0.2500",
        "  which family holds: cannot tell yet",
    ]


def test_those_between_which_it_is_too_early_to_tell_are_named() -> None:
    none = FAMILIES[0] | {"family": "nonparametric", "transform": "identity", "log_evidence": -99.0}
    exponential = FAMILIES[1] | {"family": "exponential", "log_evidence": -104.0}
    posterior = _parsed(families=[none, *FAMILIES, exponential], verdict="cannot tell yet")
    assert repr(posterior).splitlines()[-2:] == [
        "  the answers refuse exponential: they are at least 100 times as likely without a family",
        "  between no family, lognormal and gamma: cannot tell yet",
    ]


def test_where_values_are_declared_families_that_are_left_have_no_part_in_the_results() -> None:
    none = FAMILIES[0] | {"family": "nonparametric", "transform": "identity", "log_evidence": -99.0}
    families = _parsed(families=[none, *FAMILIES], verdict="cannot tell yet").families
    assert families is not None
    apart = (
        "under a family nobody has exactly one of the declared values, so none has a part in what is said of the people"
    )
    assert verdict_lines(families, "cannot tell yet", atoms=True)[-1] == apart
    assert apart not in verdict_lines(families, "cannot tell yet")
    assert apart not in verdict_lines(families[:1], "none of these", atoms=True)


def test_what_a_family_describes_is_said() -> None:
    gamma = FAMILIES[1] | {"of": "the distance above 100"}
    posterior = _parsed(
        families=[FAMILIES[0], gamma], verdict="gamma with transform identity, of the distance above 100"
    )
    assert to_json(posterior.families) == [FAMILIES[0], gamma]
    assert "  gamma of the distance above 100: log evidence -101.60" in repr(posterior)


def test_that_it_is_too_early_is_said() -> None:
    posterior = _parsed(families=[], verdict="cannot tell yet")
    assert repr(posterior).endswith(
        "which family holds: cannot tell yet, for there are too few answers to compare families"
    )


def test_that_nearly_everybody_has_one_value_is_said() -> None:
    posterior = _parsed(families=[], verdict="not compared")
    assert repr(posterior).endswith("which family holds: not compared, for people have too few different values")


def test_a_collection_of_one_family() -> None:
    posterior = _parsed()
    assert (posterior.families, posterior.verdict) == ((), None)
    assert "holds" not in repr(posterior)


@pytest.mark.parametrize("families", [3, ["normal"], [{"family": "normal"}], [FAMILIES[0] | {"mc_error": "?"}]])
def test_unreadable_families(families: Any) -> None:
    with pytest.raises(BadResponse):
        _parsed(families=families, verdict="")
