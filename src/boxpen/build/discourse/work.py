"""What each stage of a build from subtitles does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.discourse.config import CLASSES, DiscourseConfig
from boxpen.build.discourse.pool import Pool, Row
from boxpen.build.discourse.read.texts import read_text
from boxpen.build.dropped import pairs_dropped_by
from boxpen.build.runner import Progress, Report, steps_of
from boxpen.build.tables import parquet_errors, scan_columns, write_table
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.build.discourse.read.texts import TextSpec
    from boxpen.items import Suite
    from boxpen.review import Review
    from boxpen.text.corpus import Pair
    from boxpen.text.overlap import Overlap

__all__ = ["Work", "read_rows", "write_rows"]

_BATCH = 50_000  # lines that are written in one go
LINES, CANDIDATES = "lines.parquet", "candidates.parquet"
SAMPLED, NOT_SAMPLED = "sampled.parquet", "dropped-sample.parquet"
ACCEPTED, REJECTED = "accepted.parquet", "rejected.parquet"


class Work:
    """What the stages of one configuration do."""

    def __init__(self, config: DiscourseConfig, progress: Progress) -> None:
        self.config = config
        self.progress = progress
        self._excluded: list[Suite] | None = None

    def read(self) -> Report:
        """Read the texts, and keep the lines that are speech in both languages."""
        import polars as pl

        from boxpen.build.discourse.filters import LineFilter
        from boxpen.build.discourse.mine import line_schema
        from boxpen.build.sink import ParquetSink

        counts: dict[str, Counter[str]] = {}
        rules = LineFilter(self.config.clean)
        schema = line_schema()
        documents = 0
        last: str | None = None
        with ParquetSink(self.at(LINES), schema) as sink:
            for spec in self.config.texts:
                counts[spec.name] = Counter()
                kept = rules.keep(self._pairs(spec, counts[spec.name]))
                while batch := [(p.doc, p.line, p.source, p.target) for p in islice(kept, _BATCH)]:
                    for line in batch:
                        documents += line[0] != last
                        last = line[0]
                    sink.add(pl.DataFrame(batch, schema=schema, orient="row"))
        total: Counter[str] = sum(counts.values(), Counter())
        # What is not UTF-8 stands there as an empty line; if neither side is, it was counted twice.
        spoilt = min(total["encoding"], total["empty"])
        by_rule = rules.counts
        by_rule = {"empty": total["empty"] - spoilt + by_rule.pop("empty", 0), **by_rule}
        if not sink.rows:
            told = ", ".join(
                f"{name} {count:,}"
                for name, count in {"not UTF-8": spoilt, **by_rule}.items()
                if count
            )
            raise BuildError(f"no line of {total['lines']:,} is left: {told or 'there is none'}")
        return {
            "says": f"{sink.rows:,} of {total['lines']:,} lines stay, in {documents:,} documents",
            "steps": steps_of(total["lines"], {"encoding": spoilt, **by_rule}),
            "lines": {name: count["lines"] for name, count in counts.items()},
            "documents": documents,
        }

    def mine(self) -> Report:
        """Look for candidates among neighbours, and keep the best of every class."""
        import polars as pl

        from boxpen.build.discourse.mine import candidate_schema, height, mined

        config = self.config.mine
        lines = self.at(LINES)
        total = height(lines)
        pool = Pool(config.pool, self.config.seed)
        counts: Counter[str] = Counter()
        found: Counter[str] = Counter()
        self.progress("mine", 0, total)
        for run in mined(lines, self._overlap(), config.min_score, config.processes):
            counts += run.counts
            for row in run.rows:
                found[row["class"]] += 1
                pool.add(row)
            self.progress("mine", counts["lines"], total)
        rows = pool.rows()
        if not rows:
            raise BuildError(
                f"no candidate was found in {counts['snippets']:,} snippets of {total:,} lines"
            )
        write_table(pl.DataFrame(rows, schema=candidate_schema()), self.at(CANDIDATES))
        overlap = {k.partition(" ")[2]: n for k, n in counts.items() if k.startswith("overlap ")}
        overlap = dict(sorted(overlap.items()))
        kept = _by_class(Counter(row["class"] for row in rows))
        return {
            "says": f"{found.total():,} candidates in {counts['snippets']:,} snippets; "
            f"the best {len(rows):,} stay",
            "notes": _left_out(
                {
                    "below min_score": counts["score"],
                    **{"in {} ({})".format(*w.rsplit(", ", 1)): n for w, n in overlap.items()},
                    "duplicates": pool.duplicates,
                }
            ),
            "table": [
                {"class": name, "found": number, "kept": kept[name]}
                for name, number in _by_class(found).items()
            ],
            "snippets": counts["snippets"],
            "low_score": counts["score"],
            "overlap": overlap,
            "duplicates": pool.duplicates,
        }

    def sample(self) -> Report:
        """Draw candidates of every class."""
        from boxpen.build.discourse.sample import sample_candidates

        config = self.config.sample
        rows = read_rows(self.at(CANDIDATES))
        drawn = sample_candidates(
            rows,
            config.wanted if self.config.review is None else config.drawn,
            self.config.seed,
            per_document=config.per_document,
            by=config.by,
        )
        if not drawn.rows:
            raise BuildError(f"no candidate of {len(rows):,} is of a class that is wanted")
        self._write_dropped(drawn.dropped, "sample", NOT_SAMPLED)
        write_rows(drawn.rows, self.at(SAMPLED))
        few = ", ".join(f"{name} {count}" for name, count in drawn.short.items())
        return {
            "says": f"{len(drawn.rows):,} candidates" + (f"; short of: {few}" if few else ""),
            "notes": _left_out(
                {
                    "of a sentence that was drawn": drawn.left_out["sentence"],
                    "over per_document": drawn.left_out["document"],
                }
            ),
            "table": _class_table(drawn.rows),
            "short": drawn.short,
            "left_out": drawn.left_out,
        }

    def accept(self) -> Report:
        """Take what people accepted."""
        from boxpen.build.discourse.review import CandidateTask
        from boxpen.review import Journal

        config = self.config.review
        assert config is not None
        rows = read_rows(self.at(SAMPLED))
        task = CandidateTask(rows, Journal(self.config.journal), wanted=self.config.sample.wanted)
        review = task.review(config.decide_by(), config.min_judges)
        torn = f"{review.torn}; import its sheet again" if review.torn else None
        accepted = task.accepted(review)
        rejected, still = review.counts["reject"], review.counts["open"]
        spare = len(rows) - rejected - still - len(accepted)
        fates = f"{rejected:,} rejected, {still:,} open"
        if not accepted:
            lost = f"; {torn}" if torn else ""
            raise BuildError(f"none of {len(rows):,} candidates is accepted: {fates}{lost}")
        self._write_dropped(_refused(rows, accepted, review), "review", REJECTED)
        write_rows(accepted, self.at(ACCEPTED))
        outdated = {"judgements of texts that have changed since": review.outdated}
        return {
            "says": f"{len(accepted):,} candidates accepted, {fates}"
            + (f", {spare:,} to spare" if spare else ""),
            "notes": _left_out(outdated),
            "warnings": [torn] if torn else [],
            "table": _class_table(accepted),
            "rejected": rejected,
            "open": still,
            "spare": spare,
            "outdated": review.outdated,
        }

    def write(self) -> Report:
        """Make the suite."""
        from boxpen.build.discourse.suite import discourse_suite
        from boxpen.catalog import write_suite

        suite = discourse_suite(self.config, read_rows(self.at(self.chosen)))
        path = self.at(self.suite_file)
        write_suite(suite, path)
        contrastive = sum(1 for item in suite if getattr(item, "contrast", ()))
        return {
            "says": f"{len(suite):,} items, {contrastive:,} of them with contrasts, in {path}",
            "items": len(suite),
            "contrastive": contrastive,
            "hash": suite.hash,
        }

    @property
    def chosen(self) -> str:
        """The table of the candidates that the suite is made of."""
        return SAMPLED if self.config.review is None else ACCEPTED

    @property
    def suite_file(self) -> str:
        """The name of the suite's file."""
        return f"{self.config.name}.jsonl"

    def at(self, name: str) -> Path:
        """Return the path of a file of the build."""
        return self.config.folder / name

    @property
    def excluded(self) -> list[Suite]:
        """The suites that must not be found again; a file is looked for beside the configuration.

        Raises:
            SuiteError: If there is no such suite.
        """
        if self._excluded is None:
            from boxpen.catalog import load_suite

            folder = self.config.path.parent
            self._excluded = [
                load_suite(folder / name if (folder / name).is_file() else name)
                for name in self.config.clean.exclude
            ]
        return self._excluded

    def _overlap(self) -> Overlap | None:
        from boxpen.text.overlap import overlap_of

        return overlap_of(self.excluded, "en", "zh") if self.excluded else None

    def _pairs(self, spec: TextSpec, counts: Counter[str]) -> Iterator[Pair]:
        def progress(share: float, lines: int) -> None:
            # The number of lines is not known before the end: it is foretold from the share.
            self.progress(spec.name, lines, max(lines, round(lines / share) if share else lines))

        return read_text(spec, counts, progress)

    @property
    def rules(self) -> list[str]:
        """The rules by which lines are dropped."""
        from boxpen.build.discourse.filters import LineFilter

        return list(LineFilter(self.config.clean).counts)

    def dropped_lines(self, rule: str) -> Iterator[pl.LazyFrame]:
        """Read the texts again for the lines that a rule dropped."""
        from boxpen.build.discourse.filters import LineFilter

        filters = LineFilter(self.config.clean)
        for spec in self.config.texts:
            pairs = read_text(spec, Counter())
            yield from pairs_dropped_by(rule, pairs, filters.keep, lambda: filters.counts)

    def _write_dropped(self, dropped: Sequence[tuple[Row, str]], step: str, name: str) -> None:
        import polars as pl

        from boxpen.build.discourse.mine import candidate_schema

        schema = {**candidate_schema(), "step": pl.String, "why": pl.String}
        rows = [{**row, "step": step, "why": reason} for row, reason in dropped]
        # A candidate has a reason of its own, for which it was found.
        table = pl.DataFrame(rows, schema=schema).rename({"reason": "found_for", "why": "reason"})
        write_table(table, self.at(name))


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write a table of candidates."""
    import polars as pl

    from boxpen.build.discourse.mine import candidate_schema

    write_table(pl.DataFrame(rows, schema=candidate_schema()), path)


def read_rows(path: Path) -> list[Row]:
    """Read a table of candidates.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    from boxpen.build.discourse.mine import candidate_schema

    lazy = scan_columns(path, candidate_schema())
    with parquet_errors(path):
        return list(lazy.collect().iter_rows(named=True))


def _refused(rows: Sequence[Row], accepted: Sequence[Row], review: Review) -> list[tuple[Row, str]]:
    """Return the candidates that judges rejected or that are not needed, with the reason."""
    taken = {row["id"] for row in accepted}
    refused = []
    for row in rows:
        decision = review.decisions[row["id"]]
        if decision.verdict == "reject":
            refused.append((row, f"rejected {decision.reason}"))
        elif decision.verdict is not None and row["id"] not in taken:
            refused.append((row, "accepted, but the class has enough"))
    return refused


def _by_class(found: Mapping[str, int]) -> dict[str, int]:
    """Return counts of all classes, in their order."""
    return {name: found.get(name, 0) for names in CLASSES.values() for name in names}


def _class_table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    counts = _by_class(Counter(row["class"] for row in rows))
    return [{"class": name, "candidates": count} for name, count in counts.items()]


def _left_out(counts: Mapping[str, int]) -> list[str]:
    """Return a line that tells what was dropped for which reason; none if nothing was."""
    told = ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)
    return [f"left out: {told}"] if told else []
