"""`make test-long`: every long test, one after the other, each in a process of its own; the first to fail ends it."""

import subprocess
import sys

LONG_TESTS = ("sequences", "faults", "fuzz", "audit")

for name in LONG_TESTS:
    print(f"python -m testing.long.{name}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", f"testing.long.{name}"], check=True)
