import inspect
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.exc import IntegrityError, OperationalError, TimeoutError

from dither_estimator.specification.specification import SpecificationError
from dither_server import errors
from dither_server.http.problems import invalid, problem_of, problem_response

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.Refusal)]
BASES = {errors.Refusal, errors.TicketRefused, errors.InvitationRefused, errors.CollectionRefused, errors.TryLater}

NAMES = {
    "malformed-json": 400,
    "collection-deleted": 410,
    "not-deleted": 409,
    "invalid-body": 422,
    "invalid-answer": 422,
    "invalid-group": 422,
    "body-too-large": 413,
    "body-too-slow": 408,
    "address-too-long": 414,
    "head-too-large": 431,
    "unauthorized": 401,
    "forbidden": 403,
    "not-relayed": 403,
    "ohttp-key": 400,
    "not-found": 404,
    "method-not-allowed": 405,
    "ticket-invalid": 403,
    "ticket-foreign": 403,
    "ticket-expired": 410,
    "already-answered": 409,
    "already-shared": 409,
    "collection-not-open": 409,
    "collection-paused": 409,
    "collection-closed": 409,
    "collection-full": 409,
    "invitation-invalid": 403,
    "invitation-used": 409,
    "no-member-counts": 409,
    "not-by-invitation": 409,
    "too-many-tickets": 429,
    "too-many-streams": 429,
    "overloaded": 503,
    "unavailable": 503,
}


def test_every_refusal_is_a_problem_of_its_own() -> None:
    found = {
        problem_of(kind("Why."))[0].name: problem_of(kind("Why."))[0].status for kind in KINDS if kind not in BASES
    }
    assert found == NAMES
    assert len(found) == len(KINDS) - len(BASES)


def test_every_exception_is_exported() -> None:
    defined = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__}
    assert defined == set(errors.__all__)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in BASES])
def test_a_problem_document_is_whole(kind: type[errors.Refusal]) -> None:
    error = kind()
    response = problem_response(error)
    assert response.media_type == "application/problem+json"
    problem, detail = problem_of(error)
    assert response.status_code == problem.status
    assert detail.endswith(".")
    assert ("retry-after" in response.headers) == (problem.status in (429, 503))


def test_a_bad_specification_is_an_invalid_body() -> None:
    problem, detail = problem_of(SpecificationError("epsilon must be above 0"))
    assert (problem.status, problem.name, detail) == (422, "invalid-body", "epsilon must be above 0.")


def test_a_database_in_trouble_asks_to_try_later_and_tells_no_sql() -> None:
    for error in (OperationalError("SELECT secret", {}, Exception("disk full")), TimeoutError("no connection")):
        problem, detail = problem_of(error)
        assert (problem.status, problem.name) == (503, "unavailable")
        assert "secret" not in detail
        assert problem_response(error).headers["retry-after"] == "2"


def test_anything_else_is_internal_and_tells_nothing() -> None:
    for error in (RuntimeError("secret"), IntegrityError("SELECT secret", {}, Exception("secret"))):
        problem, detail = problem_of(error)
        assert (problem.status, problem.name) == (500, "internal")
        assert "secret" not in detail


class Inner(BaseModel):
    count: int


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: list[Inner] = Field(max_length=2)
    free: dict[str, int] = {}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "inner: Field required."),
        ({"inner": "zebra"}, "inner: Input should be a valid list."),
        ({"inner": [{"count": 1}, {"count": "zebra"}]}, "inner.1.count: Input should be a valid integer,"),
        ({"inner": [{}]}, "inner.0.count: Field required."),
        ({"inner": [], "zebra": 1}, "There is an unknown field; the fields are: inner, free."),
        ({"inner": [], "free": {"zebra": "zebra"}}, "free: Input should be a valid integer,"),
    ],
)
def test_a_validation_error_says_where_and_what_but_not_which_input(body: Any, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(body)
    text = str(invalid(caught.value, Outer))
    assert text.startswith(says)
    assert "zebra" not in text
