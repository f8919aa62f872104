"""A small disk that can be filled: a tmpfs, which takes the right to mount."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Disk", "DiskMissing", "small_disk"]


class DiskMissing(RuntimeError):
    """No file system may be mounted here."""


class Disk:
    """A file system in `folder`, with a file that takes all the room when asked to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Takes every byte that is left."""
        with self._filler.open("ab", buffering=0) as filler:
            for size in (65_536, 4_096, 1):
                with contextlib.suppress(OSError):
                    while filler.write(bytes(size)) == size:
                        pass

    def free(self) -> None:
        """Gives it back."""
        self._filler.unlink()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Disk]:
    """A disk of that size, unmounted at the end. Raises `DiskMissing`."""
    with tempfile.TemporaryDirectory(prefix="dither_disk_") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777", "tmpfs", folder]
        try:
            done = subprocess.run(mount, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise DiskMissing("no program mount") from None
        if done.returncode:
            raise DiskMissing(f"a small disk cannot be mounted: {done.stderr.strip()}")
        try:
            yield Disk(Path(folder))
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
