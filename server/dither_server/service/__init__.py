"""All parts of a running server, made together, started and stopped in order; and the poller that hears of others.

May import: `access`, `answers`, `clock`, `collections`, `database`, `errors`, `http`, `metrics`, `owner`, `replicas`,
`settings`, `tickets`.
"""
