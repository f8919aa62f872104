"""A walk: a stranger's commands and clicks, counted, and the seconds since it began."""

import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, expect

from testing.browser.chromium import TIMEOUT_MS
from testing.patience import PATIENCE
from testing.reader import Shell

__all__ = ["Walk"]


@dataclass
class Walk:
    """What one stranger has done so far, in a folder with nothing in it but what they put there."""

    who: str
    shell: Shell
    commands: int = 0
    clicks: int = 0
    began: float = field(default_factory=time.monotonic)

    def type(self, command: str, asked: str = "") -> str:
        """What a command prints, which is given `asked` whenever it asks. Raises `AssertionError` if it fails."""
        self.commands += 1
        return self.shell.run(command, typed=asked)

    def start(self, command: str) -> "subprocess.Popen[bytes]":
        """Types a command that goes on, in another terminal."""
        self.commands += 1
        with (self.shell.folder / "terminal.log").open("ab") as log:
            return subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.shell.folder,
                env=self.shell.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def interrupt(self, going_on: "subprocess.Popen[bytes]") -> None:
        """Presses Ctrl-C in the other terminal, which counts as one command, and sees the command end."""
        self.commands += 1
        going_on.send_signal(signal.SIGINT)
        going_on.wait(PATIENCE)

    def write(self, file: str, content: str) -> None:
        """Writes a file in an editor, which counts as one command."""
        self.commands += 1
        (self.shell.folder / file).write_text(content, encoding="utf-8")

    def click(self, place: Locator) -> None:
        """Clicks on something, when it can be clicked."""
        place.click()
        self.clicks += 1

    def fill(self, place: Locator, text: str) -> None:
        """Types into a field, which takes a click to get there."""
        place.fill(text)
        self.clicks += 1

    def reload_if_told(self, page: Page) -> None:
        """Loads a page again if it says that a part of it has not come; a slow network may lose one."""
        told = page.get_by_text("Load the page again").filter(visible=True)
        expect(page.get_by_role("button", disabled=False).or_(told).first).to_be_visible(timeout=TIMEOUT_MS)
        if told.count():
            page.reload()
            self.clicks += 1

    @property
    def seconds(self) -> float:
        """Since the walk began."""
        return time.monotonic() - self.began

    def ended(self) -> str:
        """The line of the walk in a report, which is printed, too."""
        line = f"{self.who:<10} {self.commands:>2} commands  {self.clicks:>2} clicks  {self.seconds:5.0f} s"
        with suppress(ValueError):  # standard output may be closed
            print(line, flush=True)
        return line
