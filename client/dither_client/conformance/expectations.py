"""What scenarios require of a client's run."""

from collections.abc import Callable
from typing import Any

from dither_client.conformance.device import Broken, Device
from dither_client.conformance.server import HostileServer

__all__ = ["NOISELESS_EPSILON", "Scenario", "answers", "refuses", "require", "silent"]

Scenario = Callable[[HostileServer, Device], None]
"""What the hostile server does to a client, and what the client must do; raises `Broken`."""

NOISELESS_EPSILON = 50
"""An ε at which one answer in 10^21 is not one's own."""


def require(fact: bool, otherwise: str) -> None:
    if not fact:
        raise Broken(otherwise)


def answers(server: HostileServer, device: Device, **how: Any) -> None:
    """Runs the client, which must end with a receipt."""
    require(device.run(server, **how), "it did not exit with status 0, although there was nothing to refuse")


def refuses(server: HostileServer, device: Device, what: str, **how: Any) -> None:
    """Runs the client, which must end without sending an answer."""
    require(not device.run(server, **how), f"it exited with status 0 after {what}")
    require(not server.of("answer"), f"it sent an answer after {what}")


def silent(server: HostileServer, device: Device, after: str) -> None:
    """Runs the client once more after its last answer: it may fetch the terms and send nothing else."""
    before = len(server.of("ticket")), len(server.of("answer"))
    require(not device.run(server), f"it exited with status 0 again after {after}")
    require((len(server.of("ticket")), len(server.of("answer"))) == before, f"it asked or answered again after {after}")
