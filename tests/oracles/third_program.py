"""A whole client written from `docs/protocol.md` alone, over `third_client`: `answer --url URL --ledger FOLDER ID -`.

Its ledger is a folder of files that are written once: a file with its content appears under its name, or the name is
taken already. So nothing that a crash leaves behind is half written, and no entry ever changes.
"""

import argparse
import fcntl
import http.client
import json
import math
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from third_client import (
    Refused,
    Uniform,
    cell,
    check_price,
    check_raised,
    draw_turns,
    micro,
    period_number,
    read,
    read_terms,
    read_ticket,
    sample,
    uniform,
)

__all__ = ["Ledger", "Reply", "answer", "main"]

_NUMBER = re.compile("[-+]?[0-9.]+([eE][-+]?[0-9]+)?")

FINAL = ("ticket-expired", "collection-closed", "collection-full", "already-answered")


class Reply(NamedTuple):
    """What came back; status 0 for a connection that failed."""

    status: int
    body: bytes = b""
    retry_after: str = ""


Exchange = Callable[[str, str, bytes], Reply]
Given = float | str | dict[str, float]


class Ledger:
    """One server's part of a respondent's folder: a folder for each server, named by its address."""

    def __init__(
        self, folder: Path, server: str, total: str | None = None, per_server: str | None = None,
        per_answer: str | None = None,
    ) -> None:  # fmt: skip
        if total is None:
            total, per_server, per_answer = "10", per_server or "5", per_answer or "2"
        self.total, self.per_server, self.per_answer = (
            math.inf if cap is None else micro(cap) for cap in (total, per_server, per_answer)
        )
        self.everything = folder
        self.folder = folder / quote(server, safe="")
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, collection: str, name: str) -> Any:
        try:
            return json.loads((self.folder / f"{collection}.{name}").read_text())
        except FileNotFoundError:
            return None

    def put(self, collection: str, name: str, content: Any) -> Any:
        """Stores it unless there is something already, and returns what is stored."""
        handle, path = tempfile.mkstemp(dir=self.folder, prefix="new-")
        with os.fdopen(handle, "w") as file:
            json.dump(content, file, default=float)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(path, self.folder / f"{collection}.{name}")
        except FileExistsError:
            pass
        finally:
            os.unlink(path)
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        return self.get(collection, name)

    def charge(self, collection: str, ticket: str, query: dict[str, Any], turn: str = "") -> dict[str, Any]:
        cost = query["epsilon"]
        with self._alone():
            entry = self.get(collection, f"entry{turn}")
            if entry is None:
                if turn == "":
                    self._check_caps(cost, cost)
                entry = self.put(collection, f"entry{turn}", {"ticket": ticket, "query": query, "epsilon": cost})
        found: dict[str, Any] = entry
        return found

    def join(self, collection: str, periods: list[int], cost: int) -> dict[str, Any]:
        """Charges all answers of a panel, whose entries then cost nothing, or returns what was charged before."""
        with self._alone():
            if self.get(collection, "turns") is None:
                self._check_caps(cost, len(periods) * cost)
                self.put(collection, "turns", {"periods": periods, "epsilon": len(periods) * cost})
        found: dict[str, Any] = self.get(collection, "turns")
        return found

    def spent(self, server: str = "*") -> int:
        """Micro-ε of all entries and panels; entries of panels have names that end in their periods."""
        paths = [path for name in ("entry", "turns") for path in self.everything.glob(f"{server}/*.{name}")]
        return sum(int(json.loads(path.read_text())["epsilon"]) for path in paths)

    def _check_caps(self, answer: int, cost: int) -> None:
        over = (
            answer > self.per_answer,
            self.spent() + cost > self.total,
            self.spent(self.folder.name) + cost > self.per_server,
        )
        if any(over):
            raise Refused("OverCap")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self.everything / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def again(exchange: Exchange, method: str, path: str, body: bytes, first: float) -> Reply:
    """Up to six times."""
    for attempt in range(6):
        reply = exchange(method, path, body)
        if reply.status and reply.status < 500 and reply.status != 429:
            return reply
        asked = float(reply.retry_after) if reply.retry_after.isascii() and reply.retry_after.isdigit() else 0.0
        if attempt < 5:
            time.sleep(min(max(first * 2**attempt * (0.5 + secrets.randbelow(500) / 1000), asked), 30))
    if not reply.status:
        raise Refused("Unreachable")
    return reply


