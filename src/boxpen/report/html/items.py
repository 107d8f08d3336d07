"""The items of a suite, packed for the item browser of the HTML report.

The pack is gzip over three parts: a JSON object (its length first, four bytes), the lengths of all
token spans, and their surprisals; one byte each. Spans are ordered by item, candidate and run;
``counts`` has the number of each. A surprisal is stored in eighths of a nat up to 31.75; 255 means
that nothing was scored. The page unpacks this with features that every browser has.

A page of more than ``MOST_ITEMS`` items per suite would be slow to open, so it has a sample of
them: whole blocks, chosen by their names alone.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from boxpen.metrics.summary import Translation
from boxpen.report.html.data import Entry, SuiteView
from boxpen.report.html.token_spans import Span, token_spans
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Scored, Verdict

__all__ = ["MOST_ITEMS", "items_link", "items_shown", "pack_items"]

MOST_ITEMS = 20_000

_STEPS = 8  # to the nat
_MOST, _UNSCORED = 254, 255


def pack_items(view: SuiteView) -> str:
    """Return the items of a suite and what every run made of them, in base 64."""
    packer = _Packer(view.entries)
    head = packer.head()
    head["cuts"] = _cuts(view, packer.ids)
    head["tags"] = _tags(packer)
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    blob = len(text).to_bytes(4, "little") + text + bytes(packer.lengths) + bytes(packer.nats)
    return base64.b64encode(gzip.compress(blob, compresslevel=6, mtime=0)).decode("ascii")


def items_shown(view: SuiteView) -> tuple[int, int]:
    """Return how many items of a suite the page has, and how many there are."""
    packer = _Packer(view.entries)
    return len(packer.ids), packer.whole


def items_link(suite: int, **state: object) -> str:
    """Return where the browser shows items of a suite, by its number, chosen as ``state`` says."""
    chosen = {k: v for k, v in state.items() if v is not None}
    return "#items?" + urlencode({"suite": suite, **chosen})


class _Packer:
    """Collects the columns of a suite's items."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.verdicts = [{v.id: v for v in e.run.verdicts} for e in entries]
        self.made = [{t.id: t for t in e.run.translations} for e in entries]
        known: list[Mapping[str, Verdict | Translation]] = [*self.verdicts, *self.made]
        blocks: dict[str, str] = {}
        for of in known:
            for key, one in of.items():
                blocks.setdefault(key, getattr(one, "block", None) or key)
        self.whole = len(blocks)
        self.ids = _sampled(blocks)
        self.lengths = bytearray()
        self.nats = bytearray()

    def head(self) -> dict[str, Any]:
        """Return everything but the spans, which are collected on the way."""
        texts: list[str] = []
        numbers: list[int] = []
        counts: list[int] = []
        other: dict[int, str] = {}
        sources: dict[int, str] = {}
        prefixes: dict[int, list[str]] = {}
        pairs: dict[int, list[str]] = {}
        labels = next((e.run.labels for e in self.entries if e.run.labels), ())
        for number, key in enumerate(self.ids):
            found = [e.run.candidates.get(key, ()) for e in self.entries]
            size = max((len(v.scores) for v in self.of(key)), default=0)
            shown = next((f for f in found if f), ())
            numbers.append(size)
            if labels and shown:  # one text for all labels
                pairs[number] = [shown[0].prefix, shown[0].text]
                texts += labels
                counts += [0] * size * len(self.entries)
                continue
            texts += [c.text.strip() for c in shown] if shown else [""] * size
            source = next((c.source for f in found for c in f if c.source), None)
            source = source or next((m[key].source for m in self.made if key in m), None)
            if source:
                sources[number] = source
            if any(c.prefix for c in shown):
                prefixes[number] = [c.prefix for c in shown]
            for place in range(size):
                for entry, scored in zip(self.entries, found, strict=True):
                    if not scored:
                        counts.append(0)
                        continue
                    text, spans = _spans(scored[place], entry.run)
                    if text != texts[len(texts) - size + place]:
                        other[len(counts)] = text
                    counts.append(self._keep(spans))
        return {
            "ids": self.ids,
            "blocks": [next((v.block for v in self.of(key)), None) for key in self.ids],
            "gold": [next((v.gold for v in self.of(key)), -1) for key in self.ids],
            "also": self._also(labels),
            "numbers": numbers,
            "texts": texts,
            "sources": sources,
            "prefixes": prefixes,
            "pairs": pairs,
            "references": self._references(),
            "counts": counts,
            "other": other,
            "spans": len(self.lengths),
            "runs": [self._run(n) for n in range(len(self.entries))],
        }

    def _also(self, labels: Sequence[str]) -> dict[int, list[int]]:
        """Return the places of other labels that are right as well."""
        named = ((i, next((v.also for v in self.of(key)), ())) for i, key in enumerate(self.ids))
        places = {i: [labels.index(name) for name in of if name in labels] for i, of in named}
        return {i: some for i, some in places.items() if some}

    def of(self, key: str) -> list[Verdict]:
        """Return the verdicts of an item."""
        return [found[key] for found in self.verdicts if key in found]

    def _keep(self, spans: Sequence[Span]) -> int:
        before = len(self.lengths)
        for length, nats in spans:
            code = _UNSCORED if math.isnan(nats) else min(_MOST, max(0, round(nats * _STEPS)))
            self.nats.append(code)
            self.lengths.append(min(length, 255))
            for start in range(255, length, 255):  # a stretch too long for one byte goes on
                self.lengths.append(min(length - start, 255))
                self.nats.append(code)
        return len(self.lengths) - before

    def _run(self, n: int) -> dict[str, Any]:
        entry, verdicts, made = self.entries[n], self.verdicts[n], self.made[n]
        mine = [verdicts.get(key) for key in self.ids]
        return {
            "label": entry.label,
            "mark": entry.mark,
            "unit": entry.unit,
            "winner": [None if v is None else v.winner for v in mine],
            "tied": [None if v is None else v.tied for v in mine],
            "credit": [None if v is None else round(v.credit, 3) for v in mine],
            "margin": [None if v is None else _short(v.margin) for v in mine],
            "scores": [[] if v is None else [_short(s) for s in v.scores] for v in mine],
            "cut": [i for i, v in enumerate(mine) if v is not None and v.truncated],
            "made": {i: made[key].translation for i, key in enumerate(self.ids) if key in made},
        }

    def _references(self) -> dict[int, str]:
        made: dict[str, Translation] = {}
        for found in self.made:
            made |= found
        return {i: made[key].reference for i, key in enumerate(self.ids) if key in made}


