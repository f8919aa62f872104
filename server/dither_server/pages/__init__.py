"""The web pages: the dashboard, administration, and the page on which people answer.

May import: `access`, `answers`, `api`, `clock`, `collections`, `database`, `dither_client`, `dither_estimator`,
`errors`, `http`, `owner`, `service`.
"""