def answer(
    exchange: Exchange, ledger: Ledger, collection: str, value: Given, draw: Uniform,
    invitation: str | None = None, first: float = 0.5, group: str | None = None, now: float | None = None,
) -> str:  # fmt: skip
    """The receipt."""
    if isinstance(value, float | int) and not math.isfinite(value):
        raise Refused("InvalidValue")
    path = f"/v1/collections/{collection}"
    entry, turn = ledger.get(collection, "entry"), ""
    if entry is None:
        terms, said = ledger.get(collection, "terms"), {}
        if terms is None or (group is not None and not terms.get("groups")):
            said = read_terms(expect(again(exchange, "GET", path, b"", first), 200))
            kept = to_keep(said)
            if terms is not None:
                check_raised(terms, said)
            terms = ledger.put(collection, "terms", kept)
        number(terms, value)
        labels = (terms.get("groups") or said.get("groups") or {}).get("labels")
        if group not in (labels or [None]):
            raise Refused("InvalidGroup")
        if terms.get("panel"):
            turn = take_turn(
                exchange, ledger, collection, terms, said, draw, first, time.time() if now is None else now
            )
            entry = ledger.get(collection, f"entry{turn}")
    if entry is None:
        asked: dict[str, str] = {} if group is None else {"group": group}
        if invitation is not None:
            key = ledger.put(collection, "retry_key", secrets.token_urlsafe(24))
            asked |= {"invitation": invitation, "retry_key": key}
        reply = expect(again(exchange, "POST", f"{path}/tickets", json.dumps(asked).encode(), first), 201)
        query = read_ticket(reply)
        check_price(terms, query, None)
        entry = ledger.charge(collection, read(reply)["ticket"], query, turn)
    for name, kind in (("receipt", "AlreadyAnswered"), ("expired", "AnswerExpired")):
        if ledger.get(collection, f"{name}{turn}") is not None:
            raise Refused(kind)
    drawn = ledger.get(collection, f"drawn{turn}")
    if drawn is None:
        began = time.monotonic()
        own = cell(entry["query"], number(ledger.get(collection, "terms") or {}, value))
        drawn = {"answer": sample(entry["query"], own, draw)}
        time.sleep(max(0.0, 0.005 - (time.monotonic() - began)))
        drawn["retry_key"] = secrets.token_urlsafe(24)
        drawn = ledger.put(collection, f"drawn{turn}", drawn)
    body = json.dumps({"ticket": entry["ticket"], **drawn}).encode()
    sent = again(exchange, "POST", f"{path}/responses", body, first)
    if sent.status in (200, 201):
        receipt = token(read(sent.body), "receipt")
        ledger.put(collection, f"receipt{turn}", receipt)
        return receipt
    name = problem_name(sent)
    if name in FINAL:
        ledger.put(collection, f"expired{turn}", True)
        raise Refused("AlreadyAnswered" if name == "already-answered" else "AnswerExpired")
    raise Refused("Problem")


def to_keep(said: dict[str, Any]) -> dict[str, Any]:
    """The terms that a question is held to later."""
    names = ("mechanism", "transform", "levels", "categories", "minimum", "maximum", "groups", "components", "panel")
    kept = {name: said.get(name) for name in (*names, "period")}
    kept |= {name: said.get(name) and str(said[name]) for name in ("epsilon", "rho")}
    kept["epsilon_choices"] = said.get("epsilon_choices") and list(map(str, said["epsilon_choices"]))
    return kept


