"""The protocol without I/O: strict parsing of the server's messages, and the flows that decide what a client does next.

The flows in `respondent.py` and `institution.py` are generators that yield requests and take replies, so that the
synchronous client, the asynchronous client and the load generator share one implementation.

May import: `addresses`, `errors`, `extras`, `forgetting`, `ledger`, `mechanisms`, `strict_json`, `typed_numbers`.
"""
