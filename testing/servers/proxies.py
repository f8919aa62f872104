"""nginx as Docker Compose runs it, a second one with a certificate before it, and one as somebody else's relay."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2

from testing.patience import PATIENCE, until
from testing.repository import ROOT
from testing.servers.process import free_port
from testing.tools import find_tool

__all__ = ["CLIENT", "RELAY_ADDRESS", "inner_proxy", "outer_proxy", "relay"]

CLIENT = "X-Test-Client"
"""The header that says to the outer proxy at which address its client is to be."""

RELAY_ADDRESS = "127.0.0.7"
"""The address from which the relay comes to the server."""

_MAIN = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  include {folder}/site.conf;
}}
"""
_USER = "" if os.geteuid() else "user root;"
"""Whoever runs the tests: the folders of a test are for nobody else, and a cache is in one of them."""
_OUTER = """
server {{
  listen 127.0.0.1:{port} ssl;
  ssl_certificate {folder}/cert.pem;
  ssl_certificate_key {folder}/key.pem;
  set_real_ip_from 127.0.0.1;
  real_ip_header {header};
  location / {{
    proxy_pass http://127.0.0.1:{inner};
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
  }}
}}
"""


@contextlib.contextmanager
def inner_proxy(folder: Path, *servers: int) -> Iterator[int]:
    """The port of nginx with the file that Compose gives it, before server processes on these ports."""
    port = free_port()
    processes = " ".join(f"server 127.0.0.1:{server} max_fails=0;" for server in servers)
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    # Nothing but where things are is another here.
    for place, ours in (
        ("resolver 127.0.0.11 valid=5s;", f"upstream processes {{ {processes} }}"),
        ("listen 8000;", f"listen 127.0.0.1:{port};"),
        ("set $server server:8000;", "set $server processes;"),
    ):
        assert site.count(place) == 1
        site = site.replace(place, ours)
    with _nginx(folder, site, port):
        yield port


@contextlib.contextmanager
def relay(folder: Path, server: int, without: str = "") -> Iterator[str]:
    """The URL of a relay: nginx with the file that operators of relays are given, before a server on this port.

    A line that is named by `without` is left out.
    """
    port = free_port()
    site = (ROOT / "deploy" / "relay.conf").read_text()
    # Nothing but where things are, and that there are no certificates, is another here.
    for place, ours in (
        ("/var/cache/nginx/ohttp", f"{folder}/cache"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("  ssl_certificate /etc/nginx/relay.pem;\n", ""),
        ("  ssl_certificate_key /etc/nginx/relay.key;\n", ""),
        ("    proxy_pass https://survey.example.org/ohttp;", f"    proxy_pass http://127.0.0.1:{server}/ohttp;"),
        ("    proxy_ssl_server_name on;", f"    proxy_bind {RELAY_ADDRESS};"),
    ):
        assert site.count(place) == 1, place
        site = site.replace(place, ours)
    assert without in site
    site = site.replace(without, "")
    with _nginx(folder, site, port, "http", "/ohttp"):
        yield f"http://127.0.0.1:{port}/ohttp"


@contextlib.contextmanager
def outer_proxy(folder: Path, inner: int) -> Iterator[str]:
    """The URL of nginx with a certificate before the inner one, as an operator would set it up."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [find_tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    port = free_port()
    with _nginx(folder, _OUTER.format(port=port, folder=folder, header=CLIENT, inner=inner), port, "https"):
        yield f"https://127.0.0.1:{port}"


@contextlib.contextmanager
def _nginx(folder: Path, site: str, port: int, scheme: str = "http", path: str = "/healthz") -> Iterator[None]:
    nginx = find_tool("nginx")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "site.conf").write_text(site)
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, user=_USER))
    command = [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        _wait(process, f"{scheme}://127.0.0.1:{port}{path}", folder)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


def _wait(process: subprocess.Popen[bytes], url: str, folder: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, (folder / "error.log").read_text()
        with contextlib.suppress(httpx2.TransportError):
            return httpx2.get(url, verify=False, timeout=PATIENCE).status_code == 200
        return False

    until(answers, "nginx does not answer")
