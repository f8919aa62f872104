"""The scenarios: what the hostile server does to a client, and what the client must do in response."""

import json
import re
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dither_client.conformance.components import COMPONENT_SCENARIOS
from dither_client.conformance.device import Device
from dither_client.conformance.expectations import NOISELESS_EPSILON, Scenario, answers, refuses, require, silent
from dither_client.conformance.panels import PANEL_SCENARIOS
from dither_client.conformance.questions import BAD_JSON, BAD_PRICES, BAD_QUESTIONS
from dither_client.conformance.server import HostileServer, Reply, problem

__all__ = ["SCENARIOS"]

_KINDS = ("terms", "ticket", "answer")
_NEXT = {"terms": "ticket", "ticket": "answer"}

_CATEGORIES = ("apples", "pears", "plums", "figs", "dates", "olives", "limes")
_GROUPS = [[0, 4], [1, 2, 6], [3, 5]]
_OWN_GROUPS = {"dates": 0, "plums": 1, "figs": 2}
"""In any other order of the groups two of these have another number; none has its category's."""
_REGIONS = {"name": "region", "labels": ["north", "south", "Île-de-France"]}


def honest(server: HostileServer, device: Device) -> None:
    """Terms first, one ticket, one answer; a second answer is refused"""
    answers(server, device)
    kinds = [seen.kind for seen in server.seen]
    require(kinds[:1] == ["terms"], "it asked for a ticket before it had read the terms")
    require(kinds.count("ticket") == 1 and kinds.count("answer") == 1, f"it sent {', '.join(kinds)}")
    require(all(0 <= answer <= 17 for answer in server.stored.values()), "its answer is not one of 0 to 17")
    require(len(server.stored) == 1, "its answer could not be stored")
    silent(server, device, "its answer was stored")


def bad_values(server: HostileServer, device: Device) -> None:
    """A value that is neither a finite number nor a category is refused before a ticket is asked for"""
    for value in ("nan", "inf", "-1e999", "much", ""):
        require(not device.run(server, value=value), f"it exited with status 0 for the value {value!r}")
        require(not server.of("ticket"), f"it asked for a ticket before it refused the value {value!r}")


def out_of_bounds(server: HostileServer, device: Device) -> None:
    """A value outside the terms' minimum and maximum is refused before a ticket is asked for; one on them is not"""
    server.terms |= {"minimum": -5, "maximum": 100}
    for value in ("-5.5", "100.25", "1000000000"):
        require(not device.run(server, value=value), f"it exited with status 0 for the value {value} out of bounds")
        require(not server.of("ticket"), "it asked for a ticket before it refused a value out of bounds")
    answers(server, device, value="100")


def _ask_about_categories(server: HostileServer) -> None:
    mechanism = {"mechanism": "grouped_randomized_response", "transform": "identity", "epsilon": NOISELESS_EPSILON}
    server.terms |= {**mechanism, "family": "categorical", "categories": list(_CATEGORIES)}
    server.question = {**mechanism, "groups": _GROUPS}


def categories(server: HostileServer, device: Device) -> None:
    """The answer is the number of the group that holds one's category, in the order of the question"""
    _ask_about_categories(server)
    for category, group in _OWN_GROUPS.items():
        server.forget()
        answers(server, device, collection=category[::-1], value=category, options=["--max-epsilon", "1000"])
        require(list(server.stored.values()) == [group], "its answer at ε = 50 is not its category's group")
        texts = [f"{seen.path} {seen.headers}".encode() + seen.body for seen in server.seen]
        require(not any(category.encode() in text for text in texts), "a request contains the category")


def unknown_categories(server: HostileServer, device: Device) -> None:
    """Where the terms have categories, any other text is refused before a ticket is asked for, and any number"""
    _ask_about_categories(server)
    for value in ("grapes", "2"):
        require(not device.run(server, value=value), f"it exited with status 0 for the value {value!r}")
        require(not server.of("ticket"), f"it asked for a ticket before it refused the value {value!r}")


def other_categories(server: HostileServer, device: Device) -> None:
    """A question about fewer categories than the terms have is refused"""
    _ask_about_categories(server)
    server.question["groups"] = [[0, 4], [1, 2], [3, 5]]
    refuses(server, device, "a question about fewer categories", value="dates", options=["--max-epsilon", "1000"])


def groups(server: HostileServer, device: Device) -> None:
    """Where the terms have groups, the request for the ticket has the respondent's label as it is"""
    server.terms["groups"] = _REGIONS
    answers(server, device, options=["--group", "Île-de-France"])
    labels = [json.loads(ticket.body).get("group") for ticket in server.of("ticket")]
    require(labels == ["Île-de-France"], "its request for a ticket has not its group")


def unknown_groups(server: HostileServer, device: Device) -> None:
    """A group that is none of the terms', a missing one, and any where they have none are refused before a ticket"""
    for options in (["--group", "west"], ["--group", "83.17"], []):
        server.terms["groups"] = _REGIONS
        require(not device.run(server, options=options), "it exited with status 0 without a group of the terms")
        require(not server.of("ticket"), "it asked for a ticket without a group of the terms")
    del server.terms["groups"]
    require(not device.run(server, collection="d", options=["--group", "north"]), "it exited with status 0 for a group")
    require(not server.of("ticket"), "it asked for a ticket for a group, where there are none")


