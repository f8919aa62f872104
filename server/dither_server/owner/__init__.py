"""The thread that learns: it runs the particle systems of this process's collections, and publishes their results.

May import: `answers`, `clock`, `collections`, `database`, `dither_client`, `dither_estimator`, `errors`, `metrics`,
`replicas`, `tickets`.
"""
