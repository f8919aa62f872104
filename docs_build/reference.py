"""The pages that the program describes itself in, by their path on the site."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from docs_build.reference_commands import commands_page, settings_page
from docs_build.reference_http import http_page
from docs_build.reference_python import python_page

__all__ = ["REFERENCE"]

REFERENCE: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "reference/http.md": http_page,
        "reference/python.md": python_page,
        "reference/commands.md": commands_page,
        "reference/settings.md": settings_page,
    }
)
"""What writes each page."""
