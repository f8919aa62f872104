"""The HTTP layer below the routes: bounded bodies, problem documents, connections, and the busiest calls.

May import: `database`, `dither_client`, `dither_estimator`, `errors`, `logs`, `metrics`.
"""
