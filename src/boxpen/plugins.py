"""Registries: everything boxpen looks up by name, imported only when it is used.

The built-in names are all in the tables below. Other packages add suites, models, builders and
exporters by entry points (see plugins.md), which are read only if a name is not built in or a
list is shown. A broken plug-in never stops anything else: lists leave it out with a warning, and
asking for it raises one sentence.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from boxpen.errors import (
    BoxpenError,
    BuildError,
    ClusterError,
    ConfigError,
    ModelError,
    RunError,
    SuiteError,
    nearest,
)
from boxpen.printable import printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "ARCHITECTURES",
    "BUILDERS",
    "EXPORTERS",
    "FRAMES",
    "LOGS",
    "MODELS",
    "RUN_FORMATS",
    "SCORERS",
    "SUITES",
    "SUITE_FORMATS",
    "TASKS",
    "UNITS",
]

_log = logging.getLogger(__name__)


class Registry:
    """Objects by name, built in or from plug-ins.

    Args:
        what: What one of them is called in messages.
        builtin: Where each built-in object is: ``module:object``.
        error: Raised for unknown names and broken plug-ins.
        group: The entry points that add to them, if any.
        expected: What a plug-in must provide: ``module:class``, or ``callable``.
    """

    def __init__(
        self,
        what: str,
        builtin: dict[str, str],
        error: type[BoxpenError],
        *,
        group: str | None = None,
        expected: str = "callable",
    ) -> None:
        self.what = what
        self.builtin = builtin
        self._error = error
        self._group = group
        self._expected = expected

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self._plugins

    def load(self, name: str) -> Any:
        """Import what a name stands for.

        Raises:
            BoxpenError: If the name is unknown, or a plug-in is broken.
        """
        if name in self.builtin:
            module, _, attribute = self.builtin[name].partition(":")
            return getattr(import_module(module), attribute)
        if name in self._plugins:
            return self._loaded(self._plugins[name])
        raise self._error(f"there is no {self.what} '{name}', {nearest(name, list(self))}")

    def listed(self) -> dict[str, Any]:
        """Return everything by name; warn about plug-ins that cannot be loaded."""
        return {name: self.load(name) for name in self.builtin} | self.usable_plugins()

    def usable_plugins(self) -> dict[str, Any]:
        """Return what other packages add by name; warn about what cannot be loaded."""
        found = {}
        for name in self._plugins:
            try:
                found[name] = self.load(name)
            except self._error as error:
                _log.warning("%s", error)
        for problem in self._ignored:
            _log.warning("%s", problem)
        return found

    @contextlib.contextmanager
    def guarding(self, name: str) -> Iterator[None]:
        """Turn whatever the code of a plug-in raises into one sentence."""
        try:
            yield
        except BoxpenError:
            raise
        except Exception as error:
            if name in self.builtin:
                raise
            title = self._title(self._plugins[name])
            raise self._error(f"{title} failed ({_reason(error)})") from error

    @property
    def _plugins(self) -> dict[str, EntryPoint]:
        return self._found[0]

    @property
    def _ignored(self) -> list[str]:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[dict[str, EntryPoint], list[str]]:
        """The usable entry points by name, and why others are ignored."""
        usable: dict[str, EntryPoint] = {}
        ignored: list[str] = []
        for point in _entry_points(self._group) if self._group else ():
            if not re.fullmatch("[A-Za-z0-9_-]+", point.name):
                ignored.append(f"{self._title(point)} is ignored: its name is not valid")
            elif point.name in self.builtin:
                ignored.append(f"{self._title(point)} is ignored: boxpen has one of that name")
            elif point.name in usable:
                other = _package(usable[point.name])
                ignored.append(f"{self._title(point)} is ignored: {other} has one of that name")
            else:
                usable[point.name] = point
        return usable, ignored

    def _loaded(self, point: EntryPoint) -> Any:
        try:
            found = point.load()
        except (Exception, SystemExit) as error:  # whatever the code of others may raise
            raise self._error(
                f"{self._title(point)} cannot be imported ({_reason(error)})"
            ) from error
        module, _, name = self._expected.partition(":")
        wanted: Any = getattr(import_module(module), name) if name else Callable
        if not isinstance(found, wanted):
            raise self._error(
                f"{self._title(point)} is broken: {printable(point.value)} is of type "
                f"{type(found).__name__}, expected {_article(name or 'function')}"
            )
        if getattr(found, "name", point.name) != point.name:
            raise self._error(f"{self._title(point)} is broken: its object has another name")
        return found

    def _title(self, point: EntryPoint) -> str:
        return f"{self.what} '{printable(point.name)}' of the plug-in {_package(point)}"


def _entry_points(group: str) -> Iterator[EntryPoint]:
    from importlib.metadata import distributions

    seen = set()
    for distribution in distributions():
        try:
            name, points = distribution.metadata["Name"], distribution.entry_points
            found = list(points.select(group=group)) if name not in seen else ()
        except Exception:  # damaged metadata; pip would complain about it, too
            continue
        seen.add(name)  # of two copies, Python imports the first
        yield from found


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _reason(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}".splitlines()[0])


def _package(point: EntryPoint) -> str:
    return printable(point.dist.name) if point.dist else printable(point.module)


SUITES = Registry(
    "suite",
    {
        "starter": "boxpen.catalog.releases.starter:STARTER",
        "starter-graph": "boxpen.catalog.releases.starter:STARTER_GRAPH",
        "commonmt": "boxpen.catalog.releases.commonmt:COMMONMT",
        "cats": "boxpen.catalog.releases.cats:CATS",
        "cats-dual": "boxpen.catalog.releases.cats:CATS_DUAL",
        "senmaking": "boxpen.catalog.releases.senmaking:SENMAKING",
        "comve": "boxpen.catalog.releases.comve:COMVE",
        "comve-train": "boxpen.catalog.releases.comve:COMVE_TRAIN",
        "piqa": "boxpen.catalog.releases.piqa:PIQA",
        "discourse": "boxpen.catalog.releases.discourse:DISCOURSE",
        "blimp": "boxpen.catalog.releases.blimp:BLIMP",
        "xcopa": "boxpen.catalog.releases.xcopa:XCOPA",
        "winogrande": "boxpen.catalog.releases.winogrande:WINOGRANDE",
        "codah": "boxpen.catalog.releases.codah:CODAH",
        "mucow": "boxpen.catalog.releases.mucow:MUCOW",
        "hellaswag": "boxpen.catalog.releases.hellaswag:HELLASWAG",
        "commonsenseqa": "boxpen.catalog.releases.commonsenseqa:COMMONSENSEQA",
    },
    SuiteError,
    group="boxpen.suites",
    expected="boxpen.catalog.entry:Entry",
)

EXPORTERS = Registry(
    "file format",
    {
        "jsonl": "boxpen.catalog.jsonl:write_jsonl",
        "csv": "boxpen.catalog.tabular:write_csv",
        "tsv": "boxpen.catalog.tabular:write_tsv",
        "parquet": "boxpen.catalog.parquet:write_parquet",
    },
    SuiteError,
    group="boxpen.exporters",
)
"""By the ending of the file: functions that write a suite to a binary stream."""

FRAMES = Registry(
    "frame",
    {
        "read": "boxpen.catalog.data_frames:suite_of_frame",
        "write": "boxpen.catalog.data_frames:frame_of_suite",
    },
    SuiteError,
)
"""Data frames as suites, and suites as data frames: what ``Suite`` needs of the catalog."""

SUITE_FORMATS = Registry(
    "suite format",
    {
        "lm-eval": "boxpen.exchange.lm_eval_tasks:write_tasks",
        "hf": "boxpen.exchange.hub_dataset:write_dataset",
        "inspect": "boxpen.exchange.inspect_task:write_task",
    },
    SuiteError,
)
"""Formats of other tools: functions that write a suite, under a recipe, into a new folder.

