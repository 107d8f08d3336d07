"""Draw translations for readers, and measure how the reading judge agrees with them.

    readings.py sheets RUN SAMPLED OUT   two blind sheets: 240 translations of a run on CommonMT, 80
                                         of another (scripts/sampled.py)
    readings.py again RUN SAMPLED OUT    two more, of 240 translations of other blocks
    readings.py tables RUN SAMPLED       agreement with the readers (readings.jsonl)
    readings.py recipes RUN...           contrastive and generated accuracy

The translations are split by block: the threshold of the judge was fixed on one half, and the other
half tests it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from results import DOCS, write

from boxpen import Choice
from boxpen.analysis.reading_judge import ReadingJudge
from boxpen.folders import default_cache
from boxpen.metrics.agreement import cohen_estimate
from boxpen.metrics.intervals import Estimate, share
from boxpen.models.cached import scored
from boxpen.models.resolve import resolve_model
from boxpen.plans import READING_JUDGE
from boxpen.report.recipes import recipes_page
from boxpen.review import Journal, Judgement, latest, write_sheet
from boxpen.review.assignment import ordered
from boxpen.review.judgement import lot
from boxpen.review.readings import NEITHER, FreeTranslation, ReadingTask
from boxpen.runs.run import Run, Translation
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.reading import ReadingRule

SEED = 22
DRAWN = (240, 80)
AGAIN = 240
FIRST = ReadingRule(surface=0.0, threshold=3.0)
"""What the development half gave; the held-out half was seen with this rule only."""
READERS = ("reader-a", "reader-b")
JOURNAL = DOCS / "data" / "readings.jsonl"
PAGE = "readings"


class Judged(NamedTuple):
    """A translation, what readers say of it, and what the judge does."""

    made: FreeTranslation
    readers: tuple[str, str]
    lead: float
    """Of the first candidate, by the rule of the judge; negative if the second leads."""
    first: float
    """The same by the first rule."""
    others: Mapping[str, float]
    """The same by other features."""

    @property
    def agreed(self) -> bool:
        """Whether both readers say the same."""
        return self.readers[0] == self.readers[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["sheets", "again", "tables", "recipes"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=None)
    given = parser.parse_args()
    if given.command in ("sheets", "again"):
        *runs, out = given.paths
        draw = drawn if given.command == "sheets" else drawn_again
        sheets(draw([Run.load(path) for path in runs]), out)
        return
    runs = [Run.load(path) for path in given.paths]
    if given.command == "recipes":
        page = recipes_page(runs)
        assert page is not None, "expected runs of one model under two recipes"
        lines = [line for grid in page.grids for line in grid.markdown()]
        write(PAGE, "recipes", "\n".join(lines[2:]).rstrip())
        return
    with ScoreCache(given.cache or default_cache()) as cache:
        judge = ReadingJudge(resolve_model(READING_JUDGE))
        judged = judgements(judge, drawn(runs), cache)
        again = judgements(judge, drawn_again(runs), cache)
    write(PAGE, "agreement", agreement(judged, again))
    write(PAGE, "right", right((*judged, *again), ReadingRule().threshold))
    write(PAGE, "features", features(judged))


def sheets(made: list[FreeTranslation], out: Path) -> None:
    """Write the same questions for both readers, in two orders."""
    questions = [one.question for one in made]
    for reader in READERS:
        own = [q.shuffled(reader, SEED) for q in ordered(questions, "own", reader, SEED)]
        write_sheet(out / f"{reader}.csv", own, reader, blind=True)


def drawn(runs: list[Run]) -> list[FreeTranslation]:
    """Draw translations of different items."""
    found: list[FreeTranslation] = []
    for run, size in zip(runs, DRAWN, strict=True):
        known = {one.id for one in found}
        made = ReadingTask.translations([("", [run])])
        rest = [one for one in made if one.id not in known]
        found += sorted(rest, key=lambda one: lot(SEED, one.id))[:size]
    return found


def drawn_again(runs: list[Run]) -> list[FreeTranslation]:
    """Draw translations of the first run from blocks that were not drawn before."""
    known = {one.cluster for one in drawn(runs)}
    made = ReadingTask.translations([("", runs[:1])])
    rest = [one for one in made if one.cluster not in known]
    return sorted(rest, key=lambda one: lot(SEED, "again", one.id))[:AGAIN]


def halves(judged: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """Split translations by block: one half to develop the rule on, the other to test it."""
    blocks = sorted({j.made.cluster for j in judged}, key=lambda block: lot(SEED, "half", block))
    first = set(blocks[: len(blocks) // 2])
    return (
        [j for j in judged if j.made.cluster in first],
        [j for j in judged if j.made.cluster not in first],
    )


def judgements(
    judge: ReadingJudge, made: Sequence[FreeTranslation], cache: ScoreCache
) -> list[Judged]:
    """Have translations judged, and put the verdicts of the readers beside."""
    rule, model = judge.rule, judge.model
    said = latest(Journal(JOURNAL).read().judgements)
    made = [one for one in made if one.question.item in said]
    asked = [rule.directions(t.translation, c, t.language) for t in made for c in t.candidates]
    requests = list(dict.fromkeys(request for three in asked for request in three))
    records = scored(model, model.resolve_policy(ScoringPolicy()), requests, cache, "").records
    items = [Choice(id=t.question.item, candidates=t.candidates, gold=t.gold) for t in made]
    texts = {
        t.question.item: Translation(t.id, t.source, "", t.translation, t.language, {})
        for t in made
    }
    read = {r.id: r.scores for r in judge.read(items, texts, cache, "")}
    found = []
    for one in made:
        three = [rule.directions(one.translation, c, one.language) for c in one.candidates]
        forward = [records[t.forward].total for t in three]
        backward = [records[t.backward].total for t in three]
        free = [records[t.free].total for t in three]
        pairs = {
            "log p(t after c)": forward,
            "log p(c after t)": backward,
            "log p(c after t) − log p(c)": [b - f for b, f in zip(backward, free, strict=True)],
            "chrF": [chrf(one.translation, c) for c in one.candidates],
            "words that only c has": own_words(one.translation, one.candidates),
        }
        others = {name: a - b for name, (a, b) in pairs.items()}
        before = FIRST.scores(one.translation, one.candidates, one.language, records)
        (lead, first) = (scores[0] - scores[1] for scores in (read[one.question.item], before))
        found.append(Judged(one, verdicts(said[one.question.item]), lead, first, others))
    return found


def verdicts(said: Mapping[str, Judgement]) -> tuple[str, str]:
    first, second = (said[reader].verdict for reader in READERS)
    return first, second


def chrf(translation: str, candidate: str) -> float:
    from sacrebleu.metrics import CHRF

    return float(CHRF().sentence_score(translation, [candidate]).score)


def own_words(translation: str, candidates: Sequence[str]) -> list[float]:
    """Return how many words of the translation are in each candidate and not in the other."""
    there, first, second = (set(re.findall(r"\w+", t.lower())) for t in (translation, *candidates))
    return [float(len(there & (first - second))), float(len(there & (second - first)))]


def agreement(judged: Sequence[Judged], again: Sequence[Judged]) -> str:
    """Return the table of agreement, rule by rule."""
    lines = [
        "| rule | translations | against | n | undecided | decided | κ [95 %] | same | neither |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    earlier = [j._replace(lead=j.first) for j in judged]
    development, held_out = halves(earlier)
    lines += [_line(FIRST, "development half", development), *_lines(FIRST, held_out)]
    lines.append(_line(ReadingRule(), "both halves, now development", judged))
    lines += _lines(ReadingRule(), again, "read afterwards")
    both = [j.readers for j in (*judged, *again)]
    clusters = [j.made.cluster for j in (*judged, *again)]
    kappa = cohen_estimate(*zip(*both, strict=True), clusters)
    same = sum(a == b for a, b in both)
    opposite = sum(NEITHER not in pair and pair[0] != pair[1] for pair in both)
    lines += [
        "",
        f"The readers agree with each other on {same} of {len(both)} translations, κ "
        f"{_shown(kappa)}; they choose opposite readings of {opposite}.",
    ]
    return "\n".join(lines)


def _lines(rule: ReadingRule, some: Sequence[Judged], name: str = "held-out half") -> list[str]:
    """Return the lines of a test: against both readers, against each, and by set."""
    each = [_line(rule, name, some, place) for place in range(len(READERS))]
    parts = [
        _line(rule, f"{name}, {part}", [j for j in some if j.made.part == part])
        for part in sorted({j.made.part for j in some})
    ]
    return [_line(rule, f"**{name}**", some), *each, *parts]


def _line(rule: ReadingRule, name: str, some: Sequence[Judged], at: int | None = None) -> str:
    against = "both readers, where they agree" if at is None else READERS[at]
    asked = [j for j in some if j.agreed] if at is None else list(some)
    said = [(j.readers[at or 0], j) for j in asked]
    decided = [(verdict, j) for verdict, j in said if abs(j.lead) >= rule.threshold]
    theirs = [verdict for verdict, _ in decided]
    ours = ["1" if j.lead > 0 else "2" for _, j in decided]
    clusters = [j.made.cluster for _, j in decided]
    kappa = cohen_estimate(theirs, ours, clusters)
    same = share([float(a == b) for a, b in zip(theirs, ours, strict=True)], clusters)
    undecided = 1 - len(decided) / len(asked)
    shown = f"{'with' if rule.surface else 'without'} chrF, lead {rule.threshold:g}"
    cells = (shown, name, against, len(asked), f"{undecided:.0%}", len(decided), _shown(kappa),
             f"{same.value:.1%}", theirs.count(NEITHER))  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def right(judged: Sequence[Judged], threshold: float) -> str:
    """Return how often translations have the right reading, by readers and by the judge."""
    lines = [
        "| beam search, where readers agree on a reading | n | readers | judge |",
        "|---|---:|---:|---:|",
    ]
    some = [
        j
        for j in judged
        if j.made.run == judged[0].made.run and j.agreed and j.readers[0] != NEITHER
    ]
    decided = [j for j in some if abs(j.lead) >= threshold]
    rest = [j for j in some if abs(j.lead) < threshold]
    for name, these in (("all", some), ("decided", decided), ("undecided", rest)):
        clusters = [j.made.cluster for j in these]
        readers = share([float(int(j.readers[0]) - 1 == j.made.gold) for j in these], clusters)
        ours = share([float((j.lead < 0) == j.made.gold) for j in these], clusters)
        cells = (name, len(these), _percent(readers), _percent(ours) if name == "decided" else "")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def features(judged: Sequence[Judged]) -> str:
    """Return how features compare on the development half, deciding as much as the judge does."""
    development = [j for j in halves(judged)[0] if j.agreed]
    number = sum(abs(j.first) >= FIRST.threshold for j in development)
    lines = [
        "| feature | κ, surest | same, surest | same, all with a reading |",
        "|---|---:|---:|---:|",
    ]
    names = {
        "both directions and chrF (the judge)": "lead",
        "mean of both directions (the first rule)": "first",
        **{name: name for name in judged[0].others},
    }
    for shown, name in names.items():
        leads = [
            (j.readers[0], j.others[name] if name in j.others else getattr(j, name))
            for j in development
        ]
        surest = sorted(leads, key=lambda pair: -abs(pair[1]))[:number]
        theirs = [verdict for verdict, _ in surest]
        ours = ["1" if lead > 0 else "2" for _, lead in surest]
        kappa = cohen_estimate(theirs, ours, range(len(surest)))
        same = sum(a == b for a, b in zip(theirs, ours, strict=True)) / len(surest)
        having = [(verdict, lead) for verdict, lead in leads if verdict != NEITHER]
        every = sum(lead != 0 and (lead > 0) == (verdict == "1") for verdict, lead in having)
        lines.append(f"| {shown} | {kappa.value:.2f} | {same:.1%} | {every / len(having):.1%} |")
    return "\n".join(
        [
            *lines,
            "",
            f"Surest: the {number} of {len(development)} on which a feature leads most.",
        ]
    )


def _percent(found: Estimate) -> str:
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def _shown(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


if __name__ == "__main__":
    main()
