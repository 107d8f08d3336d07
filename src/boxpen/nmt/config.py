"""The configuration of a training: a TOML file, every key checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le, Lt, MaxLen, MinLen

from boxpen.config import (
    AtLeast1,
    ConfigPath,
    Convert,
    NotNegative,
    Positive,
    Share,
    parse_config,
    read_toml,
)
from boxpen.errors import ConfigError, NmtError, nearest
from boxpen.nmt.architectures.sizes import Architecture, Size
from boxpen.nmt.limits import MOST_BEAM, MOST_PENALTY
from boxpen.text.cleaning import CleanConfig
from boxpen.text.corpus import CorpusSpec

__all__ = [
    "DecodeConfig",
    "ModelConfig",
    "NmtConfig",
    "SubwordConfig",
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
        size: ``tiny``, ``small`` or ``base``; ``boxpen train example --sizes`` shows them.
        dropout: Another than the size's own.
        base: Folder of a trained Transformer that another, or a model with context, begins from,
            and whose size it has; ``transformer`` and ``concat`` may do without.
        context: Sentences before, at most, that such a model reads.
        bert: Folder of the BERT that ``bert-fused`` reads with.
        drop_net: How often a layer of it takes one of its attentions alone in training.
        denoising: Share of the batches in which ``cadec`` corrects a corrupted reference, in the
            others it corrects translations sampled from its base (Voita et al.'s p).
        max_tokens: Maximum tokens per sentence, end token included; longer pairs are dropped
            and counted.
    """

    architecture: Literal[Architecture, "concat", "thumt", "cadec", "bert-fused"] = "transformer"
    size: Size = "base"
    dropout: Annotated[float, Ge(0), Lt(1)] | None = None
    max_tokens: Annotated[int, Ge(4), Le(100_000)] = 128
    base: ConfigPath | None = None
    context: Annotated[int, Ge(1), Le(10)] = 1
    bert: ConfigPath | None = None
    drop_net: Annotated[float, Ge(0), Le(1)] = 1.0
    denoising: Annotated[float, Ge(0), Le(1)] = 0.5

    @property
    def reads_context(self) -> bool:
        """Whether the model also reads the sentences before."""
        return self.architecture not in get_args(Architecture)

    def __post_init__(self) -> None:
        named = f"architecture is '{self.architecture}'"
        if self.architecture in ("thumt", "cadec", "bert-fused") and self.base is None:
            raise ConfigError(f"{named}, which needs base = the folder of a trained Transformer")
        if self.architecture == "rnnsearch" and self.base is not None:
            raise ConfigError(f"{named}, which does not start from a Transformer; remove base")
        if (self.architecture == "bert-fused") != (self.bert is not None):
            lacking = "needs" if self.bert is None else "does not use"
            raise ConfigError(f"{named}, which {lacking} bert = the folder of a BERT")


