from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from dither_client.queries import query_types
from dither_server.app import create_app
from dither_server.settings import Settings

DOCUMENT: dict[str, Any] = create_app(Settings()).openapi()

CALLS = {
    "/v1/collections": {"get", "post"},
    "/v1/collections/{collection_id}": {"get", "patch"},
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
    "/v1/tokens": {"get", "post"},
    "/v1/tokens/{token_id}": {"delete"},
    "/v1/keys": {"get", "post"},
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


def test_the_queries_of_every_mechanism_are_in_it() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    described = {name: schema for name, schema in schemas.items() if name.endswith("Query")}
    assert {schema["properties"]["mechanism"]["const"] for schema in described.values()} == set(query_types())


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
    assert "503" in statuses or method == "get"
    if "requestBody" in operation:
        assert {"400", "413", "422", "503"} <= statuses
        [content] = operation["requestBody"]["content"].values()
        assert "example" in str(content) or "examples" in schema(content["schema"])
    if operation.get("security") == [{"token": []}]:
        assert {"401", "403"} <= statuses
    for status, response in operation["responses"].items():
        if status >= "400":
            assert list(response["content"]) == ["application/problem+json"]
            examples = response["content"]["application/problem+json"]["examples"]
            assert all(str(example["value"]["status"]) == status for example in examples.values())


def schema(reference: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][reference["$ref"].rsplit("/", 1)[1]]
    return found


def test_every_field_of_a_collection_is_described_with_an_example() -> None:
    properties = DOCUMENT["components"]["schemas"]["CollectionSpec"]["properties"]
    assert list(properties) == [
        "name", "family", "epsilon", "epsilon_choices", "rho", "transform", "prior", "range", "goal", "policy",
        "mechanism", "levels", "particles", "misfit_check", "misfit_looks", "families", "discriminate", "member_cuts",
        "opens_at", "closes_at", "max_answers", "admission", "keep_answers", "visibility",
    ]  # fmt: skip
    for name, field in properties.items():
        assert field["description"].endswith("."), name
        assert field.get("examples") or field.get("enum") or field.get("default"), name
    spec = DOCUMENT["components"]["schemas"]["CollectionSpec"]
    assert spec["required"] == ["name"]
    assert spec["allOf"] == [
        {"oneOf": [{"required": ["epsilon"]}, {"required": ["rho"]}]},
        {"anyOf": [{"required": ["family"]}, {"required": ["families"]}]},
    ]


def test_the_framework_adds_no_shapes_of_its_own() -> None:
    assert not [name for name in DOCUMENT["components"]["schemas"] if "ValidationError" in name]
