"""The stream of a posterior, and `dither watch`: each change once, over broken connections, until the end."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from dither_client import Analyst, BadResponse, Problem, Retry, Unreachable
from dither_client.commands import run
from dither_client.commands._watch_view import Pace, View, band, line
from dither_client.posterior.particles import parse_particles
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.reading import parse_posterior
from dither_client.transport.server_sent_events import Event, read_events
from testing.servers.fake_server import POSTERIOR, Failure, FakeServer, problem

HOLDS = ", if the values follow a normal distribution"
LATER = {**POSTERIOR, "answers": 1300}
SUMMARY = {"mean": 5.0, "sd": 1.0, "q05": 0.0, "q25": 2.5, "q50": 5.0, "q75": 7.5, "q95": 10.0}


def event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def state(name: str) -> bytes:
    return event("state", {"state": name})


@pytest.fixture
def analyst(server: FakeServer, quick: Retry) -> Iterator[Analyst]:
    with Analyst(server.url, "s3cret", retry=quick) as analyst:
        yield analyst


def posterior(data: Any = POSTERIOR) -> Posterior:
    return parse_posterior("laplace", data, lambda: parse_particles({}))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_events_are_read_however_they_are_cut(size: int, end: bytes) -> None:
    lines = [b": nothing new", b"", b"event: a", b"data: 1", b"", b"data:2", b"data: 3", b"id: 7", b"", b"event: none"]
    body = end.join([*lines, b"", b"data: half"])
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    assert list(read_events(parts)) == [Event("a", b"1"), Event("message", b"2\n3")]


def test_an_event_without_an_end_is_cut_off() -> None:
    endless = (b"data: " + b"x" * (1 << 20) for _ in range(1000))
    with pytest.raises(BadResponse, match="too long"):
        list(read_events(endless))


def test_a_stream_tells_each_change_once_and_ends_when_the_collection_closes(
    server: FakeServer, analyst: Analyst
) -> None:
    server.streams += [
        event("posterior", POSTERIOR) + state("open") + event("news", {}) + event("posterior", POSTERIOR),
        event("posterior", POSTERIOR) + state("paused") + event("posterior", LATER) + b"event: posterior\ndata: {",
        event("posterior", LATER) + state("closed") + event("posterior", POSTERIOR),
    ]
    assert [posterior.answers for posterior in analyst.stream("laplace")] == [1234, 1300]
    assert [each.path.endswith("/stream") for each in server.requests] == [True, False, True, True]  # once the terms


def test_a_caller_who_stops_is_left_alone(server: FakeServer, analyst: Analyst) -> None:
    server.streams.append(event("posterior", POSTERIOR))
    for posterior in analyst.stream("laplace"):
        assert posterior.answers == 1234
        break
    assert len([each for each in server.requests if each.path.endswith("/stream")]) == 1


def test_a_broken_connection_is_made_again(server: FakeServer, analyst: Analyst) -> None:
    server.failures += [Failure(), Failure(503), Failure(429)]
    server.streams.append(event("posterior", POSTERIOR) + state("closed"))
    assert [posterior.answers for posterior in analyst.stream("laplace")] == [1234]


def test_a_server_that_is_gone_ends_the_stream_with_an_error(server: FakeServer, analyst: Analyst) -> None:
    server.streams.append(event("posterior", POSTERIOR))
    server.failures += [None, None, Failure(), Failure(), Failure(), Failure()]  # after the stream and the terms
    updates = analyst.stream("laplace")
    assert next(updates).answers == 1234
    with pytest.raises(Unreachable, match="events have stopped"):
        next(updates)


def test_a_refusal_is_not_repeated(server: FakeServer, analyst: Analyst) -> None:
    server.refusals["/v1/collections/laplace/posterior/stream"] = problem(403, "forbidden", "not for you")
    with pytest.raises(Problem, match="not for you"):
        next(analyst.stream("laplace"))
    assert len([each for each in server.requests if each.path.endswith("/stream")]) == 1


@pytest.mark.parametrize("data", ["[]", "{", '{"posterior": 1}'])
def test_a_stream_that_makes_no_sense(server: FakeServer, analyst: Analyst, data: str) -> None:
    server.streams.append(f"event: posterior\ndata: {data}\n\n".encode())
    with pytest.raises(BadResponse):
        next(analyst.stream("laplace"))


def watch(server: FakeServer, *options: str) -> int:
    server.streams.append(event("posterior", POSTERIOR) + state("open") + event("posterior", LATER) + state("closed"))
    return run(["watch", "laplace", "--url", server.url, "--token", "s3cret", *options])


def test_watch_prints_a_line_for_each_change(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(server) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "2026-01-01 00:00 UTC  open  1,234 answers  mu 50.0 ± 2, sigma 10.0 ± 1" + HOLDS
    assert last == "2026-01-01 00:00 UTC  closed  1,300 answers  mu 50.0 ± 2, sigma 10.0 ± 1" + HOLDS


def test_watch_prints_an_object_a_line(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(server, "--json") == 0
    seen = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["state"], one["answers"]) for one in seen] == [
        ("open", 1234),
        ("open", 1300),
        ("closed", 1300),
    ]
    assert {**seen[-1], "state": None} == {**LATER, "state": None}


def test_ctrl_c_ends_watching_well(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dither_client.commands.watch.print_json", interrupted)
    assert watch(server, "--json") == 0


def test_the_live_picture(server: FakeServer, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    for name, value in {"TTY_COMPATIBLE": "1", "COLUMNS": "120", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    assert watch(server) == 0
    shown = capsys.readouterr().out
    assert "The laplace one (laplace), closed: 1,300 answers" in shown
    assert "46.7 to 53.3" in shown
    assert "This rests on 1,300 answers at ε = 1, and holds if the values follow a normal distribution." in shown


def test_a_band_closes_in_on_the_scale_of_the_first() -> None:
    assert band(SUMMARY, (0.0, 10.0)) == "─" * 10 + "━" * 10 + "┃" + "━" * 10 + "─" * 10
    assert band(SUMMARY, (-10.0, 30.0)) == "·" * 10 + "──" + "━━━" + "┃" + "━━━" + "──" + "·" * 20
    assert band({**SUMMARY, **dict.fromkeys(("q05", "q25", "q50", "q75", "q95"), 3.0)}, (3.0, 3.0))[0] == "┃"
    view, console = View("Wages"), Console(width=120, record=True, file=io.StringIO())
    near = {**POSTERIOR, "posterior": {"mu": SUMMARY, "sigma": SUMMARY}}
    for data in ({**near, "posterior": {"mu": {**SUMMARY, "q05": -10.0, "q95": 30.0}}}, near):
        console.print(view.picture(posterior(data), "open", 120.0))
    *_, mu, sigma = console.export_text().splitlines()
    assert mu.count("·") == 30
    assert sigma.count("·") == 0


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_bands_are_as_wide_as_there_is_room(columns: int) -> None:
    """A band that is cut off at the right would say that less is known than is."""
    console = Console(width=columns, record=True, file=io.StringIO())
    told = {**POSTERIOR, "quantiles": {"0.5": summary(476.0, 10.0)}}
    console.print(View("Wages", "€", 2).picture(posterior(told), "open", None))
    [drawn] = re.findall("─.*─", console.export_text())
    assert "┃" in drawn
    assert len(drawn) == {40: 8, 80: 33, 200: 41}[columns]


def test_the_population_is_watched_in_its_unit() -> None:
    """As the same numbers are written elsewhere; before any answer there is nothing to say."""
    known = {level: summary(float(x), 10.0) for level, x in (("0.1", 190), ("0.25", 300), ("0.5", 476), ("0.9", 1165))}
    told = {**POSTERIOR, "quantiles": known, "mean_value": summary(608.0, 20.0)}
    assert line(posterior(told), "open", "$ per week", 2) == (
        "2026-01-01 00:00 UTC  open  1,234 answers  10% have at most 190 $ per week (174 to 206), half have at most "
        "476 $ per week (460 to 492), 90% have at most 1,165 $ per week (1,149 to 1,181), "
        "average 608 $ per week (575 to 641)"
    )
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(View("Wages", "$ per week", 2).picture(posterior(told), "open", None))
    shown = console.export_text()
    assert re.search(r"\$ per week +estimate +sd +90% interval", shown)
    assert re.search(r"half have at most +476 +10 +460 to 492 ", shown)
    assert "mu" not in shown
    nothing = posterior({**told, "answers": 0})
    assert line(nothing, "open", "$ per week") == "2026-01-01 00:00 UTC  open  0 answers  too little is known yet"
    console.print(View("Wages", "$ per week", 2).picture(nothing, "open", None))
    assert console.export_text().splitlines()[-1] == "Too little is known yet."


def test_logarithms_are_not_watched() -> None:
    """They are all that there is while the posterior is too wide for the population's numbers."""
    seen = parse_posterior("laplace", POSTERIOR, lambda: parse_particles({}), terms={"transform": "log"})
    assert line(seen, "open") == "2026-01-01 00:00 UTC  open  1,234 answers  too little is known yet"


