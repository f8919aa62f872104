"""The page on which a respondent answers, and the browser's client, which draws the noise there.

The page has its own content security policy: only scripts of this server run, and they may call only this server.
"""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import dither_client
from dither_client.mechanisms.epsilon import epsilon_text, wire_epsilon
from dither_client.posterior.digits import rounded
from dither_client.posterior.sentences import unit_text
from dither_client.typed_numbers import written
from dither_estimator.families.base import Values
from dither_server.api.callers import CollectionOf, ServiceOf
from dither_server.collections.collection import Collection
from dither_server.collections.survey import component_words, languages_of
from dither_server.errors import CollectionDeleted, NotFound
from dither_server.http.languages import best_language, preferred_languages
from dither_server.pages.catalogues import LANGUAGES, Catalogue, catalogue
from dither_server.pages.compressed import static_response
from dither_server.pages.exposure import exposures, unhidden
from dither_server.pages.guessing import best_guess
from dither_server.pages.privacy import times, whole_cost
from dither_server.pages.rendering import STATIC, content_source
from dither_server.service.service import Service

__all__ = ["FILES", "add_routes"]

FILES = Path(__file__).parent / "answering"
"""What the page is made of."""

_WEB = Path(dither_client.__file__).parent / "web"
_IMPORT = re.compile(r'from "(\.|/web)/(\w+\.js)";$', re.MULTILINE)
_TYPES = {".js": "text/javascript", ".css": "text/css", ".ts": "text/plain"}
_STYLE = "\n".join(file.read_text(encoding="utf-8") for file in (STATIC / "style.css", FILES / "answer.css"))
"""The page has its styles in it: before the question is shown, a browser waits for nothing else."""
_EARLY = (FILES / "early.js").read_text(encoding="utf-8")
_POLICY = (
    f"default-src 'none'; script-src 'self' {content_source(_EARLY)}; style-src {content_source(_STYLE)}; "
    "connect-src 'self'; form-action 'none'; frame-ancestors {}; base-uri 'none'; require-trusted-types-for 'script'"
)
_TEMPLATES = Environment(
    loader=PackageLoader("dither_server.pages", "answering"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


_LIMITS = ("minimum", "maximum", "decimals")
"""What is said of what may be typed."""
_MOST_EPSILON = 2
"""What the ledger of a browser allows for one answer: `PER_ANSWER` in `entries.js`."""
_TYPED: Mapping[Values, Mapping[str, float]] = {
    "measured": {},
    "counted": {"minimum": 0.0, "decimals": 0},
    "yes-no": {"minimum": 0.0, "maximum": 1.0, "decimals": 0},
}
"""What may be typed of each kind of number, where the collection does not say."""


def add_routes(app: FastAPI) -> None:
    """Adds the page, its files, and the browser's client, which other sites may embed."""
    served: dict[str, Any] = {"methods": ["GET"], "include_in_schema": False}
    app.add_api_route("/collections/{collection_id}/answer", show_answer, response_class=HTMLResponse, **served)
    app.add_api_route("/answer/{name}", show_file, **served)
    app.add_api_route("/web/{name}", show_module, **served)


def show_answer(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """The page on which the browser answers, in the reader's language: it takes too long to write for the event loop.

    With `embed` in the address it has no links to other pages, and the sites that are allowed may frame it.
    """
    embedded = "embed" in request.query_params
    preferred = preferred_languages(request.headers.get("accept-language"))
    language = best_language(preferred, LANGUAGES)
    preferred.append(language)
    kind = collection.specification.family.values
    terms = _limited(service.collections.terms(collection, preferred), kind)
    given = "choice" if terms["categories"] else "numbers" if terms.get("components") else "number"
    texts = catalogue(language, given)
    check = collection.specification.misfit_check
    several, shown = _shown(terms["pages"], request.query_params.get("page"))
    epsilon, choices = _decimal(terms["epsilon"]), [_decimal(choice) for choice in terms["epsilon_choices"] or ()]
    allowed = [choice for choice in choices or [epsilon] if float(choice) <= _MOST_EPSILON]
    page = _TEMPLATES.get_template("answer.html").render(
        page=shown.get("page") if several else None,
        labelled=shown.get("page") == "label",
        check_of=_check(service, shown.get("check"), preferred),
        texts=texts,
        say=texts.say,
        script={**texts.script, "problems": texts.problems},
        terms=terms,
        foreign=_foreign(languages_of(collection.words, preferred), language),
        full=collection.full(terms["answers"]),
        epsilon=epsilon,
        most=str(_MOST_EPSILON),
        allowed=allowed,
        chosen=epsilon if epsilon in allowed else max(allowed, key=float, default=None),
        guess=best_guess(float(terms["epsilon"])),
        choices=[(choice, best_guess(float(choice))) for choice in choices],
        total=whole_cost(collection.specification),
        check=None if check is None else rounded(check.share, 3),
        ratio=times(float(terms["epsilon"])),
        unit=unit_text(terms),
        hint=_hint(terms, kind, texts),
        components=(fields := _fields(collection, terms, texts, preferred)),
        described=[{name: field[name] for name in ("name", "unit", *_LIMITS)} for field in fields],
        exposures=exposures(terms, encrypted=request.url.scheme == "https"),
        unhidden=unhidden(terms),
        embedded=embedded,
        style=Markup(_STYLE),
        early=Markup(_EARLY),
        modules=_modules(),
    )
    ancestors = (service.embed_origins if embedded else ()) or ("'none'",)
    headers = {"content-security-policy": _POLICY.format(" ".join(ancestors)), "vary": "Accept-Language"}
    return static_response(request, page.encode(), "text/html", {**headers, "content-language": language})


@cache
def _modules() -> Sequence[str]:
    """The modules that the page's script needs, which are fetched at once, not in turn."""
    folders, found = {"/answer": FILES, "/web": _WEB}, ["/answer/answer.js"]
    for module in found:  # which grows
        folder, name = module.rsplit("/", 1)
        for place, imported in _IMPORT.findall((folders[folder] / name).read_text("utf-8")):
            each = f"{folder if place == '.' else place}/{imported}"
            found += [each] if each not in found else []
    return found[1:]


def _shown(pages: Sequence[Mapping[str, str]] | None, wanted: str | None) -> tuple[bool, Mapping[str, str]]:
    """Whether there are several pages, and the one to show: the `wanted` one if it is among them, or one by chance."""
    if not pages:
        return False, {}
    known = {page["page"]: page for page in pages}
    return len(pages) > 1, known.get(wanted or "") or secrets.choice(pages)


def _check(service: Service, check: str | None, preferred: Sequence[str]) -> dict[str, Any] | None:
    """What the script has to know of a page's check; None if there is none, or it takes no answers from everybody."""
    if check is None:
        return None
    try:
        collection = service.collections.get(check)
    except (NotFound, CollectionDeleted):
        return None
    terms = service.collections.terms(collection, preferred)
    if terms["state"] != "open" or collection.full(terms["answers"]) or collection.admission != "public":
        return None
    return {"id": check, "categories": terms["categories"], "epsilon": _decimal(terms["epsilon"])}


def show_file(request: Request, name: str) -> Response:
    """The page's script or its style. Raises `NotFound`."""
    return _file(request, FILES, name)


def show_module(request: Request, name: str) -> Response:
    """One file of the browser's client: a script, or its types. Pages of other sites may load it. Raises `NotFound`."""
    response = _file(request, _WEB, name)
    response.headers["cross-origin-resource-policy"] = "cross-origin"
    return response


def _foreign(languages: Mapping[str, str], language: str) -> Callable[[str], Markup]:
    """The attribute that says which language words are in, if not in the page's."""

    def attribute(name: str) -> Markup:
        own = languages.get(name, language)
        return Markup() if own == language else Markup(' lang="{}"').format(own)

    return attribute


def _fields(
    collection: Collection, terms: Mapping[str, Any], texts: Catalogue, preferred: Sequence[str]
) -> list[dict[str, Any]]:
    """What the page and its script have to know of each of several numbers; none where there is one."""
    given = collection.statistics.get("components") or ()
    languages = [languages_of(component_words(own), preferred) for own in given]
    kinds = [each.specification.family.values for each in collection.specification.components]
    limited = [_limited(*each) for each in zip(terms.get("components") or (), kinds, strict=True)]
    return [
        {
            **{name: component.get(name) for name in ("name", "question", *_LIMITS)},
            "unit": unit_text(component),
            "hint": _hint(component, kind, texts),
            "foreign": _foreign(spoken, texts.language),
        }
        for component, kind, spoken in zip(limited, kinds, languages, strict=True)
    ]


def _limited(described: Mapping[str, Any], kind: Values) -> dict[str, Any]:
    """Terms or a component, with what may be typed where the kind of number alone says that."""
    return {**described, **{name: limit for name, limit in _TYPED[kind].items() if described.get(name) is None}}


def _hint(terms: Mapping[str, Any], kind: Values, texts: Catalogue) -> str:
    """What may be typed, as a sentence."""
    if kind == "yes-no":
        return str(texts.say("zero_or_one"))
    hint = ", ".join(_bounds(terms, texts) + _decimals(terms.get("decimals"), texts)) or str(texts.say("for_example"))
    return f"{hint[:1].upper()}{hint[1:]}."


def _bounds(terms: Mapping[str, Any], texts: Catalogue) -> list[str]:
    bounds = {name: bound for name in ("minimum", "maximum") if (bound := terms.get(name)) is not None}
    given = {name: texts.number(written(bound)) for name, bound in bounds.items()}
    names = {("minimum",): "at_least", ("maximum",): "at_most", ("minimum", "maximum"): "from_to"}
    return [str(texts.say(names[tuple(given)], **given))] if given else []


def _decimals(decimals: int | None, texts: Catalogue) -> list[str]:
    if decimals is None:
        return []
    return [str(texts.say({0: "whole", 1: "one_decimal"}.get(decimals, "decimals"), decimals=decimals))]


def _file(request: Request, folder: Path, name: str) -> Response:
    found = {file.name: file for file in folder.iterdir() if file.suffix in _TYPES}
    if name not in found:
        raise NotFound
    return static_response(request, found[name].read_bytes(), _TYPES[found[name].suffix])


def _decimal(epsilon: object) -> str:
    """ε as a decimal that people and the browser's client can read."""
    return epsilon_text(wire_epsilon(str(epsilon)))
