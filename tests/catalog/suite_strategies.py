"""Hypothesis strategies: suites that are valid, with texts as odd as they come."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from boxpen.items import Card, Choice, Entail, Suite, Translate

# Time says nothing about these tests on a machine that is shared.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
seldom = settings(unhurried, max_examples=15)
"""For what starts a process each time."""

text = st.text(min_size=1, max_size=12).filter(str.strip)
some = st.none() | text
tags = st.dictionaries(st.text(max_size=5), st.text(min_size=1, max_size=5), max_size=3)
common = {"block": st.none() | st.text(min_size=1, max_size=3), "tags": tags}
languages = {"language": some, "source_language": some}


@st.composite
def choices(draw, identity):
    candidates = tuple(draw(st.lists(text, min_size=2, max_size=4)))
    gold = draw(st.integers(0, len(candidates) - 1))
    rest = draw(st.fixed_dictionaries(common | languages | {"source": some, "context": some}))
    return Choice(id=identity, candidates=candidates, gold=gold, **rest)


@st.composite
def entails(draw, identity):
    label = draw(st.sampled_from(["entailment", "neutral", "contradiction"]))
    others = [o for o in ("entailment", "neutral", "contradiction") if o != label]
    also = st.sampled_from([(), *((other,) for other in others)])
    rest = {"premise": text, "hypothesis": text, "language": some, "also": also}
    return Entail(id=identity, label=label, **draw(st.fixed_dictionaries(common | rest)))


@st.composite
def translates(draw, identity):
    rest = {"source": text, "reference": text, "context": some, "reference_context": some}
    rest["contrast"] = st.lists(text, max_size=2).map(tuple)
    return Translate(id=identity, **draw(st.fixed_dictionaries(common | languages | rest)))


@st.composite
def suites(draw):
    ids = draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True))
    kinds = st.sampled_from([choices, entails, translates])
    items = tuple(draw(draw(kinds)(identity)) for identity in ids)
    known = sorted({tag for item in items for tag in item.tags})
    card = Card(
        reader_tags=tuple(tag for tag in known if draw(st.booleans())),
        title=draw(st.text(max_size=8)),
        notes=draw(st.text(max_size=8)),
        language=draw(some),
        source_language=draw(some),
    )
    return Suite(draw(text), items, card)
