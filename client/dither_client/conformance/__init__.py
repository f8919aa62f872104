"""A hostile server that tests any client program: `dither conformance --command CLIENT`.

It knows the protocol and nothing about this client, so that it judges this client like any other.

May import: nothing of Dither.
"""
