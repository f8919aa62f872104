"""The commands of `dither collection` that delete, restore and remove, and verify what a server says of it."""

from typing import Annotated

import typer

from dither_client.addresses import collection_path
from dither_client.admin import Admin
from dither_client.commands._shared import (
    AdminToken,
    CollectionId,
    Json,
    Url,
    console,
    fail,
    print_json,
    print_table,
    read_object,
)
from dither_client.protocol.deletion import check_receipt
from dither_client.transport.json_api import Api

__all__ = ["add_commands"]


def add_commands(app: typer.Typer) -> None:
    """Adds the commands to `dither collection`."""
    for command in (delete, restore, deleted, receipt):
        app.command()(command)


def delete(
    collection: CollectionId,
    url: Url,
    for_good: Annotated[
        bool, typer.Option("--for-good", help="Remove it at once with all its answers, and print the signed receipt.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    token: AdminToken = None,
    as_json: Json = False,
) -> None:
    """Delete a collection. It can be restored for some weeks, and is then removed for good.

    For example: dither collection delete k3xw8c2nqa
    """
    with Admin(url, token) as admin:
        if not yes:
            _ask(collection, url, token, admin, for_good)
        found = admin.delete_collection(collection, for_good)
    if as_json or for_good:
        print_json(found)
        return
    console.print(f"{collection} is deleted; dither collection restore {collection} works until", end=" ")
    console.print(f"{found.get('restorable_until')}.")


def restore(collection: CollectionId, url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """Restore a deleted collection, with everything in it.

    For example: dither collection restore k3xw8c2nqa
    """
    with Admin(url, token) as admin:
        terms = admin.restore_collection(collection)
    if as_json:
        print_json(terms)
    else:
        console.print(f"{collection} is there again, and is {terms.get('state')}.")


def deleted(url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """List the collections that can be restored, and those that were removed for good.

    For example: dither collection deleted
    """
    with Admin(url, token) as admin:
        data = admin.deletions()
    if as_json:
        print_json(data)
        return
    rows = [(one.get("collection"), one.get("name"), one.get("restorable_until")) for one in data.get("deleted", [])]
    rows += [(one.get("collection"), "", f"removed {one.get('removed_at')}") for one in data.get("removed", [])]
    print_table(("ID", "NAME", "RESTORABLE UNTIL"), rows)


def receipt(
    url: Url,
    collection: Annotated[
        str | None, typer.Argument(metavar="ID", help="A collection that was removed for good.", show_default=False)
    ] = None,
    verify: Annotated[
        str | None, typer.Option("--verify", metavar="FILE|-", help="A receipt to verify; - reads standard input.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="The server's public key, if you have kept it; by default the server is asked."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", envvar="DITHER_TOKEN", help="An admin's token; none is needed with --verify.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the receipt of a collection that was removed for good, or verify one.

    For example: dither collection receipt k3xw8c2nqa > receipt.json

    or, to verify one: dither collection receipt --verify receipt.json
    """
    if (verify is None) == (collection is None):
        fail("say which collection's receipt to print, or which to verify with --verify FILE", 2)
    with Admin(url, token) as admin:
        if verify is None:
            found = [one for one in admin.deletions().get("removed", []) if one.get("collection") == collection]
            if not found:
                fail("the server has no receipt for this collection: it is not removed for good", 2)
            print_json(found[0])
            return
        given = read_object(verify)
        check_receipt(given, key or admin.receipt_key())
    if as_json:
        print_json({"collection": given.get("collection"), "genuine": True})
    else:
        console.print(
            f"The server signed this receipt: {given.get('collection')} was removed {given.get('removed_at')}."
        )


def _ask(collection: str, url: str, token: str | None, admin: Admin, for_good: bool) -> None:
    """Says what would go, and asks. Ends the command unless the answer is yes."""
    known = {one.get("collection"): one for one in admin.deletions().get("deleted", [])}
    if collection in known:
        what = f"{known[collection].get('name')!r}, which is deleted already,"
    else:
        with Api(url, token) as api:
            terms = api.get(collection_path(collection))
        what = f"{terms.get('name')!r} with its {terms.get('answers') or 0:,} answers"
    how = "Remove it for good, so that nobody can restore it?" if for_good else "Delete it?"
    if not typer.confirm(f"This is about {what}. {how}", err=True):
        fail("nothing was deleted", 1)
