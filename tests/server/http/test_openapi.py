from typing import Any

import pytest
from jsonschema import ValidationError  # type: ignore[import-untyped]
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from dither_client.mechanisms.registry import QUERY_TYPES
from dither_server.app import create_app
from dither_server.settings import Settings

DOCUMENT: dict[str, Any] = create_app(Settings()).openapi()

CALLS = {
    "/v1/collections": {"get", "post"},
    "/v1/collections/{collection_id}": {"delete", "get", "patch"},
    "/v1/collections/{collection_id}/restore": {"post"},
    "/v1/collections/{collection_id}/invitations": {"get", "post"},
    "/v1/collections/{collection_id}/tickets": {"post"},
    "/v1/collections/{collection_id}/responses": {"post"},
    "/v1/collections/{collection_id}/responses/batch": {"post"},
    "/v1/collections/{collection_id}/posterior": {"get"},
    "/v1/collections/{collection_id}/posterior/history": {"get"},
    "/v1/collections/{collection_id}/posterior/particles": {"get"},
    "/v1/collections/{collection_id}/posterior/stream": {"get"},
    "/v1/collections/{collection_id}/queries": {"get"},
    "/v1/collections/{collection_id}/answers": {"get"},
    "/v1/collections/{collection_id}/quality": {"get"},
    "/v1/collections/{collection_id}/member-counts": {"get", "post"},
    "/v1/collections/{collection_id}/archive": {"get"},
    "/v1/deletions": {"get"},
    "/v1/deletions/key": {"get"},
    "/v1/audit": {"get"},
    "/v1/tokens": {"get", "post"},
    "/v1/tokens/{token_id}": {"delete"},
    "/v1/keys": {"get", "post"},
    "/ohttp-keys": {"get"},
    "/ohttp": {"get", "post"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}
OPERATIONS = [
    (path, method, DOCUMENT["paths"][path][method]) for path in DOCUMENT["paths"] for method in DOCUMENT["paths"][path]
]


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_every_call_is_in_it() -> None:
    assert {path: set(calls) for path, calls in DOCUMENT["paths"].items()} == CALLS


def test_another_name_of_a_field_is_in_it() -> None:
    schema = DOCUMENT["components"]["schemas"]["CollectionSpec"]
    body = {"name": "Wages", "epsilon": 1, "retention_days": 30}
    OAS31Validator({**schema, "components": DOCUMENT["components"]}).validate(body)
    with pytest.raises(ValidationError, match="additional"):
        OAS31Validator({**schema, "components": DOCUMENT["components"]}).validate(body | {"days": 30})


def test_the_queries_of_every_mechanism_are_in_it() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    described = {name: schema for name, schema in schemas.items() if name.endswith("Query")}
    assert {schema["properties"]["mechanism"]["const"] for schema in described.values()} == set(QUERY_TYPES)


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_is_explained(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["description"].endswith(".")
    assert operation["summary"]
    assert operation["tags"]
    statuses = set(operation["responses"])
    if "{collection_id}" in path:
        assert "404" in statuses
    assert {"500", "503"} <= statuses
    if "requestBody" in operation:
        assert {"400", "408", "413", "422"} <= statuses
        [content] = operation["requestBody"]["content"].values()
        assert "example" in str(content) or "examples" in schema(content["schema"])
    if operation.get("security") == [{"token": []}]:
        assert {"401", "403"} <= statuses
    for status, response in operation["responses"].items():
        if status >= "400":
            assert list(response["content"]) == ["application/problem+json"]
            examples = response["content"]["application/problem+json"]["examples"]
            assert all(str(example["value"]["status"]) == status for example in examples.values())


REPLIES = [
    pytest.param(status, reply, id=f"{operation['operationId']}-{status}")
    for _, _, operation in OPERATIONS
    for status, reply in operation["responses"].items()
]


@pytest.mark.parametrize(("status", "reply"), REPLIES)
def test_every_reply_says_when_it_comes_and_has_an_example_of_its_shape(status: str, reply: dict[str, Any]) -> None:
    words = reply["description"]
    assert words.endswith(".")
    assert words not in {"Successful Response", "Validation Error"}, "the framework's, not ours"
    for media, content in reply.get("content", {}).items():
        if not media.endswith("json"):
            continue
        validator = OAS31Validator({**content["schema"], "components": DOCUMENT["components"]})
        assert content["examples"]
        for name, example in content["examples"].items():
            validator.validate(example["value"])
            assert status < "400" or f"`{name}`: " in words or status == "500"


def test_an_example_of_another_shape_would_be_found() -> None:
    shape = {"$ref": "#/components/schemas/TicketReply", "components": DOCUMENT["components"]}
    with pytest.raises(Exception, match="'query' is a required property"):
        OAS31Validator(shape).validate({"ticket": "q0AH"})


def schema(reference: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][reference["$ref"].rsplit("/", 1)[1]]
    return found


def test_every_field_of_a_collection_is_described_with_an_example() -> None:
    properties = DOCUMENT["components"]["schemas"]["CollectionSpec"]["properties"]
    assert list(properties) == [
        "name", "question", "unit", "period_of_value", "decimals", "organisation", "contact", "privacy_url",
        "thank_you", "pages", "family", "epsilon", "epsilon_choices", "rho", "transform", "prior", "range", "minimum",
        "maximum", "atoms", "categories", "goal", "policy", "mechanism", "levels", "particles", "misfit_check",
        "misfit_looks", "families", "discriminate", "member_cuts", "groups",
        "period", "drift", "panel", "components", "opens_at", "closes_at", "max_answers", "admission", "keep_answers",
        "keep_answers_days", "keep_days", "visibility", "retention_days",
    ]  # fmt: skip
    for name, field in properties.items():
        assert field["description"].endswith("."), name
        assert field.get("examples") or field.get("enum") or field.get("default"), name
    spec = DOCUMENT["components"]["schemas"]["CollectionSpec"]
    assert spec["required"] == ["name"]
    assert spec["oneOf"] == [{"required": ["epsilon"]}, {"required": ["rho"]}]


def test_the_framework_adds_no_shapes_of_its_own() -> None:
    assert not [name for name in DOCUMENT["components"]["schemas"] if "ValidationError" in name]
