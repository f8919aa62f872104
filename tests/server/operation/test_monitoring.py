"""The Grafana dashboard and the example rules of Prometheus, against what a running server exposes.

Where Prometheus is installed (Debian: package `prometheus`), it scrapes a real server and evaluates every expression.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from dither_server.http.problems import _PROBLEMS
from testing.patience import PATIENCE, until
from testing.repository import DOCS
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import ServerProcess, free_port, running
from testing.servers.site import Site, open_site

DASHBOARD: dict[str, Any] = json.loads((DOCS / "grafana" / "dither.json").read_text())
RULES: list[dict[str, Any]] = yaml.safe_load((DOCS / "prometheus" / "alerts.yml").read_text())["groups"][0]["rules"]
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
EXPRESSIONS = [*QUERIES, *(rule["expr"] for rule in RULES)]
OWN = ("job", "instance")
"""Labels that Prometheus adds."""


def plain(expression: str) -> str:
    """The expression as Grafana sends it, for everything."""
    return re.sub(r"\$(instance|collection)", ".*", expression.replace("$__rate_interval", "1m"))


def answered(site: Site) -> None:
    collection = site.create()
    site.batch(collection, *((ticket, 0) for ticket in site.tickets(collection, 50)))
    site.learnt(collection, 50)


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a server exposes that has answered some requests."""
    with open_site(f"sqlite:///{tmp_path_factory.mktemp('site') / 'd.sqlite'}") as site:
        answered(site)
        return str(site.client.get("/metrics", headers=ADMIN).text)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_and_label_exists(expression: str, exposed: str) -> None:
    text = re.sub(r'"[^"]*"', '""', plain(expression))
    names = set(re.findall(r"\b(?:dither|process)_\w+", text)) | set(re.findall(r"\bup\b", text))
    assert names
    for name in names - {"up"}:
        assert re.search(rf"^{name}(\{{| )", exposed, flags=re.MULTILINE), name
    matched = {label for group in re.findall(r"\{([^}]*)\}", text) for label in re.findall(r"(\w+)\s*=~?", group)}
    grouped = {label for group in re.findall(r"by \(([^)]*)\)", text) for label in re.split(r"[,\s]+", group)}
    for label in (matched | grouped) - {*OWN}:
        assert re.search(rf"^({'|'.join(names)})\{{[^}}]*\b{label}=", exposed, flags=re.MULTILINE), label


def test_outcomes_and_calls_that_are_named_exist(exposed: str) -> None:
    outcomes = {"stored", "repeated", *(problem.name for problem in _PROBLEMS.values())}
    for expression in EXPRESSIONS:
        assert set(re.findall(r'outcome="([^"]+)"', expression)) <= outcomes
        for calls in re.findall(r'call=~"([^"]+)"', expression):
            assert set(calls.split("|")) <= {"respond", "issue_tickets"}


def test_every_metric_is_on_the_dashboard(exposed: str) -> None:
    families = set(re.findall(r"^# TYPE (dither_\w+) (?:gauge|counter|histogram)$", exposed, flags=re.MULTILINE))
    families = {name for name in families if not name.endswith("_created")}
    shown = " ".join(QUERIES)
    assert {name for name in families if name not in shown} == set()


def test_the_dashboard_can_be_imported() -> None:
    """A source of data to be chosen, panels with numbers of their own that do not cover each other."""
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    ids = [panel["id"] for panel in PANELS]
    assert len(set(ids)) == len(ids)
    used: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & used, panel["title"]
        used |= cells
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    asked = {name for expression in QUERIES for name in re.findall(r"\$(\w+)", expression)}
    assert asked <= {*variables, "__rate_interval"}


def test_rules_say_what_is_wrong() -> None:
    for rule in RULES:
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["for"]


# With Prometheus itself.


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_promtool_takes_rules_and_configuration(tmp_path: Path) -> None:
    promtool = tool("promtool")
    for file in (DOCS / "prometheus").iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "dither-metrics-token").write_text("token-of-prometheus")
    checked = subprocess.run(
        [promtool, "check", "config", tmp_path / "prometheus.yml"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert f"{len(RULES)} rules found" in checked.stdout


@pytest.fixture
def prometheus(tmp_path: Path, sqlite_url: str) -> Iterator[tuple[str, ServerProcess]]:
    """The address of a Prometheus that scrapes a server by the example's configuration, but more often."""
    program, port = tool("prometheus"), free_port()
    with running(sqlite_url, DITHER_METRICS_TOKEN="token-of-prometheus") as server:
        text = (DOCS / "prometheus" / "prometheus.yml").read_text()
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}").replace("15s", "1s")
        (tmp_path / "prometheus.yml").write_text(text)
        (tmp_path / "dither-metrics-token").write_text("token-of-prometheus")
        shutil.copy(DOCS / "prometheus" / "alerts.yml", tmp_path)
        options = [f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(
                [program, f"--config.file={tmp_path / 'prometheus.yml'}", *options], stdout=log, stderr=log
            )
        try:
            yield f"http://127.0.0.1:{port}/api/v1", server
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.mark.slow
def test_prometheus_evaluates_every_expression(prometheus: tuple[str, ServerProcess]) -> None:
    api, server = prometheus
    with httpx2.Client(timeout=PATIENCE) as http:  # the machine may be busy
        watch(api, server, http)


def watch(api: str, server: ServerProcess, http: httpx2.Client) -> None:
    collection = http.post(f"{server.url}/v1/collections", json=SPEC, headers=ADMIN).json()["id"]
    path = f"{server.url}/v1/collections/{collection}"

    def ask(query: str) -> list[dict[str, Any]]:
        reply = http.get(f"{api}/query", params={"query": query}).json()
        assert reply["status"] == "success", f"{query}: {reply}"
        return list(reply["data"]["result"])

    empty = set(QUERIES)

    def nothing_empty() -> bool:  # rates need answers between two scrapes
        tickets = http.post(f"{path}/tickets", json={"count": 20}).json()["tickets"]
        responses = [{"ticket": item["ticket"], "answer": 0} for item in tickets]
        http.post(f"{path}/responses/batch", json={"responses": responses})
        with suppress(httpx2.TransportError):
            empty.difference_update([expression for expression in empty if ask(plain(expression))])
        return not empty

    until(nothing_empty, lambda: empty)
    assert [row["value"][1] for row in ask('up{job="dither"}')] == ["1"]
    for rule in RULES:
        assert ask(rule["expr"]) == [], "nothing is wrong, so nothing alarms"
    groups = http.get(f"{api}/rules").json()["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
    server.kill()
    until(lambda: ask(RULES[0]["expr"]))
