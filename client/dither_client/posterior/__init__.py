"""The posterior as an analyst reads it: summaries, particles, pictures, and the sentences that go with them.

May import: `errors`, `extras`, `mechanisms`, `tables`, `typed_numbers`.
"""
