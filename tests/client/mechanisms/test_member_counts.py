"""An institution's counts: ε-private for each member by enumeration, drawn as the law says, charged before drawn."""

import math
import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import pytest
from scipy.stats import chisquare

from dither_client import (
    InvalidAddress,
    InvalidQuery,
    InvalidValue,
    Laplace,
    LedgerError,
    MemberCounts,
    MemoryLedger,
    OverCap,
)
from dither_client.protocol.flow import ConnectionFailed, Finished, Response, Retry, Send, Sleep, advance
from dither_client.protocol.institution import share_flow

TERMS = (
    b'{"id":"c","name":"n","family":"normal","transform":"identity","epsilon":1,"mechanism":"laplace","state":"open",'
    b'"answers":0,"admission":"public","visibility":"private","member_cuts":[0.5,1.5]}'
)


def channel(count: int, size: int, epsilon: float) -> list[float]:
    """`P(S = s)` of clipped two-sided geometric noise around a count."""
    alpha = math.exp(-epsilon)
    inner = [(1 - alpha) / (1 + alpha) * alpha ** abs(s - count) for s in range(1, size)]
    return [alpha**count / (1 + alpha), *inner, alpha ** (size - count) / (1 + alpha)]


def law(values: tuple[float, ...], question: MemberCounts, everyone: bool = False) -> dict[tuple[int, ...], float]:
    """The distribution of the counts over all dealings; the broken variant `everyone` counts all at every cut."""
    found: defaultdict[tuple[int, ...], float] = defaultdict(float)
    dealings = list(permutations(values))
    first = question.groups[0]
    for dealt in dealings:
        groups = (dealt, dealt) if everyone else (dealt[:first], dealt[first:])
        rows = [
            channel(sum(x > cut for x in group), len(group), float(question.epsilon))
            for cut, group in zip(question.cuts, groups, strict=True)
        ]
        for counts in product(*(range(len(row)) for row in rows)):
            found[counts] += math.prod(row[s] for row, s in zip(rows, counts, strict=True)) / len(dealings)
    return found


def largest_ratio(question: MemberCounts, everyone: bool = False) -> float:
    """Over all data sets of three members and all changes of one of them."""
    levels = (0.0, 1.0, 2.0)
    laws = {values: law(values, question, everyone) for values in product(levels, repeat=3)}
    return max(
        laws[values][s] / laws[other][s]
        for values in laws
        for i, level in product(range(3), levels)
        for other in [(*values[:i], level, *values[i + 1 :])]
        for s in laws[values]
    )


@pytest.mark.parametrize("epsilon", ["0.3", "2"])
def test_no_member_changes_a_probability_by_more_than_its_epsilon(epsilon: str) -> None:
    question = MemberCounts([0.5, 1.5], 3, epsilon)
    assert largest_ratio(question) <= math.exp(float(epsilon)) * (1 + 1e-12)
    assert largest_ratio(question, everyone=True) > math.exp(1.9 * float(epsilon))


def test_counts_follow_their_law() -> None:
    """20,000 draws, seeded: chi-square at 1e-6; noise of another ε fails it."""
    question, values = MemberCounts([0.5, 1.5], 3, 1), (0.0, 1.0, 2.0)
    randbelow = random.Random(1).randrange
    drawn = Counter(question.randomise(question.count(values, randbelow), randbelow) for _ in range(20_000))

    def p_value(expected: dict[tuple[int, ...], float]) -> float:
        return float(chisquare([drawn[s] for s in expected], [20_000 * p for p in expected.values()]).pvalue)

    assert p_value(law(values, question)) > 1e-6
    assert p_value(law(values, MemberCounts([0.5, 1.5], 3, "1.2"))) < 1e-6


def test_groups_are_dealt_at_random_and_as_equal_as_can_be() -> None:
    question = MemberCounts([10, 20, 30], 11, 1)
    assert question.groups == (4, 4, 3)
    values = [float(x) for x in range(11)]
    first = {question.count(values, random.Random(seed).randrange)[0] for seed in range(50)}
    assert first == {0}
    low = MemberCounts([4.5, 4.6], 10, 1)
    assert len({low.count(values[:10], random.Random(seed).randrange) for seed in range(50)}) > 3
    assert sum(low.count(values[:10], random.Random(1).randrange)) == 5


