"""Files that people bring and take away: count tables, columns of values, and what is wrong with them.

May import: `decimals`, `errors`, `extras`, `mechanisms`, `strict_json`.
"""