@dataclass(frozen=True)
class SubwordConfig:
    """How to make the vocabularies.

    Attributes:
        kind: One vocabulary for both languages, which lets a model share all its embeddings, or
            one for each, which suits languages with no letters in common.
        size: Maximum pieces of a vocabulary, special ones and bytes included.
        character_coverage: Share of the running characters that get a piece of their own. Chinese
            has thousands of characters that occur once in a million; 1 would fill the vocabulary
            with them, and none would be seen often enough to be learnt. ASCII is always covered:
            at 0.9995 English would lose its ``Q``.
        sample: Maximum sentences per language to learn from.
        byte_fallback: Spell a character without a piece in UTF-8 bytes; otherwise it is ``<unk>``.
        normalisation: ``text`` normalises every text as ``text.normal`` does, as far as rules for
            characters can; the rules go into the folder, so that text read later is treated like
            that of the training. ``identity`` leaves it alone except for single spaces, for text
            that must come back letter by letter, or that is already normalised in another way.
    """

    kind: Literal["joint", "separate"] = "separate"
    size: Annotated[int, Le(1_000_000)] = 30_000
    character_coverage: Share = 0.9995
    sample: AtLeast1 = 2_000_000
    byte_fallback: bool = True
    normalisation: Literal["text", "identity"] = "text"

    def __post_init__(self) -> None:
        special, ascii_characters = 3, 94
        least = special + ascii_characters + 256 * self.byte_fallback + 1
        if self.size < least:
            raise ConfigError(
                f"size is {self.size}, expected {least} or more: the special pieces, "
                f"ASCII{', 256 bytes' if self.byte_fallback else ''} and one more"
            )


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How it is trained; the defaults are those of He et al. (2020) where they are known.

    Attributes:
        tokens: Maximum tokens per batch on either side, padding included, per device.
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
        max_steps: Maximum number of steps.
        max_epochs: Maximum passes over the data.
        max_minutes: Maximum training time, summed over interruptions.
        validate_every: Steps between validations, each with a checkpoint.
        valid_beam: Beam of the translations whose BLEU is taken then; 0: none is.
        valid_sentences: How many sentences of the validation set are translated for it.
        patience: Validations without improvement before stopping (0: never).
        metric: What counts as improvement: a lower loss or a higher BLEU.
        average: Average the weights of this many last validations at the end, and keep the average
            if it beats the best single checkpoint on the validation set.
        precision: ``bf16`` computes matrix products in bfloat16; ``auto``: on a GPU that can.
        compile: Whether layers go through torch.compile; ``auto``: on a GPU.
        share: Share of the pairs that are used, for the effect of the size of the data. Smaller
            shares are parts of larger ones.
        log_every: Steps between lines of the log.
    """

    tokens: AtLeast1 = 32_000
    accumulate: AtLeast1 = 1
    learning_rate: Positive = 5e-4
    warmup: NotNegative = 4000
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine"] = "inverse_sqrt"
    betas: Annotated[tuple[Annotated[float, Ge(0), Lt(1)], ...], MinLen(2), MaxLen(2)] = (
        0.9,
        0.999,
    )
    epsilon: Positive = 1e-8
    weight_decay: Annotated[float, Ge(0)] = 0.0
    clip: Annotated[float, Ge(0)] = 5.0
    label_smoothing: Annotated[float, Ge(0), Lt(1)] = 0.1
    max_steps: AtLeast1 | None = None
    max_epochs: AtLeast1 | None = None
    max_minutes: Positive | None = None
    validate_every: AtLeast1 = 1000
    valid_beam: Annotated[NotNegative, Le(MOST_BEAM)] = 1
    valid_sentences: AtLeast1 = 500
    patience: NotNegative = 5
    metric: Literal["loss", "bleu"] = "loss"
    average: AtLeast1 = 5
    precision: Literal["auto", "bf16", "float32"] = "auto"
    compile: Literal["auto", "yes", "no"] = "auto"
    share: Share = 1.0
    log_every: AtLeast1 = 50

    def __post_init__(self) -> None:
        if self.max_steps is self.max_epochs is self.max_minutes is None and not self.patience:
            raise ConfigError("never ends; set max_steps, max_epochs, max_minutes or patience")
        falls = self.schedule in ("linear", "cosine")
        if falls and self.max_steps is None and self.max_minutes is None:
            raise ConfigError(
                f"schedule is '{self.schedule}', which needs max_steps or max_minutes"
            )
        if self.metric == "bleu" and not self.valid_beam:
            raise ConfigError("metric is 'bleu', which needs a valid_beam of 1 or more")


@dataclass(frozen=True, kw_only=True)
class DecodeConfig:
    """How the finished model translates unless told otherwise.

    Attributes:
        beam: Hypotheses that are followed.
        length_penalty: The power of the length that a score is divided by.
    """

    beam: Annotated[AtLeast1, Le(MOST_BEAM)] = 5
    length_penalty: Annotated[float, Ge(-MOST_PENALTY), Le(MOST_PENALTY)] = 1.0


def _language(value: object, _: Path) -> str:
    if not isinstance(value, str) or not _LANGUAGE.fullmatch(value):
        raise ValueError("expected the code of a language, such as zh or en")
    return value


_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*")


@dataclass(frozen=True, kw_only=True)
class NmtConfig:
    """A whole training.

    Attributes:
        path: The file it was read from.
        builder: The builder that prepares the corpus.
        folder: Where the model goes, with its log and its checkpoints.
        data: Where the prepared corpus goes; several trainings may share it.
        source: Code of the source language.
        target: Code of the target language.
        seed: Of everything that is left to chance.
        corpora: What is learnt from.
        valid: What the course of the training is judged by; none of its pairs is learnt from.
        tests: Other pairs that must not be learnt from.
    """

    path: ConfigPath
    builder: Literal["nmt"] = "nmt"
    folder: ConfigPath
    data: ConfigPath
    source: Annotated[str, Convert(_language)]
    target: Annotated[str, Convert(_language)]
    corpora: Annotated[tuple[CorpusSpec, ...], MinLen(1)]
    valid: CorpusSpec
    tests: tuple[CorpusSpec, ...] = ()
    seed: Annotated[NotNegative, Lt(1 << 31)] = 1
    clean: CleanConfig = field(default_factory=CleanConfig)
    subwords: SubwordConfig = field(default_factory=SubwordConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)


def read_config(path: Path) -> NmtConfig:
    """Read a configuration; relative paths start from its folder.

    Raises:
        ConfigError: If it cannot be read, a key is unknown or missing, or a value is wrong.
    """
    found = read_toml(path)
    if isinstance(found.get("folder"), str):
        found.setdefault("data", f"{found['folder']}/data")
    if isinstance(found.get("valid"), dict):
        found["valid"] = {"name": "valid", **found["valid"]}
    config = parse_config(NmtConfig, found, path)
    _check_used(config.model, found.get("model", {}), f"{path}: model")
    _check_documents(config)
    return config


def _check_used(model: ModelConfig, given: dict[str, Any], where: str) -> None:
    """Refuse settings that were given and would change nothing."""
    if "size" in given and model.base is not None:
        raise ConfigError(
            f"{where}.size is '{model.size}', but the model has the size of base; remove size"
        )
    for name, user in (("drop_net", "bert-fused"), ("denoising", "cadec")):
        if name in given and model.architecture != user:
            raise ConfigError(
                f"{where}.{name} is {getattr(model, name):g}, but architecture is "
                f"'{model.architecture}'; only '{user}' uses {name}"
            )


def _check_documents(config: NmtConfig) -> None:
    """Refuse text without documents for a model that reads context: no sentence would have one."""
    if not config.model.reads_context:
        return
    without = "corpora" if all(c.documents == "none" for c in config.corpora) else None
    without = "valid" if config.valid.documents == "none" else without
    if without is not None:
        raise ConfigError(
            f"{config.path}: {without}.documents is 'none', expected 'blank' or 'column', since "
            f"model.architecture is '{config.model.architecture}', which reads context"
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
