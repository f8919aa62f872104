"""The group of all commands: lists them without loading them, and turns every error into a sentence and a status."""

import gc
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dither_client.commands._help import readable
from dither_client.commands._listed import extra_of, listed_commands, panel_of, summary_of
from dither_client.commands._shared import console, did_you_mean, fail, status_of, working
from dither_client.errors import DitherError, Problem
from dither_client.extras import MissingExtra, require_extra, require_whole_extra
from dither_client.tables.file_errors import file_trouble
from dither_client.transport.waiting import told_of_waiting

__all__ = ["run_group"]

_NO_TOKEN = "this needs a valid token: give it with --token, or better in DITHER_TOKEN"


class _Stub(TyperCommand):
    """A command that is listed in the help but not loaded yet."""

    def __init__(self, entry_point: EntryPoint) -> None:
        super().__init__(entry_point.name, rich_help_panel=panel_of(entry_point.name))
        self._entry_point = entry_point

    def summarise(self) -> None:
        """Looks up its line in the list of commands, for which its module is read."""
        self.help = summary_of(self._entry_point)

    def load(self) -> Any:
        """Loads the command. Raises `MissingExtra`, which names all that the command needs."""
        gc.disable()  # nothing that a module makes is garbage, and to look for some is a fifth of the time
        try:
            return readable(typer.main.get_command(self._entry_point.load()))
        except ImportError as error:
            extra = extra_of(self._entry_point)
            require_whole_extra(extra)
            if isinstance(error, ModuleNotFoundError) and error.name:
                require_extra(extra, error.name.partition(".")[0])  # which seems to be installed
            raise
        finally:
            gc.enable()


class _Group(TyperGroup):
    """The group of every command, which loads only the one that is run.

    Its usage errors never repeat what was typed, since a respondent may have typed the value in place of the command.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for entry_point in listed_commands().values():
            self.add_command(_Stub(entry_point))

    def list_commands(self, ctx: Any) -> list[str]:
        for command in self.commands.values():  # only here, since to read every module takes longer than most commands
            if isinstance(command, _Stub):
                command.summarise()
        return super().list_commands(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = args[:1]  # kept because the parser empties `args`
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException:
            if not typed:
                raise  # without arguments, the message is the help
            known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
            hint = did_you_mean(typed[0], known) or "; the options of a command follow its name, see dither --help"
            fail(f"no such option{hint}", 2)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        command = self.commands.get(args[0])
        if ctx.resilient_parsing:  # a shell is completing the line, so errors in it are not reported
            return self._completed(command, args)
        if not isinstance(command, _Stub):
            fail(f"no such command{did_you_mean(args[0], self.commands) or '; see dither --help'}", 2)
        with working(f"Starting dither {args[0]}"):  # whose statistics take a second or two to import
            return args[0], command.load(), args[1:]

    def _completed(self, command: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        with suppress(MissingExtra):
            if isinstance(command, _Stub):
                return args[0], command.load(), args[1:]
        return None, None, args


def run_group(arguments: Sequence[str]) -> int:
    """Runs the command line and returns its exit status."""
    try:
        with told_of_waiting(_say_what_is_waited_for):
            status = readable(typer.main.get_command(_app)).main(
                list(arguments), prog_name="dither", standalone_mode=False
            )
        return status if isinstance(status, int) else 0
    except typer.TyperException as error:
        return _say(_usage_text(error), getattr(error, "exit_code", 2))
    except typer.Abort:
        return _say("stopped", 1)
    except OSError as error:
        return _say(file_trouble(error), status_of(error))
    except Problem as error:
        return _say(_NO_TOKEN if error.name == "unauthorized" else str(error), status_of(error))
    except (DitherError, MissingExtra, ValueError) as error:
        return _say(str(error), status_of(error))
    except MemoryError:
        return _say("this machine has too little memory for that: ask for less of it at once", 1)


_app = typer.Typer(cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dither {version('dither')}")
        raise typer.Exit


@_app.callback()
def _dither(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn the distribution of a sensitive number in a population without anyone giving theirs away.

    For example: dither serve, and dither COMMAND --help for what a command does
    """


def _say_what_is_waited_for(server: str, seconds: float) -> None:
    console.print(
        f"dither: the server {server} has not answered yet: trying for up to {max(seconds, 1):.0f} seconds. Is it "
        "running, and is that its address (--url, DITHER_URL)?"
    )


def _say(message: str, status: int) -> int:
    try:
        if message:
            fail(message, status)
    except typer.Exit:
        pass
    return status


def _usage_text(error: typer.TyperException) -> str:
    """A usage error as a sentence that says where to find help; empty if the help itself was just printed."""
    misspelt, meant = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if misspelt and meant:
        return f"No such option: {misspelt}. Did you mean {meant[0]}?"
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    if message.endswith("?"):
        return message
    context = getattr(error, "ctx", None)
    return f"{message}; see {context.command_path} --help" if message and context else message
