"""Options of a command that belong together, as the fields of one dataclass.

Typer reads a command's options from its signature, which would need a parameter for each.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["grouped_options"]


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """Makes an option of each field of the parameters that are dataclasses, in the place of the parameter."""
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in parameters if is_dataclass(one.annotation)}

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        command(**made, **given)

    options = [option for one in parameters for option in _options(one)]
    run.__annotations__ = {option.name: option.annotation for option in options}
    vars(run)["__signature__"] = inspect.Signature(options)
    return run


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    kind = parameter.annotation
    if not is_dataclass(kind):
        yield parameter
        return
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        yield parameter.replace(name=one.name, default=one.default, annotation=hints[one.name])
