"""Invitations and gateways through the real client, over real HTTP; and that no secret of either is ever written."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

from dither_client import (
    Admin,
    AlreadyAnswered,
    Analyst,
    AsyncClient,
    Client,
    InvalidAddress,
    Ledger,
    MemoryLedger,
    Problem,
    Retry,
    Unreachable,
)
from dither_client.commands import run
from dither_client.protocol.respondent import Admission
from dither_server.access.invitations import Invitation
from dither_server.settings import Settings
from dither_server.tickets.secret import Keys
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN_TOKEN, SECRET, SPEC
from testing.servers.served import serving

ONCE = Retry(attempts=1)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('served') / 'test.sqlite'}") as (url, _):
        yield url


@pytest.fixture
def admin(url: str) -> Iterator[Admin]:
    with Admin(url, ADMIN_TOKEN) as admin:
        yield admin


class Losing(httpx2.BaseTransport):
    """Passes requests on, and loses the first replies to requests for tickets."""

    def __init__(self, losses: int) -> None:
        self._inner = httpx2.HTTPTransport()
        self._losses = losses
        self.bodies: list[bytes] = []
        self.headers: list[tuple[str, str | None]] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.headers.append((request.url.path.rpartition("/")[2], request.headers.get("authorization")))
        response = self._inner.handle_request(request)
        if request.url.path.endswith("/tickets"):
            self.bodies.append(request.read())
            if self._losses:
                self._losses -= 1
                response.read()
                raise httpx2.ReadError("lost")
        return response

    def close(self) -> None:
        self._inner.close()


def test_a_lost_reply_does_not_burn_the_invitation(url: str, admin: Admin, tmp_path: Path) -> None:
    """Lost within a call, and lost with the process: the ledger's retry key is what goes on."""
    collection = admin.create_collection({**SPEC, "admission": "invite"})["id"]
    [code, other] = admin.invite(collection, 2)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        transport = Losing(1)
        with Client(url, ledger, transport=transport, retry=ONCE) as client, pytest.raises(Unreachable):
            client.answer(collection, 40, invitation=code)
        assert admin.invitations(collection) == {"made": 2, "redeemed": 1}
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        transport = Losing(2)
        with Client(url, ledger, transport=transport, retry=Retry(first=0.01)) as client:
            receipt = client.answer(collection, 40, invitation=code)
            assert len(transport.bodies) == 3
            assert len(set(transport.bodies)) == 1
            with pytest.raises(AlreadyAnswered) as refusal:
                client.answer(collection, 40, invitation=other)
            assert refusal.value.receipt == receipt.receipt
    assert admin.invitations(collection) == {"made": 2, "redeemed": 1}
    with Client(url, MemoryLedger(), retry=ONCE) as thief, pytest.raises(Problem) as problem:
        thief.answer(collection, 40, invitation=code)
    assert problem.value.name == "invitation-used"
    assert code not in str(problem.value)


async def answer_async(url: str, collection: str, code: str) -> None:
    async with AsyncClient(url, MemoryLedger()) as client:
        await client.answer(collection, 1, invitation=code)


def test_the_asynchronous_client_takes_invitations_too(url: str, admin: Admin) -> None:
    import asyncio

    collection = admin.create_collection({**SPEC, "admission": "invite"})["id"]
    [code] = admin.invite(collection, 1)
    asyncio.run(answer_async(url, collection, code))
    assert admin.invitations(collection)["redeemed"] == 1


def test_a_gateways_token_goes_with_the_request_for_a_ticket_alone(url: str, admin: Admin) -> None:
    collections = [admin.create_collection({**SPEC, "admission": "gateway"})["id"] for _ in range(2)]
    token = admin.create_token("gateway", "app", [collections[0]])["token"]
    transport = Losing(0)
    with Client(url, MemoryLedger(), token=token, transport=transport) as client:
        client.terms(collections[0])
        client.answer(collections[0], 3)
        with pytest.raises(Problem) as problem:
            client.answer(collections[1], 3)
        assert problem.value.name == "forbidden"
    with Client(url, MemoryLedger()) as client, pytest.raises(Problem) as problem:
        client.answer(collections[0], 3)
    assert problem.value.name == "unauthorized"
    bearer = f"Bearer {token}"
    assert transport.headers == [
        (collections[0], None), ("tickets", bearer), ("responses", None), (collections[1], None), ("tickets", bearer),
    ]  # fmt: skip


@pytest.mark.parametrize("secret", ["", "two words", "line\nbreak", "ü", "x" * 129, 5])
def test_what_cannot_be_a_secret_is_refused_before_anything_is_sent(secret: Any) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        Client("https://localhost:1", MemoryLedger(), token=secret)
    assert not secret or str(secret) not in str(refusal.value)
    with Client("https://localhost:1", MemoryLedger()) as client, pytest.raises(InvalidAddress):
        client.answer("c", 1, invitation=secret)


