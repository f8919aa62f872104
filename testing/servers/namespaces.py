"""Machines in network namespaces: each has an address of its own, and the network between any two can be cut.

All hang on one bridge, which has a namespace of its own, so that no firewall of this machine is in between. A cut is
silent, as where a cable is pulled: two ports of the bridge that are isolated hear nothing of each other, and go on
hearing everyone else. It needs root and iproute2.
"""

import ctypes
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from testing.tools import find_tool, skip_or_fail

__all__ = ["Machine", "Network", "network"]

_CLONE_NEWNET = 0x40000000
_NAMESPACES = Path("/run/netns")
_SUBNET = "10.{}.{}"
_HERE = 254
"""The host number of this process, which reaches all machines whatever is cut."""


@dataclass(frozen=True)
class Machine:
    """One namespace."""

    namespace: str
    address: str

    def command(self, user: str) -> list[str]:
        """What to put before a command that is to run there as that user."""
        return [
            find_tool("ip"),
            "netns",
            "exec",
            self.namespace,
            "setpriv",
            f"--reuid={user}",
            f"--regid={user}",
            "--clear-groups",
        ]

    def enter(self) -> None:
        """Moves the calling thread there, for good; sockets that it has stay where they are."""
        with (_NAMESPACES / self.namespace).open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"the namespace {self.namespace} cannot be entered")


class Network:
    """The machines and the bridge between them."""

    def __init__(self, name: str, machines: list[Machine]) -> None:
        self._name = name
        self.machines = machines

    @contextmanager
    def cut(self, one: Machine, other: Machine) -> Iterator[None]:
        """Nothing gets from one of the two to the other within the block."""
        for machine in (one, other):
            self._isolate(machine, "on")
        try:
            yield
        finally:
            for machine in (one, other):
                self._isolate(machine, "off")

    def _isolate(self, machine: Machine, state: str) -> None:
        _run("bridge", "-n", self._name, "link", "set", "dev", machine.namespace, "isolated", state)


@contextmanager
def network(count: int) -> Iterator[Network]:
    """A network of `count` machines. Skips the test, or fails in CI, where namespaces cannot be made."""
    for tool in ("ip", "bridge"):
        find_tool(tool)
    if os.geteuid() != 0:
        skip_or_fail("network namespaces need root")
    name = f"dither{secrets.token_hex(3)}"
    subnet = _SUBNET.format(200 + secrets.randbelow(50), secrets.randbelow(256))
    with ExitStack() as stack:
        try:
            _add_namespace(stack, name)
        except subprocess.CalledProcessError as error:
            skip_or_fail(f"no network namespaces here: {error.stderr.strip()}")
        _run("ip", "-n", name, "link", "add", "switch", "type", "bridge")
        _run("ip", "-n", name, "link", "set", "dev", "switch", "up")
        machines = [Machine(f"{name}_{number}", f"{subnet}.{number}") for number in range(1, count + 1)]
        for machine in machines:
            _add_namespace(stack, machine.namespace)
            _plug("eth0", machine.namespace, name, machine.namespace, machine.address)
        _plug(f"{name}_h", None, name, f"{name}_0", f"{subnet}.{_HERE}")
        stack.callback(_run, "ip", "link", "delete", f"{name}_h")
        yield Network(name, machines)


def _add_namespace(stack: ExitStack, name: str) -> None:
    _run("ip", "netns", "add", name)
    stack.callback(_run, "ip", "netns", "delete", name)
    _run("ip", "-n", name, "link", "set", "dev", "lo", "up")


def _plug(device: str, namespace: str | None, switch: str, port: str, address: str) -> None:
    """A cable from a machine, or from here, to the bridge, and the machine's address."""
    inside, there = ((), str(os.getpid())) if namespace is None else (("-n", namespace), namespace)
    _run("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", device, "netns", there)
    _run("ip", "-n", switch, "link", "set", "dev", port, "master", "switch", "up")
    _run("ip", *inside, "address", "add", f"{address}/24", "dev", device)
    _run("ip", *inside, "link", "set", "dev", device, "up")


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([find_tool(tool), *arguments], check=True, capture_output=True, text=True)
