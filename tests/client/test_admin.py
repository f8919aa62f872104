"""What admins do."""

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dither_client import Admin, InvalidAddress, Problem, Retry, Unreachable
from testing.servers.fake_server import Failure, FakeServer


@pytest.fixture
def admin(server: FakeServer, quick: Retry) -> Iterator[Admin]:
    with Admin(server.url, "s3cret", retry=quick) as admin:
        yield admin


def test_collections(server: FakeServer, admin: Admin) -> None:
    spec = b'{"name": "wages", "family": "normal", "epsilon": 0.10}'
    assert admin.create_collection(spec)["id"] == "wages"
    assert server.requests[0].body == spec, "bytes go as they are, with the decimal that was written"
    assert admin.create_collection({"name": "heights", "family": "normal", "epsilon": 1})["id"] == "heights"
    assert admin.set_state("wages", "paused")["state"] == "paused"
    assert json.loads(server.requests[-1].body) == {"state": "paused"}
    assert server.requests[-1].method == "PATCH"


def test_numbers_of_a_specification_may_be_of_other_types(server: FakeServer, admin: Admin) -> None:
    fields = {"epsilon": Decimal("0.1"), "max_answers": np.int64(5), "range": [np.float32(0.5), Fraction(5, 2)]}
    admin.create_collection({"name": "wages", **fields})
    assert server.requests[0].body == b'{"name": "wages", "epsilon": 0.1, "max_answers": 5, "range": [0.5, 2.5]}'
    with pytest.raises(TypeError, match="texts, numbers, lists and objects, but no set"):
        admin.create_collection({"name": {"wages"}})


def test_what_makes_something_is_sent_once(server: FakeServer, admin: Admin) -> None:
    for failure, error in ((Failure(), Unreachable), (Failure(503), Problem)):
        server.failures += [failure]
        with pytest.raises(error):
            admin.create_collection({"name": "wages"})
    assert len(server.requests) == 2


def test_changes_are_tried_again(server: FakeServer, admin: Admin) -> None:
    server.failures += [Failure(late=True), Failure(502)]
    assert admin.set_state("laplace", "closed")["state"] == "closed"


def test_tokens(server: FakeServer, admin: Admin) -> None:
    created = admin.create_token("analyst", "Ana")
    assert created["token"] == "the-secret"
    assert admin.tokens()["tokens"] == [{name: value for name, value in created.items() if name != "token"}]
    admin.revoke_token(created["id"])
    assert admin.tokens() == {"tokens": []}
    with pytest.raises(Problem) as caught:
        admin.revoke_token(created["id"])
    assert caught.value.status == 404


@pytest.mark.parametrize("bad", ["", "../collections", "a b", "é", "--"])
def test_what_is_no_token_id(server: FakeServer, admin: Admin, bad: str) -> None:
    with pytest.raises(InvalidAddress):
        admin.revoke_token(bad)
    assert server.requests == []
