"""`dither collection create` before a real server: what is wrong with a specification is named, with what to write."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dither_client.commands import run
from testing.servers.defaults import ADMIN, ADMIN_TOKEN
from testing.servers.served import serving

Create = Callable[[dict[str, Any]], tuple[int, str, str]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('server') / 'dither.sqlite'}") as (url, _):
        yield url


@pytest.fixture
def create(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Create:
    """Creates a collection, and returns the exit status and both outputs."""

    def call(spec: dict[str, Any]) -> tuple[int, str, str]:
        (tmp_path / "spec.json").write_text(json.dumps({"name": "Wages", "epsilon": 1, **spec}))
        status = run(
            ["collection", "create", str(tmp_path / "spec.json"), "--url", url, "--token", ADMIN_TOKEN, "--json"]
        )
        return status, *capsys.readouterr()

    return call


def test_an_unknown_field_is_named(create: Create, tmp_path: Path) -> None:
    status, out, err = create({"familly": "normal"})
    assert (status, out) == (2, "")
    assert err == f'dither: {tmp_path / "spec.json"} has the unknown field "familly"; did you mean family?\n'
    status, out, err = create({"zebra": 1})
    assert (status, out) == (2, "")
    assert 'has the unknown field "zebra"; there are name, question, unit,' in err


def test_the_server_itself_never_repeats_a_name_that_it_does_not_know(url: str) -> None:
    spec = {"name": "Wages", "epsilon": 1, "zebra": 1}
    reply = httpx2.post(f"{url}/v1/collections", json=spec, headers=ADMIN)
    assert reply.status_code == 422
    assert "zebra" not in reply.text
    assert {"family", "epsilon", "visibility"} <= set(reply.json()["fields"])


def test_lognormal_is_answered_with_what_to_write(create: Create) -> None:
    status, out, err = create({"family": "lognormal"})
    assert (status, out) == (2, "")
    assert "the family normal with transform log" in err


def test_a_single_fixed_cut_says_what_it_leaves_unknown(create: Create) -> None:
    status, out, err = create({"family": "normal", "policy": "fixed:40:60", "levels": 1})
    assert (status, err) == (0, "")
    assert json.loads(out)["advice"].startswith("answers at 1 cut alone (50) cannot tell mu and sigma, however many")
    status, out, err = create({"family": "normal", "policy": "fixed:40:60", "levels": 2})
    assert json.loads(out)["advice"] is None
