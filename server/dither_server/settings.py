"""The server's settings: environment variables that start with `DITHER_`, or arguments of `dither serve`."""

import difflib
import os
import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from dither_server.errors import StartRefused

__all__ = ["PREFIX", "Settings", "load_settings", "weaknesses"]

PREFIX = "DITHER_"

_LONG_SECRET = 16
_LONG_TOKEN = 12
"""Each guess of a token is a request, so that fewer characters will do."""
_MANY_CHARACTERS = 8
_TOKEN = re.compile(r"[!-~]+")

_COMMAND_LINE = ("URL", "TOKEN", "INVITATION")
"""Variables of the command line that are not the server's own."""


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _network(value: str) -> str:
    try:
        return str(ip_network(value))
    except ValueError:
        raise ValueError("it must be addresses or networks such as 10.0.0.0/8, with commas between them") from None


def _origin(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or value != f"{parts.scheme}://{parts.netloc}":
        raise ValueError("it must be origins such as https://app.example.org, with commas between them")
    return value


def _public_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("it must be an address such as https://survey.example.org")
    return value.rstrip("/")


_Url = Annotated[str, AfterValidator(_public_url)]
_Networks = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], NoDecode, BeforeValidator(_split)]
_Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_split)]


class Settings(BaseSettings):
    """What can be set. Secrets are masked wherever they are shown."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    database: str = Field(
        repr=False,  # a URL may hold a password
        default="sqlite:///dither.sqlite",
        description="The database's URL: sqlite:///FILE, or postgresql+psycopg://USER@HOST/NAME.",
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="The port to listen on; 0 takes any free one.")
    secret: SecretStr | None = Field(
        default=None,
        description="The secret that tickets and receipts are signed with: any long random text, the same for every "
        "process on one database. With SQLite a file beside the database holds one unless this is set.",
    )
    admin_token: SecretStr | None = Field(
        default=None,
        description="An admin's token, valid for as long as this is set; without it, the first start makes an admin's "
        "token and writes it to a file beside the SQLite database, or else in the folder that the server runs in.",
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        description="The token that /metrics is read with, besides an admin's.",
    )
    public_metrics: bool = Field(
        default=False, description="Whether anyone who reaches the server may read /metrics, without a token."
    )
    public_listing: bool = Field(
        default=False,
        description="Whether anyone may list private collections, too, and see how many have answered each. Whoever "
        "has a collection's id can always read its terms.",
    )
    public_url: _Url | None = Field(
        default=None,
        description="Where people reach the server, such as https://survey.example.org. If that is https, the server "
        "starts only where trusted_proxies names the proxy that speaks https for it, and signs nobody in otherwise.",
    )
    tickets_per_minute: int = Field(
        default=600,
        ge=0,
        description="Tickets that one address may ask for in a minute, and at once; of IPv6, one network of 64 bits. "
        "0 for no limit. Requests from this machine are never limited.",
    )
    token_tickets_per_minute: int = Field(
        default=60_000,
        ge=0,
        description="Tickets that a gateway's token may ask for in a minute, and at once, whatever its address; 0 for "
        "no limit.",
    )
    trusted_proxies: _Networks = Field(
        default=(),
        description="Addresses or networks of your own proxies, with commas between them: the header X-Forwarded-For "
        "is believed from these alone.",
    )
    cors_origins: _Origins = Field(
        default=(),
        description="Origins whose pages may call this server from a browser, such as https://app.example.org, with "
        "commas between them; none unless set.",
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="How log lines are written on standard error: for people, or for machines."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe log lines that are written; debug has a line for each request."
    )


def load_settings(**given: Any) -> Settings:
    """The settings that the environment and `given` (which comes first) make; `None` is as good as not given.

    Raises `StartRefused` for a value that is not allowed and for a `DITHER_…` variable that does not exist.
    """
    _refuse_unknown(os.environ)
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        raise StartRefused(
            f"{PREFIX}{name.upper()} cannot be used: {first['msg'].removeprefix('Value error, ')}."
        ) from None
    for name in ("admin_token", "metrics_token"):
        token = getattr(settings, name)
        if token is not None and not _TOKEN.fullmatch(token.get_secret_value()):
            raise StartRefused(f"{PREFIX}{name.upper()} must be ASCII without blanks, or it cannot be sent.")
    if (settings.public_url or "").startswith("https:") and not settings.trusted_proxies:
        raise StartRefused(
            "DITHER_PUBLIC_URL is https, and DITHER_TRUSTED_PROXIES names no proxy that speaks it for the server: set "
            "it to the proxy's address, or cookies would go unprotected and all respondents share one limit."
        )
    return settings


def weaknesses(settings: Settings) -> list[str]:
    """A sentence for each secret that is easily guessed, and for a proxy that is missing or not known."""
    found = []
    secret = settings.secret.get_secret_value() if settings.secret is not None else None
    # Whoever holds one ticket can try secrets against its signature, as many a second as computers can.
    if secret is not None and (len(secret) < _LONG_SECRET or len(set(secret)) < _MANY_CHARACTERS):
        found.append("DITHER_SECRET is easily guessed, and who guesses it forges tickets")
    for name in ("admin_token", "metrics_token"):
        token = getattr(settings, name)
        if token is not None and len(token.get_secret_value()) < _LONG_TOKEN:
            found.append(f"{PREFIX}{name.upper()} is easily guessed")
    found = [f"{sentence}: make one with openssl rand -hex 32." for sentence in found]
    if not settings.trusted_proxies and not _is_this_machine(settings.host):
        found.append(
            "Sign-ins from other machines are not protected by https, as far as the server knows: put a proxy with a "
            "certificate in front, and name it in DITHER_TRUSTED_PROXIES."
        )
    return found


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [name.upper() for name in Settings.model_fields]
    for variable in sorted(environ):
        if not variable.upper().startswith(PREFIX):
            continue
        name = variable.upper().removeprefix(PREFIX)
        if name in known or name in _COMMAND_LINE:
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
        raise StartRefused(f"There is no setting {variable}: did you mean {PREFIX}{near}?")
