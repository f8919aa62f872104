"""Collections: their specification as JSON, their state, their institutions, and the quality of their answers.

May import: `answers`, `clock`, `database`, `dither_client`, `dither_estimator`, `errors`, `http`, `replicas`,
`tickets`.
"""
