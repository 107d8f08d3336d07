"""What each stage of a build does: reads files of the build's folder, and writes others.

Every method returns what is to be said of the stage: ``says``, a sentence, and figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.discourse.config import CLASSES, DiscourseConfig
from boxpen.build.discourse.pool import Pool, Row
from boxpen.build.stages import Report
from boxpen.errors import BuildError
from boxpen.failures import reason, refusals

if TYPE_CHECKING:
    from boxpen.build.discourse.read import TextSpec
    from boxpen.items import Suite
    from boxpen.nmt.corpus import Pair
    from boxpen.nmt.overlap import Overlap

__all__ = ["Progress", "Work", "read_rows", "write_rows"]

Progress = Callable[[str, int, int], None]
_BATCH = 50_000  # lines that are written in one go


class Work:
    """The stages of one configuration; each public method is one of them."""

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
        with ParquetSink(self.at("lines.parquet"), schema) as sink:
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
            "steps": _left(total["lines"], {"encoding": spoilt, **by_rule}),
            "lines": {name: count["lines"] for name, count in counts.items()},
            "documents": documents,
        }

    def mine(self) -> Report:
        """Look for candidates among neighbours, and keep the best of every class."""
        import polars as pl

        from boxpen.build.discourse.mine import candidate_schema, height, mined
        from boxpen.build.kg.triples import write_table

        config = self.config.mine
        lines = self.at("lines.parquet")
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
        write_table(pl.DataFrame(rows, schema=candidate_schema()), self.at("candidates.parquet"))
        overlaps = {k.partition(" ")[2]: n for k, n in counts.items() if k.startswith("overlap ")}
        return {
            "says": f"{found.total():,} candidates in {counts['snippets']:,} snippets; "
            f"the best {len(rows):,} stay",
            "snippets": counts["snippets"],
            "low_score": counts["score"],
            "overlap": dict(sorted(overlaps.items())),
            "duplicates": pool.duplicates,
            "classes": _by_class(found),
            "pool": _by_class(Counter(row["class"] for row in rows)),
        }

    def sample(self) -> Report:
        """Draw candidates of every class."""
        from boxpen.build.discourse.sample import sample_candidates

        config = self.config.sample
        rows = read_rows(self.at("candidates.parquet"))
        drawn = sample_candidates(
            rows,
            config.wanted if self.config.review is None else config.drawn,
            self.config.seed,
            per_document=config.per_document,
            by=config.by,
        )
        if not drawn.rows:
            raise BuildError(f"no candidate of {len(rows):,} is of a class that is wanted")
        write_rows(drawn.rows, self.at("sampled.parquet"))
        few = ", ".join(f"{name} {count}" for name, count in drawn.short.items())
        return {
            "says": f"{len(drawn.rows):,} candidates" + (f"; short of: {few}" if few else ""),
            "classes": _by_class(Counter(row["class"] for row in drawn.rows)),
            "short": drawn.short,
            "left_out": drawn.left_out,
        }

    def accept(self) -> Report:
        """Take what people accepted."""
        from boxpen.build.discourse.review import CandidateTask
        from boxpen.review import Journal, Rule

        config = self.config.review
        assert config is not None
        rows = read_rows(self.at("sampled.parquet"))
        task = CandidateTask(rows, Journal(self.config.journal), wanted=self.config.sample.wanted)
        rule = Rule.named(config.rule, config.divided, config.adjudicator)
        review = task.review(rule, config.min_judges)
        torn = f"{review.torn}; import its sheet again" if review.torn else None
        accepted = task.accepted(review)
        rejected, still = review.counts["reject"], review.counts["open"]
        spare = len(rows) - rejected - still - len(accepted)
        fates = f"{rejected:,} rejected, {still:,} open"
        if not accepted:
            lost = f"; {torn}" if torn else ""
            raise BuildError(f"none of {len(rows):,} candidates is accepted: {fates}{lost}")
        write_rows(accepted, self.at("accepted.parquet"))
        return {
            "says": f"{len(accepted):,} candidates accepted, {fates}"
            + (f", {spare:,} to spare" if spare else ""),
            "classes": _by_class(Counter(row["class"] for row in accepted)),
            "rejected": rejected,
            "open": still,
            "spare": spare,
            "outdated": review.outdated,
            "torn": torn,
        }

    def write(self) -> Report:
        """Make the suite."""
        from boxpen.build.discourse.suite import discourse_suite
        from boxpen.catalog import write_suite

        suite = discourse_suite(self.config, read_rows(self.chosen))
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
    def chosen(self) -> Path:
        """The table of the candidates that the suite is made of."""
        return self.at("sampled.parquet" if self.config.review is None else "accepted.parquet")

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
        from boxpen.nmt.overlap import overlap_of

        return overlap_of(self.excluded, "en", "zh") if self.excluded else None

    def _pairs(self, spec: TextSpec, counts: Counter[str]) -> Iterator[Pair]:
        from boxpen.build.discourse.read import read_text

        def progress(share: float, lines: int) -> None:
            # The number of lines is not known before the end: it is foretold from the share.
            self.progress(spec.name, lines, max(lines, round(lines / share) if share else lines))

        return read_text(spec, counts, progress)


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write a table of candidates."""
    import polars as pl

    from boxpen.build.discourse.mine import candidate_schema
    from boxpen.build.kg.triples import write_table

    write_table(pl.DataFrame(rows, schema=candidate_schema()), path)


def read_rows(path: Path) -> list[Row]:
    """Read a table of candidates.

    Raises:
        BuildError: If it is not there, damaged, or of other columns.
    """
    import polars as pl

    from boxpen.build.discourse.mine import candidate_schema

    if not path.is_file():
        raise BuildError(f"there is no {path}; run the stage that writes it first")
    try:
        frame = pl.read_parquet(path, glob=False)
    except refusals() as error:
        raise BuildError(f"{path} cannot be read: {reason(error)}") from None
    for name in candidate_schema():
        if name not in frame.columns:
            raise BuildError(
                f"{path} has no column '{name}', it has {', '.join(frame.columns)}; "
                "do the stage that writes it again"
            )
    return list(frame.iter_rows(named=True))


def _by_class(found: Mapping[str, int]) -> dict[str, int]:
    """Return counts of all classes, in their order."""
    return {name: found.get(name, 0) for names in CLASSES.values() for name in names}


def _left(lines: int, dropped: Mapping[str, int]) -> list[dict[str, Any]]:
    """Say how many lines are left after every rule."""
    out = []
    for name, count in dropped.items():
        lines -= count
        out.append({"step": name, "dropped": count, "left": lines})
    return out
