"""A hostile server, and what it finds out about any client program: `dither conformance --command CLIENT`."""
