"""The shapes of bodies and replies, for validation and OpenAPI; those of specifications are in `collections`."""
