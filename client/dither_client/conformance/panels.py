"""Scenarios about panels: what joining costs, when a device is silent, and which panels are refused.

The device's clock is the real one. So a panel whose turns are all its periods has a turn now; and three panels with one
turn in 1,500 months all have theirs now once in 3 billion times.
"""

from collections.abc import Mapping
from typing import Any

from dither_client.conformance.device import Device
from dither_client.conformance.expectations import Scenario, answers, require, silent
from dither_client.conformance.server import HostileServer, Reply

__all__ = ["PANEL_SCENARIOS"]

_BAD_PANELS: Mapping[str, Mapping[str, Any]] = {
    "without a period": {"period": None},
    "with a period that is none": {"period": "year"},
    "with more answers than periods": {"panel": {"answers": 3, "periods": 2}},
    "without answers": {"panel": {"answers": 0, "periods": 2}},
    "with answers that are not whole": {"panel": {"answers": 1.5, "periods": 2}},
    "of more periods than there may be": {"panel": {"answers": 1, "periods": 1501}},
}


def _panel(answers: int, periods: int) -> dict[str, Any]:
    return {"period": "month", "panel": {"answers": answers, "periods": periods}}


def _fits(server: HostileServer, device: Device, cap: float) -> bool:
    """Whether an ordinary collection at ε = 1 can be answered with this cap on all that was ever spent."""
    terms = server.terms
    server.terms = {**terms, "period": None, "panel": None}
    fits = device.run(server, collection="ordinary", options=["--max-epsilon", str(cap)])
    server.terms = terms
    return fits


def panel(server: HostileServer, device: Device) -> None:
    """The ε of all turns is charged before the first ticket, and never again; a turn has one answer"""
    server.terms |= _panel(2, 2)
    require(not device.run(server, options=["--max-epsilon", "1.5"]), "it exited with status 0 over its cap")
    require(not server.of("ticket"), "it asked for a ticket, although its turns cost more than its cap in all")
    server.script["ticket"].append(Reply(kill=True))
    device.run(server, options=["--max-epsilon", "3"])
    require(len(server.of("ticket")) == 1, "it asked for no ticket in its turn")
    require(not _fits(server, device, 2.5), "it asked for a ticket before it had charged all its turns")
    answers(server, device, options=["--max-epsilon", "3"])
    silent(server, device, "its answer of this period was stored")
    require(_fits(server, device, 3), "it charged more than its turns")


def panel_turns(server: HostileServer, device: Device) -> None:
    """In a period that is none of its turns, it sends nothing; joining is charged once"""
    server.terms |= _panel(1, 1500)
    for collection in ("c", "d", "e"):
        for _ in range(2):
            device.run(server, collection=collection, options=["--max-epsilon", "3"])
    asked = {seen.path for seen in server.of("ticket")}
    require(len(asked) < 3, "it asked for a ticket in periods that were not its turns")
    require(not _fits(server, device, 3.5), "it joined three panels, and has not charged their turns")
    require(_fits(server, device, 4), "it charged more than its turns")


def raised_panel(server: HostileServer, device: Device) -> None:
    """A panel is joined only while it is open, and as it was first told: one with more answers costs nothing"""
    server.terms |= {**_panel(2, 2), "state": "paused"}
    require(not device.run(server), "it exited with status 0 while the collection was paused")
    require(not server.of("ticket"), "it asked for a ticket of a panel while the collection was paused")
    server.terms |= {**_panel(3, 3), "state": "open"}
    require(not device.run(server), "it exited with status 0 after a panel had got more answers than it was told")
    require(not server.of("ticket"), "it joined a panel with more answers than it was told")
    require(_fits(server, device, 1), "it charged a panel that it could not join")


def changed_panel(server: HostileServer, device: Device) -> None:
    """A panel that has more answers after it was joined costs no more"""
    server.terms |= _panel(2, 2)
    server.script["ticket"].append(Reply(kill=True))
    device.run(server, options=["--max-epsilon", "10"])
    require(len(server.of("ticket")) == 1, "it asked for no ticket in its turn")
    server.terms |= _panel(5, 5)
    device.run(server, options=["--max-epsilon", "10"])
    require(len(server.of("answer")) <= 1, "it answered twice in one period")
    require(_fits(server, device, 3), "it charged more than the turns for which it joined")


def later_panel(server: HostileServer, device: Device) -> None:
    """A collection that becomes a panel after its terms were kept is answered once at most, and costs no more"""
    server.script["ticket"].append(Reply(kill=True))
    device.run(server, options=["--max-epsilon", "10"])
    server.terms |= _panel(2, 2)
    device.run(server, options=["--max-epsilon", "10"])
    require(_fits(server, device, 2), "it charged a panel of which it was not told")


def bad_panel(what: str) -> Scenario:
    def scenario(server: HostileServer, device: Device) -> None:
        server.terms |= {**_panel(2, 2), **_BAD_PANELS[what]}
        require(not device.run(server), f"it exited with status 0 for a panel {what}")
        require(not server.of("ticket"), f"it asked for a ticket of a panel {what}")
        require(_fits(server, device, 1), f"it charged a panel {what}")

    scenario.__doc__ = f"Terms with a panel {what}: they are refused, and nothing is charged"
    return scenario


PANEL_SCENARIOS: Mapping[str, Scenario] = {
    "panel": panel,
    "panel-turns": panel_turns,
    "raised-panel": raised_panel,
    "changed-panel": changed_panel,
    "later-panel": later_panel,
    **{f"panel: {what}": bad_panel(what) for what in _BAD_PANELS},
}
"""Every scenario about panels by name."""