def test_an_analysts_token_reads_its_collections_alone(url: str, admin: Admin) -> None:
    own, other, public = (
        admin.create_collection({**SPEC, "visibility": visibility})["id"]
        for visibility in ("private", "private", "public")
    )
    limited = admin.create_token("analyst", "Ada", [own])
    everything = admin.create_token("analyst", "Bea")
    assert (limited["collections"], everything["collections"]) == ([own], None)
    listed = {token["id"]: token["collections"] for token in admin.tokens()["tokens"]}
    assert (listed[limited["id"]], listed[everything["id"]]) == ([own], None)
    for collection in (own, other, public):
        with Client(url, MemoryLedger()) as client:
            client.answer(collection, 3)

    def outcomes(token: str | None, collection: str) -> list[int]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx2.Client(base_url=f"{url}/v1/collections/{collection}/", headers=headers, timeout=PATIENCE) as http:
            paths = ["posterior", "posterior/history", "posterior/particles", "answers", "queries"]
            statuses: list[int] = [http.get(path).status_code for path in paths]
            with http.stream("GET", "posterior/stream") as stream:
                statuses.append(stream.status_code)
        return statuses

    whole: list[int] = [200] * 6
    assert outcomes(limited["token"], own) == whole
    assert outcomes(limited["token"], other) == [403] * 6
    assert outcomes(limited["token"], public) == [200, 200, 200, 403, 200, 200]
    assert outcomes(None, public) == [200, 200, 200, 401, 200, 200]
    for collection in (own, other, public):
        assert outcomes(everything["token"], collection) == whole
        assert outcomes(ADMIN_TOKEN, collection) == whole
    with Analyst(url, limited["token"]) as analyst, pytest.raises(Problem) as problem:
        analyst.posterior(other)
    assert problem.value.name == "forbidden"


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "admin", "collections": ["OWN"]},
        {"role": "analyst", "collections": ["none"]},
        {"role": "analyst", "collections": ["OWN", "none"]},
        {"role": "analyst", "collections": []},
        {"role": "analyst", "collections": "OWN"},
        {"role": "gateway", "collections": [1]},
    ],
)
def test_tokens_for_what_is_not_there_are_refused(url: str, admin: Admin, fields: dict[str, Any]) -> None:
    own = admin.create_collection(SPEC)["id"]
    ids = fields["collections"]
    body = {**fields, "collections": [own if i == "OWN" else i for i in ids] if isinstance(ids, list) else own}
    before = admin.tokens()
    reply = httpx2.post(
        f"{url}/v1/tokens", json=body, headers={"authorization": f"Bearer {ADMIN_TOKEN}"}, timeout=PATIENCE
    )
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("collections")
    assert admin.tokens() == before


def test_the_commands_make_and_count_invitations(
    url: str, admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DITHER_URL", url)
    monkeypatch.setenv("DITHER_TOKEN", ADMIN_TOKEN)
    collection = admin.create_collection({**SPEC, "admission": "invite"})["id"]
    file = tmp_path / "codes.txt"
    assert run(["collection", "invite", collection, "--count", "3", "--out", str(file)]) == 0
    codes = file.read_text().split()
    assert len(set(codes)) == 3
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(["collection", "invite", collection, "--count", "1", "--out", str(file)]) == 2
    assert file.read_text().split() == codes
    empty = tmp_path / "empty.txt"
    public = admin.create_collection(SPEC)["id"]
    assert run(["collection", "invite", public, "--count", "1", "--out", str(empty)]) == 1
    assert not empty.exists()
    capsys.readouterr()
    assert run(["collection", "invite", collection, "--count", "2"]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite")]
    assert run(["answer", collection, "5", *ledger]) == 2
    assert "requires an invitation" in capsys.readouterr().err
    monkeypatch.setenv("DITHER_INVITATION", codes[0])
    assert run(["answer", collection, "5", *ledger, "--json"]) == 0
    shown = capsys.readouterr()
    assert codes[0] not in shown.out + shown.err
    assert run(["collection", "invitations", collection, "--json"]) == 0
    assert capsys.readouterr().out == '{"made": 5, "redeemed": 1}\n'
    assert run(["token", "create", "analyst", "--collection", collection, "--json"]) == 0
    assert f'"collections": ["{collection}"]' in capsys.readouterr().out


def test_no_secret_is_in_a_log_or_a_repr(tmp_path: Path) -> None:
    """A whole run at the most talkative level: secrets, tokens, codes, keys and tickets are in no line and no repr."""
    lines = io.StringIO()
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder()], processor=structlog.processors.JSONRenderer(default=repr)
    )
    handler = logging.StreamHandler(lines)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with serving(f"sqlite:///{tmp_path / 'test.sqlite'}") as (url, app), Admin(url, ADMIN_TOKEN) as admin:
            token = admin.create_token("gateway", "app")
            invited, gated = (
                admin.create_collection({**SPEC, "admission": admission})["id"] for admission in ("invite", "gateway")
            )
            [code] = admin.invite(invited, 1)
            ledger = Ledger(tmp_path / "ledger.sqlite")
            with Client(url, ledger, token=token["token"]) as client:
                client.answer(invited, 77.125, invitation=code)
                client.answer(gated, 77.125)
                entry = ledger.find(client.server, invited)
                retry_key = ledger.retry_key(client.server, invited)
            service = app.service
            shown = [_deep(service, 5), _deep(app, 2), repr(Settings(secret=SECRET, admin_token=ADMIN_TOKEN))]  # type: ignore[arg-type]
            shown += [repr(thing) for thing in (admin, client, ledger, entry, Admission(code, token["token"]))]
            shown += [repr(Invitation(1, code, retry_key)), str(admin.tokens())]
            ledger.close()
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert entry is not None
    log = lines.getvalue()
    assert '"call": "issue_tickets"' in log
    keys = service.tickets._keys.receipt
    for secret in (
        SECRET,
        ADMIN_TOKEN,
        token["token"],
        code,
        retry_key,
        entry.ticket,
        "77.125",
        keys.hex(),
        repr(keys),
    ):
        assert secret not in log
        assert not [text for text in shown if secret in text]


def _deep(thing: object, depth: int) -> str:
    """The reprs of an object and of what it is made of; what holds keys is looked at from outside alone."""
    parts = [repr(thing)]
    ours = hasattr(thing, "__dict__") and type(thing).__module__.startswith("dither_")
    if depth and ours and not isinstance(thing, Keys):
        parts += [_deep(value, depth - 1) for value in vars(thing).values()]
    return "\n".join(parts)
