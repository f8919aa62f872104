"""First walks of five strangers, as scripts: what each types and clicks, and how long it takes.

`python -m testing.walks` walks all of them and prints how many commands, clicks and seconds each took.
"""
