"""Demonstrate Dither in about a minute: 28,155 real wages, asked privately over HTTP."""

import typer

from dither_server.simulate.demo import demo

__all__ = ["app"]

EXTRA = "demo"

app = typer.Typer(add_completion=False)
app.command()(demo)
