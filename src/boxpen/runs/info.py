"""What ``run.json`` holds: how a run was made, so that it can be repeated."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from boxpen.catalog.lint.items import Finding
from boxpen.items import Suite
from boxpen.printable import printable
from boxpen.scoring.labels import NAMES, names_of, offered, setting_of
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.signature import signature
from boxpen.version import __version__

if TYPE_CHECKING:
    from boxpen.models.base import Model

__all__ = [
    "FORMAT",
    "UNANSWERED",
    "HumanInfo",
    "JudgeInfo",
    "ModelInfo",
    "ReadingJudgeInfo",
    "RecipeInfo",
    "RunInfo",
    "Sample",
    "SuiteInfo",
]

FORMAT = 1
UNANSWERED = "unanswered: "
"""Begins the reason why an item without an answer is left out."""

_SCALARS: dict[str, tuple[Any, str]] = {
    "bool": (bool, "true or false"),
    "str": (str, "a string"),
    "int": (int, "a number"),
    "float": ((int, float), "a number"),
}
_OPTIONAL = {"optional": True}  # not written if None


@dataclass(frozen=True, kw_only=True)
class _Part:
    """An object of ``run.json``; keys that this version does not know are kept in ``more``."""

    more: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the object.

        Raises:
            KeyError: If a key is missing.
            TypeError: If a value has the wrong type.
            ValueError: If a value is impossible.
        """
        rest, given = dict(data), {}
        for one in fields(cls):
            key = one.metadata.get("key", one.name)
            if one.name != "more" and key in rest:
                value = rest.pop(key)
                _check_type(key, value, str(one.type))
                read = one.metadata.get("read")
                given[one.name] = value if read is None else read(value)
            elif one.default is one.default_factory is MISSING:
                raise KeyError(key)
        return cls(**given, more=rest)

    def to_json(self) -> dict[str, Any]:
        """Return the object as it is written."""
        out = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "more" and not (value is None and one.metadata.get("optional")):
                out[one.metadata.get("key", one.name)] = _plain(value)
        return {**out, **self.more}


def _check_type(key: str, value: Any, expected: str) -> None:
    kind = expected.removesuffix(" | None")
    if value is None and kind != expected:
        return
    if kind in _SCALARS:
        types, name = _SCALARS[kind]
        if not isinstance(value, types):
            raise TypeError(f"expected {name}, found {value!r}")
        str(value).encode()  # lone surrogates cannot be printed
    elif kind.startswith("tuple"):
        if not isinstance(value, list):
            raise TypeError(f"`{key}` must be a list")
    elif kind != "Sample" and not isinstance(value, dict):
        raise TypeError(f"`{key}` must be an object")


def _plain(value: Any) -> Any:
    if isinstance(value, _Part):
        return value.to_json()
    if isinstance(value, Sample):
        return str(value)
    if is_dataclass(value):
        return asdict(value)  # type: ignore[arg-type]
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class Sample:
    """How the items of a run were drawn from a larger suite.

    Attributes:
        drawn: Number of items.
        whole: Number of items of the suite; None if unknown.
        seed: What they were drawn by; None if another tool took them, such as the first ones.
    """

    drawn: int
    whole: int | None
    seed: int | None = None

    @classmethod
    def parse(cls, text: object) -> Sample:
        """Read ``DRAWN/WHOLE@SEED``, or ``DRAWN/WHOLE`` or ``DRAWN/?`` of another tool."""
        found = re.fullmatch(r"([0-9]+)/(?:([0-9]+)(?:@([0-9]+))?|\?)", str(text))
        numbers = [None if n is None else int(n) for n in found.groups()] if found else [0] * 3
        drawn, whole, seed = numbers
        if not drawn or (whole is not None and drawn > whole):
            raise ValueError(f"it has the sample {text!r}, expected DRAWN/WHOLE@SEED")
        return cls(drawn, whole, seed)

    def __str__(self) -> str:
        whole = "?" if self.whole is None else self.whole
        return f"{self.drawn}/{whole}" + (f"@{self.seed}" if self.seed is not None else "")


def _texts(values: Mapping[str, Any]) -> Mapping[str, str]:
    for value in values.values():
        if not isinstance(value, str):
            raise TypeError(f"expected a string, found {value!r}")
    return values


