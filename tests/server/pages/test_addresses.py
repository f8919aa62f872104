"""The addresses on pages: of this server as its operator calls it, or else the request, which may be hostile."""

import pytest

from testing.servers.pages import send_form, sign_in
from testing.servers.site import Site, open_site, problem


def test_the_operators_address_stands_on_pages_whatever_the_request_says(sqlite_url: str) -> None:
    with open_site(sqlite_url, public_url="https://survey.example.org/research/") as site:
        path = f"/collections/{site.create(visibility='public')}"
        for host in ("other.example", "a" * 300):
            page = site.client.get(path, headers={"host": host}).text
            assert f'value="https://survey.example.org/research{path}/answer"' in page
            assert "<svg" in page
            assert host not in page


@pytest.mark.parametrize("end", ["", "/report"])
def test_a_host_that_cannot_be_is_refused(site: Site, end: str) -> None:
    path = f"/collections/{site.create(visibility='public')}{end}"
    assert site.client.get(path, headers={"host": "a" * 253}).status_code == 200
    for length in (254, 3_000):
        refused = site.client.get(path, headers={"host": "a" * length})
        assert problem(refused) == (422, "invalid-body")
        assert refused.json()["detail"] == "Host: The name of a host has at most 253 characters."


def test_a_long_address_has_no_code(site: Site) -> None:
    path = f"/collections/{site.create(visibility='public')}"
    page = site.client.get(path, headers={"host": "a" * 253}).text
    assert f'value="http://{"a" * 253}{path}/answer"' in page
    assert "<svg" not in page


def test_with_such_a_host_no_invitations_are_made(site: Site) -> None:
    path = f"/collections/{site.create(admission='invite')}"
    sign_in(site)
    headers = {"host": "a" * 300, "sec-fetch-site": "same-origin"}
    refused = site.client.post(f"{path}/invitations", data={"count": "2"}, headers=headers)
    assert problem(refused) == (422, "invalid-body")
    assert "0 created" in site.client.get(path).text
    send_form(site, f"{path}/invitations", {"count": "2"})
    assert "2 created" in site.client.get(path).text


@pytest.mark.parametrize("origin", ["http://[", "http://]", "null", "http://other.example", "//", ""])
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
def test_an_origin_that_is_not_this_server_is_refused(site: Site, origin: str, path: str) -> None:
    refused = site.client.post(path, headers={"origin": origin})
    assert problem(refused) == (403, "forbidden")
