import logging

import pytest

from dither_server.tickets.office import TicketOffice
from testing.servers.site import Site, problem


def test_an_unforeseen_error_is_a_problem_that_says_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: TicketOffice, text: str) -> None:
        raise RuntimeError(f"no use for {text}")

    monkeypatch.setattr(TicketOffice, "open", fail)
    with caplog.at_level(logging.DEBUG):
        reply = site.respond(site.create(), "zebra17", 1)
    assert problem(reply) == (500, "internal")
    assert "zebra17" not in reply.text
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert vars(record)["error"] == "RuntimeError"
    assert "in fail" in vars(record)["where"]
    assert "zebra17" not in str([vars(record) for record in caplog.records])


def test_the_line_of_a_request_holds_nothing_that_was_sent(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    collection = site.create()
    ticket = site.ticket(collection)
    with caplog.at_level(logging.DEBUG):
        site.respond(collection, ticket, 1)
        site.client.get("/v1/zebra17?zebra18=zebra19", headers={"X-Request-ID": "zebra20", "User-Agent": "zebra21"})
    written = str([vars(record) for record in caplog.records if record.name.startswith("dither")])
    assert "'call': 'respond'" in written
    assert ticket not in written
    assert "zebra" not in written