def lost_replies(server: HostileServer, device: Device) -> None:
    """After a connection that ends without a reply, the same bytes are sent again"""
    for kind in _KINDS:
        server.script[kind].append(Reply(cut=True))
    answers(server, device)
    require(len(server.of("answer")) == 2, "it did not send its answer again")


def server_errors(server: HostileServer, device: Device) -> None:
    """After 500, 502 and 503, the same bytes are sent again"""
    for kind, status in zip(_KINDS, (500, 502, 503), strict=True):
        server.script[kind].append(Reply(status, b"<html>"))
    answers(server, device)


def retry_after(server: HostileServer, device: Device) -> None:
    """A Retry-After in seconds with 429 or 503 is waited for; one that is a date is ignored"""
    server.script["ticket"].append(Reply(429, b"", {"retry-after": "2"}))
    server.script["answer"].append(Reply(503, b"", {"retry-after": "2"}))
    server.script["terms"].append(Reply(503, b"", {"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}))
    answers(server, device)
    for kind in ("ticket", "answer"):
        times = [seen.at for seen in server.of(kind)]
        require(len(times) == 2, f"it sent {len(times)} requests for the {kind} instead of two")
        require(times[1] - times[0] > 1.9, f"it did not wait for Retry-After before its next {kind}")


def slow_replies(server: HostileServer, device: Device) -> None:
    """A reply that arrives byte by byte over three seconds is waited for"""
    server.script["ticket"].append(Reply(seconds=3.0))
    answers(server, device)


def redirects(server: HostileServer, device: Device) -> None:
    """Redirects are not followed, and do not count as success"""
    for kind, status in zip(_KINDS, (302, 307, 308), strict=True):
        server.always = {kind: Reply(status, b"", {"location": "/v1/collections/elsewhere"})}
        require(not device.run(server), f"it exited with status 0 after its {kind} was redirected")
        require(not any("elsewhere" in seen.path for seen in server.seen), f"it followed the redirect of its {kind}")
    server.always = {}
    answers(server, device)


def trackers(server: HostileServer, device: Device) -> None:
    """Cookies and entity tags are not kept, neither within a run nor between runs"""
    server.headers = {"set-cookie": "id=ada; Path=/", "etag": '"ada"', "last-modified": "Mon, 01 Jan 2026 00:00:00 GMT"}
    answers(server, device)
    answers(server, device, collection="d")


def bad_json(kind: str, what: str) -> Scenario:
    old, new = BAD_JSON[what]

    def scenario(server: HostileServer, device: Device) -> None:
        status, body = server.honest_text(kind)
        server.script[kind].append(Reply(status, body.replace(old, new, 1)))
        require(not device.run(server), f"it exited with status 0 after a {kind} with {what}")
        if kind == "answer":
            answers(server, device)
        else:
            require(not server.of(_NEXT[kind]), f"it went on after a {kind} with {what}")

    scenario.__doc__ = f"The reply to the {kind} has {what}: it is refused"
    return scenario


def bad_question(what: str) -> Scenario:
    def scenario(server: HostileServer, device: Device) -> None:
        mechanism, question = BAD_QUESTIONS[what]
        server.terms["mechanism"] = mechanism
        server.terms["rho"] = 50 if mechanism == "gaussian" else None
        server.question = question
        refuses(server, device, f"the question {what}")

    scenario.__doc__ = f"A question that no honest server asks, {what}: it is refused"
    return scenario


def bad_price(what: str) -> Scenario:
    def scenario(server: HostileServer, device: Device) -> None:
        said, question = BAD_PRICES[what]
        server.terms |= said
        server.question = question
        refuses(server, device, f"a question with {what}")

    scenario.__doc__ = f"A question with {what}: it is refused"
    return scenario


def caps(server: HostileServer, device: Device) -> None:
    """The ledger's cap holds: a cap of 0.5 refuses ε = 1"""
    refuses(server, device, "its ledger's cap was below the question's ε", options=["--max-epsilon", "0.5"])


def killed_at(kind: str) -> Scenario:
    def scenario(server: HostileServer, device: Device) -> None:
        server.script[kind].append(Reply(kill=True))
        device.run(server)
        require(len(server.of(kind)) == 1, f"it sent no {kind}, or sent it again after it was killed")
        answers(server, device)
        if kind == "answer":
            require(len(server.of("ticket")) == 1, "it asked for another ticket: the first one was not stored")
            require(len(server.of("answer")) == 2, "it did not send the stored answer")

    scenario.__doc__ = (
        f"Killed when its {kind} arrives, it continues from its ledger: one ticket charged, the same bytes"
    )
    return scenario


def charged_first(server: HostileServer, device: Device) -> None:
    """Killed when its answer arrives, it has already charged ε: the next collection exceeds the cap"""
    server.script["answer"].append(Reply(kill=True))
    device.run(server, options=["--max-epsilon", "1.5"])
    require(len(server.of("answer")) == 1, "it sent no answer")
    before = len(server.of("answer"))
    require(
        not device.run(server, collection="d", options=["--max-epsilon", "1.5"]),
        "it spent ε = 2 under a cap of 1.5: the first answer was sent before it was charged",
    )
    elsewhere = [seen for seen in server.of("answer")[before:] if "/d/" in seen.path]
    require(not elsewhere, "it answered over the cap: the first answer was sent before it was charged")


def killed_with_invitation(server: HostileServer, device: Device) -> None:
    """Killed when it redeems an invitation, it asks again with the same retry_key"""
    server.terms["admission"] = "invite"
    server.script["ticket"].append(Reply(kill=True))
    device.run(server, options=["--invitation", "welcome"])
    answers(server, device, options=["--invitation", "welcome"])
    tickets = {seen.body for seen in server.of("ticket")}
    require(len(tickets) == 1, "it asked with another retry_key")
    require(all(b"welcome" in body and b"retry_key" in body for body in tickets), "it sent no invitation and retry_key")


def own_retry_key(server: HostileServer, device: Device) -> None:
    """Another device draws another retry_key for the same ticket, so nobody can derive it from the ticket"""
    fresh = Path(f"{device.folder}.fresh")
    device.copy(fresh)
    answers(server, device)
    keys = _retry_keys(server)
    require(len(keys) == 1, "it sent no retry_key with its answer")
    server.forget()
    device.restore(fresh)
    answers(server, device)
    require(not keys & _retry_keys(server), "two devices sent the same retry_key for the same ticket")


def _retry_keys(server: HostileServer) -> set[str]:
    return {
        key for seen in server.of("answer") for key in re.findall(r'"retry_key"\s*:\s*"([^"]+)"', seen.body.decode())
    }


def two_at_once(server: HostileServer, device: Device) -> None:
    """Two processes that start at once make one entry and send the same bytes"""
    server.together = threading.Barrier(2)
    both = [device.start(server) for _ in range(2)]
    ended = [device.end(process) for process in both]
    require(0 in ended, "neither of two processes started at once exited with status 0")
    require(len({seen.body for seen in server.of("answer")}) == 1, "two processes started at once sent two answers")


def restored(server: HostileServer, device: Device) -> None:
    """A ledger restored from a copy made before the receipt sends the same bytes, and gets its receipt"""
    server.script["answer"].append(Reply(kill=True))
    device.run(server)
    copy = Path(f"{device.folder}.copy")
    device.copy(copy)
    answers(server, device)
    device.restore(copy)
    answers(server, device)
    require(len(server.of("ticket")) == 1, "it asked for another ticket")


def final(name: str, status: int) -> Scenario:
    def scenario(server: HostileServer, device: Device) -> None:
        server.always["answer"] = problem(status, name)
        require(not device.run(server), f"it exited with status 0 after {name}")
        require(len(server.of("answer")) == 1, f"it sent its answer again after {name}")
        server.always = {}
        silent(server, device, name)

    scenario.__doc__ = f"{name} is final: nothing is drawn or sent again"
    return scenario


def not_final(server: HostileServer, device: Device) -> None:
    """Any other refusal leaves the answer stored, and the next run sends the same bytes"""
    server.script["answer"] = deque([problem(403, "ticket-invalid"), Reply(404, b"<html>"), Reply(200, b"{}")])
    for what in ("ticket-invalid", "404 without a problem document", "a receipt without a receipt"):
        require(not device.run(server), f"it exited with status 0 after {what}")
    answers(server, device)
    require(len(server.of("ticket")) == 1, "it asked for another ticket")


def _all() -> Mapping[str, Scenario]:
    plain: tuple[Any, ...] = (
        honest, bad_values, out_of_bounds, categories, unknown_categories, other_categories, groups, unknown_groups,
        lost_replies, server_errors, retry_after, slow_replies, redirects, trackers, caps, charged_first,
        killed_with_invitation, own_retry_key, two_at_once, restored, not_final,
    )  # fmt: skip
    found: dict[str, Scenario] = {scenario.__name__.replace("_", "-"): scenario for scenario in plain}
    found |= {f"killed-at-{kind}": killed_at(kind) for kind in _KINDS}
    for name, status in (("ticket-expired", 410), ("already-answered", 409), ("collection-closed", 409)):
        found[f"final-{name}"] = final(name, status)
    found["final-collection-full"] = final("collection-full", 409)
    found |= {f"price: {what}": bad_price(what) for what in BAD_PRICES}
    found |= {f"json: ticket with {what}": bad_json("ticket", what) for what in BAD_JSON}
    for what in ("a name twice", "33 levels", "two megabytes"):
        found |= {f"json: {kind} with {what}": bad_json(kind, what) for kind in ("terms", "answer")}
    found |= {f"question: {what}": bad_question(what) for what in BAD_QUESTIONS}
    return {**found, **COMPONENT_SCENARIOS, **PANEL_SCENARIOS}


SCENARIOS: Mapping[str, Scenario] = _all()
"""Every scenario by name; its docstring says what must happen."""
