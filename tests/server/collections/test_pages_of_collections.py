"""The list of collections, page by page: each is listed once, whatever is created or deleted meanwhile."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither_client import Admin, Analyst
from dither_client.commands import run
from dither_server.api.messages.collections import TermsList, TermsReply
from dither_server.pages import collection as pages
from testing.servers.defaults import ADMIN, ADMIN_TOKEN, SPEC
from testing.servers.served import serving
from testing.servers.site import Site, problem

PATH = "/v1/collections"


def listed(site: Site, limit: int, headers: dict[str, str] = ADMIN) -> Iterator[list[str]]:
    """The ids on each page."""
    after: dict[str, str] = {}
    while True:
        reply = site.client.get(PATH, params={"limit": limit, **after}, headers=headers).json()
        assert reply.keys() == {"collections", "next"}
        yield [one["id"] for one in reply["collections"]]
        if reply["next"] is None:
            return
        after = {"after": reply["next"]}


def test_pages_together_are_the_whole_list(any_site: Site) -> None:
    site = any_site
    assert [*listed(site, 2)] == [[]]
    made = [site.create(visibility="public" if i % 2 else "private") for i in range(5)][::-1]
    site.answer_in_turns(made[1], 3)
    whole = site.client.get(PATH, headers=ADMIN).json()
    assert whole.keys() == {"collections"}
    assert [one["id"] for one in whole["collections"]] == made
    assert [*listed(site, 2)] == [made[:2], made[2:4], made[4:]]
    assert [*listed(site, 5)] == [made]
    first = site.client.get(PATH, params={"limit": 2}, headers=ADMIN).json()["collections"]
    assert first == whole["collections"][:2]
    older = site.client.get(PATH, params={"after": made[2]}, headers=ADMIN).json()
    assert older == {"collections": whole["collections"][3:]}
    assert [*listed(site, 1, {})] == [[made[1]], [made[3]]], "of those that are public"


def test_terms_are_written_once_for_all_lists(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """To write those of thousands anew kept other requests waiting; what changes of them is always as it is now."""
    site, categories = any_site, {"family": "categorical", "categories": ["a \u201cb\u201d", "c"], "range": None}
    groups = {"groups": {"name": "region", "labels": ["north", "süd"]}}
    numbers = [{"name": "age", "family": "normal"}, {"name": "wage", "family": "normal"}]
    of_numbers = {"components": numbers, "family": None, "range": None}
    kinds: list[dict[str, Any]] = [{}, {"max_answers": 3}, groups, categories, {"period": "day"}, of_numbers]
    made = [site.create(visibility="public", **fields) for fields in kinds]
    first = site.client.get(PATH).json()["collections"]
    written = TermsReply.model_validate
    monkeypatch.setattr(TermsReply, "model_validate", lambda *_: pytest.fail("written again"))
    assert site.client.get(PATH).json()["collections"] == first
    site.answer_in_turns(made[1], 3)
    site.answer_in_turns(made[0], 2)
    listed = site.client.get(PATH).json()["collections"][::-1]
    assert [one["answers"] for one in listed] == [2, 3, 0, 0, 0, 0]
    assert [one["state"] for one in listed] == ["open", "closed", "open", "open", "open", "open"]
    monkeypatch.setattr(TermsReply, "model_validate", written)
    assert site.set_state(made[2], "paused").status_code == 200
    reply = site.client.get(PATH)
    found = reply.json()["collections"][::-1]
    assert found[2] == listed[2] | {"state": "paused"}
    assert found == [site.client.get(f"{PATH}/{one}").json() for one in made]
    assert reply.text == TermsList(collections=reply.json()["collections"]).model_dump_json(exclude={"next"})


def test_what_is_created_or_deleted_meanwhile_moves_nothing(any_site: Site) -> None:
    site = any_site
    made = [site.create() for _ in range(5)][::-1]
    found = listed(site, 2)
    assert next(found) == made[:2]
    site.create()
    assert site.client.delete(f"{PATH}/{made[1]}", headers=ADMIN).status_code == 200
    assert site.client.delete(f"{PATH}/{made[2]}", headers=ADMIN).status_code == 200
    assert [*found] == [made[3:]]


@pytest.mark.parametrize("wrong", ["limit=0", "limit=1001", "limit=x", "after=no-such-id", "after=%00"])
def test_a_wrong_page(any_site: Site, wrong: str) -> None:
    any_site.create()
    assert problem(any_site.client.get(f"{PATH}?{wrong}", headers=ADMIN)) == (422, "invalid-body")


def test_a_page_after_a_collection_that_is_gone_for_good(any_site: Site) -> None:
    gone = any_site.create()
    for query in ("", "?purge=true"):
        assert any_site.client.delete(f"{PATH}/{gone}{query}", headers=ADMIN).status_code == 200
    any_site.service.collections.refresh()
    reply = any_site.client.get(PATH, params={"limit": 2, "after": gone}, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")


def test_the_overview_has_pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_PER_PAGE", 2)
    made = [site.create(visibility="public") for _ in range(3)][::-1]
    first = site.client.get("/").text
    assert [f'href="/collections/{name}"' in first for name in made] == [True, True, False]
    assert f'<a href="/?after={made[1]}">Older collections</a>' in first
    assert "Newest collections" not in first
    second = site.client.get(f"/?after={made[1]}").text
    assert [f'href="/collections/{name}"' in second for name in made] == [False, False, True]
    assert "Older collections" not in second
    assert '<a href="/">Newest collections</a>' in second
    assert "There are no older collections" in site.client.get(f"/?after={made[2]}").text
    assert site.client.get("/?after=no-such-id").status_code == 422


def test_clients_fetch_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("analyst", "commands.collection"):
        monkeypatch.setattr(f"dither_client.{module}.COLLECTIONS_PER_PAGE", 2)
    url_of_database = f"sqlite:///{tmp_path / 'dither.sqlite'}"
    with (
        serving(url_of_database) as (url, _),
        Admin(url, ADMIN_TOKEN) as admin,
        Analyst(url, ADMIN_TOKEN) as analyst,
    ):
        assert analyst.collections() == []
        made = [admin.create_collection(SPEC)["id"] for _ in range(5)][::-1]
        assert [terms.id for terms in analyst.collections()] == made
        assert run(["collection", "list", "--url", url, "--token", ADMIN_TOKEN, "--json"]) == 0
        assert [terms["id"] for terms in json.loads(capsys.readouterr().out)["collections"]] == made
