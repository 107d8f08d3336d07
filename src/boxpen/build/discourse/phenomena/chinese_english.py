"""Chinese to English: what Chinese leaves unsaid and English has to say.

The subject (走了 is 'He left', 'I left', 'They left'), the verb of a short answer (是的 is 'Yes, he
did', 'Yes, she is') and the tense (她喜欢音乐 is 'She likes music' or 'She liked music'). A snippet
is a candidate if the sentence before tells which, by words that are listed here, and the Chinese
sentence itself does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from boxpen.build.discourse.phenomena.english_subjects import (
    owner,
    pronouns_in,
    tense_of,
    verb_of,
    with_subject,
    with_tense,
)
from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.discourse.phenomena.snippets import Finding, Objection, Snippet, misfits, weighed

__all__ = ["PHENOMENA"]

_PAIR = ("zh", "en")

# --- pronouns that Chinese drops -------------------------------------------------------------

_PERSON = re.compile(
    "[我你您他她它咱俺谁们]|想得美|自己|大家|人家|[这那]|各位|别人|有人|先生|小姐|太太"
)
_HAN = re.compile("[\u4e00-\u9fff]")
_ASKED = re.compile("[?？]$|[吗呢么]$|什么|怎么|谁|哪|几点|为何|[^不]不[^不]|没有[?？]?$")
_QUESTION = re.compile(r"\?[\"' ]*$")
# What the context must have, what it must not have, and whom else the translation may not be about.
_TOLD = {
    "he": (re.compile("他(?!们)"), re.compile("[她我你您咱]|们"), ("she", "i")),
    "she": (re.compile("她(?!们)"), re.compile("[他我你您咱]|们"), ("he", "i")),
    "they": (re.compile("[他她]们"), re.compile("[他她](?!们)|[我你您咱]"), ("we", "you")),
    "i": (re.compile("[你您](?!们)"), re.compile("[我他她咱]|们"), ("he", "you")),
    "you": (re.compile("我(?!们)"), re.compile("[你您他她咱]|们"), ("she", "i")),
    "we": (re.compile("[你我]们|咱们"), re.compile("[他她]|[我你您](?!们)"), ("they",)),
}
_SUBJECT = re.compile(
    r"^(?:(?:yes|yeah|no|well|oh|but|and|so|then|maybe|of course|sure|okay),? )?"
    r"(I|you|he|she|we|they)\b|^(?:did|do|does|is|are|was|were|has|have|will|can) "
    r"(I|you|he|she|we|they)\b",
    re.IGNORECASE,
)
_IDIOMS = re.compile(
    r"\b(?:I mean|you know|I think|I guess|I hope|I know|you see|I see|thank you|sorry|each other|"
    r"together|both|all|I bet|"
    r"I don't know|I swear|I promise|you're welcome|are you|you okay|I'm afraid|I suppose|"
    r"I love you|got it|I said|we'll see|you bet|you got|let me)\b",
    re.IGNORECASE,
)


def _dropped(snippet: Snippet) -> Finding | None:
    """Return the subject that a Chinese sentence drops, if the one before tells it."""
    if _PERSON.search(snippet.source) or len(_HAN.findall(snippet.source)) < 2:
        return None
    subject = _SUBJECT.match(snippet.target)
    if subject is None or _IDIOMS.search(snippet.target):
        return None
    cls = (subject[1] or subject[2]).lower()
    told, other, _ = _TOLD[cls]
    hint = told.search(snippet.context_source)
    if hint is None or other.search(snippet.context_source):
        return None
    asked = _QUESTION.search(snippet.context_target) is not None
    if cls in ("i", "you", "we") and not asked:
        return None  # who speaks next is known only of an answer
    if not _only(cls, snippet.target):
        return None
    reason = f"no subject → '{cls}'; context has {hint[0]}"
    return weighed(cls, cls, 0.95, reason, _objections(snippet))


def _only(cls: str, target: str) -> bool:
    """Tell whether a translation has one sentence, about nobody else."""
    if len(re.findall(r"[.?!]+", target)) > 1:
        return False
    return with_subject(target, cls, "he" if cls != "he" else "she") is not None and all(
        owner(form) == cls for form in pronouns_in(target)
    )


def _other_subjects(
    cls: str, _word: str, _source: str, target: str, _before: str
) -> tuple[str, ...]:
    if cls not in _TOLD:
        return ()
    made = (with_subject(target, cls, other) for other in _TOLD[cls][2])
    return tuple(dict.fromkeys(one for one in made if one is not None))


def _shows_subject(cls: str, target: str) -> bool:
    found = _SUBJECT.match(target)
    return found is not None and (found[1] or found[2]).lower() == cls


# --- short answers ---------------------------------------------------------------------------

_REPLY = re.compile(
    "(?:是|是的|没错|当然|对|对的|有|没有|没|不|不是|会|不会|能|不能|可以|不可以|不行|恩|嗯|没有啊|"
    "有啊|是啊|对啊|当然了|当然是|当然有|当然没有|真的|才不|才没有|才不是|确实|的确)(?:[的了啊呀吧]?)"
    "(?:[，, ]?(?:是|是的|没有|不|有|当然|会|不会|没))?[。！!.]?"
)
_KINDS = {
    "do": ("do", "does", "did"),
    "be": ("am", "is", "are", "was", "were"),
    "have": ("have", "has", "had"),
    "modal": ("can", "could", "will", "would", "should"),
}
_KIND = {form: kind for kind, forms in _KINDS.items() for form in forms}
_ANSWER = re.compile(
    r"(?P<lead>(?:(?:yes|yeah|yep|no|nope|oh|well|of course|sure|actually|but),? )*)"
    r"(?P<who>I|you|he|she|it|we|they)(?P<verb> (?:do|does|did|am|is|are|was|were|have|has|had|can|"
    r"could|will|would|should)|'m|'re|'s)(?P<no>n't| not|)(?P<end>[.!]*)$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:^|[,.;:-] ?|\b(?:and|so|but|or|what|where|how|why|who|when) )"
    r"(do|does|did|am|is|are|was|were|have|has|had|can|could|will|would|should)(?:n't)? "
    r"(?:I|you|he|she|it|we|they|this|that|there|the|my|your|his|her|our|their|any|some|every|[A-Z])",
    re.IGNORECASE,
)
# What a system says that does not know the question: never what would answer it too.
_INSTEAD = {"do": "be", "be": "do", "have": "be", "modal": "be"}


def _short_answer(snippet: Snippet) -> Finding | None:
    """Return the auxiliary of an answer that only the question before tells."""
    if len(snippet.source) > 8 or _REPLY.fullmatch(snippet.source) is None:
        return None
    match = _ANSWER.match(snippet.target.replace("’", "'"))
    if match is None or _QUESTION.search(snippet.context_target) is None:
        return None
    verb = match["verb"].strip().lower()
    kind = "be" if verb[0] == "'" else _KIND[verb]
    asked = {_KIND[found.lower()] for found in _OPENING.findall(snippet.context_target)}
    if asked != {kind} or not _asks_for(kind, snippet.context_source):
        return None
    reason = f"{snippet.source} → '{verb}'; context asks with '{kind}'"
    against = [o for o in _objections(snippet) if "context" in o[1]]
    return weighed(f"answer-{kind}", verb, 0.95, reason, against)


def _asks_for(kind: str, question: str) -> bool:
    """Tell whether the question asks for this verb in Chinese too, which is all a system reads."""
    if len(_HAN.findall(question)) < 5 or _TAG.search(question):
        return False
    shown = {name for name, words in _ASKS.items() if words.search(question)}
    return shown == ({kind} if kind != "do" else set())


_TAG = re.compile("(?:是吗|是吧|对吗|对吧|对不对|是不是|不是吗)[?？]?$")
_ASKS = {
    "modal": re.compile("[会能肯]|可以|愿意|应该|可能"),
    "be": re.compile("是|在|正|很|算"),
    "have": re.compile("过|已经|一直"),
}


def _other_answers(
    _cls: str, _word: str, _source: str, target: str, _before: str
) -> tuple[str, ...]:
    match = _ANSWER.match(target.replace("’", "'"))
    if match is None:
        return ()
    who, verb, no = match["who"].lower(), match["verb"].strip().lower(), match["no"].strip()
    kind = "be" if verb[0] == "'" else _KIND[verb]
    past = verb in ("did", "was", "were", "had", "could", "would", "should")
    one = who in ("he", "she", "it")
    if _INSTEAD[kind] == "do":
        other = "did" if past else "does" if one else "do"
    elif past:
        other = "was" if one or who == "i" else "were"
    else:
        other = "am" if who == "i" else "is" if one else "are"
    if no:
        other = "am not" if other == "am" else f"{other}n't" if no == "n't" else f"{other} not"
    return (f"{target[: match.start('verb')]} {other}{match['end']}",)


def _shows_answer(cls: str, target: str) -> bool:
    match = _ANSWER.match(target.replace("’", "'"))
    if match is None:
        return False
    verb = match["verb"].strip().lower()
    return cls == f"answer-{'be' if verb[0] == chr(39) else _KIND[verb]}"


# --- tense -----------------------------------------------------------------------------------

_MARKED = re.compile(
    "[了过着将]|[会要想能]|正在|已经|刚|曾|以前|从前|当时|那时|昨|明[天晚早]|今[天晚早]|马上|立刻|现在|"
    "我来|见[。！]?$|随|一定|后来|去年|小时候|年|月|天|点|待会|一会|以后|再|下次|打算|准备|可以|应该|必须|得|别|就|起来"
)
_TIMES = {
    "past": re.compile("昨[天晚夜]|当时|那时|那年|去年|小时候|上[周次个]|[年天月周]前|后来"),
    "future": re.compile(
        "明[天晚早年]|待会|一会儿?|等会|以后|下[周次个]|今晚|马上|到时候|回头|改天"
    ),
}
_THEN = {
    "past": re.compile(
        r"\b(?:was|were|did|didn't|had|used to|\w{2,}ed|ago|went|came|said|told|got)\b"
    ),
    "future": re.compile(r"'ll\b|\b(?:will|won't|going to|gonna|tomorrow|tonight|later|next)\b"),
}
_OTHER_TIME = {
    "past": re.compile(r"'ll\b|\b(?:will|now|is|are|am|tomorrow|don't|doesn't)\b|'(?:m|re)\b"),
    "future": re.compile(r"\b(?:was|were|did|didn't|yesterday|ago|last)\b"),
}


def _tense(snippet: Snippet) -> Finding | None:
    """Return the tense that a Chinese sentence does not show, if the one before does."""
    if _MARKED.search(snippet.source) or len(_HAN.findall(snippet.source)) < 3:
        return None
    hints = {t: found for t, one in _TIMES.items() if (found := one.search(snippet.context_source))}
    if len(hints) != 1 or len(re.findall(r"[.?!]+", snippet.target)) > 1:
        return None
    [(time, hint)] = hints.items()
    before = snippet.context_target.lower()
    if not _THEN[time].search(before) or _OTHER_TIME[time].search(before):
        return None
    if tense_of(snippet.target) != time:
        return None
    reason = f"no mark of tense → {time}; context has {hint[0]}"
    return weighed(time, verb_of(snippet.target), 0.95, reason, _objections(snippet))


def _other_tense(cls: str, _word: str, _source: str, target: str, _before: str) -> tuple[str, ...]:
    if cls not in _TIMES or tense_of(target) != cls:
        return ()
    made = with_tense(target, cls)
    return () if made is None or made == target else (made,)


def _shows_tense(cls: str, target: str) -> bool:
    return tense_of(target) == cls


# ---------------------------------------------------------------------------------------------


def _objections(snippet: Snippet) -> Iterator[Objection]:
    """Yield what speaks against a snippet, its English side read as the sentence."""
    return misfits(
        Snippet(
            snippet.document,
            snippet.line,
            snippet.context_target,
            snippet.target,
            snippet.context_source,
            snippet.source,
        )
    )


PHENOMENA = (
    Phenomenon(
        name="pronoun",
        pair=_PAIR,
        classes=tuple(_TOLD),
        find=_dropped,
        contrasts=_other_subjects,
        shows=_shows_subject,
    ),
    Phenomenon(
        name="ellipsis",
        pair=_PAIR,
        classes=tuple(f"answer-{kind}" for kind in _KINDS),
        find=_short_answer,
        contrasts=_other_answers,
        shows=_shows_answer,
    ),
    Phenomenon(
        name="tense",
        pair=_PAIR,
        classes=tuple(_TIMES),
        find=_tense,
        contrasts=_other_tense,
        shows=_shows_tense,
    ),
)
