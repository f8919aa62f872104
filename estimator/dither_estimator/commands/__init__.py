"""The estimator's commands of `dither`, found through the entry points of the group `dither.commands`."""

__all__: list[str] = []
