"""The folder for a user's data on Linux, macOS and Windows."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["user_data_folder"]


def user_data_folder(
    platform: str = sys.platform, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Path:
    """Dither's folder below the platform's user data folder; it need not exist.

    The parent is `%LOCALAPPDATA%` on Windows, `~/Library/Application Support` on macOS, and otherwise `$XDG_DATA_HOME`
    (which, by the XDG base directory specification, counts only if it is absolute) or `~/.local/share`.
    """
    home = home or Path.home()
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "dither"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "dither"
    data = environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data.startswith("/") else home / ".local" / "share") / "dither"
