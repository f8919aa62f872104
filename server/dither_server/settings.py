"""The server's settings: environment variables that start with `DITHER_`, or arguments of `dither serve`."""

import difflib
import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from dither_server.errors import StartRefused

__all__ = ["PREFIX", "Settings", "load_settings"]

PREFIX = "DITHER_"

_COMMAND_LINE = ("URL", "TOKEN")
"""Variables of the command line that are not the server's own."""


class Settings(BaseSettings):
    """What can be set. Secrets are masked wherever they are shown."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    database: str = Field(
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
        "token and prints it once.",
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
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        raise StartRefused(f"{PREFIX}{name.upper()} cannot be used: {first['msg']}.") from None


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
