"""Checks of Python, packages, BLAS threads, disk, clocks, and the folder of the respondent's ledger."""

import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from statistics import median

from threadpoolctl import threadpool_info

from dither_client.ledger.data_folder import user_data_folder
from dither_server.doctor.findings import Finding, fine, mend

__all__ = [
    "examine_disk",
    "examine_ledger",
    "examine_packages",
    "examine_python",
    "examine_threads",
    "examine_time",
]

_MIN_PYTHON = (3, 11)
_MIN_FREE_BYTES = 2**30
_SLOW_SYNC_SECONDS = 0.05
_MEASURED_SYNCS = 9

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^]]*)\])?\s*(?:>=\s*([0-9.]+))?.*?(?:extra == ['\"](\w+)['\"])?$")


def examine_python() -> Iterator[Finding]:
    """Checks the version of Python."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _MIN_PYTHON:
        yield fine("Python", found)
    else:
        yield mend("Python", found, f"Dither needs Python {'.'.join(map(str, _MIN_PYTHON))} or newer: install it.")


def examine_packages() -> Iterator[Finding]:
    """Reports Dither's version, the extras that are installed, and packages that are too old."""
    extras, old = _requirements()
    yield fine("Dither", version("dither"))
    yield fine("extras", ", ".join(extras) or "none")
    for name, (found, least) in old.items():
        yield mend(f"package {name}", found, f"Dither needs {least} or newer: pip install --upgrade {name}.")


def _requirements() -> tuple[list[str], dict[str, tuple[str, str]]]:
    """The extras that are fully installed, and the packages that are too old, with their version and the one needed."""
    metadata = distribution("dither")
    missing: set[str] = set()
    within: dict[str, set[str]] = {}
    old = {}
    for requirement in metadata.requires or []:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        name, inner, least, extra = match.groups()
        if name == "dither":  # an extra that includes others
            within.setdefault(extra, set()).update(part.strip() for part in (inner or "").split(","))
            continue
        try:
            found = version(name)
        except PackageNotFoundError:
            missing.add(extra or "")
            continue
        if least and _numbers(found) < _numbers(least):
            old[name] = (found, least)
    every = [str(extra) for extra in metadata.metadata.get_all("Provides-Extra") or []]
    for _ in every:  # extras may include each other at most this deep
        missing |= {extra for extra, inner in within.items() if inner & missing}
    return sorted(set(every) - missing), old


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def examine_threads() -> Iterator[Finding]:
    """Reports the BLAS libraries and their threads; the server limits itself to one."""
    import scipy.linalg  # noqa: F401  # loads the BLAS library to report on

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    if not pools:
        yield mend(
            "BLAS threads", "no library whose threads can be set", "Set OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1."
        )
        return
    names = {f"{pool['internal_api']} {pool.get('version') or ''}".strip() for pool in pools}
    most = max(pool["num_threads"] for pool in pools)
    yield fine("BLAS threads", f"{', '.join(sorted(names))}: up to {most}, of which the server uses 1")


def examine_disk(folder: Path) -> Iterator[Finding]:
    """Checks the free space, write access, and the time to sync to the disk, with a temporary file without a name."""
    free = shutil.disk_usage(folder).free
    room = f"{free / 2**30:.1f} GiB free in {folder}"
    if free < _MIN_FREE_BYTES:
        yield mend("disk space", room, "A full disk makes the server refuse answers: free at least 1 GiB.")
    else:
        yield fine("disk space", room)
    if not os.access(folder, os.W_OK | os.X_OK):
        yield mend("disk", f"{folder} is not writable", f"Give the server's user write access to {folder}.")
        return
    try:
        took = _sync_time(folder)
    except OSError as error:
        yield mend("disk", f"writing in {folder} fails: {error.strerror}", "Repair the disk before answers come.")
        return
    found = f"median {took * 1000:.1f} ms to write 4 KiB and sync"
    if took > _SLOW_SYNC_SECONDS:
        yield mend("disk latency", found, "Every transaction waits for it: use a faster or less busy disk.")
    else:
        yield fine("disk latency", found)


def _sync_time(folder: Path) -> float:
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as stream:
        for _ in range(_MEASURED_SYNCS):
            began = time.perf_counter()
            stream.write(bytes(4096))
            os.fsync(stream.fileno())
            times.append(time.perf_counter() - began)
    return median(times)


def examine_ledger(file: Path | None) -> Iterator[Finding]:
    """Checks that this user can write the respondent's ledger and that nobody else can read it."""
    file = file or user_data_folder() / "ledger.sqlite"
    folder = file.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        yield mend("ledger", f"{folder} is not a folder", "Answer with --ledger FILE, in a folder that you can write.")
    elif not os.access(file if file.exists() else folder, os.W_OK):
        yield mend("ledger", f"{file} is not writable", f"Make {folder} writable, or answer with --ledger FILE.")
    elif not file.exists():
        yield fine("ledger", f"{file}: the first answer creates it")
    elif sys.platform != "win32" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield mend("ledger", f"other users can read {file}", f"chmod 600 {file}")
    else:
        yield fine("ledger", str(file))


def examine_time(clock: float, here: float) -> Finding:
    """Compares the database's clock (seconds) with this machine's."""
    skew = clock - here
    found = f"the database's is {abs(skew):.1f} s {'ahead' if skew > 0 else 'behind'}"
    if abs(skew) > 5:
        return mend("clocks", found, "Tickets expire by these clocks: synchronise both with NTP.")
    return fine("clocks", found)
