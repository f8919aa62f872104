"""The collection that `dither simulate` asks people for: a new one, from a file or options, or one of a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dither_client import Admin, Transform
from dither_client.addresses import collection_path
from dither_client.commands._shared import fail
from dither_client.mechanisms.bounds import Bounds
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_estimator.specification.fields import CATEGORICAL, NONPARAMETRIC
from dither_estimator.specification.specification import Specification
from dither_server.commands import _simulate_options as options
from dither_server.commands._simulated_people import Asked, Drawing
from dither_server.simulate.scenario import read_prior, read_spec, spec_from_options

__all__ = [
    "NO_PANEL_OVER_HTTP",
    "CollectionOptions",
    "create_collection",
    "existing_collection",
    "new_collection",
    "texts_of",
]

NO_PANEL_OVER_HTTP = (
    "a panel is simulated with --in-process and --periods: nobody can tell a server what time it is, so that over HTTP "
    "no other period than this one would come"
)


@dataclass(frozen=True)
class CollectionOptions:
    """The options that say what is asked of the people, each as it was given."""

    epsilon: options.Epsilon = None
    epsilon_choices: options.EpsilonChoices = None
    choose_by: options.ChooseBy = "chance"
    goal: options.Goal = None
    policy: options.Policy = None
    mechanism: options.Mechanism = None
    rho: options.Rho = None
    levels: options.Levels = None
    particles: options.Particles = None
    prior: options.Prior = None
    spec: options.Spec = None

    def given(self, drawing: Drawing) -> dict[str, Any]:
        """Every option that describes a new collection, by its name on the command line."""
        own = ("epsilon", "epsilon_choices", "goal", "policy", "mechanism", "levels", "particles", "prior", "rho")
        peoples = ("categories", "transform", "groups", "periods")
        values = {name: getattr(self, name) for name in own} | {name: getattr(drawing, name) for name in peoples}
        return {name.replace("_", "-"): value for name, value in values.items()}


def new_collection(asked: CollectionOptions, drawing: Drawing) -> Asked:
    """The collection that the file of `--spec` describes, or the options.

    Without `--family` it is of the normal family, or of none where values come from a file.
    """
    usual = "normal" if drawing.data is None else NONPARAMETRIC.name
    fields, specification = (
        spec_from_options(_fields(drawing.family, usual, asked.given(drawing)))
        if asked.spec is None
        else read_spec(asked.spec)
    )
    name, choices = specification.family.name, specification.epsilon_choices
    bounds = Bounds(specification.support.minimum, specification.support.maximum)
    return Asked(name, specification.transform, choices, fields, specification, specification.categories, bounds)


def _fields(family: str | None, usual: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a specification that the options give."""
    fields = dict(given)
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
    fields["epsilon"] = given["epsilon"] or (None if given["rho"] and not choices else default)
    return fields


def texts_of(listed: str) -> list[str]:
    """The texts of a list with commas."""
    return [text.strip() for text in listed.split(",")]


def existing_collection(url: str, token: str | None, collection: str, drawing: Drawing) -> Asked:
    """The collection that the server has. Raises `ServerError`."""
    with Api(url, token) as api:
        told = api.get(collection_path(collection), exact=True)
    terms = parse_terms(told)
    if terms.panel is not None:
        fail(NO_PANEL_OVER_HTTP, 2)
    transform: Transform = "log" if terms.transform == "log" else "identity"
    people = _of_several(told, drawing)
    return Asked(terms.family, transform, terms.epsilon_choices, told, people, terms.categories, terms.price.bounds)


def _of_several(terms: Mapping[str, Any], drawing: Drawing) -> Specification | None:
    """The specification of people with several numbers, or who are drawn by group; None for any others.

    It follows from the terms that everybody is told.
    """
    kind: tuple[str, ...] = ()
    if terms.get("components") is not None:
        kind = ("components",)
    elif terms.get("groups") is not None and (";" in (drawing.truth or "") or "," in (drawing.family or "")):
        kind = ("family", "transform", "categories", "groups")
    fields = {"name": terms["name"], "epsilon": 1, **{name: terms[name] for name in kind}}
    return Specification.from_json(fields) if kind else None


def create_collection(url: str, token: str | None, fields: Mapping[str, Any]) -> str:
    """Creates a collection on the server, and returns its id. Raises `ServerError`."""
    if token is None:
        fail("a new collection needs an admin's token: give it with --token or DITHER_TOKEN", 2)
    with Admin(url, token) as admin:
        return str(admin.create_collection(fields)["id"])
