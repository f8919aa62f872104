"""Reading and writing files: count tables, columns of values, and sentences about what is wrong with a file.

May import: `decimals`, `errors`, `extras`, `mechanisms`, `strict_json`.
"""
