"""The HTTP interface `/v1`: one module for each resource, without SQL or mathematics.

`callers.py` identifies the caller; `messages` has the shapes of bodies and replies.

May import: `access`, `answers`, `clock`, `collections`, `dither_client`, `errors`, `http`, `metrics`,
`owner`, `service`, `tickets`.
"""
