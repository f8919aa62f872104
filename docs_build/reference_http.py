"""The page of every call and every body, from the OpenAPI document."""

import json
from collections.abc import Iterator
from typing import Any

from dither_server.app import create_app
from dither_server.settings import Settings
from docs_build.tables import code, table

__all__ = ["http_page"]

_METHODS = ("get", "post", "patch", "delete")
_INTRODUCTION = """# HTTP

Every call and every body, as a running server describes them at `/docs` (with examples) and `/openapi.json`. How they
are used, and what a client must check, is in [protocol](../protocol.md)."""


def http_page() -> str:
    document = create_app(Settings(database="sqlite://")).openapi()
    groups: dict[str, list[str]] = {}
    for path, methods in sorted(document["paths"].items()):
        for method in _METHODS:
            if method in methods:
                groups.setdefault(methods[method]["tags"][0], []).append(_call(method, path, methods[method]))
    calls = [part for name, group in sorted(groups.items()) for part in (f"## Calls of {name}", *group)]
    bodies = [_body(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return "\n\n".join([_INTRODUCTION, *calls, "## Bodies", *bodies]) + "\n"


def _call(method: str, path: str, call: dict[str, Any]) -> str:
    parts = [f"### {code(f'{method.upper()} {path}')}", call["description"]]
    queries = [given for given in call.get("parameters", []) if given["in"] == "query"]
    if queries:
        rows = [
            [code(given["name"]), _type(given["schema"]), _default(given["schema"]), given.get("description", "")]
            for given in queries
        ]
        parts.append(table(["in the query", "is", "default", "meaning"], rows))
    if "requestBody" in call:
        parts.append(f"Takes {_content(call['requestBody'])}.")
    replies = [[code(status), _content(reply), reply["description"]] for status, reply in call["responses"].items()]
    parts.append(table(["status", "body", "when"], sorted(replies)))
    parts += [_example(reply) for status, reply in call["responses"].items() if status < "300"]
    return "\n\n".join(part for part in parts if part)


def _example(reply: dict[str, Any]) -> str:
    """The first example of a reply."""
    for _, content in _contents(reply):
        for example in content.get("examples", {}).values():
            value = example["value"]
            return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```" if isinstance(value, dict) else code(value)
    return ""


def _content(message: dict[str, Any]) -> str:
    found = [_type(content["schema"]) if content.get("schema") else kind for kind, content in _contents(message)]
    return " or ".join(dict.fromkeys(found))


def _contents(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from message.get("content", {}).items()


def _body(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        [code(field), _type(of), "required" if field in required else _default(of), of.get("description", "")]
        for field, of in schema.get("properties", {}).items()
    ]
    parts = [f"### {name}", schema.get("description", ""), table(["field", "is", "default", "meaning"], rows)]
    return "\n\n".join(part for part in parts if part)


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default is None else code(default)


def _type(schema: dict[str, Any]) -> str:
    """What a value may be, in words, with links to bodies."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema or "enum" in schema:
        return " or ".join(code(value) for value in schema.get("enum", [schema.get("const")]))
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[choice]))
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
        case "object":
            values = schema.get("additionalProperties")
            return f"object of {_type(values)}" if isinstance(values, dict) and values else "object"
        case None:
            return "anything"
        case kind:
            return str(kind) + _range(schema)


def _range(schema: dict[str, Any]) -> str:
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    limits = [f"{word} {schema[name]:,}" for name, word in words.items() if name in schema]
    return f" ({', '.join(limits)})" if limits else ""
