"""A score depends on the text alone: not on the batch, the order, or what else is scored."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import architectures
import classifiers
import numpy as np
import pytest
import search_models
import tiny
import tokenizers
import torch
import transformers
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from boxpen import (
    Card,
    Choice,
    Model,
    Record,
    Request,
    Run,
    Suite,
    evaluate,
    resolve_model,
)  # fmt: skip
from boxpen.models.base import Kind
from boxpen.nmt.data.subwords import EOS, PAD, UNK
from boxpen.plugins import ARCHITECTURES, MODELS

sys.path.append(str(Path(__file__).parents[1] / "bilm"))

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = (
    "The box was in the pen.",
    "The box was in the drawer of the old piano, and nobody had looked for it there.",
    "The box",
    "It rained all night!",
    "The little boy was looking for his toy box. Finally he found it.",
    "The little boy was looking for his piano.",
    "unforgettable",
)
SOURCES = ("箱子在围栏里。", "大雨", "小男孩在找他的玩具箱。 最后他找到了。 箱子在围栏里。")
WRITTEN = ("the box was in the pen", "rain", "the little boy was looking for his toy box again")
"""What stands for the sources where a model knows letters only."""


# --- The models


@dataclass(frozen=True)
class Case:
    """How a model is built and what it is given."""

    kind: Kind
    build: Callable[[Path], Model]
    policy: dict[str, Any] = field(default_factory=dict)
    sources: Sequence[str] = SOURCES
    needs: str = "torch"


def checkpoint(name: str, root: Path) -> Model:
    tiny.build(name, root / name)
    return resolve_model(f"hf:{root / name}", device="cpu")


def padded_decoder(name: str, root: Path) -> Model:
    """A decoder that cannot run a tree of prefixes."""
    tokenizer = tiny.gpt2()[1]
    module = architectures.PADDED[name]()
    module.resize_token_embeddings(len(tokenizer))
    return resolve_model((tiny.wide(module), tokenizer))


def bilm(reads: str, root: Path) -> Model:
    from boxpen.lm.bilm.training import new_model, save

    module, tokenizer = new_model(
        tiny.lines() * 2, size="tiny", vocabulary=400, seed=1, input=reads
    )
    save(root / reads, module, tokenizer)
    return resolve_model(f"hf:{root / reads}", device="cpu")


def elmo(root: Path) -> Model:
    import elmo_files

    return resolve_model(f"elmo:{elmo_files.write(root / 'elmo')}", device="cpu")


def translator(architecture: str, root: Path) -> Model:
    """A translation model of our own, which reads letters."""
    module = getattr(search_models, architecture)()
    tokens = {EOS: "</s>", UNK: "<unk>", PAD: "<pad>", 3: " "}
    vocabulary = {token: i for i, token in tokens.items()}
    vocabulary |= {letter: 4 + i for i, letter in enumerate(LETTERS)}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", EOS)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    if architecture == "bert_fused":
        from boxpen.nmt.data.bert_reading import BertReader

        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        pieces = [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
        bert = transformers.BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)})
        module.bert_reader = BertReader(bert, max_length=64)
    return resolve_model((module, tokenizer))


def gguf(root: Path) -> Model:
    tiny.gguf(root / "tiny.gguf")
    return resolve_model(f"gguf:{root / 'tiny.gguf'}", device="cpu")


def ct2(compute_type: str, root: Path) -> Model:
    from boxpen.models.ct2 import CTranslate2Model

    if not (root / "ct2").is_dir():
        tiny.ct2(root, "int8", "int16")
    if compute_type == "int16":  # which not every processor computes with
        return CTranslate2Model("ct2", root / "int16", device="cpu")
    stored = "ct2" if compute_type == "float32" else "int8"
    return CTranslate2Model("ct2", root / stored, device="cpu", compute_type=compute_type)


CASES: dict[str, Case] = {
    "gpt2": Case("causal", partial(checkpoint, "gpt2")),
    "llama": Case("causal", partial(checkpoint, "llama")),
    "bloom": Case("causal", partial(padded_decoder, "bloom")),
    "mistral_8": Case("causal", partial(padded_decoder, "mistral_8")),
    "gguf": Case("causal", gguf, needs="gguf"),
    "bert": Case("masked", partial(checkpoint, "bert")),
    "bert_original": Case("masked", partial(checkpoint, "bert"), {"pll": "original"}),
    "roberta": Case("masked", partial(checkpoint, "roberta")),
    "roberta_original": Case("masked", partial(checkpoint, "roberta"), {"pll": "original"}),
    "xlnet": Case("permuted", partial(checkpoint, "xlnet")),
    "bilm": Case("bidirectional", partial(bilm, "characters")),
    "bilm_pieces": Case("bidirectional", partial(bilm, "pieces")),
    "elmo": Case("bidirectional", elmo, needs="h5py"),
    **{
        name: Case("seq2seq", partial(checkpoint, name))
        for name in ("marian", "nllb", "mbart", "t5")
    },
    **{
        name: Case("seq2seq", partial(translator, name), sources=WRITTEN)
        for name in ("transformer", *(a for a in ARCHITECTURES if a != "bilm"))
    },
    **{
        f"ct2_{compute_type}": Case("seq2seq", partial(ct2, compute_type), needs="ctranslate2")
        for compute_type in ("float32", "int8", "int8_float32", "int16")
    },
    "nli": Case("nli", lambda _: resolve_model(classifiers.nli("roberta"))),
    "nli_xlnet": Case("nli", lambda _: resolve_model(classifiers.nli("xlnet"))),
    "choice": Case("choice", lambda _: resolve_model(classifiers.choice("bert"))),
    "choice_gpt2": Case("choice", lambda _: resolve_model(classifiers.choice("gpt2"))),
}


def test_every_kind_of_model_is_here():
    assert {case.kind for case in CASES.values()} == set(get_args(Kind))
    assert set(CASES) >= {*ARCHITECTURES, "gguf", "elmo", "ct2_int8"}
    servers = {"api", "openai", "translator"}  # each text by itself: see tests/remote
    assert set(MODELS.builtin) - servers == {"hf", "gguf", "embedded", "ct2", "elmo"}, (
        "add a case for the new scheme"
    )


# --- The property


@dataclass
class Subject:
    """A model with what it scores, and what it gives when left to itself."""

    model: Model
    case: Case
    score: Callable[..., list[Record]]

    @cached_property
    def requests(self) -> list[Request]:
        """Texts of many lengths, with several sources, contexts or premises."""
        model, sources = self.model, self.case.sources
        if not model.encoder:
            before = ("", "Who did this? ") if model.pairs or model.kind == "causal" else ("",)
            return [Request(text=t, prefix=p) for p in before for t in TEXTS]
        return [
            Request(
                text=text.lower()[:24] if sources is WRITTEN else text,
                source=sources[(i + shift) % len(sources)],
                languages=("zh", "en"),
                context=sources[i % len(sources)] if model.reads_context else None,
            )
            for shift in (0, 1)
            for i, text in enumerate(TEXTS)
        ]

    @cached_property
    def expected(self) -> dict[Request, Record]:
        self.set()
        return dict(zip(self.requests, self.scored(self.requests), strict=True))

    @cached_property
    def translated(self) -> dict[tuple[str, str | None], str]:
        self.set()
        pairs = list(dict.fromkeys((r.source or "", r.context) for r in self.requests))
        return dict(zip(pairs, self.translations(pairs), strict=True))

    def set(self, **options: Any) -> None:
        """Change how texts are run; what is not named is as it is by default."""
        usual = {"batch_size": None, "token_budget": None, "deterministic": False}
        for name, value in (usual | options).items():
            setattr(self.model, name, value)
        self.model.forget_settings()

    def scored(self, requests: Sequence[Request]) -> list[Record]:
        return self.score(self.model, list(requests), **self.case.policy)

    def translations(self, pairs: Sequence[tuple[str, str | None]]) -> list[str]:
        contexts = [c or "" for _, c in pairs] if self.model.reads_context else None
        made = self.model.translate([s for s, _ in pairs], ("zh", "en"), beam=2, contexts=contexts)
        found = {i: text for batch in made for i, text in batch}
        return [found[i] for i in range(len(pairs))]


@pytest.fixture(scope="module")
def subject(request, tmp_path_factory, score_all) -> Iterator[Subject]:
    case = CASES[request.param]
    pytest.importorskip(case.needs)
    root = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("BOXPEN_CACHE", str(root))
        warnings.simplefilter("ignore")
        yield Subject(case.build(root), case, score_all)


WAYS = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([None, 1, 2, 5, 7]),
        "token_budget": st.sampled_from([None, 24, 64]),
        "deterministic": st.booleans(),
    }
)


@pytest.mark.parametrize("subject", CASES, indirect=True)
@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes, and names no other case
    deadline=None,
    derandomize=True,  # or two translations that tie to the last bit would come up some day
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(way=WAYS, data=st.data())
def test_no_batch_order_or_split_changes_a_score_or_a_translation(subject, way, data, agree):
    assert subject.model.kind == subject.case.kind
    expected, translated = subject.expected, {}
    if subject.model.can_translate():
        translated = subject.translated
    subject.set(**way)
    many = data.draw(st.lists(st.sampled_from(subject.requests), min_size=1, max_size=18))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(many)), max_size=2)))
    parts = [many[a:b] for a, b in pairwise([0, *cuts, len(many)])]
    for part in parts:
        equal: dict[Request, bytes] = {}
        for request, record in zip(part, subject.scored(part), strict=True):
            one = expected[request]
            agree(record, (one.token_ids.tolist(), one.logprobs.tolist()))
            # Equal requests of one call get the same bits, so that a tie is a tie.
            assert equal.setdefault(request, record.logprobs.tobytes()) == record.logprobs.tobytes()
    if translated:
        pairs = data.draw(st.permutations(list(translated)))[: data.draw(st.integers(1, 9))]
        assert subject.translations(pairs) == [translated[pair] for pair in pairs]


# --- Reduced precision: the batch moves a score, and the signature says so


def rounded(name: str, root: Path, dtype: str, score: Any) -> Subject:
    """Return a model of the cases in another dtype."""
    model = CASES[name].build(root)
    pair = model.module.to(getattr(torch, dtype)), model.tokenizer
    return Subject(resolve_model(pair), CASES[name], score)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["llama", "bert", "xlnet", "bilm", "marian", "thumt", "nli"])
def test_a_text_by_itself_gets_one_score_in_any_precision(name, dtype, tmp_path, score_all, agree):
    subject = rounded(name, tmp_path, dtype, score_all)
    subject.set(deterministic=True)
    expected = dict(zip(subject.requests, subject.scored(subject.requests), strict=True))
    for size in (1, 5):
        subject.set(deterministic=True, batch_size=size)
        some = subject.requests[:: -1 if size == 1 else 2] * 2
        for request, record in zip(some, subject.scored(some), strict=True):
            one = expected[request]
            agree(record, (one.token_ids.tolist(), one.logprobs.tolist()))


def test_the_signature_tells_batches_apart_where_they_matter(tmp_path, score_all):
    items = [
        Choice(id=str(i), candidates=(TEXTS[i], TEXTS[i - 1]), gold=0) for i in range(len(TEXTS))
    ]
    suite = Suite(name="s", items=tuple(items), card=Card(language="en"))
    subject = rounded("llama", tmp_path, "bfloat16", score_all)

    def run(model: Model = subject.model, **options: Any) -> Run:
        return evaluate(model, suite, cache=":memory:", **options)

    shared = run(deterministic=False)
    alone = run(deterministic=True)
    assert "|dtype:bfloat16|batch:any|max:" in shared.signature
    assert "|dtype:bfloat16|batch:1|max:" in alone.signature
    assert "|ties:strict|dtype:bfloat16|batch:1|max:" in alone.rescore(ties="strict").signature
    apart = [
        abs(one.record.total - other.record.total)
        for i in shared.candidates
        for one, other in zip(shared.candidates[i], alone.candidates[i], strict=True)
    ]
    assert max(apart) > 1e-4, "the batch does not matter here, so the field says nothing"
    assert run(deterministic=True, batch_size=1).signature == alone.signature
    assert "|batch:1@24|" in run(deterministic=True, token_budget=24).signature
    whole = resolve_model(f"hf:{tmp_path / 'llama'}", device="cpu")
    signatures = {run(whole, deterministic=d).signature for d in (True, False)}
    assert len(signatures) == 1
    assert "|ties:half|dtype:float32|max:" in signatures.pop()


def test_ct2_on_a_gpu_and_its_cache(tmp_path, monkeypatch):
    ctranslate2 = pytest.importorskip("ctranslate2")
    model = ct2("int8", tmp_path)
    for device, gpus, compute_type, batch in (
        ("cpu", 1, "int8_float32", None),
        ("auto", 0, "int8_float32", None),
        ("auto", 1, "int8_float16", "any"),
        ("cuda", 1, "float16", "any"),
        ("cuda", 1, "float32", None),
    ):
        monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda gpus=gpus: gpus)
        vars(model).update(_device=device, _translator=SimpleNamespace(compute_type=compute_type))
        model.deterministic = False
        assert model.batch == batch
        # Scores of padded batches, which earlier versions kept, are not taken from the cache.
        assert model.exactness() == {"batches": "equal lengths"}
        model.deterministic = True
        assert model.batch == (batch and "1")


# --- A real model: whole nats hung on the padding of int8

WHO = {
    "他": "He",
    "那位老医生": "The old doctor",
    "昨天来我们学校的新老师": "The new teacher who came to our school yesterday",
    "妈妈": "Mother",
    "站在门口的邮递员和他的小狗": "The postman at the door and his little dog",
}
WHAT = {
    "吃食堂": "eats in the canteen",
    "打了一把伞": "held an umbrella",
    "把书放进了书包里": "put the book into the schoolbag",
    "没有看见鸡": "did not see the chicken",
    "在火车站等了三个小时,可是朋友一直没有来": (
        "waited at the station for three hours, but the friend never came"
    ),
    "走了": "left",
}
WHEN = {"。": ".", ",因为天快黑了,路上一个人也没有。": ", for night fell and the road was empty."}
PAIRS = [
    (f"{who}{what}{when}", f"{WHO[who]} {WHAT[what]}{WHEN[when]}")
    for who in WHO
    for what in WHAT
    for when in WHEN
]


def test_opus_mt_in_int8(model_dir, score_all):
    pytest.importorskip("ctranslate2")
    if not (folder := model_dir / "opus-mt-zh-en").is_dir():
        pytest.skip(f"no OPUS-MT at {folder}: set BOXPEN_TEST_MODELS to the folder of the models")
    model = resolve_model(f"ct2:{folder}", device="cpu")
    requests = [Request(text=text, source=source) for source, text in PAIRS]
    found = []
    for size in (None, 1, 7):
        model.batch_size = size
        made = model.translate([source for source, _ in PAIRS[::6]], ("zh", "en"), beam=2)
        texts = dict(pair for batch in made for pair in batch)
        found.append((score_all(model, requests), texts))
    records, texts = found[0]
    assert len({len(r.logprobs) for r in records}) > 10, "lengths are too much alike to be padded"
    for others, same in found[1:]:
        assert same == texts
        for one, other in zip(records, others, strict=True):
            np.testing.assert_allclose(one.logprobs, other.logprobs, rtol=0, atol=1e-4)
            assert one.total == pytest.approx(other.total, rel=0, abs=1e-4)
