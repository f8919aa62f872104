"""The database: its engine, its schema, the reads from it, and checks of its health.

May import: `clock`, `dither_estimator`, `dither_migrations`, `errors`, `tickets`.
"""