def test_a_value_on_a_cut_is_not_above_it_and_logarithms_take_what_is_not_positive() -> None:
    assert MemberCounts([2.0], 3, 1).count([1.0, 2.0, 3.0]) == (1,)
    assert MemberCounts([math.log(2.0)], 3, 1, "log").count([-1.0, 0.0, 3.0]) == (1,)


@pytest.mark.parametrize(
    ("cuts", "size"),
    [([], 5), ([1, 1], 5), ([2, 1], 5), ([1, 2], 1), ([1], 1_000_001), ([1], True), (["a"], 5), ("1", 5)],
)
def test_questions_that_cannot_be(cuts: list[float], size: int) -> None:
    with pytest.raises(InvalidQuery):
        MemberCounts(cuts, size, 1)


def test_values_are_checked_before_anybody_hears_of_them_and_never_repeated() -> None:
    for wrong in ([1.0, math.nan], [1.0, "7341"], [True, 1.0]):
        flow = share_flow("http://127.0.0.1", "c", wrong, MemoryLedger(), "t", Retry())  # type: ignore[arg-type]
        with pytest.raises(InvalidValue) as refused:
            advance(flow, None)
        assert "7341" not in str(refused.value)
    with pytest.raises(InvalidValue, match="each of the 3 members"):
        MemberCounts([1], 3, 1).count([1.0])


def replies(flow: object, ledger: MemoryLedger) -> list[Send]:
    """Plays terms, a lost reply, and a receipt; ε is spent before anything is drawn."""
    sent: list[Send] = []
    reply: Response | ConnectionFailed | None = None
    while True:
        step = advance(flow, reply)  # type: ignore[arg-type, var-annotated]
        if isinstance(step, Finished):
            return sent
        reply = None
        if isinstance(step, Send):
            sent.append(step)
            if step.method == "GET":
                assert ledger.spent() == 0
                reply = Response(200, {}, TERMS)
            else:
                assert ledger.spent() == 1
                reply = ConnectionFailed("lost") if len(sent) == 2 else Response(201, {}, b'{"receipt":"r"}')
        else:
            assert isinstance(step, Sleep)


def test_what_is_sent_are_counts_alone_and_the_same_bytes_again() -> None:
    ledger = MemoryLedger()
    values = [7341.25, -7341.25, 7341.25]
    sent = replies(share_flow("http://127.0.0.1", "c", values, ledger, "tok", Retry()), ledger)
    assert [send.method for send in sent] == ["GET", "POST", "POST"]
    assert sent[1] == sent[2]
    assert sent[1].headers["authorization"] == "Bearer tok"
    assert "authorization" not in sent[0].headers
    assert "7341" not in repr(sent)
    assert "7341" not in repr(ledger.find("http://127.0.0.1", "c"))


def test_what_costs_too_much_is_not_drawn() -> None:
    ledger = MemoryLedger()
    for refusing in (
        share_flow("http://127.0.0.1", "c", [1.0, 2.0], ledger, "t", Retry(), max_epsilon=Fraction(1, 2)),
        share_flow("http://127.0.0.1", "c", [1.0, 2.0], MemoryLedger(max_epsilon="0.5"), "t", Retry()),
    ):
        advance(refusing, None)
        with pytest.raises(OverCap):
            advance(refusing, Response(200, {}, TERMS))
    assert ledger.spent() == 0
    ledger.charge("http://127.0.0.1", "c", "ticket", MemberCounts([1], 2, 1))
    with pytest.raises(InvalidValue):
        advance(share_flow("http://127.0.0.1", "c", [1.0], ledger, "t", Retry()), None)


def test_without_a_token_nothing_is_asked_or_charged() -> None:
    ledger = MemoryLedger()
    with pytest.raises(InvalidAddress, match="token"):
        advance(share_flow("http://127.0.0.1", "c", [1.0], ledger, None, Retry()), None)
    assert ledger.spent() == 0


def test_a_ledger_with_a_persons_answer_shares_nothing() -> None:
    ledger = MemoryLedger()
    ledger.charge("http://127.0.0.1", "c", "ticket", Laplace(0, 1, 1, 1))
    with pytest.raises(LedgerError, match="another ledger"):
        advance(share_flow("http://127.0.0.1", "c", [1.0], ledger, "t", Retry()), None)
