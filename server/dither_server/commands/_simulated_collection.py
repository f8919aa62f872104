"""The collection that `dither simulate` asks people for: a new one, from a file or options, or one of a server."""

from collections.abc import Mapping
from typing import Any

from dither_client import Admin, Transform
from dither_client.addresses import collection_path
from dither_client.commands._shared import fail
from dither_client.mechanisms.bounds import Bounds
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_estimator.specification.fields import CATEGORICAL
from dither_estimator.specification.specification import Specification
from dither_server.commands._simulated_people import Asked
from dither_server.simulate.scenario import read_prior, read_spec, spec_from_options

__all__ = ["NO_PANEL_OVER_HTTP", "create_collection", "existing_collection", "new_collection", "texts_of"]

NO_PANEL_OVER_HTTP = (
    "a panel is simulated with --in-process and --periods: nobody can tell a server what time it is, so that over HTTP "
    "no other period than this one would come"
)


def new_collection(spec: str | None, family: str | None, usual: str, options: Mapping[str, Any]) -> Asked:
    """The collection that the file `spec` or `options` describe, of the `usual` family unless they name one."""
    fields, specification = read_spec(spec) if spec is not None else spec_from_options(_fields(family, usual, options))
    name, choices = specification.family.name, specification.epsilon_choices
    bounds = Bounds(specification.support.minimum, specification.support.maximum)
    return Asked(name, specification.transform, choices, fields, specification, specification.categories, bounds)


def _fields(family: str | None, usual: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a specification that the options give."""
    fields = dict(options)
    prior, choices = fields.pop("prior"), fields.pop("epsilon-choices")
    listed, labels = fields.pop("categories"), fields.pop("groups")
    if fields.pop("periods") is not None:
        fields |= {"period": "week", "drift": True}
    fields["groups"] = {"name": "group", "labels": texts_of(labels)} if labels else None
    fields["categories"] = texts_of(listed) if listed else None
    fields["family"] = family or (CATEGORICAL.name if listed else usual)
    fields["prior"] = read_prior(prior) if prior else None
    fields["epsilon_choices"] = texts_of(choices) if choices else None
    default = (fields["epsilon_choices"] or ["1"])[0]
    fields["epsilon"] = options["epsilon"] or (None if options["rho"] and not choices else default)
    return fields


def texts_of(listed: str) -> list[str]:
    """The texts of a list with commas."""
    return [text.strip() for text in listed.split(",")]


def existing_collection(url: str, token: str | None, collection: str, truth: str | None) -> Asked:
    """The collection that the server has. Raises `ServerError`."""
    with Api(url, token) as api:
        told = api.get(collection_path(collection), exact=True)
    terms = parse_terms(told)
    if terms.panel is not None:
        fail(NO_PANEL_OVER_HTTP, 2)
    transform: Transform = "log" if terms.transform == "log" else "identity"
    people = _of_several(told, truth or "")
    return Asked(terms.family, transform, terms.epsilon_choices, told, people, terms.categories, terms.price.bounds)


def _of_several(terms: Mapping[str, Any], truth: str) -> Specification | None:
    """The specification of people with several numbers, or with a `truth` in each group; None for any others.

    It follows from the terms that everybody is told.
    """
    kind: tuple[str, ...] = ()
    if terms.get("components") is not None:
        kind = ("components",)
    elif terms.get("groups") is not None and ";" in truth:
        kind = ("family", "transform", "groups")
    fields = {"name": terms["name"], "epsilon": 1, **{name: terms[name] for name in kind}}
    return Specification.from_json(fields) if kind else None


def create_collection(url: str, token: str | None, fields: Mapping[str, Any]) -> str:
    """Creates a collection on the server, and returns its id. Raises `ServerError`."""
    if token is None:
        fail("a new collection needs an admin's token: give it with --token or DITHER_TOKEN", 2)
    with Admin(url, token) as admin:
        return str(admin.create_collection(fields)["id"])
