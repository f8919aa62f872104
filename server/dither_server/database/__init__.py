"""The database: its engine, its schema, what is read from it, and how its health shows.

May import: `dither_estimator`, `dither_migrations`, `errors`, `tickets`.
"""
