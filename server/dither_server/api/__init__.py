"""The HTTP interface `/v1`: one module for each resource, without SQL and without mathematics.

Who calls is found out in `callers.py`; the shapes of bodies and replies are in `messages`.

May import: `access`, `answers`, `audit`, `clock`, `collections`, `dither_client`, `errors`, `http`, `metrics`,
`owner`, `service`, `tickets`.
"""
