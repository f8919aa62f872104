"""What no client sends: 100,000 mutated bodies and requests after the server's own OpenAPI, over real HTTP.

    python -m testing.long.fuzz [--bodies 100000] [--examples 200] [--seed 1]

Bodies are mutated from valid ones, by a seeded generator, and sent to a server process on SQLite. No reply may be a 5xx
or a status that the OpenAPI document does not name, every refusal must be a problem document, what is stored must be
what was acknowledged, and the server must serve on. Schemathesis then makes requests from the document itself.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from dither_client import Admin, Client, MemoryLedger
from dither_client.addresses import parse_address
from dither_client.protocol.flow import ConnectionFailed, Send
from dither_client.protocol.respondent import JSON_HEADERS
from dither_client.transport.json_api import Api
from dither_server.simulate.connections import Connections
from testing.long.mutations import mutated
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.process import running
from testing.tables import print_table

__all__ = ["Target", "check_alive", "check_schema", "check_stored", "main", "prepare", "rows", "send_mutated"]

_CONNECTIONS = 16
_SPEC = {"name": "Fuzz", "family": "normal", "epsilon": 1, "range": [-5, 5], "particles": 100}
_DOCUMENTED = ("not_a_server_error", "status_code_conformance", "content_type_conformance")
_SHAPES = ("response_schema_conformance", "response_headers_conformance", "unsupported_method", "ignored_auth")
_CUTS = [-1, 0, 1]
"""The cuts at which institutions count their members."""


@dataclass(frozen=True)
class Target:
    """A call, with valid bodies that mutations begin with, and how often it is chosen."""

    method: str
    template: str
    path: str
    bodies: Sequence[bytes]
    weight: int
    admin: bool = False


def main(arguments: list[str] | None = None) -> None:
    """Prints the table, or raises `AssertionError` with the first reply that may not be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, running(f"sqlite:///{folder}/test.sqlite") as server:
        targets = prepare(server.url, ADMIN_TOKEN)
        before = rows(server.database)
        began = time.perf_counter()
        statuses = send_mutated(server.url, ADMIN_TOKEN, targets, given.bodies, given.seed)
        seconds = time.perf_counter() - began
        check_stored(server.database, before, statuses)
        check_alive(server.url, ADMIN_TOKEN)
        title = f"Fuzz: {given.bodies:,} mutated bodies, seed {given.seed}, {seconds:.0f} s: stored is what got 201"
        print_table(title, ("call", "replies by status"), _table(statuses))
        for token in (ADMIN_TOKEN, None):
            summary = check_schema(server.url, token, ADMIN_TOKEN, given.examples, given.seed, Path(folder))
            print(f"schemathesis, {'with' if token else 'without'} an admin's token: {summary}\n")
        check_alive(server.url, ADMIN_TOKEN)


def prepare(url: str, token: str) -> list[Target]:
    """Collections of every admission, tickets to them, and the calls that take bodies. Raises `DitherError`."""
    with Admin(url, token) as admin, Api(url, token) as api:
        public, closing_soon = (str(admin.create_collection(_SPEC)["id"]) for _ in range(2))
        choosing = str(admin.create_collection({**_SPEC, "epsilon_choices": [0.5, 1]})["id"])
        invited = str(admin.create_collection({**_SPEC, "admission": "invite"})["id"])
        codes = list(admin.invite(invited, 200))
        issued = api.post(f"/v1/collections/{public}/tickets", b'{"count": 400}')["tickets"]
    answers = [{"ticket": one["ticket"], "answer": i % 2, "retry_key": f"key-{i:020}"} for i, one in enumerate(issued)]
    one, batches = answers[:300], [answers[i : i + 5] for i in range(300, 400, 5)]
    redemptions = [{"invitation": code, "retry_key": f"{code}-{code}"} for code in codes]
    base = "/v1/collections/{collection_id}"

    def target(method: str, path: str, collection: str, bodies: Sequence[object], weight: int, admin: bool) -> Target:
        texts = [json.dumps(body).encode() for body in bodies]
        return Target(method, path, path.replace("{collection_id}", collection), texts, weight, admin)

    return [
        target("POST", f"{base}/responses", public, one, 40, False),
        target("POST", f"{base}/responses/batch", public, [{"responses": some} for some in batches], 15, False),
        target("POST", f"{base}/tickets", choosing, [{"epsilon": 0.5}, {"count": 3}, {}], 20, False),
        target("POST", f"{base}/tickets", invited, redemptions, 8, False),
        target("POST", f"{base}/invitations", invited, [{"count": 2}], 5, True),
        target("PATCH", base, closing_soon, [{"state": "paused"}, {"state": "open"}], 4, True),
        target("POST", "/v1/tokens", "", [{"role": "analyst", "name": "Ada", "collections": [public]}], 7, True),
        target("POST", "/v1/collections", "", [_FULL_SPEC], 1, True),
    ]


