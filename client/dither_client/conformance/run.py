"""Runs scenarios against a client program, several at a time because most of them wait."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dither_client.conformance.device import Broken, Device
from dither_client.conformance.expectations import Scenario
from dither_client.conformance.rules import check_requests
from dither_client.conformance.scenarios import SCENARIOS
from dither_client.conformance.server import HostileServer

__all__ = ["run_scenarios"]

_PARALLEL_SCENARIOS = 4


def run_scenarios(
    command: Sequence[str],
    scenarios: Mapping[str, Scenario] = SCENARIOS,
    progress: Callable[[str, str | None], None] = lambda name, broken: None,
) -> dict[str, str | None]:
    """Returns what `command` broke in each scenario, or None; calls `progress` with each result."""

    def run(name: str) -> str | None:
        broken = _run(command, scenarios[name])
        progress(name, broken)
        return broken

    with ThreadPoolExecutor(_PARALLEL_SCENARIOS) as pool:
        return dict(zip(scenarios, pool.map(run, scenarios), strict=True))


def _run(command: Sequence[str], scenario: Scenario) -> str | None:
    with tempfile.TemporaryDirectory(prefix="dither-conformance-") as folder:
        device = Device(command, Path(folder, "device"))
        with HostileServer(device.kill) as server:
            try:
                scenario(server, device)
                check_requests(server.seen)
            except Broken as broken:
                return str(broken)
            finally:
                device.kill()
    return None
