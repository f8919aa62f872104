"""Collections: their specification as JSON, state, institutions, quality of answers, and how long they are kept.

`deletion.py` is what admins and the housekeeper call; `database/purge.py` removes a collection for good.

May import: `answers`, `audit`, `clock`, `database`, `dither_client`, `dither_estimator`, `errors`, `http`, `replicas`,
`tickets`.
"""