_FULL_SPEC = _SPEC | {
    "transform": "identity",
    "goal": {"mu": 1, "sigma": 2},
    "prior": {"mu": {"dist": "norm", "loc": 0, "scale": 10}, "sigma": {"dist": "lognorm", "s": 1}},
    "misfit_check": 0.2,
    "misfit_looks": [500, 5000],
    "opens_at": "2026-01-01T00:00:00Z",
    "closes_at": "2099-01-01T00:00:00Z",
    "max_answers": 3000,
    "visibility": "public",
}
del _FULL_SPEC["range"]


def send_mutated(url: str, token: str, targets: Sequence[Target], count: int, seed: int) -> dict[str, Counter[int]]:
    """Sends `count` mutated bodies; what came back, by call. Raises `AssertionError` for what may not come back."""
    with Api(url) as api:
        document = api.get("/openapi.json")
    return asyncio.run(_send(url, token, targets, count, random.Random(seed), document))


async def _send(
    url: str, token: str, targets: Sequence[Target], count: int, generator: random.Random, document: dict[str, Any]
) -> dict[str, Counter[int]]:
    statuses: dict[str, Counter[int]] = {}
    remaining = iter(range(count))
    weights = [target.weight for target in targets]
    with closing(Connections(parse_address(url))) as pool:

        async def work() -> None:
            for _ in remaining:
                [target] = generator.choices(targets, weights)
                body = mutated(generator, generator.choice(target.bodies))
                headers = {**JSON_HEADERS, **({"authorization": f"Bearer {token}"} if target.admin else {})}
                reply = await pool.request(Send(target.method, target.path, body, headers))
                where = f"{target.method} {target.template}"
                assert not isinstance(reply, ConnectionFailed), f"{where} broke the connection for {body[:500]!r}"
                documented = document["paths"][target.template][target.method.lower()]["responses"]
                assert reply.status < 500, f"{where} gave {reply.status} for {body[:500]!r}"
                assert str(reply.status) in documented, f"{where} gave {reply.status} for {body[:500]!r}"
                _check_reply(where, reply.status, reply.body, statuses)

        await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))
    return statuses


def _check_reply(where: str, status: int, body: bytes, statuses: dict[str, Counter[int]]) -> None:
    data = json.loads(body)
    if status >= 400:
        assert data.keys() - {"fields"} == {"type", "title", "status", "detail"}, f"{where}: {data}"
        assert data["status"] == status
    counts = statuses.setdefault(where, Counter())
    counts[status] += 1
    if where.endswith("/batch") and status == 200:
        single = statuses.setdefault("single answers of batches", Counter())
        single.update(item["status"] for item in data["responses"])
    if where.endswith("/invitations") and status == 201:
        statuses.setdefault("codes", Counter())[201] += len(data["invitations"])


def check_stored(database: str, before: dict[str, int], statuses: dict[str, Counter[int]]) -> None:
    """Raises `AssertionError` unless what was stored since `before` is what was acknowledged with 201."""
    base = "POST /v1/collections"
    made = {
        "answers": (f"{base}/{{collection_id}}/responses", "single answers of batches"),
        "collections": (base,),
        "tokens": ("POST /v1/tokens",),
        "invitations": ("codes",),
    }
    acknowledged = {name: sum(statuses.get(call, Counter())[201] for call in calls) for name, calls in made.items()}
    after = rows(database)
    stored = {name: after[name] - before[name] for name in made}
    assert stored == acknowledged, f"stored {stored}, acknowledged {acknowledged}"
    assert after["counted"] == after["answers"], after


