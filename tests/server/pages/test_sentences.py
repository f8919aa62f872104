"""What is said of a result is true of its collection, and advice is what may be followed."""

from dataclasses import replace
from typing import Any

import pytest

from dither_client.posterior.names import SHARES_LEAN
from dither_client.posterior.sentences import LEAVE_OUT
from dither_client.posterior.wire import DriftTest, FamilyEvidence, Misfit, MisfitLook, PosteriorReply, from_json
from dither_server.api.messages.examples import POSTERIOR
from dither_server.pages.sentences import find
from testing.servers.site import Site

REFUSED = tuple(
    FamilyEvidence(name, "identity", log, 0.0, 0.5) for name, log in (("nonparametric", 0.0), ("normal", -9))
)
LOOKED = Misfit("normal", 500, (MisfitLook(500, 2000, 0.5, 0.01),), alarm=False, next_look=None)
KNOWN = replace(from_json(PosteriorReply, POSTERIOR), misfit=None)


def fit(site: Site, posterior: PosteriorReply, **fields: Any) -> str:
    collection = site.service.collections.get(site.create(**fields))
    return find(collection.specification, collection.survey, posterior).fit


@pytest.mark.parametrize("posterior", [KNOWN, replace(KNOWN, families=REFUSED), replace(KNOWN, misfit=LOOKED)])
def test_to_leave_the_family_out_is_advised_only_where_that_is_allowed(site: Site, posterior: PosteriorReply) -> None:
    assert fit(site, posterior).endswith(f" {LEAVE_OUT}")
    for fields in ({"period": "week"}, {"period": "week", "drift": True}, {"member_cuts": [300, 500]}):
        said = fit(site, posterior, **fields)
        assert "family out" not in said
        assert said.endswith(".")
        spec = {"name": "Wages", "epsilon": 1, **fields}
        assert site.client.post("/v1/collections", json=spec, headers=site.admin).status_code == 422


def test_a_change_over_time_may_be_why_the_answers_refuse_a_family(site: Site) -> None:
    alarm = DriftTest(3.0, 3.0, "2026-W07", 2.08, alarm=True)
    changed = fit(site, replace(KNOWN, families=REFUSED, drift_test=alarm), period="week")
    assert changed == (
        "The answers refuse one distribution of this family for all periods, perhaps because it changed over time: "
        "what is said about the population may be far off."
    )
    calm = fit(site, replace(KNOWN, families=REFUSED, drift_test=replace(alarm, alarm=False)), period="week")
    assert calm == "The answers refuse this family: what is said about the population may be far off."


def test_shares_are_said_to_lean_on_each_other_wherever_they_are_told(site: Site) -> None:
    fields: dict[str, Any] = {"family": "categorical", "categories": ["a", "b", "c"], "range": None}
    collection = site.answered([0, 1, 2] * 4, **fields)
    page = site.client.get(f"/collections/{collection}").text
    assert page.count(SHARES_LEAN) == 2  # beside the shares, and among how far to trust them
    for path in ("report", "export/population.csv"):
        assert SHARES_LEAN in site.client.get(f"/collections/{collection}/{path}").text
    for overstated in ("no assumption", "Nothing is assumed", "unlikely that one or two"):
        assert overstated not in page
