"""All parts of a running server, created together, started and stopped in order; and the poller of the database.

May import: `access`, `answers`, `clock`, `collections`, `database`, `dither_client`, `errors`, `http`, `metrics`,
`owner`, `replicas`, `settings`, `tickets`.
"""
