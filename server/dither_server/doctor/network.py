"""Checks of the port that a server would listen on, and of a running server."""

import socket
import time
from collections.abc import Iterator

import httpx2

from dither_client.addresses import parse_address
from dither_client.errors import InvalidAddress
from dither_server.doctor.findings import Finding, fine, mend

__all__ = ["examine_port", "examine_server"]

_TIMEOUT_SECONDS = 5.0


def examine_port(host: str, port: int) -> Iterator[Finding]:
    """Checks that the port is free, or that a Dither server listens on it."""
    place = f"{port} on {host}"
    if port == 0:
        yield fine("port", "any free one")
        return
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except socket.gaierror:
        yield mend("port", f"there is no address {host}", "Set DITHER_HOST to an address of this machine.")
    except OSError as error:
        local = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        if _is_dither(f"http://{local}:{port}"):
            yield fine("port", f"{place}: a Dither server is listening")
        else:
            yield mend("port", f"{place}: {error.strerror}", "Set DITHER_PORT to a free port, or stop what uses it.")
    else:
        yield fine("port", f"{place} is free")


def examine_server(url: str) -> Iterator[Finding]:
    """Checks the server at `url`, as respondents reach it. Raises `InvalidAddress` if that is not a URL."""
    try:
        base = parse_address(url).base
    except InvalidAddress:
        if not url.startswith("http://"):
            raise
        yield mend("https", url, "Respondents' clients require https: put a proxy with a certificate in front.")
        return
    began = time.perf_counter()
    try:
        with httpx2.Client(timeout=_TIMEOUT_SECONDS) as http:
            live, took = http.get(f"{base}/healthz"), time.perf_counter() - began
            ready = http.get(f"{base}/readyz")
            metrics = http.get(f"{base}/metrics")
    except httpx2.RequestError as error:
        yield mend(
            "server", f"{base} cannot be reached: {_text(error)}", "Check that it runs and has a valid certificate."
        )
        return
    if not _says(live, "ok"):
        yield mend("server", f"{base} is not a Dither server", "Check the URL, and where the proxy forwards to.")
        return
    yield fine("server", f"{base} answers in {took * 1000:.0f} ms")
    if base.startswith("https:"):
        yield fine("https", "with a valid certificate")
    if _says(ready, "ready"):
        yield fine("readiness", "stores and learns answers")
    else:
        yield mend(
            "readiness", f"status {ready.status_code}", "Its database is unavailable or a thread died: see its log."
        )
    if metrics.status_code != 200:
        yield fine("metrics", "not public")
    elif base.startswith("https:"):
        yield mend(
            "metrics", "anyone may read /metrics", "Unset DITHER_PUBLIC_METRICS, or block /metrics at the proxy."
        )
    else:
        yield fine("metrics", "readable on this machine; check again with the public URL")


def _is_dither(base: str) -> bool:
    try:
        return _says(httpx2.get(f"{base}/healthz", timeout=_TIMEOUT_SECONDS), "ok")
    except httpx2.RequestError:
        return False


def _says(reply: httpx2.Response, status: str) -> bool:
    try:
        return reply.status_code == 200 and bool(reply.json() == {"status": status})
    except ValueError:
        return False


def _text(error: httpx2.RequestError) -> str:
    return " ".join(str(error).split()) or type(error).__name__