def rows(database: str) -> dict[str, int]:
    """How many rows the tables have that bodies can make, and how many answers are counted."""
    engine = create_engine(database)
    queries = {name: f"SELECT count(*) FROM {name}" for name in ("answers", "collections", "tokens", "invitations")}
    queries["counted"] = "SELECT coalesce(sum(count), 0) FROM counts"
    with engine.connect() as connection:
        found = {name: int(connection.execute(text(query)).scalar_one()) for name, query in queries.items()}
    engine.dispose()
    return found


def check_alive(url: str, token: str) -> None:
    """Raises `AssertionError` or `DitherError` unless the server is ready and takes a new collection's answer."""
    with Admin(url, token) as admin, Api(url, token) as api, Client(url, MemoryLedger()) as client:
        assert api.get("/readyz") == {"status": "ready"}
        collection = str(admin.create_collection(_SPEC)["id"])
        client.answer(collection, 1.0)
        assert api.get(f"/v1/collections/{collection}")["answers"] == 1


def check_schema(url: str, token: str | None, admin: str, examples: int, seed: int, folder: Path) -> str:
    """Schemathesis over every operation, with real ids; its summary. Raises `AssertionError` with what it found.

    It cannot make what is encrypted, which `forward` takes.
    """
    document = folder / "openapi.json"
    document.write_text(json.dumps(_with_ids(url, admin)))
    checks = ",".join((*_DOCUMENTED, *_SHAPES))
    command = [sys.executable, "-m", "schemathesis.cli", "--no-color", "run", str(document), "--url", url]
    options = ["--checks", checks, "--max-examples", str(examples), "--seed", str(seed), "--request-timeout", "60"]
    phases = ["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"]
    phases += ["--exclude-operation-id", "forward"]
    headers = [] if token is None else ["-H", f"Authorization: Bearer {token}"]
    done = subprocess.run(
        [*command, *options, *phases, *headers], capture_output=True, text=True, cwd=folder, timeout=7200
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return _summary(done.stdout)


def _with_ids(url: str, admin: str) -> dict[str, Any]:
    """The server's document, with ids, tickets and codes in it that are genuine, so that calls get past 404 and 403."""
    with Admin(url, admin) as maker, Api(url) as api:
        document = api.get("/openapi.json")
        kinds = ("public", "public", "invite")
        asked = {**_SPEC, "member_cuts": _CUTS}
        ids = [str(maker.create_collection({**asked, "admission": kind})["id"]) for kind in kinds]
        tokens = [str(maker.create_token("analyst", "to be revoked")["id"]) for _ in range(20)]
        codes = list(maker.invite(ids[2], 20))
        issued = api.post(f"/v1/collections/{ids[0]}/tickets", b'{"count": 20}')["tickets"]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                known = {"collection_id": ids, "token_id": tokens}.get(parameter["name"])
                if path.endswith("/stream") and known:
                    known = ["none"]  # a stream that is found never ends: it has tests of its own
                if known:
                    parameter["schema"]["enum"] = known
    schemas = document["components"]["schemas"]
    schemas["ResponseBody"]["properties"]["ticket"]["enum"] = [one["ticket"] for one in issued]
    schemas["TicketsBody"]["properties"]["invitation"]["enum"] = [*codes, None]
    members = schemas["MemberCountsBody"]["properties"]
    members["size"]["enum"] = [3_000]
    members["counts"] |= {"minItems": len(_CUTS), "maxItems": len(_CUTS)}
    members["counts"]["items"] = {"type": "integer", "minimum": 0, "maximum": 999}
    return document


def _summary(output: str) -> str:
    lines = output.splitlines()
    starts = [number for number, line in enumerate(lines) if "SUMMARY" in line]
    return " · ".join(line.strip() for line in lines[starts[-1] + 1 :] if line.strip()) if starts else output[-500:]


def _table(statuses: dict[str, Counter[int]]) -> Iterator[tuple[str, str]]:
    for call, counts in sorted(statuses.items()):
        yield f"`{call}`", ", ".join(f"{status}: {number:,}" for status, number in sorted(counts.items()))


if __name__ == "__main__":
    main()
