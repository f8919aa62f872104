"""What loads a server and what takes the load, for the measurements of a server."""
