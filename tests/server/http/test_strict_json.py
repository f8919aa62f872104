"""The server reads the same JSON and the same ε as the clients: case by case, what the shared vectors say."""

import json
from typing import Any

import pytest
from make_vectors import FOLDER
from profile_vectors import text_of

from dither_server.api.messages.answering import ResponseBody
from dither_server.errors import InvalidBody, MalformedJson
from dither_server.http.bodies import parse_json, validate_body
from testing.servers.site import Site


def vectors(file: str, name: str) -> list[Any]:
    found: list[Any] = json.loads((FOLDER / file).read_text(encoding="utf-8"))[name]
    return found


def test_the_server_reads_the_profile_of_the_clients() -> None:
    for case in vectors("json.json", "texts"):
        if case["read"]:
            parse_json(text_of(case))
        else:
            with pytest.raises(MalformedJson):
                parse_json(text_of(case))


def test_an_answer_is_read_as_strictly() -> None:
    """Answers go past `parse_json`, by a validator in Rust, for speed: whatever the profile refuses, it refuses."""
    for case in vectors("json.json", "texts"):
        text = text_of(case)
        for body in (b'{"ticket": %s, "answer": 1}' % text, b'{"ticket": "t", "answer": %s}' % text):
            if not case["read"]:
                with pytest.raises((MalformedJson, InvalidBody)):
                    validate_body(ResponseBody, body)
    assert validate_body(ResponseBody, b'{"answer": 1, "ticket": "a:b"}').ticket == "a:b"
    for twice in (b'{"ticket": "t", "answer": 1, "answer": 2}', b'{"ticket": "t", "answer": 1, "\\u0061nswer": 1}'):
        with pytest.raises(MalformedJson):
            validate_body(ResponseBody, twice)


def test_a_chosen_epsilon_has_the_one_grammar(site: Site) -> None:
    """`"1_0"`, `"١"`, `" 1"`, `"1/2"` and `"5."` once were 10, 1, 1, a half and 5."""
    choices = [0.1, 0.5, 1, 1.1, 1.5, 2, 5, 10]
    collection = site.create(epsilon=1, epsilon_choices=choices)
    for case in vectors("charges.json", "epsilons"):
        body = f'{{"epsilon": {case["json"]}}}'
        reply = site.client.post(f"/v1/collections/{collection}/tickets", content=body.encode())
        if case["micro"] in [round(1_000_000 * choice) for choice in choices]:
            assert (reply.status_code, reply.json()["query"]["epsilon"]) == (201, case["micro"] / 1_000_000)
        else:
            assert reply.status_code in (400, 422), body