@dataclass(frozen=True, kw_only=True)
class SuiteInfo(_Part):
    """The suite: its items that were judged, and its card (see ``boxpen.Card``).

    Attributes:
        labels: A short hash of the labels of every tag that later readers gave.
    """

    name: str
    hash: str
    items: int
    title: str = ""
    language: str | None = None
    source_language: str | None = None
    licence: str = ""
    citation: str = ""
    url: str = ""
    version: str = "1"
    notes: str = ""
    labels: Mapping[str, str] | None = field(default=None, metadata={"read": _texts, **_OPTIONAL})
    file: str | None = field(default=None, metadata=_OPTIONAL)
    sample: Sample | None = field(default=None, metadata={"read": Sample.parse, **_OPTIONAL})

    @classmethod
    def of(cls, suite: Suite) -> SuiteInfo:
        """Describe a suite."""
        card = asdict(suite.card)
        del card["reader_tags"]
        return cls(
            name=suite.name,
            hash=suite.hash,
            items=len(suite),
            **card,
            labels=suite.label_hashes() or None,
            file=printable(suite.file) if suite.file else None,
            sample=Sample.parse(suite.sample) if suite.sample else None,
        )


def _names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _labels(names: Sequence[str]) -> tuple[str, ...]:
    for label in names:
        if label not in NAMES:
            raise ValueError(f"it has the label {label!r}, expected {', '.join(NAMES)}")
    return tuple(names)


@dataclass(frozen=True, kw_only=True)
class ModelInfo(_Part):
    """The model.

    Attributes:
        short: Its name in tables.
        batch: How texts were batched, if that changes scores.
        access: How a model behind an API was asked.
        labels: The labels of an inference classifier, in the order of its outputs.
        remark: What a self-check of the model found.
        trust_remote_code: Whether code of the checkpoint ran.
    """

    name: str
    short: str
    kind: str
    fingerprint: str
    dtype: str
    batch: str | None = field(default=None, metadata=_OPTIONAL)
    access: str | None = field(default=None, metadata=_OPTIONAL)
    languages: tuple[str, ...] | None = field(default=None, metadata={"read": _names})
    labels: tuple[str, ...] | None = field(default=None, metadata={"read": _labels, **_OPTIONAL})
    remark: str | None = field(default=None, metadata=_OPTIONAL)
    trust_remote_code: bool | None = field(default=None, metadata=_OPTIONAL)

    @classmethod
    def of(
        cls, model: Model, remark: str | None, *, asked: bool = False, fast: bool = False
    ) -> ModelInfo:
        """Describe a model that was scored, perhaps in two precisions, or asked questions."""
        batched = (model.rounded if fast else None) or model
        return cls(
            name=printable(model.name),
            short=printable(model.short),
            kind=model.kind,
            fingerprint=model.fingerprint,
            dtype="fast" if fast else model.dtype,
            batch=batched.batch or None,
            access=(model.chat_access if asked else model.access) or None,
            languages=tuple(sorted(model.languages)) if model.languages else None,
            labels=names_of(model.labels) if model.labels else None,
            remark=remark or None,
            trust_remote_code=getattr(model, "remote_code", False) or None,
        )


@dataclass(frozen=True, kw_only=True)
class RecipeInfo(_Part):
    """The recipe; its templates are in ``more``."""

    name: str
    digest: str

    @classmethod
    def of(cls, recipe: Recipe) -> RecipeInfo:
        """Describe a recipe."""
        more = {key: value for key, value in asdict(recipe).items() if key != "name"}
        for new in ("asks", "generates"):
            if not more[new]:
                del more[new]
        return cls(name=recipe.name, digest=recipe.digest, more=more)

    @property
    def asks(self) -> bool:
        """Whether the model was asked for an answer instead of scoring candidates."""
        return bool(self.more.get("asks"))

    @property
    def generates(self) -> bool:
        """Whether free translations were judged instead of scoring candidates."""
        return bool(self.more.get("generates"))

    def to_json(self) -> dict[str, Any]:
        """Return the object as it is written, with the digest last."""
        return {"name": self.name, **self.more, "digest": self.digest}


