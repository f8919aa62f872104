"""The protocol without I/O: what the server says, read strictly, and what a device does next.

`respondent.py` and `institution.py` are generators that yield requests and take replies, so that one flow serves the
synchronous client, the asynchronous one and the load generator.

May import: `addresses`, `errors`, `forgetting`, `ledger`, `mechanisms`, `strict_json`.
"""
