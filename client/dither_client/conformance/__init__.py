"""A hostile server, and what it finds out about any client program: `dither conformance --command CLIENT`.

It knows the protocol and nothing of this client, so that it can judge it like any other.

May import: nothing of Dither.
"""
