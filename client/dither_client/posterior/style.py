"""The look of every picture: colours, and axes without a frame. Needs the extra `plot`."""

from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["BLUE", "COLOURS", "GREY", "INK", "ORANGE", "footed", "plain", "styled", "titled"]

INK = "#1d2b3a"
BLUE = "#2b6cb0"
ORANGE = "#dd6b20"
GREY = "#8795a5"
COLOURS = (BLUE, ORANGE, "#2f855a", "#805ad5", "#b83280", "#4a5568")
"""The colours of lines, one for each."""
_RULE = "#e6ebf0"
_LETTERS_PER_INCH = 14
"""How many letters of a small font fit in an inch."""


def plain(text: str) -> str:
    """The text with dollar signs escaped, which would otherwise begin formulae."""
    return text.replace("$", r"\$")


def styled(axes: Axes) -> None:
    """Leaves only the sides of the frame that carry numbers, and draws light lines behind the data."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
    axes.tick_params(colors=INK)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.grid(axis="y", color=_RULE, linewidth=0.8)
    axes.set_axisbelow(True)


def titled(figure: Figure, title: str) -> None:
    """Writes the title at the upper left; dollar signs in it are shown as they are."""
    figure.suptitle(plain(title), fontsize=13, color=INK, x=0.012, ha="left", fontweight="bold")


def footed(figure: Figure, sentence: str) -> None:
    """Writes a sentence at the lower left, in as many lines as it needs."""
    lines = fill(sentence, int(figure.get_figwidth() * _LETTERS_PER_INCH))
    figure.supxlabel(plain(lines), fontsize="small", color=INK, x=0.012, ha="left")
