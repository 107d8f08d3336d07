"""A connective's sense exchanged for another one.

The Chinese sentence stays a sentence: what belongs to the old word goes with it (因为 … 所以).
The other sense of the same English word takes its place where the two exclude each other: 或者 for
否则, 因为 for 自从, 自从 for 既然 with an event in a present clause. Elsewhere the exchange would
often be right too, or no Chinese: 'while' and mostly 'as' mean both at once, 自从 fits no state, an
alternative may be a threat as well, 否则 asks nothing, and the classes of 'though' are one sense in
several places. There a relation that the word does not express makes the sentence wrong: a cause
for a contrast, a concession for a cause, a consequence for a choice. Such a contrast asks whether a
system knows the word, not which of its senses the context asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from boxpen.build.discourse.phenomena.connectives import Realisation, begins_clause, realisation
from boxpen.build.discourse.phenomena.ellipsis import tagged
from boxpen.build.discourse.phenomena.wordlists import EDGE

__all__ = ["exchanged"]

_EDGES = re.compile(f"[{EDGE}]+")
_PARTICLES = "吧呢吗啊呀嘛啦哦"
_TAIL = re.compile("(?:的时候|的同时|期间|时)")
_PRONOUN = re.compile("[你我他她它]们?|自己|大家|咱们?")
# What ends "since": 后 is none in 后悔, nor 起 in 起死回生.
_SINCE_TAIL = re.compile(
    "(?:的时候|那天起|那天|以来|以后|之后|开始|(?<![最今随然])后(?![悔面门台果退来天])"
    "|(?<=[天时刻年月日早晚])起|起(?=就|$)|时(?![间代候]))(.*)$"
)
_THAT_ONE = re.compile("[那这上每某][一]?[次个场件回]")
# Words that say the old sense without its connective.
_STILL = {
    "while-而": "却|则|反而",
    "as-因为": "所以|因此",
    "since-因为": "所以|因此",
    "since-既然": "所以|因此",
    "though-虽然": "却|仍|依然",
    "or-否则": "要不|不然",
}
# What has no beginning that 自从 could name.
_STATE = re.compile("是|很|太|非常|没有?|不|只要|有(?!人)|喜欢|想|知道")
# No time from which on: 'since you're here', 既然你来了.
_NOW = re.compile(r"\bsince (?:i|you|he|she|it|we|they)(?:'m|'re|'s| am| are| is)\b")
# A clause with a subject, after 'or'; an order has none, and is an alternative in Chinese too.
_SAYS_SO = re.compile(
    r"'(?:ll|d|re|s)\b|\b(?:will|would|can|could|may|might|is|are|was|were|has|had|have|gonna)\b"
)


def exchanged(cls: str, source: str, target: str) -> str | None:
    """Return the Chinese sentence with another sense; None if it would not be wrong."""
    found = realisation(cls, target)
    if found is None:
        return None
    source = source.lower().replace("’", "'")
    made = (exchange(found, source, target) for exchange in _EXCHANGES[cls])
    return next((wrong for wrong in made if wrong and _is_wrong(cls, wrong, target)), None)


def _is_wrong(cls: str, wrong: str, target: str) -> bool:
    """Tell whether a sentence no longer says the right sense."""
    if wrong == target or realisation(cls, wrong):
        return False
    return cls not in _STILL or re.search(_STILL[cls], wrong) is None


def _contrast_to_cause(found: Realisation, source: str, target: str) -> str | None:  # noqa: ARG001
    """Turn "A, 而 B" into "A, 因为 B"."""
    start, end = _bounds(target, found.start)
    here = re.sub("^(?:而|但是?|可是?(?![以能])|然而)|却|则(?!是)", "", target[start:end], count=2)
    if not _is_clause(here) or re.search("因为|由于|如果|虽然|尽管", target):
        return None
    return f"{target[:start]}因为{here}{target[end:]}"


def _time_to_cause(found: Realisation, source: str, target: str) -> str | None:
    """Turn "当 A 的时候, B" into "因为 A, B"."""
    parts = _time(found, target)
    if parts is None:
        return None
    lead, clause, rest, end = parts
    if not rest or len(clause) < 3:
        return None  # a reason for nothing, or 因为我到, which is no Chinese
    if re.search(r"\bwhile\b", source) and not tagged(rest)[0][1].startswith(("r", "n")):
        return None  # an order needs no reason: 你做饭的时候喝这个
    return f"{lead}因为{clause}{_comma(target)}{rest}{end}"


def _cause_to_concession(found: Realisation, source: str, target: str) -> str | None:  # noqa: ARG001
    """Turn "因为 A, 所以 B" into "虽然 A, B"."""
    lead, clause, rest = _cause(found, target)
    if lead.endswith(("是", "仅", "光", "不")) or not _is_clause(clause):
        return None  # 不仅虽然 is no Chinese
    rest = re.sub(f"^([{EDGE}]*)就", r"\1", rest)  # 就 draws a consequence
    return f"{re.sub('[只正就都]$', '', lead)}虽然{clause}{rest}"


def _cause_to_since(found: Realisation, source: str, target: str) -> str | None:
    """Turn "既然 A, B" into "自从 A, B", for an event in Chinese that is a present in English."""
    lead, clause, rest = _cause(found, target)
    if lead or not rest or "了" not in clause or not _is_clause(clause):
        return None
    return f"自从{clause}{rest}" if _NOW.search(source) and not _STATE.search(clause) else None


def _since_to_cause(found: Realisation, source: str, target: str) -> str | None:
    """Turn "自从 A 以来, B" into "因为 A, B"."""
    if not begins_clause(re.split(r"\bsince\b", source)[-1]):
        return None  # since last year: no cause
    opening = re.match("自从|自打|自|从", target[found.start :])
    if opening is None:
        return None
    lead, after = target[: found.start], target[found.start + opening.end() :]
    clause, edge, rest = _to_edge(after)
    tail = _SINCE_TAIL.search(clause)
    if tail:
        more = tail[1].lstrip(_PARTICLES)
        if more.startswith("的"):
            return None
        rest = more + edge + rest if more else rest
        edge = _comma(target) if more else edge
        clause = clause[: tail.start()]
        if tail[0].startswith(("后", "以后", "之后")) and "了" not in clause:
            clause += "了"
    if re.search("[的刻天年代岁]了?$", clause) or _THAT_ONE.match(clause):
        return None  # a time, not a cause
    return f"{lead}因为{clause}{edge}{rest}" if _is_clause(clause) else None


def _concession_to_cause(found: Realisation, source: str, target: str) -> str | None:  # noqa: ARG001
    """Turn "虽然 A, 但 B" into "因为 A, 所以 B"."""
    opening = re.match("虽然|尽管|虽说", target[found.start :])
    if opening is None:
        return None
    rest = target[found.start + opening.end() :]
    rest = re.sub(f"(?<=[{EDGE}])(?:但是?|可是?|不过|然而)(?!能|以)", "所以", rest)
    return f"{target[: found.start]}因为{rest}"


def _turn_to_cause(found: Realisation, source: str, target: str) -> str | None:  # noqa: ARG001
    """Turn "A, 不过 B" into "A, 所以 B"."""
    if not _opens(target, found.start) or not _is_clause(target[found.end :]):
        return None
    return target[: found.start] + "所以" + target[found.end :].lstrip()


def _threat_to_choice(found: Realisation, source: str, target: str) -> str | None:
    """Turn 否则 into 或者; before an order, as "or pay", both say the same."""
    follows = re.split(r"\bor\b", source)[-1]
    if "除非" in target or not (begins_clause(follows) or _SAYS_SO.search(follows)):
        return None
    rest = target[found.end :].removeprefix("的话")
    if tagged(rest.lstrip("就 "))[:1] and tagged(rest.lstrip("就 "))[0][1].startswith("v"):
        return None  # 住手 或者离婚: without a subject it is an alternative
    return f"{target[: found.start]}或者{rest}"


def _choice_to_consequence(found: Realisation, source: str, target: str) -> str | None:
    """Turn "或者 A" into "所以 A", where a clause begins."""
    rest = re.sub("^[说是]", "", target[found.end :]).lstrip()
    if not _opens(target, found.start) or len(re.findall("或|还是", target)) > 1:
        return None  # 是她还是他: a question of its own form
    if found.word == "还是" and target[: found.start].strip():
        return None  # 是茶 还是咖啡: both are asked
    if not begins_clause(re.split(r"\bor\b", source)[-1]):
        return None  # 或者像他: only a part of a sentence
    return f"{target[: found.start]}所以{rest}" if _is_clause(_to_edge(rest)[0]) else None


_EXCHANGES: dict[str, tuple[Callable[[Realisation, str, str], str | None], ...]] = {
    "while-而": (_contrast_to_cause,),
    "while-当": (_time_to_cause,),
    "as-因为": (_cause_to_concession,),
    "as-当": (_time_to_cause,),
    "since-因为": (_cause_to_since, _cause_to_concession),
    "since-既然": (_cause_to_since, _cause_to_concession),
    "since-自从": (_since_to_cause,),
    "though-虽然": (_concession_to_cause,),
    "though-但是": (_turn_to_cause,),
    "though-不过": (_turn_to_cause,),
    "or-否则": (_threat_to_choice,),
    "or-或者": (_choice_to_consequence,),
}


def _time(found: Realisation, target: str) -> tuple[str, str, str, str] | None:
    """Divide a sentence at 当 … 的时候: what leads, the clause, the rest and the last marks."""
    tails = list(_TAIL.finditer(target, found.start, found.end))
    if not tails:
        return None
    tail = tails[-1]
    before = target[: tail.start()]
    start = max([m.end() for m in _EDGES.finditer(before)], default=0)
    if target[found.start] == "当" and found.start >= start:
        start = found.start
    link = re.match("而|但是?|可是|不过|所以|并且|也", before[start:])
    start += link.end() if link else 0
    lead, clause = re.sub("[正每就]$", "", before[:start]), before[start:].removesuffix("之")
    if lead and not re.search(
        f"(?:[{EDGE}]|而|但是?|所以|[昨今那]天|可是|不过|并且|也|特别是|尤其是)$", lead
    ):
        return None  # 我记得当…: the circumfix belongs to the verb before it.
    clause = re.sub("^(?:[正每]?当(?![初时然])|就?在|趁着?|[等到])", "", clause)
    inside = clause.find("在")
    outside = clause[:inside].removesuffix("正")
    if inside >= 0 and not (_PRONOUN.fullmatch(outside) or outside == ""):
        return None  # 我应该在…的时候…: the clause of 应该 is around the circumfix.
    if inside >= 0 and _PRONOUN.match(clause[inside + 1 :]):
        return None
    if re.search(f"(?:^|[{EDGE}])[在当]", lead) or "趁" in clause:
        return None
    if re.match("只有|除了|直到|每次|那|这|有|同|上次|小|以前", clause) or not _is_clause(clause):
        return None
    rest = target[tail.end() :]
    end = re.search(f"[{EDGE}]*$", rest)
    marks = end[0] if end else ""
    rest = re.sub(f"^[{EDGE}]+", "", rest[: len(rest) - len(marks)])
    # 别 and 请 ask for something: neither a contrast nor a cause can stand before them.
    return None if re.match("的|别|请|不要|一定|是", rest) else (lead, clause, rest, marks)


def _cause(found: Realisation, target: str) -> tuple[str, str, str]:
    """Divide a sentence at 因为: what leads, the clause, and the rest without its 所以."""
    clause, edge, rest = _to_edge(target[found.end :].lstrip())
    clause = re.sub("的(?:缘故|关系|原因)$", "", clause)
    return (
        target[: found.start],
        clause,
        edge + re.sub("^(?:所以|因此|那么|那(?=[你我他她就]))", "", rest),
    )


def _bounds(target: str, place: int) -> tuple[int, int]:
    """Return where the clause around a place begins and ends."""
    ends = [edge.end() for edge in _EDGES.finditer(target, 0, place)]
    after = _EDGES.search(target, place)
    return ends[-1] if ends else 0, after.start() if after else len(target)


def _opens(target: str, place: int) -> bool:
    """Tell whether a clause begins at this place."""
    return place == 0 or _EDGES.match(target[place - 1]) is not None


def _to_edge(text: str) -> tuple[str, str, str]:
    """Divide a text at its first edge."""
    match = _EDGES.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")


def _is_clause(text: str) -> bool:
    if _PRONOUN.match(text) and len(text) > 2:
        return True  # the tagger has 排队 and its like for nouns
    return len(text) > 1 and any(flag[0] in "vail" for _, flag in tagged(text))


def _comma(target: str) -> str:
    """Return what stands between clauses in this text: subtitles have spaces."""
    return "，" if re.search("[，。！？；]", target) else " "
