"""Faults on demand: a database that freezes, a network that cuts, a disk that fills, and what must hold afterwards."""