They return how many items the format cannot hold, by reason.
"""

RUN_FORMATS = Registry(
    "run format",
    {
        "eee": "boxpen.exchange.every_eval:write_runs",
        "hf": "boxpen.exchange.hub_results:write_runs",
        "inspect": "boxpen.exchange.inspect_log:write_runs",
    },
    RunError,
)
"""Formats of other tools: functions that write runs into a new folder."""

LOGS = Registry(
    "log format",
    {
        "lm-eval": "boxpen.exchange.lm_eval_logs:LOG",
        "eee": "boxpen.exchange.every_eval_logs:LOG",
    },
    RunError,
)
"""Results of other tools that can be read as runs (see ``runs.logs``)."""

MODELS = Registry(
    "model scheme",
    {
        "hf": "boxpen.models.loading.checkpoint:from_checkpoint",
        "gguf": "boxpen.models.loading.gguf:from_gguf",
        "embedded": "boxpen.models.loading.embedded:from_embedded",
        "ct2": "boxpen.models.ct2:from_ct2",
        "elmo": "boxpen.lm.bilm.elmo_model:from_elmo",
        "api": "boxpen.models.remote.model:from_api",
        "openai": "boxpen.models.remote.model:from_api",
        "translator": "boxpen.models.remote.translators.model:from_translator",
    },
    ModelError,
    group="boxpen.models",
)
"""By the part of a model's name before the colon: functions from a ``ModelSpec`` to a model."""