@dataclass(frozen=True, kw_only=True)
class JudgeInfo(_Part):
    """One human judge, by number."""

    judge: int
    items: int
    accuracy: float


def _judges(judges: Sequence[Mapping[str, Any]]) -> tuple[JudgeInfo, ...]:
    if not judges:
        raise ValueError("it names no judges")
    return tuple(map(JudgeInfo.from_json, judges))


def _numbers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    for value in values.values():
        if not isinstance(value, int | float | None):
            raise TypeError(f"expected a number, found {value!r}")
    return values


@dataclass(frozen=True, kw_only=True)
class HumanInfo(_Part):
    """The judges of a run of human answers.

    Attributes:
        fewest: Answers per item, at least.
        most: Answers per item, at most.
        agreement: Measures of agreement by name; None if undefined.
        gold_in_one_place: Share of items whose right answer has the commonest position.
    """

    judges: int
    answers: int
    min_judges: int
    fewest: int
    most: int
    single_judge_accuracy: float
    by_judge: tuple[JudgeInfo, ...] = field(metadata={"read": _judges})
    agreement: Mapping[str, float | None] = field(metadata={"read": _numbers})
    gold_in_one_place: float


@dataclass(frozen=True, kw_only=True)
class ReadingJudgeInfo(_Part):
    """Who decided which candidate a free translation carries.

    Attributes:
        name: The model, or ``words`` where class words decided everything.
        short: Its name in tables.
        fingerprint: Of the model; empty if there was none.
        rule: Digest of what the model was shown.
        threshold: Lead of a candidate, in nats, below which a translation is undecided.
        words: How many translations class words decided or left undecided.
    """

    name: str
    short: str
    fingerprint: str
    rule: str
    threshold: float
    words: int

    def __str__(self) -> str:
        by_model = f"{self.short}@{self.fingerprint[:8]}" if self.fingerprint else ""
        return "+".join(filter(None, ("words" if self.words else "", by_model)))


def _bounds(values: Mapping[str, Any]) -> Mapping[str, float]:
    for value in values.values():
        if not isinstance(value, int | float):
            raise TypeError(f"expected a number, found {value!r}")
    return values


def _policy(data: Mapping[str, Any]) -> ScoringPolicy:
    for name in ("norm", "ties"):  # earlier versions did not write all the others
        data[name]
    if unknown := data.keys() - {one.name for one in fields(ScoringPolicy)}:
        raise ValueError(f"the policy has '{min(unknown)}', which this version does not know")
    return ScoringPolicy(**data)


def _resolved(data: Mapping[str, Any]) -> Mapping[str, object]:
    for name, value in data.items():
        if not isinstance(value, str | int):
            raise TypeError(f"it has {value!r} for '{name}', expected a text, a number or a bool")
    return data


