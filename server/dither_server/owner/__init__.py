"""The thread that learns: it holds the particle systems of this process's collections and publishes what they know.

May import: `answers`, `clock`, `collections`, `database`, `dither_client`, `dither_estimator`, `errors`, `metrics`,
`replicas`, `tickets`.
"""
