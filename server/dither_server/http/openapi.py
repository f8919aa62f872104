"""The OpenAPI document: FastAPI's, merged with the operations that the busiest calls declare themselves."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dither_server.http.front_door import BusyCall
from dither_server.http.problems import ProblemDocument

__all__ = ["COLLECTION_ID", "add_openapi", "json_body", "json_response", "reply"]

_REF = "#/components/schemas/{model}"

COLLECTION_ID = {
    "name": "collection_id",
    "in": "path",
    "required": True,
    "description": "The collection's id.",
    "schema": {"type": "string"},
}


def json_body(model: type[BaseModel], *, required: bool = True, **examples: Any) -> dict[str, Any]:
    """A `requestBody` with named examples."""
    content = {"schema": {"$ref": _REF.format(model=model.__name__)}, **_examples(examples)}
    return {"required": required, "content": {"application/json": content}}


def json_response(description: str, model: type[BaseModel], **examples: Any) -> dict[str, Any]:
    """An item of `responses`, with named examples."""
    return {"description": description, "content": json_body(model, **examples)["content"]}


def reply(description: str, media: str = "application/json", **examples: Any) -> dict[str, Any]:
    """An item of `responses` for a call whose model FastAPI knows, with named examples."""
    return {"description": description, **({"content": {media: _examples(examples)}} if examples else {})}


def add_openapi(app: FastAPI, busy: Sequence[BusyCall], models: tuple[type[BaseModel], ...]) -> None:
    """Makes `app.openapi` return the whole document; `models` are those that routes refer to by name only."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            every: set[type[BaseModel]] = {ProblemDocument, *models}
            every.update(model for call in busy for model in call.models)
            _, schemas = models_json_schema(
                [(model, "validation") for model in sorted(every, key=lambda model: model.__name__)], ref_template=_REF
            )
            document.setdefault("components", {}).setdefault("schemas", {}).update(schemas["$defs"])
            document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            _drop_framework_problems(document)
            _restore_examples(app, document)
            for call in busy:
                document["paths"].setdefault(call.path, {})["post"] = dict(call.document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend the document

    @cache
    def written() -> bytes:
        return json.dumps(openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    def show(request: Request) -> Response:
        return Response(written(), media_type="application/json")

    app.add_route("/openapi.json", show, include_in_schema=False)


def _examples(named: Mapping[str, Any]) -> dict[str, Any]:
    return {"examples": {name: {"value": value} for name, value in named.items()}} if named else {}


def _restore_examples(app: FastAPI, document: dict[str, Any]) -> None:
    """Restores the examples of replies, from which the framework removes nulls."""
    for route in app.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method, (status, described) in product(route.methods or (), route.responses.items()):
                written = document["paths"][route.path][method.lower()]["responses"][str(status)]
                for media, content in described.get("content", {}).items():
                    written["content"][media].update(content)


def _drop_framework_problems(document: dict[str, Any]) -> None:
    """Removes the 422 that FastAPI adds to every call with a parameter; calls document their own."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if "HTTPValidationError" in str(operation["responses"].get("422")):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