def _id_lists(data: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    if not all(isinstance(ids, list) for ids in data.values()):
        raise TypeError("`left_out` must hold lists of items")
    return data


def _name_lists(data: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    if not all(isinstance(name, str) for names in data.values() for name in names):
        raise TypeError("`parts_left_out` must hold lists of strings")
    return data


def _findings(found: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    if not all(isinstance(one["rule"], str) for one in found):
        raise TypeError("a finding has no rule")
    return tuple(Finding(f["rule"], f.get("item"), f.get("message", "")) for f in found)


@dataclass(frozen=True, kw_only=True)
class RunInfo(_Part):
    """How a run was made.

    Attributes:
        format: Version of the run directory.
        boxpen: Version of boxpen.
        resolved_policy: The policy fields that change log-probabilities, without ``auto``.
        beam: Beam size of translations; 0 if it is up to a server.
        left_out: Ids of the items that were left out, by reason.
        parts_left_out: Names of the parts that were left out as a whole, by reason.
        unread_sources: Number of translations judged without their source.
        unread_contexts: Number of items with a context that the model does not read.
        findings: What lint found in the suite.
        engine: What was computed and how.
        rounding: Under precision ``fast``, for each norm: how near two candidates may be, at
            most, for rounding to decide between them.
        hardware: What workers computed it on; several if it was mixed.
        human: The judges, if people answered.
        judge: The judge of free translations, if there is one.
    """

    format: int = FORMAT
    boxpen: str = __version__
    suite: SuiteInfo = field(metadata={"read": SuiteInfo.from_json})
    model: ModelInfo = field(metadata={"read": ModelInfo.from_json})
    recipe: RecipeInfo = field(metadata={"read": RecipeInfo.from_json})
    policy: ScoringPolicy = field(metadata={"read": _policy})
    resolved_policy: Mapping[str, object] = field(metadata={"key": "settled", "read": _resolved})
    beam: int
    left_out: Mapping[str, Sequence[str]] = field(metadata={"read": _id_lists})
    parts_left_out: Mapping[str, Sequence[str]] = field(metadata={"read": _name_lists})
    unread_sources: int | None = field(default=None, metadata=_OPTIONAL)
    unread_contexts: int
    findings: tuple[Finding, ...] = field(metadata={"read": _findings})
    engine: Mapping[str, Any] = field(default_factory=dict)
    rounding: Mapping[str, float] | None = field(
        default=None, metadata={"read": _bounds, **_OPTIONAL}
    )
    hardware: tuple[str, ...] | None = field(default=None, metadata={"read": _names, **_OPTIONAL})
    seconds: float = 0.0
    python: str = platform.python_version()
    human: HumanInfo | None = field(
        default=None, metadata={"read": HumanInfo.from_json, **_OPTIONAL}
    )
    judge: ReadingJudgeInfo | None = field(
        default=None, metadata={"read": ReadingJudgeInfo.from_json, **_OPTIONAL}
    )
    signature: str = ""

    @property
    def generated(self) -> bool:
        """Whether free translations were judged instead of scoring candidates."""
        return self.recipe.generates

    @property
    def asked(self) -> bool:
        """Whether the model was asked for an answer instead of scoring candidates."""
        return self.recipe.asks

    @property
    def unanswered(self) -> int:
        """Number of items that were left out because the model gave no answer."""
        return sum(len(i) for reason, i in self.left_out.items() if reason.startswith(UNANSWERED))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunInfo:
        """Read the content of ``run.json``; raise as other parts do."""
        data["signature"]
        info = super().from_json(data)
        if info.model.kind == "human" and info.human is None:
            raise KeyError("human")
        if info.generated and info.judge is None:
            raise KeyError("judge")
        return info

    def signed(self) -> RunInfo:
        """Return the information with the signature of a model's run."""
        suite, model, policy = self.suite, self.model, self.policy
        line = signature(
            suite=suite.name,
            suite_hash=suite.hash,
            sample=str(suite.sample) if suite.sample else None,
            model=model.short,
            fingerprint=model.fingerprint,
            kind=model.kind,
            recipe=f"{self.recipe.name}@{self.recipe.digest}",
            bos=self.resolved_policy.get("bos"),
            eos=self.resolved_policy.get("eos"),
            norm=None if self.generated or model.kind in ("nli", "choice") else policy.norm,
            nli=self.setting,
            pll=self.resolved_policy.get("pll"),
            judge=None if self.judge is None else str(self.judge),
            rule=self.judge.rule if self.judge and self.judge.fingerprint else None,
            lead=self.judge.threshold if self.judge and self.judge.fingerprint else None,
            ties=None if self.generated else policy.ties,
            context=None if policy.context == "given" else policy.context,
            dtype=model.dtype,
            batch=model.batch,
            trust_remote_code=model.trust_remote_code,
            api=model.access,
            max=self.resolved_policy.get("max_length"),
            hardware=" + ".join(mixed) if len(mixed := self.hardware or ()) > 1 else None,
        )
        return replace(self, signature=line)

    @property
    def label_numbers(self) -> list[int]:
        """The labels of an inference classifier by number, in the order of its outputs."""
        return [NAMES.index(name) for name in self.model.labels or ()]

    def competing(self, nli: str | None = None) -> tuple[int, ...]:
        """Return the labels that compete, by number, in a setting; the policy's if None."""
        numbers = self.label_numbers
        return tuple(offered(numbers, nli or self.policy.nli)) if numbers else ()

    @property
    def setting(self) -> str | None:
        """``3-way``, ``2-way`` or ``binary``, for inference classifiers."""
        numbers = self.label_numbers
        return setting_of(numbers, self.policy.nli) if numbers else None