def test_several_numbers_are_watched_each_in_its_unit() -> None:
    """Their medians, of a yes or no the share who have 1, and the correlations; there is no other population."""
    bands = {"mean": [0.6, 1.0], **{f"q{level}": [0.6, 1.0] for level in ("05", "25", "50", "75", "95")}}
    alone = {"answers": 9, "posterior": {}, "covariance": []}
    told = {
        **POSTERIOR,
        "posterior": {},
        "covariance": [],
        "components": {
            "wage": {**alone, "quantiles": {"0.5": summary(476.0, 10.0)}},
            "smokes": {
                **alone,
                "mean_value": summary(0.4, 0.01),
                "distribution": {"x": [0, 1], "cdf": bands, "density": bands},
                "quantiles": {"0.5": summary(0.0, 0.1)},
            },
        },
        "correlations": {"wage,smokes": summary(-0.2, 0.05)},
    }
    terms = {"components": [{"name": "wage", "unit": "€", "decimals": 0}, {"name": "smokes"}]}
    found = parse_posterior("several", told, lambda: parse_particles({}), terms=terms)
    assert line(found, "open").partition("answers  ")[2] == (
        "wage, €: half have at most 476 (460 to 492), smokes: share who have 1 0.400 (0.384 to 0.416), "
        "correlation of wage and smokes -0.20 (-0.28 to -0.12), if they go together as normal numbers do"
    )
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(View("Wages").picture(found, "open", None))
    assert re.search(r"wage, €: half have at most +476 +10 +460 to 492 ", console.export_text())


def summary(middle: float, sd: float) -> dict[str, float]:
    parts = {"q05": -1.645, "q25": -0.674, "q50": 0.0, "q75": 0.674, "q95": 1.645}
    return {"mean": middle, "sd": sd, **{name: middle + z * sd for name, z in parts.items()}}


def test_the_pace_is_that_of_the_last_minute() -> None:
    pace = Pace()
    assert pace.per_minute(0) is None
    pace.note(0, 1000)
    assert pace.per_minute(0.5) is None
    pace.note(30, 1100)
    assert pace.per_minute(30) == 200
    pace.note(90, 1160)
    assert pace.per_minute(90) == 60
    pace.note(150, 1160)
    assert pace.per_minute(150) == 0
