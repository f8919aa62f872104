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

_MIN_SECRET_LENGTH = 16
_MIN_TOKEN_LENGTH = 12
"""Fewer characters than a secret needs, since each guess of a token takes a request."""
_MIN_DISTINCT_CHARACTERS = 8
_TOKEN = re.compile(r"[!-~]+")

_COMMAND_LINE = ("URL", "TOKEN", "INVITATION")
"""Variables that other commands read and the server does not."""


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _network(value: str) -> str:
    try:
        return str(ip_network(value))
    except ValueError:
        raise ValueError("it must be addresses or networks such as 10.0.0.0/8, separated by commas") from None


def _origin(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or value != f"{parts.scheme}://{parts.netloc}":
        raise ValueError("it must be origins such as https://app.example.org, separated by commas")
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
    """The server's settings. Secrets are masked wherever the settings are printed."""

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
        description="The secret that signs tickets and receipts: any long random text, the same for every process on "
        "one database. With SQLite, unless this is set, the server keeps one in a file beside the database.",
    )
    admin_token: SecretStr | None = Field(
        default=None,
        description="An admin's token, valid for as long as this is set. Without it, the first start creates an "
        "admin's token and writes it to a file beside the SQLite database, or with PostgreSQL in the working folder.",
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        description="A token that may read /metrics; admins' tokens may as well.",
    )
    public_metrics: bool = Field(
        default=False,
        description="Whether anyone who reaches the server may read /metrics without a token. The series of private "
        "collections need one all the same, unless public_listing is on.",
    )
    public_listing: bool = Field(
        default=False,
        description="Whether anyone may also list private collections and see how many people have answered each. "
        "Whoever has a collection's id can always read its terms.",
    )
    public_url: _Url | None = Field(
        default=None,
        description="The URL at which people reach the server, such as https://survey.example.org. With https, the "
        "server starts only if trusted_proxies names the proxy that terminates TLS, and sign-in works only over https.",
    )
    tickets_per_minute: int = Field(
        default=600,
        ge=0,
        description="Tickets that one address (for IPv6, one /64 network) may request in a minute, and at once; 0 for "
        "no limit. Requests from this machine are never limited.",
    )
    token_tickets_per_minute: int = Field(
        default=60_000,
        ge=0,
        description="Tickets that a gateway's token may request in a minute, and at once, from any address; 0 for no "
        "limit.",
    )
    relays: _Networks = Field(
        default=(),
        description="Addresses or networks of Oblivious HTTP relays, run by others, separated by commas. What comes "
        "through one of them counts towards relay_tickets_per_minute; through any other, as of any one address.",
    )
    relay_tickets_per_minute: int = Field(
        default=6000,
        ge=0,
        description="Tickets that all people of one of the relays together may request in a minute, and at once; 0 for "
        "no limit.",
    )
    restore_days: int = Field(
        default=30,
        ge=0,
        le=3650,
        description="Days for which a deleted collection can be restored; after that, all of it is removed for good.",
    )
    trusted_proxies: _Networks = Field(
        default=(),
        description="Addresses or networks of your own proxies, separated by commas. The server trusts the header "
        "X-Forwarded-For from these only.",
    )
    cors_origins: _Origins = Field(
        default=(),
        description="Origins whose pages may call this server from a browser, such as https://app.example.org, "
        "separated by commas; none by default.",
    )
    embed_origins: _Origins = Field(
        default=(),
        description="Origins whose pages may show the page for respondents in a frame, such as "
        "https://www.example.org, separated by commas; none by default.",
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="The format of log lines on standard error: for people, or for machines."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest severity that is logged; debug logs a line for each request."
    )


_WRONG = {
    "bool_parsing": "it must be true or false",
    "int_parsing": "it must be a whole number",
    "float_parsing": "it must be a number",
}
"""What is wrong with a setting, in words, by pydantic's name of the error."""


def load_settings(**given: Any) -> Settings:
    """The settings from `given` and the environment; `given` takes precedence, and `None` means unset.

    Raises `StartRefused` for a value that is not allowed and for an unknown `DITHER_…` variable.
    """
    _refuse_unknown(os.environ)
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        wrong = _WRONG.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise StartRefused(f"{PREFIX}{name.upper()} cannot be used: {wrong}.") from None
    for name in ("admin_token", "metrics_token"):
        token = getattr(settings, name)
        if token is not None and not _TOKEN.fullmatch(token.get_secret_value()):
            raise StartRefused(f"{PREFIX}{name.upper()} must be ASCII without spaces, since a header carries it.")
    if (settings.public_url or "").startswith("https:") and not settings.trusted_proxies:
        raise StartRefused(
            "DITHER_PUBLIC_URL is https, but DITHER_TRUSTED_PROXIES names no proxy that terminates TLS: set it to the "
            "proxy's address, or cookies would be unprotected and all respondents would share one limit."
        )
    return settings


def weaknesses(settings: Settings) -> list[str]:
    """A sentence for each secret that is easy to guess, and one if no proxy is trusted although others can connect."""
    found = []
    secret = settings.secret.get_secret_value() if settings.secret is not None else None
    # Whoever holds one ticket can test guesses of the secret against its signature offline, at any speed.
    if secret is not None and (len(secret) < _MIN_SECRET_LENGTH or len(set(secret)) < _MIN_DISTINCT_CHARACTERS):
        found.append("DITHER_SECRET is easy to guess, and anyone who guesses it can forge tickets")
    for name in ("admin_token", "metrics_token"):
        token = getattr(settings, name)
        if token is not None and len(token.get_secret_value()) < _MIN_TOKEN_LENGTH:
            found.append(f"{PREFIX}{name.upper()} is easy to guess")
    found = [f"{sentence}: make one with openssl rand -hex 32." for sentence in found]
    if not settings.trusted_proxies and not _is_this_machine(settings.host):
        found.append(
            "As far as the server knows, https does not protect sign-ins from other machines: put a proxy with a "
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
        closest = difflib.get_close_matches(name, known, n=1, cutoff=0.35)
        advice = f"did you mean {PREFIX}{closest[0]}?" if closest else "docs/operators.md lists all that there are."
        raise StartRefused(f"There is no setting {variable}: {advice}")
