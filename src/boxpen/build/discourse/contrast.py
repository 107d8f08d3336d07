"""Wrong translations, as near to the right one as can be: only the class is exchanged."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from boxpen.analysis.discourse.verbs import known_verbs, listed, same_verb
from boxpen.build.discourse.phenomena.connectives import CLASSES
from boxpen.build.discourse.phenomena.ellipsis import repeated, tagged
from boxpen.build.discourse.phenomena.exchange import exchanged
from boxpen.build.discourse.phenomena.pronouns import CLASSES as PRONOUNS
from boxpen.build.discourse.phenomena.wordlists import EDGE, words
from boxpen.catalog.files import FORMATS
from boxpen.errors import BuildError, SuiteError, nearest
from boxpen.files import check_free
from boxpen.items import Suite, Translate
from boxpen.names import check_name

__all__ = ["contrasts", "with_contrasts", "write_contrasts"]

_PHENOMENA = ("pronoun", "connective", "ellipsis")
_THEY = ("他们", "她们", "它们")
# What only several can be, after 你们.
_SEVERAL = re.compile("你们(?:[俩仨]|[两三四几二](?:个人?|位|人)|各位|大家|所有人|全都|都|全)?")
_AMONG = re.compile("你们(?:之?[中间]|当中|其中|每|彼此|互相|[谁哪]|[^，。]{0,2}(?:们|人))|分头")
# Other ways to speak to several.
_BOTH = re.compile("[你您][俩仨]|[您你]二位|[您你]们")
_ONE = re.compile("(?<!迷)你(?!们)(?:是|这|那)?(?:一?个(?!子|月|头)|自己一个|俩|[两二三])")
# After these a verb is a state or a thing, and another verb may be neither.
_STATE = re.compile("(?:[很真最更太挺特的做]|觉得|什么)$")
_FINAL = re.compile("[吗呢吧啊呀啦的了嘛么]*$")


def contrasts(
    phenomenon: str, cls: str, word: str, source: str, target: str, before: str = ""
) -> tuple[str, ...]:
    """Return wrong translations of a sentence; none where no exchange leaves a good sentence.

    Args:
        phenomenon: "pronoun", "connective" or "ellipsis".
        cls: The class, such as "她们" or "while-而".
        word: The Chinese words that show the class; for an ellipsis the verb that is left out.
        source: The English sentence.
        target: Its right translation.
        before: The translation of the sentence before.
    """
    if phenomenon == "pronoun":
        return _other_pronouns(cls, target)
    if phenomenon == "connective":
        wrong = exchanged(cls, source, target) if cls in CLASSES else None
    else:
        wrong = _other_verb(word, target, before) if word else None
    return () if wrong is None else (wrong,)


def with_contrasts(suite: Suite) -> Suite:
    """Return a suite whose items of translation have contrasts, wherever one can be made.

    An item that has contrasts keeps them; one whose reference does not show its class has none.

    Raises:
        SuiteError: If no item tests a phenomenon of discourse, or one is of a class that does not
            exist.
    """
    if not any(isinstance(i, Translate) and i.tags.get("set") in _PHENOMENA for i in suite.items):
        raise SuiteError(
            f"suite '{suite.name}' has no sentence to translate with the tag set=pronoun, "
            "connective or ellipsis, expected a suite such as discourse"
        )
    return suite.take(
        [
            _with_contrast(item, suite.name) if isinstance(item, Translate) else item
            for item in suite.items
        ]
    )


def _with_contrast(item: Translate, suite: str) -> Translate:
    phenomenon, cls = item.tags.get("set", ""), item.tags.get("class", "")
    if item.contrast or phenomenon not in _PHENOMENA:
        return item
    known = {"pronoun": PRONOUNS, "connective": CLASSES}.get(phenomenon)
    if known is not None and cls not in known:
        raise SuiteError(
            f"item '{item.id}' of suite '{suite}': {phenomenon} has no class '{cls}', "
            f"{nearest(cls, list(known))}"
        )
    word: str | None = item.tags.get("word", cls.rpartition("-")[2])
    if phenomenon == "ellipsis":
        word = repeated(item.source, item.reference, item.reference_context or "")
    if not word:
        return item
    before = item.reference_context or ""
    found = contrasts(phenomenon, cls, word, item.source, item.reference, before)
    return replace(item, contrast=found) if found else item


def _other_pronouns(cls: str, target: str) -> tuple[str, ...]:
    if cls == "你们":
        if _AMONG.search(target):
            return ()
        wrong = (_SEVERAL if "你们" in target else _BOTH).sub("你", target)
        return (wrong,) if wrong != target else ()
    if cls == "你":
        wrong = re.sub("(?<!迷)你(?!们)", "你们", target)
        # Not 你们是个…: one and several at once.
        return (wrong,) if wrong != target and not _ONE.search(target) else ()
    if cls not in _THEY or cls not in target:
        return ()
    return tuple(target.replace(cls, other) for other in _THEY if other != cls)


def _other_verb(verb: str, target: str, before: str) -> str | None:
    """Put another verb of the context for the one that was left out, with its object.

    So does a system that takes the wrong verb up again. Where the context has no other, 做 stands
    for a state, as 'do' taken for a verb of its own: for a deed it may be right.
    """
    for other in _rivals(verb, before):
        wrong = None if other in target else _exchanged(verb, other, target)
        if wrong is not None:
            return wrong
    state = any(same_verb(verb, some) for some in listed("states"))
    return _exchanged(verb, "做", target) if state else None


def _rivals(verb: str, before: str) -> list[str]:
    """Return the verbs of the context that say something else, each by itself, in their order."""
    no = words("ellipsis", "empty") | words("ellipsis", "leads") | listed("light")
    known = tagged(before)
    found: list[str] = []
    for number, (word, flag) in enumerate(known):
        beside = [some for some, _ in known[max(0, number - 1) : number + 2]]
        if flag != "v" or word in no or word not in known_verbs():
            continue  # the tagger takes parts of names for verbs
        if any(verb in some or some in verb for some in beside):
            continue  # the verb itself, or one that forms a chain with it: 来帮
        if not any(same_verb(word, some) for some in (verb, "做")):
            found.append(word)
    return list(dict.fromkeys(found))


def _exchanged(verb: str, other: str, target: str) -> str | None:
    """Put another verb for a verb and its object."""
    if verb[0] in "做干办搞弄" and other == "做":
        return None
    if verb in ("了", "到", "错"):
        return None  # they belong to what would be exchanged: 做错, 等不了
    out = ""
    for part in re.split(f"([{EDGE}]+)", target):
        before, found, after = part.partition(verb)
        if not found:
            out += part
            continue
        kept = re.match("[过着了]{0,2}", after)[0]  # type: ignore[index]  # it matches nothing too
        final = _FINAL.search(after, len(kept))
        end = final[0] if final else ""
        left_out = after[len(kept) : len(after) - len(end)]
        if after[:1] in ("不", "得"):  # 爬不动: the complement goes with any verb
            left_out, end = "", after
        if len(left_out) > 8 or _STATE.search(before) or re.search("[就才但]", left_out):
            return None  # More follows than an object, or no other verb can stand here.
        if verb == "有" and not before:
            return None  # a reply: 有吗 asks for no deed
        out += before + other + kept + end
    return None if out == target or re.sub(f"[{EDGE}]", "", out) == other else out


def write_contrasts(suite: str, out: Path, *, overwrite: bool) -> dict[str, tuple[int, int]]:
    """Write a suite with wrong translations added to the items that have none.

    Args:
        suite: A suite by name, or a ``.jsonl`` file.
        out: The new suite, another ``.jsonl`` file.
        overwrite: Whether an existing file may be overwritten.

    Returns:
        For every class, the number of items, and how many of them have a contrast.

    Raises:
        BoxpenError: If a file has another format, or items lack the tags of a discourse suite.
    """
    from boxpen.catalog import load_suite, write_suite

    check_name(suite, "SUITE")
    path = Path(suite)
    ending = path.suffix.lower()
    if ending != ".jsonl" and (ending in FORMATS or path.name != suite):
        raise BuildError(f"SUITE is {suite}, expected the name of a suite, or a .jsonl file")
    if out.suffix.lower() != ".jsonl":
        raise BuildError(f"--out is {out}, expected a file that ends in .jsonl")
    if out.exists() and path.exists() and out.samefile(path):
        raise BuildError(f"--out is {out}, the suite that is read, expected another file")
    check_free(out, BuildError, overwrite=overwrite)
    before = load_suite(suite)
    check_name(before.name, f"the name of the suite in {suite}")
    after = with_contrasts(before)
    write_suite(after, out)
    counts: dict[str, tuple[int, int]] = {}
    for item in after:
        shown = " ".join(dict.fromkeys(item.tags[t] for t in ("set", "class") if t in item.tags))
        items, contrastive = counts.get(shown or "all", (0, 0))
        counts[shown or "all"] = items + 1, contrastive + bool(getattr(item, "contrast", ()))
    return counts
