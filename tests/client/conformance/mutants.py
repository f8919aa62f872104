"""Mistakes made on purpose in a sound client, and what must catch each."""

from dataclasses import dataclass

MODULES = ("third_reading", "third_terms", "third_sampling", "third_client", "third_program")
"""What the sound client is made of; each may import those before it."""


@dataclass(frozen=True)
class Mutant:
    """`changes` are of the text; each of `caught` (vectors, or scenarios of the hostile server) must find it."""

    changes: tuple[tuple[str, str], ...]
    caught: tuple[str, ...]


CHARGE = 'entry = ledger.charge(collection, read(reply)["ticket"], query, turn)'
UNSTORED = 'entry = {"ticket": read(reply)["ticket"], "query": query, "epsilon": query["epsilon"]}'
STORE = 'drawn = ledger.put(collection, f"drawn{turn}", drawn)'
KEY = 'drawn["retry_key"] = secrets.token_urlsafe(24)'
MUTANTS = {
    "charges after sending": Mutant(
        (
            (CHARGE, UNSTORED),
            (
                "    if sent.status in (200, 201):\n",
                "    if sent.status in (200, 201):\n        "
                'ledger.charge(collection, entry["ticket"], entry["query"])\n',
            ),
        ),
        ("flows", "killed-at-answer", "charged-first"),
    ),
    "computes edges in another order": Mutant(
        (("(high - low) * ((2 * k - 1) / (2 * levels))", "(high - low) * (2 * k - 1) / (2 * levels)"),),
        ("cells",),
    ),
    "adds steps up for edges": Mutant(
        (("low + (high - low) * ((2 * k - 1) / (2 * levels))", "low + (high - low) / (2 * levels) * (2 * k - 1)"),),
        ("cells",),
    ),
    "draws with a modulus": Mutant(
        (("            if drawn < n:\n", "            drawn %= n\n            if True:\n"),), ("draws",)
    ),
    "drops the other end of the bits": Mutant(((">> (8 * size - bits)", "% (1 << bits)"),), ("draws",)),
    "reads a name twice": Mutant((("len({name for name, _ in pairs}) < len(pairs)", "False"),), ("json", "flows")),
    "reads half of a surrogate pair": Mutant((("            value.encode()\n", "            pass\n"),), ("json",)),
    "reads 33 levels": Mutant((("if depth == 32:", "if depth == 33:"),), ("json",)),
    "reads numbers of any length": Mutant((("if len(text) <= 64 else None", "if True else None"),), ("json",)),
    "reads 1_0 as 10": Mutant(
        (("_NUMBER.fullmatch(value)", '_NUMBER.fullmatch(value.replace("_", "").strip())'),), ("charges",)
    ),
    "never compares ε with the terms": Mutant(
        (('        raise Refused("OverCap")\n    require(chosen is None', "        pass\n    require(chosen is None"),),
        ("prices", "flows", "price: an ε above the terms'"),
    ),
    "allows more in all by default": Mutant((('"10", per_server or', '"11", per_server or'),), ("charges",)),
    "allows more on a server by default": Mutant((('per_server or "5"', "per_server"),), ("charges",)),
    "allows less for an answer by default": Mutant((('per_answer or "2"', '"1"'),), ("charges",)),
    "keeps the other defaults beside a total": Mutant(
        (("if total is None:", "if True:"), ('"10", per_server', 'total or "10", per_server')), ("charges",)
    ),
    "takes any mechanism": Mutant(
        (("        asked == own\n", "        True\n"),),
        ("prices", "flows", "price: another mechanism"),
    ),
    "has no cap": Mutant((("if any(over):", "if False:"),), ("flows", "caps", "charged-first")),
    "sends before it has stored": Mutant(((STORE, "pass"),), ("flows", "killed-at-answer")),
    "counts a tie upwards": Mutant((("sum(edge < x for", "sum(edge <= x for"),), ("cells",)),
    "draws with ε not in lowest terms": Mutant(
        (("p, q = epsilon.numerator, epsilon.denominator", 'p, q = query["epsilon"], 1_000_000'),),
        ("samples", "draws", "flows"),
    ),
    "throws no coin for the own cell": Mutant(
        (("if bernoulli_exp(p, q, uniform) or own:", "if own or bernoulli_exp(p, q, uniform):"),),
        ("samples", "draws"),
    ),
    "counts zero twice": Mutant((("if not (negative and m == 0):", "if True:"),), ("samples", "draws")),
    "answers its own category instead of its group": Mutant(
        (
            (
                'y = uniform(len(query["groups"]))\n            own = k in query["groups"][y]',
                "y = uniform(last + 1)\n            own = y == k",
            ),
        ),
        ("samples", "draws", "flows", "categories"),
    ),
    "numbers the groups in another order": Mutant(
        (('own = k in query["groups"][y]', 'own = k in sorted(query["groups"], key=len)[y]'),),
        ("samples", "draws", "categories"),
    ),
    "takes a question about fewer categories": Mutant(
        (('require(not terms.get("categories") or edges + 1 == len(terms["categories"]))', "pass"),),
        ("prices", "other-categories"),
    ),
    "takes a number for a category": Mutant(
        (("    if categories:\n        raise", "    if categories and isinstance(value, str):\n        raise"),),
        ("flows", "unknown-categories"),
    ),
    "takes a question that is not private": Mutant(
        ((", len({_coverage(sets, weights, k) for k in range(cells)}) == 1", ""),),
        ("refusals", "components: a matrix whose ratio exceeds e^ε"),
    ),
    "takes a gaussian question that costs more than it says": Mutant(
        (('query["epsilon"] >= least_epsilon(query["levels"], query["rho"])', "True"),), ("refusals",)
    ),
    "draws again when a ticket has expired": Mutant(
        (('FINAL = ("ticket-expired", ', "FINAL = ("),), ("flows", "final-ticket-expired")
    ),
    "answers twice": Mutant(
        (('(("receipt", "AlreadyAnswered"), ("expired", "AnswerExpired"))', '(("expired", "AnswerExpired"),)'),),
        ("flows", "honest"),
    ),
    "asks for another ticket after a crash": Mutant(
        (
            (
                "    if entry is None:\n        terms, said =",
                '    if ledger.get(collection, "receipt") is None:\n        terms, said =',
            ),
            (
                "    if entry is None:\n        asked:",
                '    if ledger.get(collection, "receipt") is None:\n        asked:',
            ),
        ),
        ("flows", "killed-at-answer"),
    ),
    "asks before it has read the terms": Mutant(
        (
            (
                '        terms, said = ledger.get(collection, "terms"), {}\n',
                '        again(exchange, "POST", f"{path}/tickets", b"{}", first)\n'
                '        terms, said = ledger.get(collection, "terms"), {}\n',
            ),
        ),
        ("flows", "honest"),
    ),
    "draws a new retry_key for each request": Mutant(
        (('key = ledger.put(collection, "retry_key", secrets.token_urlsafe(24))', "key = secrets.token_urlsafe(24)"),),
        ("killed-with-invitation",),
    ),
    "sends its answer without a retry_key": Mutant(((KEY, "pass"),), ("flows", "honest")),
    "draws a new retry_key whenever it sends its answer": Mutant(
        ((KEY, "pass"), ("**drawn}).encode()", '**drawn, "retry_key": secrets.token_urlsafe(24)}).encode()')),
        ("flows", "killed-at-answer", "restored"),
    ),
    "makes the retry_key from the ticket": Mutant(
        ((KEY, 'drawn["retry_key"] = entry["ticket"].encode().hex().zfill(32)'),), ("flows", "own-retry-key")
    ),
    "has one retry_key for every answer": Mutant(
        ((KEY, 'drawn["retry_key"] = ledger.put("all", "retry_key", secrets.token_urlsafe(24))'),),
        ("trackers",),
    ),
    "sends its answer with the retry_key of its invitation": Mutant(
        ((KEY, 'drawn["retry_key"] = ledger.get(collection, "retry_key") or secrets.token_urlsafe(24)'),),
        ("killed-with-invitation",),
    ),
    "does not wait for Retry-After": Mutant((("asked), 30)", "0), 30)"),), ("retry-after",)),
    "makes two entries at once": Mutant(
        (
            ("fcntl.flock(file, fcntl.LOCK_EX)", "pass"),
            ("os.link(path, ", "os.replace(path, "),
            ("            os.unlink(path)", "            pass"),
            (STORE, 'ledger.put(collection, "drawn", drawn)'),
            (
                CHARGE,
                f"{UNSTORED}; ledger.charge(collection, entry['ticket'], query)",
            ),
        ),
        ("two-at-once",),
    ),
    "sends the value": Mutant(
        (
            ('headers = {"content-type"', 'headers = {"x-value": str(VALUE_), "content-type"'),
            ("value = given_value(", 'value = globals()["VALUE_"] = given_value('),
        ),
        ("honest",),
    ),
    "gives itself a name": Mutant(
        (('headers = {"content-type"', 'headers = {"x-device": "7", "content-type"'),), ("honest",)
    ),
    "follows redirects": Mutant(
        (
            (
                "            return Reply(response.status, content,",
                '            if response.getheader("location"):\n'
                '                return exchange(method, response.getheader("location") or "", body)\n'
                "            return Reply(response.status, content,",
            ),
        ),
        ("redirects",),
    ),
    "has no bounds": Mutant((("high is not None and value > high", "False"),), ("prices", "out-of-bounds")),
    "asks before it looks at the value": Mutant(
        (("        number(terms, value)\n", ""),), ("bad-values", "out-of-bounds")
    ),
    "says yes of different sides": Mutant(
        (("return 1 if cells[0] == cells[1] else 0", "return 0 if cells[0] == cells[1] else 1"),),
        ("cells", "components"),
    ),
    "numbers the odd one out from 0": Mutant((("enumerate(cells, 1)", "enumerate(cells)"),), ("cells", "components")),
    "numbers the cells of the plane by the other number first": Mutant(
        (
            (
                'cells[0] * (len(query["cuts"][1]) + 1) + cells[1]',
                'cells[1] * (len(query["cuts"][0]) + 1) + cells[0]',
            ),
        ),
        ("cells", "components"),
    ),
    "answers about another number": Mutant(
        (('value[query["component"]])', 'value[query["component"] - 1])'),), ("cells", "flows", "components")
    ),
    "takes a channel that costs more than its question": Mutant(
        ((', query["epsilon"] == channel["epsilon"])', ")"),),
        ("refusals", "components: two numbers at another ε than their channel's"),
    ),
    "takes a channel for other states": Mutant(
        (('require(len(channel["edges"]) + 1 == count, ', "require("),),
        ("refusals", "components: more states than its channel has"),
    ),
    "takes a question about several numbers for one": Mutant(
        (('require(bool(components) == ("about" in query))', 'components = components if "about" in query else []'),),
        ("prices", "components: one value of several"),
    ),
    "takes numbers on another scale": Mutant(
        (('require(query["transforms"] == transforms)', "pass"),),
        ("prices", "components: two numbers on other scales"),
    ),
    "takes other components than it was told": Mutant((("if before != after:", "if False:"),), ("prices",)),
    "has bounds for the first number only": Mutant(
        (
            (
                'return [one_number(each, value[each["name"]]) for each in components]',
                'return [one_number(components[0] if each is components[0] else {}, value[each["name"]]) '
                "for each in components]",
            ),
        ),
        ("prices", "flows", "component-values"),
    ),
    "takes a component that nobody named": Mutant(
        (('require(query["about"][-1] < len(components))', "components = components + components[:1] * 8"),),
        ("prices", "components: a component that the terms do not name"),
    ),
    "takes one component twice": Mutant(
        (
            (
                "require(all(a < b for a, b in pairwise(about)), all(each",
                "require(all(a <= b for a, b in pairwise(about)), all(each",
            ),
        ),
        ("refusals", "components: the same component twice"),
    ),
    "forgets which components it was told": Mutant(
        (
            ("if terms is None or (group is not None", "if True or (group is not None"),
            ("                check_raised(terms, said)\n", "                pass\n"),
            ('terms = ledger.put(collection, "terms", kept)', "terms = kept"),
            ('number(ledger.get(collection, "terms") or {}, value)', "number(terms, value)"),
        ),
        ("changed-components",),
    ),
    "sends the other number": Mutant(
        (
            ('headers = {"content-type"', 'headers = {"x-value": str(VALUE_), "content-type"'),
            ("value = given_value(", 'value = globals()["VALUE_"] = given_value('),
        ),
        ("components",),
    ),
    "reads a megabyte and more": Mutant(
        (("response.read((1 << 20) + 1)", "response.read()"), ("if len(content) > 1 << 20:", "if False:")),
        ("json: ticket with two megabytes",),
    ),
    "charges one turn of a panel on joining": Mutant(
        (
            ("self._check_caps(cost, len(periods) * cost)", "self._check_caps(cost, cost)"),
            ('"epsilon": len(periods) * cost', '"epsilon": cost'),
        ),
        ("flows", "panel"),
    ),
    "charges a turn again when it answers": Mutant(
        (('for name in ("entry", "turns")', 'for name in ("entry*", "turns")'),), ("flows", "panel")
    ),
    "answers whether it is its turn or not": Mutant(
        (('if period not in turns["periods"]:', "if False:"),), ("flows", "panel-turns")
    ),
    "charges a panel in its turns only": Mutant(
        (
            (
                'turns = ledger.join(collection, draw_turns(terms["panel"], period, draw), micro(terms["epsilon"]))',
                'turns = {"periods": draw_turns(terms["panel"], period, draw)}\n'
                '        if period in turns["periods"]:\n'
                '            ledger.join(collection, turns["periods"], micro(terms["epsilon"]))',
            ),
        ),
        ("flows", "panel-turns"),
    ),
    "joins a panel that is paused": Mutant((('if said["state"] != "open":', "if False:"),), ("flows", "raised-panel")),
    "takes another panel than it was told": Mutant(
        (("if panels[0] not in (None, panels[1]):", "if False:"),), ("prices", "raised-panel")
    ),
    "joins a panel of which it was not told": Mutant(
        (
            ("if terms is None or (group is not None", "if True or (group is not None"),
            ('terms = ledger.put(collection, "terms", kept)', "terms = kept"),
        ),
        ("later-panel",),
    ),
    "joins a panel again when it changes": Mutant(
        (
            ("if terms is None or (group is not None", "if True or (group is not None"),
            (
                "                check_raised(terms, said)\n            terms =",
                "                pass\n            terms =",
            ),
            ('ledger.put(collection, "terms", kept)', "kept"),
            (
                "    if turns is None:\n",
                '    if turns is None or len(turns["periods"]) != terms["panel"]["answers"]:\n',
            ),
            ('if self.get(collection, "turns") is None:', "if True:"),
            ("os.link(path, ", "os.replace(path, "),
            ("            os.unlink(path)", "            pass"),
        ),
        ("raised-panel", "changed-panel"),
    ),
    "takes a panel without a period": Mutant(
        (
            (
                'if not isinstance(terms.get("period"), str) or terms["period"] not in ("day", "week", "month"):',
                "if False:",
            ),
        ),
        ("messages", "panel: without a period", "panel: with a period that is none"),
    ),
    "takes a panel with more answers than periods": Mutant(
        (
            ("or not 1 <= counts[0] <= counts[1] or", "or not 1 <= counts[0] or"),
            ('in range(panel["answers"]))', 'in range(min(panel["answers"], len(left))))'),  # or it never ends
        ),
        ("messages", "panel: with more answers than periods"),
    ),
}