SCORERS = Registry(
    "kind of model",
    {
        "causal": "boxpen.models.causal:CausalModel",
        "masked": "boxpen.models.masked:MaskedModel",
        "permuted": "boxpen.models.permuted:PermutedModel",
        "seq2seq": "boxpen.models.seq2seq:Seq2SeqModel",
        "nli": "boxpen.models.classifier:NliModel",
        "choice": "boxpen.models.pairs:ChoiceModel",
        "bilm": "boxpen.lm.bilm.scorer:BidirectionalModel",
        "rnnsearch": "boxpen.models.seq2seq:Seq2SeqModel",
        "concat": "boxpen.nmt.context.scorer:ContextualModel",
        "thumt": "boxpen.nmt.context.scorer:ContextualModel",
        "cadec": "boxpen.nmt.context.scorer:ContextualModel",
        "bert_fused": "boxpen.nmt.context.scorer:ContextualModel",
    },
    ModelError,
)
"""The classes that score with checkpoints, by kind, or by ``model_type`` for boxpen's own."""

ARCHITECTURES = Registry(
    "architecture",
    {
        "bilm": "boxpen.lm.bilm.model:BiLMForLanguageModeling",
        "rnnsearch": "boxpen.nmt.architectures.rnnsearch:RNNSearchForConditionalGeneration",
        "concat": "boxpen.nmt.context.concat:ConcatForConditionalGeneration",
        "thumt": "boxpen.nmt.context.thumt:ThumtForConditionalGeneration",
        "cadec": "boxpen.nmt.context.cadec:CADecForConditionalGeneration",
        "bert_fused": "boxpen.nmt.context.bert_fused:BertFusedForConditionalGeneration",
    },
    ModelError,
)
"""Boxpen's own, by ``model_type``; Transformers learns of them when a checkpoint needs one."""

BUILDERS = Registry(
    "builder",
    {
        "conjunctions": "boxpen.build.conjunctions.stages:BUILDER",
        "discourse": "boxpen.build.discourse.stages:BUILDER",
        "duals": "boxpen.build.duals.stages:BUILDER",
        "kg": "boxpen.build.kg.stages:BUILDER",
        "nmt": "boxpen.nmt.data.prepared:BUILDER",
    },
    ConfigError,
    group="boxpen.builders",
    expected="boxpen.build.builders:Builder",
)

TASKS = Registry(
    "task",
    {
        "triples": "boxpen.build.kg.review:TripleTask",
        "wrong-answers": "boxpen.build.kg.review:WrongAnswerTask",
        "wordings": "boxpen.build.kg.review:WordingTask",
        "candidates": "boxpen.build.discourse.review:CandidateTask",
        "duals": "boxpen.build.duals.review:DualTask",
        "classes": "boxpen.analysis.discourse.readers:ClassTask",
        "errors": "boxpen.analysis.translation_errors:ErrorTask",
        "readings": "boxpen.review.readings:ReadingTask",
        "answers": "boxpen.review.answers:AnswerTask",
        "wrong-candidates": "boxpen.analysis.suites.wrong_candidates:WrongCandidateTask",
        "tags": "boxpen.analysis.tagging:TagTask",
    },
    BuildError,
)

UNITS = Registry(
    "unit kind",
    {"model": "boxpen.matrix.work:ModelWork", "part": "boxpen.build.workers:PartWork"},
    ClusterError,
)
"""By the kind of work: classes that load what a group of units shares, and run its units."""
