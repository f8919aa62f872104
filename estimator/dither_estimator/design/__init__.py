"""Optimal designs: which questions teach most about a goal, and what no mechanism can do better than.

A module for each mechanism proposes candidates, and says what else choosing its questions takes (`mechanism.py`);
`registry.py` names each once. `solver.py` and `convex.py` weigh candidates; `optimum.py` solves the standard member of
a family once, and `transfer.py` carries the solution to wherever the posterior is. `limit.py` bounds every ε-private
mechanism there is.

May import: `dither_client`, `families`, `mechanisms`.
"""
