"""The configuration of a training: a TOML file, every key checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from boxpen.build.settings import read_toml, settings
from boxpen.errors import BuildError, nearest
from boxpen.nmt.cleaning import CleanConfig
from boxpen.nmt.corpus import CorpusSpec
from boxpen.nmt.errors import NmtError
from boxpen.nmt.limits import MOST_BEAM, MOST_PENALTY
from boxpen.nmt.sizes import Architecture, Size
from boxpen.nmt.subwords import SubwordConfig

__all__ = [
    "DecodeConfig",
    "ModelConfig",
    "NmtConfig",
    "TrainConfig",
    "read_config",
    "shipped_config",
    "shipped_configs",
]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What is trained.

    Attributes:
        architecture: ``transformer`` or ``rnnsearch``, which read a sentence; ``concat``,
            ``thumt``, ``cadec`` or ``bert-fused``, which also read those before it.
        size: ``tiny``, ``small`` or ``base``; ``boxpen nmt sizes`` shows them.
        dropout: Another than the size's own.
        base: Folder of a trained Transformer that another, or a model with context, begins from,
            and whose size it has; ``transformer`` and ``concat`` may do without.
        context: Sentences before, at most, that such a model reads.
        bert: Folder of the BERT that ``bert-fused`` reads with.
        drop_net: How often a layer of it takes one of its attentions alone in training.
        max_tokens: Most tokens of a sentence, the end included; longer pairs are left out, and
            counted.
    """

    architecture: Architecture | Literal["concat", "thumt", "cadec", "bert-fused"] = "transformer"
    size: Size = "base"
    dropout: float | None = None
    max_tokens: int = 128
    base: Path | None = None
    context: int = 1
    bert: Path | None = None
    drop_net: float = 1.0

    @property
    def reads_context(self) -> bool:
        """Whether the model also reads the sentences before."""
        return self.architecture not in get_args(Architecture)

    def __post_init__(self) -> None:
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise NmtError(f"[model] has dropout = {self.dropout}, expected 0 or more and below 1")
        if not 4 <= self.max_tokens <= 100_000:
            raise NmtError(f"[model] has max_tokens = {self.max_tokens}, expected 4 to 100,000")
        if not 1 <= self.context <= 10:
            raise NmtError(f"[model] has context = {self.context}, expected 1 to 10 sentences")
        if not 0 <= self.drop_net <= 1:
            raise NmtError(f"[model] has drop_net = {self.drop_net}, expected 0 to 1")
        named = f"[model] has architecture = '{self.architecture}'"
        if self.architecture in ("thumt", "cadec", "bert-fused") and self.base is None:
            raise NmtError(f"{named}, which needs base = the folder of a trained Transformer")
        if self.architecture == "rnnsearch" and self.base is not None:
            raise NmtError(f"{named}, which begins from no Transformer; leave out base")
        if (self.architecture == "bert-fused") != (self.bert is not None):
            lacking = "needs" if self.bert is None else "has no use for"
            raise NmtError(f"{named}, which {lacking} bert = the folder of a BERT")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How it is trained; the defaults are those of He et al. (2020) where they are known.

    Attributes:
        tokens: Most tokens of a batch on either side, padding included, per device.
        accumulate: Batches that make one step.
        learning_rate: Its peak.
        warmup: Steps in which it rises to that.
        schedule: What follows: it stays (``constant``), falls with the inverse square root of the
            steps (``inverse_sqrt``), or falls to nothing on a line or a cosine, which needs
            ``max_steps`` or ``max_minutes``.
        betas: Of Adam.
        epsilon: Of Adam.
        weight_decay: Of AdamW.
        clip: Most that the norm of the gradients may be; 0: any.
        label_smoothing: Share of the probability that is spread over all tokens.
        max_steps: It ends after so many.
        max_epochs: Or after so many passes over the data.
        max_minutes: Or when it has run for so long, all interruptions together.
        validate_every: Steps between looks at the validation set, each with a checkpoint.
        valid_beam: Beam of the translations whose BLEU is taken then; 0: none is.
        valid_sentences: How many sentences of the validation set are translated for it.
        patience: Looks without gain before it stops; 0: never.
        metric: What gain is: a lower loss or a higher BLEU.
        average: Weights of so many last looks are averaged in the end; what is better on the
            validation set, the average or the best single look, is kept.
        precision: ``bf16`` computes matrix products in bfloat16; ``auto``: on a GPU that can.
        compile: Whether layers go through torch.compile; ``auto``: on a GPU.
        share: Share of the pairs that are used, for the effect of the size of the data. Smaller
            shares are parts of larger ones.
        log_every: Steps between lines of the log.
    """

    tokens: int = 32_000
    accumulate: int = 1
    learning_rate: float = 5e-4
    warmup: int = 4000
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine"] = "inverse_sqrt"
    betas: tuple[float, ...] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float = 5.0
    label_smoothing: float = 0.1
    max_steps: int | None = None
    max_epochs: int | None = None
    max_minutes: float | None = None
    validate_every: int = 1000
    valid_beam: int = 1
    valid_sentences: int = 500
    patience: int = 5
    metric: Literal["loss", "bleu"] = "loss"
    average: int = 5
    precision: Literal["auto", "bf16", "float32"] = "auto"
    compile: Literal["auto", "yes", "no"] = "auto"
    share: float = 1.0
    log_every: int = 50

    def __post_init__(self) -> None:
        least = {
            "tokens": 1, "accumulate": 1, "warmup": 0, "validate_every": 1, "valid_beam": 0,
            "valid_sentences": 1, "patience": 0, "average": 1, "log_every": 1, "max_steps": 1,
            "max_epochs": 1, "clip": 0, "weight_decay": 0,
        }  # fmt: skip
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and value < smallest:
                raise NmtError(f"[train] has {name} = {value}, expected {smallest} or more")
        if self.valid_beam > MOST_BEAM:
            raise NmtError(
                f"[train] has valid_beam = {self.valid_beam}, expected 0 to {MOST_BEAM:,}"
            )
        for name in ("learning_rate", "epsilon", "max_minutes"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise NmtError(f"[train] has {name} = {value}, expected more than 0")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise NmtError(
                f"[train] has betas = {list(self.betas)}, expected two, each 0 or more and below 1"
            )
        if not 0 <= self.label_smoothing < 1:
            raise NmtError(
                f"[train] has label_smoothing = {self.label_smoothing}, expected 0 or more and "
                "below 1"
            )
        if not 0 < self.share <= 1:
            raise NmtError(f"[train] has share = {self.share}, expected more than 0, 1 at most")
        if self.max_steps is self.max_epochs is self.max_minutes is None and not self.patience:
            raise NmtError(
                "[train] never ends: give max_steps, max_epochs, max_minutes or patience"
            )
        falls = self.schedule in ("linear", "cosine")
        if falls and self.max_steps is None and self.max_minutes is None:
            raise NmtError(
                f"[train] has schedule = '{self.schedule}', which needs max_steps or max_minutes"
            )
        if self.metric == "bleu" and not self.valid_beam:
            raise NmtError("[train] has metric = 'bleu' and valid_beam = 0, which gives none")


@dataclass(frozen=True, kw_only=True)
class DecodeConfig:
    """How the finished model translates unless told otherwise.

    Attributes:
        beam: Hypotheses that are followed.
        length_penalty: The power of the length that a score is divided by.
    """

    beam: int = 5
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.beam <= MOST_BEAM:
            raise NmtError(f"[decode] has beam = {self.beam}, expected 1 to {MOST_BEAM:,}")
        if not -MOST_PENALTY <= self.length_penalty <= MOST_PENALTY:
            raise NmtError(
                f"[decode] has length_penalty = {self.length_penalty:g}, expected "
                f"{-MOST_PENALTY:g} to {MOST_PENALTY:g}"
            )


@dataclass(frozen=True, kw_only=True)
class NmtConfig:
    """A whole training.

    Attributes:
        path: The file it was read from.
        folder: Where the model goes, with its log and its checkpoints.
        data: Where the prepared corpus goes; several trainings may share it.
        source: Code of the source language.
        target: Code of the target language.
        seed: Of everything that is left to chance.
        corpora: What is learnt from.
        valid: What the course of the training is judged by; none of its pairs is learnt from.
        tests: Other pairs that must not be learnt from.
    """

    path: Path
    folder: Path
    data: Path
    source: str
    target: str
    corpora: tuple[CorpusSpec, ...]
    valid: CorpusSpec
    tests: tuple[CorpusSpec, ...] = ()
    seed: int = 1
    clean: CleanConfig = field(default_factory=CleanConfig)
    subwords: SubwordConfig = field(default_factory=SubwordConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)


@dataclass(frozen=True, kw_only=True)
class _Top:
    """The keys outside of tables."""

    source: str
    target: str
    folder: Path
    data: Path | None = None
    seed: int = 1


_TABLES: dict[str, Any] = {
    "clean": CleanConfig,
    "subwords": SubwordConfig,
    "model": ModelConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
}


_CORPORA = ("corpora", "valid", "tests")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*")


def read_config(path: Path) -> NmtConfig:
    """Read a configuration; relative paths start from its folder.

    Raises:
        NmtError: If it cannot be read, a key is unknown or missing, or a value is not possible.
    """
    try:
        return _config(path, read_toml(path))
    except BuildError as error:
        raise NmtError(str(error)) from None


def _config(path: Path, found: dict[str, Any]) -> NmtConfig:
    folder = path.parent
    _check_names(path, found)
    tables = {name: found.pop(name) for name in [*_TABLES, *_CORPORA] if name in found}
    top = settings(_Top, found, str(path), folder)
    if not 0 <= top.seed < 1 << 31:
        raise NmtError(f"{path} has seed = {top.seed}, expected 0 or more, below 2^31")
    for name in ("source", "target"):
        if not _LANGUAGE.fullmatch(getattr(top, name)):
            raise NmtError(
                f"{path} has {name} = {getattr(top, name)!r}, expected the code of a language, "
                "as zh or en"
            )
    corpora = tables.pop("corpora", None)
    if not isinstance(corpora, list) or not corpora:
        raise NmtError(f"{path} has no [[corpora]] to learn from")
    if "valid" not in tables:
        raise NmtError(f"{path} has no [valid] to judge the training by")
    valid = tables.pop("valid")
    if isinstance(valid, dict):
        valid = {"name": "valid", **valid}
    tests = tables.pop("tests", [])
    if not isinstance(tests, list):
        raise NmtError(f"{path} has tests that are no list; write [[tests]]")
    read = {
        name: settings(_TABLES[name], table, f"{path} [{name}]", folder)
        for name, table in tables.items()
    }
    if "model" in read:
        _check_used(read["model"], set(tables["model"]), f"{path} [model]")
    made = NmtConfig(
        path=path,
        folder=top.folder,
        data=top.data or top.folder / "data",
        source=top.source,
        target=top.target,
        seed=top.seed,
        corpora=tuple(
            settings(CorpusSpec, table, f"{path} [[corpora]] {n}", folder)
            for n, table in enumerate(corpora, 1)
        ),
        valid=settings(CorpusSpec, valid, f"{path} [valid]", folder),
        tests=tuple(
            settings(CorpusSpec, table, f"{path} [[tests]] {n}", folder)
            for n, table in enumerate(tests, 1)
        ),
        **read,
    )
    _check_documents(made)
    return made


def _check_names(path: Path, found: dict[str, Any]) -> None:
    """Refuse keys and tables that nothing is known of, and name the nearest of both."""
    tables = [*_TABLES, *_CORPORA]
    keys = [f.name for f in fields(_Top)]
    for name, value in found.items():
        if name in tables or name in keys:
            continue
        several = isinstance(value, list) and all(isinstance(one, dict) for one in value)
        if isinstance(value, dict) or (several and value):
            told = f"[[{name}]]" if several else f"[{name}]"
            raise NmtError(f"{path} has the unknown table {told}, {nearest(name, tables)}")
        raise NmtError(f"{path} has the unknown key '{name}', {nearest(name, [*keys, *tables])}")


def _check_used(model: ModelConfig, given: set[str], where: str) -> None:
    """Refuse settings that were given and would change nothing."""
    if "size" in given and model.base is not None:
        raise NmtError(
            f"{where} has size = '{model.size}' beside base, whose size the model has; leave out "
            "size"
        )
    if "drop_net" in given and model.architecture != "bert-fused":
        raise NmtError(
            f"{where} has drop_net = {model.drop_net:g} for architecture = "
            f"'{model.architecture}', expected it for 'bert-fused' only"
        )


def _check_documents(config: NmtConfig) -> None:
    """Refuse text without documents for a model that reads context: no sentence would have one."""
    if not config.model.reads_context:
        return
    without = "[[corpora]]" if all(c.documents == "none" for c in config.corpora) else None
    without = "[valid]" if config.valid.documents == "none" else without
    if without is not None:
        raise NmtError(
            f"{config.path} has architecture = '{config.model.architecture}', which reads context, "
            f"and documents = 'none' in {without}, expected 'blank' or 'column'"
        )


def shipped_configs() -> tuple[str, ...]:
    """Return the names of the configurations that come with boxpen."""
    folder = resources.files("boxpen.nmt").joinpath("configs")
    return tuple(sorted(p.name.removesuffix(".toml") for p in folder.iterdir()))


def shipped_config(name: str) -> str:
    """Return the text of one of them.

    Raises:
        NmtError: If there is none of this name.
    """
    known = shipped_configs()
    if name not in known:
        raise NmtError(f"no configuration '{name}', {nearest(name, list(known))}")
    file = resources.files("boxpen.nmt").joinpath("configs", f"{name}.toml")
    return file.read_text("utf-8")
