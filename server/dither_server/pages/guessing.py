"""What one answer gives away, in natural frequencies: how often the best guess is right, with it and without."""

import math
from dataclasses import dataclass

__all__ = ["Guess", "best_guess"]

_MOST_PEOPLE = 1_000_000


@dataclass(frozen=True)
class Guess:
    """How many of `people` somebody guesses right, who must tell which of two values is theirs."""

    people: int
    without: int
    """Right if they do not answer."""
    right: int
    """At most right if they answer, and the answer is seen; rounded."""

    @property
    def wrong(self) -> int:
        """The others, of those who answer."""
        return self.people - self.right


def best_guess(epsilon: float) -> Guess:
    """How well somebody guesses which of two values is a person's, who finds both equally likely before.

    An answer is at most exp(ε) times as likely for one value as for the other. So, whatever the answer is, the value
    that it speaks for has at most the probability exp(ε) / (1 + exp(ε)), by Bayes' rule, and no guess is right with a
    higher one. A question with one cut attains it. Out of 100 people, or of the next power of ten that tells it from
    chance and from certainty.
    """
    right = 1 / (1 + math.exp(-epsilon))
    people = 100
    while people < _MOST_PEOPLE and round(people * right) in (people // 2, people):
        people *= 10
    return Guess(people, people // 2, min(round(people * right), people - 1))
