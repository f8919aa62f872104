"""The mechanisms, each in one module: what a respondent is asked, and the exact noise that makes an answer private.

`query.py` is what they share: a partition of the line into cells, and a channel from a cell to an answer. `registry.py`
names every mechanism once; `epsilon.py` reads ε exactly, `sampling.py` draws in integers from the system's randomness,
and `price.py` holds a question and a value to the terms of their collection.

May import: `decimals`, `errors`, `forgetting`, `typed_numbers`.
"""
