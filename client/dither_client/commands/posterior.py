"""Show the current posterior of a collection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dither_client.addresses import collection_path
from dither_client.analyst import read_posterior
from dither_client.commands._shared import CollectionId, Json, ReaderToken, Url, console, did_you_mean, fail, print_json
from dither_client.errors import Problem
from dither_client.extras import require_extra
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import unit_text
from dither_client.protocol.messages import printable
from dither_client.transport.json_api import Api

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def posterior(
    collection: CollectionId,
    url: Url,
    token: ReaderToken = None,
    group: Annotated[
        str | None, typer.Option(help="Show one group of the collection alone.", show_default=False)
    ] = None,
    as_json: Json = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Save a picture of it; the file's ending chooses the format.", show_default=False),
    ] = None,
) -> None:
    """Show the current posterior: means, standard deviations and 90% intervals of parameters and of the population.

    For example: dither posterior k3xw8c2nqa --plot wages.png
    """
    if plot is not None:
        require_extra("plot", "matplotlib")
        from dither_client.posterior.plots import check_picture, save_picture

        check_picture(plot)
    with Api(url, token) as api:
        warnings = _warnings(api, collection)
        data = api.get(collection_path(collection, "posterior"))
        terms = {} if as_json and plot is None else api.get(collection_path(collection))
        current = read_posterior(api, collection, data, terms)
        if group is not None:
            current, data = _of_group(current, data, group)
        pages = _page_lines(api, terms)
        if plot is not None:
            save_picture(current.plot(printable(str(terms.get("name", ""))), unit_text(terms)), plot)
            console.print(f"The picture is in {plot}.")
    if as_json:
        print_json(data)
    else:
        text = current.text(unit_text(terms), terms.get("decimals"))
        typer.echo("\n".join([text, *pages]))
    for warning in warnings:
        console.print(f"Warning: {warning}", markup=False, highlight=False)


def _of_group(whole: Posterior, data: dict[str, Any], label: str) -> tuple[Posterior, dict[str, Any]]:
    """The posterior of one group, and its JSON."""
    if not whole.groups:
        fail("the collection has no groups: leave --group out", 2)
    if label not in whole.groups:
        fail(f"the group must be one of the collection's{did_you_mean(label, whole.groups)}", 2)
    return whole.group(label), data["groups"][label] | {"updated_at": whole.updated_at}


def _page_lines(api: Api, terms: Mapping[str, Any]) -> list[str]:
    """A line on each page for respondents whose check the caller may read."""
    lines = []
    for page in terms.get("pages") or ():
        try:
            check = str(page["check"] or "")
            found = read_posterior(api, check, api.get(collection_path(check, "posterior"))) if check else None
        except Problem:
            continue
        if found is not None and found.answers:
            *_, right = found.categories.values()
            lines.append(
                f"  page {printable(str(page['page']))}: {found.answers:,} sent its check; all three right: "
                f"{100 * right.q50:.1f}% (90%: {100 * right.q05:.1f} to {100 * right.q95:.1f}%)"
            )
    return lines


def _warnings(api: Api, collection: str) -> list[str]:
    """The warnings for analysts; empty for others, who may still read a public posterior."""
    try:
        found = api.get(collection_path(collection, "quality")).get("warnings")
    except Problem:
        return []
    return [str(warning) for warning in found] if isinstance(found, list) else []
