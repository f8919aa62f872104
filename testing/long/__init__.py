"""Long tests: what the test suite does for seconds, done for minutes or hours, with what came of it in tables.

    python -m testing.long

runs them all, one after the other; each is a module that can be run by itself, with numbers of its own.
"""
