"""Optimal designs: which questions reveal most about a goal, and a limit that no mechanism can beat.

Each mechanism has a module that proposes candidate questions (`mechanism` has the interface, `registry` the names).
`solver` and `convex` weight the candidates, by the steps of `interior_point`; `optimum` solves the standard member of a
family once, and `transfer` carries the solution to other members. `limit` bounds every ε-private mechanism for the
parameters of a family, `channel` for unknowns in many dimensions, both with the `columns` of all channels.

May import: `dither_client`, `families`, `mechanisms`.
"""
