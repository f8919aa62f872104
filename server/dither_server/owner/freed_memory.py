"""Memory that was freed is given back to the machine: the C library keeps what lies between pieces that are in use."""

import ctypes
from contextlib import suppress

__all__ = ["give_back"]


def give_back() -> None:
    """Gives back what glibc keeps, which takes some milliseconds; does nothing with another C library."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
