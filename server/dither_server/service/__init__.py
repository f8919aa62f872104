"""All parts of a running server, created together, started and stopped in order; and the poller of the database.

May import: `access`, `answers`, `clock`, `collections`, `database`, `errors`, `http`, `metrics`, `owner`, `replicas`,
`settings`, `tickets`.
"""
