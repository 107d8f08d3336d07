"""What each stage of a build from subtitles does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from boxpen.build.discourse import mine
from boxpen.build.discourse.always import constant_answers
from boxpen.build.discourse.config import DiscourseConfig
from boxpen.build.discourse.filters import LineFilter
from boxpen.build.discourse.mine import Miner
from boxpen.build.discourse.review import CandidateTask
from boxpen.build.discourse.sample import Pool, sample_candidates
from boxpen.build.discourse.texts import read_text
from boxpen.build.dropped import pairs_dropped_by
from boxpen.build.runner import Progress, Report, steps_of
from boxpen.build.sink import ParquetSink
from boxpen.build.tables import Row, write_dropped
from boxpen.catalog import load_suite, write_suite
from boxpen.errors import BuildError
from boxpen.items import Card, Suite, Translate
from boxpen.review import Journal
from boxpen.text.corpus import Pair
from boxpen.text.overlap import overlap_of

__all__ = ["Work"]

_BATCH = 50_000  # lines that are written in one go
PART = 20_000  # lines of a part; about a second of work
TEXTS, LINES, CANDIDATES = "texts.parquet", "lines.parquet", "candidates.parquet"
SAMPLED, NOT_SAMPLED = "sampled.parquet", "dropped-sample.parquet"
ACCEPTED, REJECTED = "accepted.parquet", "rejected.parquet"


class Work:
    """What the stages of one configuration do."""

    def __init__(self, config: DiscourseConfig, progress: Progress) -> None:
        self.config = config
        self.progress = progress

    def read(self) -> Report:
        """Read the texts."""
        counts: dict[str, Counter[str]] = {}
        with ParquetSink(self.at(TEXTS), mine.LINES) as sink:
            for spec in self.config.texts:
                counts[spec.name] = Counter()
                pairs = read_text(
                    spec, self.config.languages, counts[spec.name], self._foretold(spec.name)
                )
                while batch := [(p.doc, p.line, p.source, p.target) for p in islice(pairs, _BATCH)]:
                    sink.add(pl.DataFrame(batch, schema=mine.LINES, orient="row"))
        total: Counter[str] = sum(counts.values(), Counter())
        # A line that is not UTF-8 is read as empty; if neither side is, it was counted twice.
        spoilt = min(total["encoding"], total["empty"])
        dropped = {"encoding": spoilt, "empty": total["empty"] - spoilt}
        if not sink.rows:
            raise _nothing_left(total["lines"], {"not UTF-8": spoilt, "empty": dropped["empty"]})
        return {
            "says": f"{sink.rows:,} of {total['lines']:,} lines have text",
            "steps": steps_of(total["lines"], dropped),
            "lines": {name: count["lines"] for name, count in counts.items()},
        }

    def clean(self, results: Iterator[bytes]) -> Report:
        """Keep the lines that are speech in both languages."""
        total = mine.height(self.at(TEXTS))
        dropped: Counter[str] = Counter()
        documents, last, seen = 0, None, 0
        self.progress("clean", 0, total)
        with ParquetSink(self.at(LINES), mine.LINES) as sink:
            for found in map(json.loads, results):
                for document, *_ in found["lines"]:
                    documents += document != last
                    last = document
                sink.add(pl.DataFrame(found["lines"], schema=mine.LINES, orient="row"))
                dropped.update(found["dropped"])
                seen += found["seen"]
                self.progress("clean", seen, total)
        by_rule = {rule: dropped[rule] for rule in self._line_filter().counts}
        if not sink.rows:
            raise _nothing_left(total, by_rule)
        return {
            "says": f"{sink.rows:,} of {total:,} lines stay, in {documents:,} documents",
            "steps": steps_of(total, by_rule),
            "documents": documents,
        }

    def clean_part(self, part: Sequence[int]) -> bytes:
        """Return the lines of a part that stay, and how many each rule drops."""
        rules = self._line_filter()
        read = mine.read_lines(self.at(TEXTS), *part)
        kept = rules.keep(Pair(source, target, doc, n, "") for doc, n, source, target in read)
        lines = [(pair.doc, pair.line, pair.source, pair.target) for pair in kept]
        return _json({"seen": len(read), "lines": lines, "dropped": rules.counts})

    def mine(self, results: Iterator[bytes]) -> Report:
        """Look for candidates among neighbours, and keep the best of every class."""
        config = self.config.mine
        total = mine.height(self.at(LINES))
        pool = Pool(config.pool, self.config.seed)
        counts: Counter[str] = Counter()
        found: Counter[str] = Counter()
        self.progress("mine", 0, total)
        for part in map(json.loads, results):
            counts.update(part["counts"])
            for row in part["rows"]:
                found[row["class"]] += 1
                pool.add(row)
            self.progress("mine", counts["lines"], total)
        rows = pool.rows()
        if not rows:
            raise BuildError(
                f"no candidate was found in {counts['snippets']:,} snippets of {total:,} lines"
            )
        mine.write_rows(rows, self.at(CANDIDATES))
        known = {k.partition(" ")[2]: n for k, n in counts.items() if k.startswith("overlap ")}
        known = dict(sorted(known.items()))
        kept = self._by_class(Counter(row["class"] for row in rows))
        return {
            "says": f"{found.total():,} candidates in {counts['snippets']:,} snippets; "
            f"the best {len(rows):,} stay",
            "notes": _left_out(
                {
                    "below min_score": counts["score"],
                    **{"in {} ({})".format(*w.rsplit(", ", 1)): n for w, n in known.items()},
                    "duplicates": pool.duplicates,
                }
            ),
            "table": [
                {"class": name, "found": number, "kept": kept[name]}
                for name, number in self._by_class(found).items()
            ],
            "snippets": counts["snippets"],
            "low_score": counts["score"],
            "overlap": known,
            "duplicates": pool.duplicates,
        }

    def mine_part(self, part: Sequence[int]) -> bytes:
        """Return the candidates of a part, and counts."""
        start, count = part
        rows, counts = self._miner(start, count)
        return _json({"rows": rows, "counts": counts})

    def parts_of(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the parts of a table of lines: the first line, and how many."""
        for start in range(0, mine.height(self.at(name)), PART):
            yield start, PART

    def sample(self) -> Report:
        """Draw candidates of every class."""
        config = self.config.sample
        rows = mine.read_rows(self.at(CANDIDATES))
        drawn = sample_candidates(
            rows,
            self.config.wanted if self.config.review is None else self.config.drawn,
            self.config.seed,
            per_document=config.per_document,
            per_sentence=config.per_sentence,
            by=config.by,
        )
        if not drawn.rows:
            raise BuildError(f"no candidate of {len(rows):,} is of a class that is wanted")
        self._write_dropped(drawn.dropped, "sample", NOT_SAMPLED)
        mine.write_rows(drawn.rows, self.at(SAMPLED))
        few = ", ".join(f"{name} {count}" for name, count in drawn.short.items())
        return {
            "says": f"{len(drawn.rows):,} candidates" + (f"; short of: {few}" if few else ""),
            "notes": _left_out(
                {
                    "of a sentence that was drawn": drawn.left_out["sentence"],
                    "over per_document": drawn.left_out["document"],
                }
            ),
            "table": self._class_table(drawn.rows),
            "short": drawn.short,
            "left_out": drawn.left_out,
        }

    def accept(self) -> Report:
        """Take what judges accepted."""
        config = self.config.review
        assert config is not None
        rows = mine.read_rows(self.at(SAMPLED))
        task = CandidateTask(
            rows,
            Journal(self.config.journal),
            wanted=self.config.wanted,
            phenomena=self.config.rules,
        )
        review = task.review(config.decide_by(), config.min_judges)
        torn = f"{review.torn}; import its sheet again" if review.torn else ""
        accepted = task.accepted(review)
        rejected, still = review.counts["reject"], review.counts["open"]
        spare = len(rows) - rejected - still - len(accepted)
        fates = f"{rejected:,} rejected, {still:,} open"
        if not accepted:
            lost = f"; {torn}" if torn else ""
            raise BuildError(f"none of {len(rows):,} candidates is accepted: {fates}{lost}")
        taken = {row["id"] for row in accepted}
        refused = []
        for row in rows:
            decision = review.decisions[row["id"]]
            if decision.verdict == "reject":
                refused.append((row, f"rejected {decision.reason}"))
            elif decision.verdict is not None and row["id"] not in taken:
                refused.append((row, "accepted, but the class has enough"))
        self._write_dropped(refused, "review", REJECTED)
        mine.write_rows(accepted, self.at(ACCEPTED))
        return {
            "says": f"{len(accepted):,} candidates accepted, {fates}"
            + (f", {spare:,} to spare" if spare else ""),
            "notes": _left_out({"judgements of texts that have changed since": review.outdated}),
            "warnings": [torn] if torn else [],
            "table": self._class_table(accepted),
            "rejected": rejected,
            "open": still,
            "spare": spare,
            "outdated": review.outdated,
        }

    def write(self) -> Report:
        """Make the suite."""
        rows = mine.read_rows(self.at(self.chosen))
        suite = _suite(self.config, rows)
        path = self.at(self.suite_file)
        write_suite(suite, path)
        always = constant_answers(rows, self.config.rules)
        contrastive = sum(1 for item in suite if getattr(item, "contrast", ()))
        return {
            "says": f"{len(suite):,} items, {contrastive:,} of them with contrasts, in {path}",
            "notes": ["what a system gets right that always gives the same answer:"] * bool(always),
            "table": always,
            "items": len(suite),
            "contrastive": contrastive,
            "hash": suite.hash,
        }

    @property
    def chosen(self) -> str:
        """The table of the candidates that go into the suite."""
        return SAMPLED if self.config.review is None else ACCEPTED

    @property
    def suite_file(self) -> str:
        """The name of the suite's file."""
        return f"{self.config.name}.jsonl"

    def at(self, name: str) -> Path:
        """Return the path of a file of the build."""
        return self.config.folder / name

    @cached_property
    def excluded(self) -> list[Suite]:
        """The suites that must not be found again; a file is looked for beside the configuration.

        Raises:
            SuiteError: If there is no such suite.
        """
        beside = self.config.path.parent
        names = self.config.clean.exclude
        return [load_suite(beside / n if (beside / n).is_file() else n) for n in names]

    def dropped_lines(self, rule: str) -> Iterator[pl.LazyFrame]:
        """Read the texts again for the lines that a rule dropped."""
        filters = self._line_filter()
        for spec in self.config.texts:
            pairs = read_text(spec, self.config.languages, Counter())
            yield from pairs_dropped_by(rule, pairs, filters.keep, lambda: filters.counts)

    def _line_filter(self) -> LineFilter:
        return LineFilter(self.config.clean, *self.config.languages)

    @cached_property
    def _miner(self) -> Miner:
        overlap = overlap_of(self.excluded, *self.config.languages) if self.excluded else None
        return Miner(self.at(LINES), self.config.rules, overlap, self.config.mine.min_score)

    def _foretold(self, name: str) -> Callable[[float, int], None]:
        def progress(share: float, lines: int) -> None:
            # The number of lines is not known before the end: it is foretold from the share.
            self.progress(name, lines, max(lines, round(lines / share) if share else lines))

        return progress

    def _by_class(self, found: Mapping[str, int]) -> dict[str, int]:
        """Return counts of all classes, in their order."""
        return {name: found.get(name, 0) for name in self.config.wanted}

    def _class_table(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        counts = self._by_class(Counter(row["class"] for row in rows))
        return [{"class": name, "candidates": count} for name, count in counts.items()]

    def _write_dropped(self, dropped: Iterable[tuple[Row, str]], step: str, name: str) -> None:
        rows = ((row, step, reason) for row, reason in dropped)
        write_dropped(rows, mine.CANDIDATES, "found_for", self.at(name))


def _suite(config: DiscourseConfig, rows: Iterable[Row]) -> Suite:
    names = ", ".join(spec.name for spec in config.texts)
    card = Card(
        title=config.suite.title or f"Discourse phenomena from {names}",
        language=config.target_language,
        source_language=config.source_language,
        licence=config.suite.licence,
        citation=config.suite.citation,
        notes="made by boxpen build run; the tag word is what shows the class in the reference, "
        "score how sure the rules are; context is 'seldom needed' where readers settled all "
        "sentences that they read of the class without it"
        + ("" if config.review is None else "; accepted by judges"),
    )
    items = tuple(
        Translate(
            id=row["id"],
            source=row["source"],
            reference=row["target"],
            context=row["context_source"],
            reference_context=row["context_target"],
            contrast=tuple(row["contrast"]),
            tags={
                "set": row["set"],
                "class": row["class"],
                "word": row["word"],
                "score": f"{row['score']:.2f}",
            }
            | ({"context": "seldom needed"} if row["class"] in config.settled else {}),
        )
        for row in rows
    )
    return Suite(config.name, items, card).validate()


def _nothing_left(total: int, dropped: Mapping[str, int]) -> BuildError:
    told = ", ".join(f"{name} {count:,}" for name, count in dropped.items() if count)
    return BuildError(f"no line of {total:,} is left: {told or 'there is none'}")


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _left_out(counts: Mapping[str, int]) -> list[str]:
    """Return a line that tells what was dropped for which reason; none if nothing was."""
    told = ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)
    return [f"left out: {told}"] if told else []
