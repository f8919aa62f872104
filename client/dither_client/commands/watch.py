"""Follow a collection's posterior as answers come in."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from dither_client.addresses import collection_path
from dither_client.analyst import read_posterior
from dither_client.commands._shared import CollectionId, ReaderToken, Url, print_json
from dither_client.commands._watch_view import Pace, View, line
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import unit_text
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_client.transport.watching import watch as watch_collection

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def watch(
    collection: CollectionId,
    url: Url,
    token: ReaderToken = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line on standard output.")] = False,
) -> None:
    """Follow a collection's posterior as answers come in, until it is closed or until Ctrl-C.

    In a terminal this is a picture that changes, elsewhere one line for each change: what 10%, half and 90% of the
    people have at most, and the average, in their unit, with 90% intervals. The bands show the median, the middle half
    and the middle 90% of what is known of each on a scale that never shrinks.

    For example: dither watch k3xw8c2nqa
    """
    with Api(url, token) as api, suppress(KeyboardInterrupt):
        updates = (each for each in watch_collection(api, collection) if each[0])  # once its state is known, too
        if as_json:
            for state, data in updates:
                print_json({"state": state, **data})
                sys.stdout.flush()
            return
        terms = api.get(collection_path(collection))
        posteriors = ((state, read_posterior(api, collection, data, terms)) for state, data in updates)
        unit, decimals = unit_text(terms), terms.get("decimals")
        console = Console(highlight=False, markup=False)
        if console.is_terminal:
            _show_live(console, View(parse_terms(terms).name, unit, decimals), posteriors)
        else:
            for state, posterior in posteriors:
                print(line(posterior, state, unit, decimals), flush=True)


def _show_live(console: Console, view: View, updates: Iterator[tuple[str, Posterior]]) -> None:
    pace = Pace()
    with Live(console=console, auto_refresh=False) as live:
        for state, posterior in updates:
            now = time.monotonic()
            pace.note(now, posterior.answers)
            live.update(view.picture(posterior, state, pace.per_minute(now)), refresh=True)
