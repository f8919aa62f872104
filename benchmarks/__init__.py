"""Measurements of speed, memory and accuracy; what each shows is in README.md."""