def take_turn(
    exchange: Exchange, ledger: Ledger, collection: str, terms: dict[str, Any], said: dict[str, Any], draw: Uniform,
    first: float, now: float,
) -> str:  # fmt: skip
    """Joins the panel unless that is done; what the names of this period's files end in, if it is one of the turns."""
    period, turns = period_number(terms["period"], now), ledger.get(collection, "turns")
    if turns is None:
        said = said or read_terms(expect(again(exchange, "GET", f"/v1/collections/{collection}", b"", first), 200))
        check_raised(terms, said)
        if said["state"] != "open":
            raise Refused("Problem")
        turns = ledger.join(collection, draw_turns(terms["panel"], period, draw), micro(terms["epsilon"]))
    if period not in turns["periods"]:
        raise Refused("NotYourTurn")
    return f"@{period}"


def number(terms: dict[str, Any], value: Given) -> float | list[float]:
    """The value, which lies within the bounds, or the number of its category, or the numbers of all components."""
    categories, components = terms.get("categories"), terms.get("components")
    if components:
        if not isinstance(value, dict) or value.keys() != {each["name"] for each in components}:
            raise Refused("InvalidValue")
        return [one_number(each, value[each["name"]]) for each in components]
    if categories and value in categories:
        return float(categories.index(value))
    if categories:
        raise Refused("InvalidValue")
    return one_number(terms, value)


def one_number(terms: dict[str, Any], value: Any) -> float:
    """A number within the bounds of these terms, or of one of their components."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise Refused("InvalidValue")
    low, high = terms.get("minimum"), terms.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        raise Refused("InvalidValue")
    return float(value)


def given_value(text: str) -> Given:
    """What stands on standard input: a line `NAME=NUMBER` for each of several numbers, or one number or category."""
    if "=" not in text:
        return float(text) if _NUMBER.fullmatch(text) else text
    numbers: dict[str, float] = {}
    for line in text.splitlines():
        name, _, number = line.partition("=")
        if name in numbers or not _NUMBER.fullmatch(number):
            raise Refused("InvalidValue")
        numbers[name] = float(number)
    return numbers


def expect(reply: Reply, status: int) -> bytes:
    if reply.status != status:
        raise Refused("Problem")
    return reply.body


def token(data: Any, name: str) -> str:
    text = data.get(name) if isinstance(data, dict) else None
    if not (isinstance(text, str) and 0 < len(text) <= 65_536 and all(" " <= c <= "~" for c in text)):
        raise Refused("BadResponse")
    return text


def problem_name(reply: Reply) -> str:
    try:
        data = read(reply.body)
        if isinstance(data.get("detail"), str):
            return token(data, "type").removeprefix("urn:dither:")
    except (Refused, AttributeError):
        pass
    return "about:blank"


def over_http(url: str) -> Exchange:
    host = urlsplit(url)

    def exchange(method: str, path: str, body: bytes) -> Reply:
        connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=60)
        try:
            headers = {"content-type": "application/json"} if body else {}
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            content = response.read((1 << 20) + 1)
            if len(content) > 1 << 20:
                raise Refused("BadResponse")
            return Reply(response.status, content, response.getheader("retry-after", ""))
        except (OSError, http.client.HTTPException):
            return Reply(0)
        finally:
            connection.close()

    return exchange


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("answer", choices=["answer"])
    parser.add_argument("--url", required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--max-epsilon")
    parser.add_argument("--invitation")
    parser.add_argument("--group")
    parser.add_argument("id")
    parser.add_argument("value", choices=["-"])
    given = parser.parse_args()
    try:
        value = given_value(sys.stdin.read().strip())
        ledger = Ledger(given.ledger, given.url, given.max_epsilon)
        draw = uniform(os.urandom)
        print(answer(over_http(given.url), ledger, given.id, value, draw, given.invitation, group=given.group))
    except ValueError:
        print("the value must be a number", file=sys.stderr)
        return 2
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
