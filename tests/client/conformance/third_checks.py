"""The shared vectors, run through a client that is written like `third_client` and `third_program`, or breaks them."""

import json
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from make_vectors import FOLDER
from profile_vectors import text_of

from dither_client.mechanisms.calendar_period import CalendarPeriod

__all__ = ["CHECKS", "Bytes", "check_flow", "vectors"]


class Killed(BaseException):
    """The program ends."""


class Bytes:
    """Random bytes, of which there are just enough."""

    def __init__(self, hexadecimal: str) -> None:
        self.rest = bytes.fromhex(hexadecimal)

    def __call__(self, size: int) -> bytes:
        assert len(self.rest) >= size, "more bytes were drawn"
        found, self.rest = self.rest[:size], self.rest[size:]
        return found


def vectors(file: str, name: str) -> list[Any]:
    found: list[Any] = json.loads((FOLDER / file).read_text(encoding="utf-8"))[name]
    return found


def check_cells(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("cells.json", "cells"):
        question = client.check(client.read(case["query"]))
        assert [client.cell(question, value) for value in case["values"]] == case["cells"]


def check_channels(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("channels.json", "channels"):
        found = list(chain(*client.channel(client.check(client.read(case["query"])))))
        assert found == pytest.approx(list(chain(*case["channel"])), rel=1e-11, abs=0)


def check_samples(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("samples.json", "samples"):
        calls = iter(case["calls"])

        def uniform(n: int, calls: Any = calls) -> int:
            below, drawn = map(int, next(calls))
            assert n == below
            return drawn

        assert client.sample(client.check(client.read(case["query"])), case["cell"], uniform) == case["answer"]
        assert list(calls) == []


def check_draws(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("draws.json", "uniform"):
        take = Bytes(case["bytes"])
        assert [str(client.uniform(take)(int(case["below"]))) for _ in case["drawn"]] == case["drawn"]
        assert take.rest == b""
    for case in vectors("draws.json", "answers"):
        take = Bytes(case["bytes"])
        question = client.check(client.read(case["query"]))
        assert client.sample(question, case["cell"], client.uniform(take)) == case["answer"]
        assert take.rest == b""


def check_refusals(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("refusals.json", "tickets"):
        with pytest.raises(client.Refused, match=case["error"]):
            client.read_ticket(case["body"])


def check_json(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("json.json", "texts"):
        assert (_result(client, lambda text: (client.read(text), True)[1], text_of(case)) is True) is case["read"]


def check_prices(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("prices.json", "prices"):
        chosen = None if case["epsilon"] is None else client.micro(case["epsilon"])
        try:
            client.check_price(client.read(case["terms"]), client.read_ticket(case["ticket"]), chosen)
            error = None
        except client.Refused as refused:
            error = str(refused)
        assert error == case["error"]
    for case in vectors("prices.json", "raised"):
        try:
            client.check_raised(client.read(case["told"]), client.read(case["now"]))
            error = None
        except client.Refused as refused:
            error = str(refused)
        assert error == (None if case["reason"] is None else "BadResponse")
    for case in vectors("prices.json", "values"):
        assert _result(client, partial(program.number, client.read(case["terms"])), case["value"]) == case["number"]


def check_charges(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("charges.json", "epsilons"):
        assert _result(client, lambda text: client.micro(client.read(text)), case["json"]) == case["micro"]
    for case in vectors("charges.json", "gaussian"):
        assert client.least_epsilon(case["levels"], client.micro(case["rho"])) == client.micro(case["epsilon"])
    for number, case in enumerate(vectors("charges.json", "ledgers")):
        caps = [case[name] for name in ("max_epsilon", "max_epsilon_per_server", "max_epsilon_per_answer")]
        for charge in case["charges"]:
            ledger = program.Ledger(folder / str(number), charge["server"], *caps)
            spend = partial(ledger.charge, charge["collection"], "t")
            made = _result(client, spend, {"epsilon": client.micro(charge["epsilon"])})
            assert (made is None) is (charge["refused"] is not None)
            assert ledger.spent() == Fraction(charge["spent"]) * 1_000_000


def check_messages(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("messages.json", "terms"):
        found = _result(client, lambda text: client.micro(client.read_terms(text)["epsilon"]), case["body"])
        assert found == case["micro"]
    for case in vectors("messages.json", "receipts"):
        found = _result(client, lambda text: program.token(client.read(text), "receipt"), case["body"])
        assert found == case["receipt"]
    for case in vectors("messages.json", "problems"):
        assert program.problem_name(program.Reply(400, case["body"].encode())) == case["name"]


def check_panels(client: Any, program: Any, folder: Path) -> None:
    for case in vectors("panels.json", "periods"):
        assert client.period_number(case["period"], case["seconds"]) == case["number"]
    for case in vectors("panels.json", "turns"):
        take = Bytes(case["bytes"])
        assert client.draw_turns(case, case["joined"], client.uniform(take)) == case["turns"]
        assert take.rest == b""


def check_flows(client: Any, program: Any, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    keys: Counter[str] = Counter()
    for number, case in enumerate(vectors("flows.json", "flows")):
        keys.update(check_flow(client, program, case, folder / str(number)))
    assert max(keys.values()) == 1, "each answer has a retry key of its own"


def check_flow(client: Any, program: Any, case: dict[str, Any], folder: Path) -> set[str]:
    """One flow, byte for byte of what is drawn, step by step of what is stored and sent. Returns its retry keys."""
    ledger = program.Ledger(folder, "https://server.example", "10")
    keys: set[str] = set()
    take = Bytes(case["bytes"])
    sent: dict[str, bytes] = {}
    time, turns = None, [1]
    for run in case["runs"]:
        script, time, turns = iter(run["steps"]), run.get("time"), run.get("turns", [1])

        def exchange(method: str, path: str, body: bytes, script: Any = script, time: Any = time) -> Any:
            step = next(script)
            assert f"{method} {path}" == step["request"]
            assert veiled(json.loads(body) if body else None, keys) == step["body"]
            assert veiled(stored(ledger, time), keys) == step["ledger"]
            assert sent.setdefault(f"{method} {path} {time}", body) == body
            if step["reply"] == "killed":
                raise Killed
            if step["reply"] == "lost":
                return program.Reply(0)
            return program.Reply(step["reply"]["status"], step["reply"]["body"].encode())

        try:
            draw = client.uniform(take)
            program.answer(exchange, ledger, "c", case["value"], draw, first=0.0, group=case.get("group"), now=time)
            outcome = "receipt"
        except Killed:
            outcome = "killed"
        except client.Refused as refused:
            outcome = str(refused)
        assert outcome == run["outcome"]
        assert list(script) == []
        if time is not None:
            assert (ledger.get("c", "turns") or {"periods": []})["periods"] == turns
            assert ledger.spent() == run["spent"]
    assert veiled(stored(ledger, time), keys) == case["ledger"]
    assert take.rest == b""
    assert len(keys) <= max(1, len(turns)), "an answer has one retry key"
    return keys


def veiled(fields: dict[str, Any] | None, keys: set[str]) -> dict[str, Any] | None:
    """`fields` with the sign of the vectors in place of a proper retry key, which is put into `keys`."""
    key = None if fields is None else fields.get("retry_key")
    if fields is None or key is None:
        return fields
    assert re.fullmatch(r"[!-~]{16,128}", key)
    keys.add(key)
    return {**fields, "retry_key": "*"}


def stored(ledger: Any, time: float | None = None) -> dict[str, Any] | None:
    """What the ledger holds of the collection, of a panel in the week of this time, as the vectors write it."""
    turn = "" if time is None else f"@{CalendarPeriod('week').number(time)}"
    entry, drawn, receipt, expired = (
        ledger.get("c", f"{name}{turn}") for name in ("entry", "drawn", "receipt", "expired")
    )
    if entry is None:
        return None
    state = "expired" if expired else "sent" if receipt else "charged" if drawn is None else "drawn"
    answer = {"answer": None, "retry_key": None} if drawn is None else drawn
    return {
        "state": state, "micro_epsilon": entry["epsilon"], "ticket": entry["ticket"], **answer, "receipt": receipt,
    }  # fmt: skip


def _result(client: Any, work: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return work(argument)
    except client.Refused:
        return None


Check = Callable[[ModuleType, ModuleType, Path], None]

CHECKS: dict[str, Check] = {
    name.removeprefix("check_"): check
    for name, check in globals().items()
    if name.startswith("check_") and name != "check_flow"
}
"""Each raises if the client and its program differ from what a file of vectors says."""