def _sampled(blocks: Mapping[str, str]) -> list[str]:
    """Return at most ``MOST_ITEMS`` items, whole blocks unless none fits, in their order."""
    if len(blocks) <= MOST_ITEMS:
        return list(blocks)
    sizes = Counter(blocks.values())
    chosen: set[str] = set()
    room = MOST_ITEMS
    for block in sorted(sizes, key=lambda name: (zlib.crc32(name.encode()), name)):
        if sizes[block] <= room:
            chosen.add(block)
            room -= sizes[block]
    return [key for key, block in blocks.items() if block in chosen] or list(blocks)[:MOST_ITEMS]


def _spans(scored: Scored, run: Run) -> tuple[str, list[Span]]:
    """Return a candidate's text and its spans; its tokens themselves where they do not fit it."""
    text, record = scored.text.strip(), scored.record
    tokens: Mapping[int, str] = run.tokens
    pieces = [tokens.get(i, "") for i in record.token_ids.tolist()]
    if not any(pieces):
        return text, []
    nats = (-record.logprobs).tolist()
    unscored = bool(record.unscored or record.truncated or record.crossing)
    spans = token_spans(text, pieces, nats, unscored=unscored)
    if spans is not None:
        return text, spans
    return "".join(pieces), [Span(len(p), b) for p, b in zip(pieces, nats, strict=True)]


def _cuts(view: SuiteView, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return, for every cut, its values and the value of every item."""
    from boxpen.analysis.slices import cuts

    found = [cuts(e.run) for e in view.scored]
    out = []
    for cut in view.cuts:
        values = [s.value for s in cut.slices]
        of: dict[str, int] = {}
        for one in reversed(found):  # what the first run says holds
            for value, verdicts in one.get(cut.name, {}).items():
                of.update({v.id: values.index(value) for v in verdicts})
        out.append({"name": cut.name, "values": values, "of": [of.get(key, -1) for key in ids]})
    return out


def _tags(packer: _Packer) -> list[dict[str, Any]]:
    """Return, for every tag, its values and the value of every item."""
    mine: list[Mapping[str, str]] = []
    for key in packer.ids:
        verdicts = packer.of(key)
        made = [m[key].tags for m in packer.made if key in m]
        mine.append(verdicts[0].tags if verdicts else made[0])
    out = []
    for name in dict.fromkeys(tag for tags in mine for tag in tags):
        values = {v: i for i, v in enumerate(dict.fromkeys(t[name] for t in mine if name in t))}
        of = [values[t[name]] if name in t else -1 for t in mine]
        out.append({"name": name, "values": list(values), "of": of})
    return out


def _short(number: float) -> float:
    """Return a number with as many digits as the page can show."""
    return float(f"{number:.5g}")
