"""A tiny trained Marian, exported, gives the translations and the scores of its original."""

import json
import shutil
from types import SimpleNamespace

import pytest

ctranslate2 = pytest.importorskip("ctranslate2")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen import ModelError, Request, ScoringPolicy, resolve_model  # noqa: E402
from boxpen.errors import NmtError  # noqa: E402
from boxpen.nmt.data.subwords import (  # noqa: E402
    EOS,
    PAD,
    SubwordConfig,
    train_subwords,
    vocabulary_sizes,
)
from boxpen.nmt.export import export_ct2  # noqa: E402
from boxpen.nmt.translate import translate_lines  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
PAIRS = [
    ("盒子在围栏里。", "The box is in the pen."),
    ("男孩在找他的玩具。", "The boy looks for his toys."),
    ("冬天湖水结冰了。", "In winter the lake freezes."),
    ("他找到了。", "He found it!"),
    ("谁?", "Who?"),
]
SOURCES = [source for source, _ in PAIRS]


def checkpoint(folder, kind):
    """Train subwords and a model until it knows the pairs, and save both."""
    sources, targets = zip(*PAIRS, strict=True)
    subwords = folder / "subwords"
    train_subwords(
        SubwordConfig(kind=kind, size=420),
        sources * 5,
        targets * 5,
        subwords,
        source_language="zh",
        target_language="en",
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(subwords)
    source, target = vocabulary_sizes(subwords)
    torch.manual_seed(0)
    config = transformers.MarianConfig(
        vocab_size=source,
        decoder_vocab_size=target,
        share_encoder_decoder_embeddings=kind == "joint",
        d_model=32,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
        scale_embedding=True,
        activation_function="relu",
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
    )
    model = transformers.MarianMTModel(config)
    batch = tokenizer(list(sources), text_target=list(targets), padding=True, return_tensors="pt")
    batch["labels"][batch["labels"] == PAD] = -100
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    for _ in range(300):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


@pytest.fixture(scope="module", params=["joint", "separate"])
def exported(request, tmp_path_factory):
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp(request.param)
    model, tokenizer = checkpoint(root / "hf", request.param)
    export_ct2(root / "hf", root / "ct2", quantization=None)
    return root, model, tokenizer


def test_the_decoder_does_not_start_from_zero(exported):
    """Else the tests below would not see that CTranslate2's converter takes it for granted."""
    _, model, _ = exported
    assert model.get_decoder().embed_tokens.weight[PAD].abs().max() > 1e-2


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_the_same_tokens(exported, beam):
    root, model, tokenizer = exported
    translator = ctranslate2.Translator(str(root / "ct2"), device="cpu", intra_threads=1)
    pieces = [[*tokenizer.spm_source.encode(s, out_type=str), "</s>"] for s in SOURCES]
    # By default CTranslate2 allows no empty translation, which changes the first probability.
    found = translator.translate_batch(
        pieces, beam_size=beam, min_decoding_length=0, return_scores=True
    )
    made = list(translate_lines(model, tokenizer, SOURCES, beam=beam, scores=True))
    assert [t.text for t in made] == [target for _, target in PAIRS]
    for mine, theirs in zip(made, found, strict=True):
        ids = mine.hypotheses[0].tokens
        assert ids[-1] == EOS
        assert tokenizer.convert_ids_to_tokens(ids[:-1]) == theirs.hypotheses[0]
        assert mine.score == pytest.approx(theirs.scores[0], abs=1e-4)


def test_boxpen_scores_both_alike(exported):
    root, _, _ = exported
    requests = [
        Request(text=target, source=source, languages=("zh", "en"))
        for source in [*SOURCES, "鑫盒子 x"]
        for target in ["The box is in the pen.", "He found 鑫 it!", "In winter", "?"]
    ]
    totals = []
    for name in ("hf", "ct2"):
        model = resolve_model(f"{name}:{root / name}", device="cpu")
        assert model.direction == ("zh", "en")
        resolved_policy = model.resolve_policy(ScoringPolicy())
        encoded = model.encode(requests, resolved_policy)
        sums = {
            i: float(values.sum())
            for few in model.run(encoded, resolved_policy)
            for i, values in few
        }
        totals.append([sums[i] for i in range(len(requests))])
    assert totals[0] == pytest.approx(totals[1], abs=1e-3)
    assert max(totals[0]) - min(totals[0]) > 10


LONG = "谁盒" * 60


def test_the_export_says_how_long_a_text_may_be(exported):
    root, model, _ = exported
    about = json.loads((root / "ct2" / "metadata.json").read_text("utf-8"))
    assert about == {"max_length": 64, "from_code": "zh", "to_code": "en"}
    assert model.config.max_position_embeddings == 64


def test_what_is_too_long_is_flagged_and_scored_as_far_as_it_is_read(exported):
    root, _, _ = exported
    texts = [(SOURCES[0], "Who?"), (LONG, "Who?"), (SOURCES[0], "The box is in the pen. " * 40)]
    requests = [Request(text=t, source=s, languages=("zh", "en")) for s, t in texts]
    found = []
    for name in ("hf", "ct2"):
        model = resolve_model(f"{name}:{root / name}", device="cpu")
        resolved_policy = model.resolve_policy(ScoringPolicy())
        assert resolved_policy.max_length == 64
        encoded = model.encode(requests, resolved_policy)
        added = 1 if name == "ct2" else 0  # EOS of the source, which CTranslate2 is given later
        assert len(encoded[2].ids) == len(encoded[1].source) + added == 64
        sums = {
            i: float(values.sum())
            for few in model.run(encoded, resolved_policy)
            for i, values in few
        }
        assert all(total < 0 for total in sums.values())
        found.append((len(sums), [e.truncated for e in encoded]))
    assert found == [(3, [False, True, True])] * 2
    with pytest.raises(ModelError, match=r"max_length 65 is more than .* takes \(64\)"):
        model.resolve_policy(ScoringPolicy(max_length=65))


def test_a_long_text_is_translated(exported):
    root, _, _ = exported
    model = resolve_model(f"ct2:{root / 'ct2'}", device="cpu")
    batches = model.translate([LONG, "谁?"], ("zh", "en"), beam=2)
    found = dict(pair for few in batches for pair in few)
    assert found[1] == "Who?"
    assert found[0]


def test_a_translation_that_does_not_end_is_no_longer_than_the_model_takes(exported):
    root, _, _ = exported
    model = resolve_model(f"ct2:{root / 'ct2'}", device="cpu")
    real, made = model._translator, []

    def endless(*args, **named):
        least = named["max_decoding_length"]
        made.extend(real.translate_batch(*args, **named, min_decoding_length=least))
        return made

    vars(model)["_translator"] = SimpleNamespace(translate_batch=endless)
    assert len(list(model.translate(["谁?"], ("zh", "en"), beam=1))) == 1
    assert len(made[0].hypotheses[0]) == 63


def test_a_model_that_does_not_say_it_fails_in_one_sentence(exported, tmp_path):
    root, _, _ = exported
    shutil.copytree(root / "ct2", tmp_path / "ct2")
    (tmp_path / "ct2" / "metadata.json").unlink()
    model = resolve_model(f"ct2:{tmp_path / 'ct2'}", device="cpu")
    resolved_policy = model.resolve_policy(ScoringPolicy())
    assert resolved_policy.max_length == 1024
    encoded = model.encode(
        [Request(text="Who?", source=LONG, languages=("zh", "en"))], resolved_policy
    )
    says = r'texts of up to \d+ tokens \(.*\); write \{"max_length": 64\} into its metadata'
    with pytest.raises(ModelError, match=says):
        list(model.run(encoded, resolved_policy))
    with pytest.raises(ModelError, match=says):
        list(model.translate([LONG], ("zh", "en"), beam=1))
    for nonsense in ("64", 1, True, None):
        (tmp_path / "ct2" / "metadata.json").write_text(json.dumps({"max_length": nonsense}))
        with pytest.raises(ModelError, match=r"metadata\.json has max_length = .*, expected"):
            resolve_model(f"ct2:{tmp_path / 'ct2'}", device="cpu")


def test_what_was_trained_in_halves_is_exported_too(exported, tmp_path):
    root, _, tokenizer = exported
    for dtype in (torch.float16, torch.bfloat16):
        folder = tmp_path / str(dtype)
        transformers.MarianMTModel.from_pretrained(root / "hf").to(dtype).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        export_ct2(folder, folder / "ct2", quantization="int8")
        translated = resolve_model(f"ct2:{folder / 'ct2'}", device="cpu").translate(
            SOURCES, ("zh", "en"), beam=2
        )
        found = {i: text for few in translated for i, text in few}
        assert [found[i] for i in range(len(PAIRS))] == [target for _, target in PAIRS]


def test_what_stands_there_gives_way_only_if_told_so(exported, tmp_path):
    root, _, _ = exported
    out = tmp_path / "out"
    export_ct2(root / "hf", out)
    before = (out / "model.bin").read_bytes()
    with pytest.raises(NmtError, match="out already exists"):
        export_ct2(root / "hf", out, quantization="int8")
    assert (out / "model.bin").read_bytes() == before
    export_ct2(root / "hf", out, quantization="int8", overwrite=True)
    assert (out / "model.bin").stat().st_size < len(before)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(NmtError, match="mine is not a CTranslate2 model, so it is not overwritten"):
        export_ct2(root / "hf", tmp_path / "mine", overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "out"]


def test_an_export_that_fails_leaves_what_was_there(exported, tmp_path, monkeypatch):
    root, _, _ = exported
    out = tmp_path / "out"
    export_ct2(root / "hf", out)
    before = sorted((p.name, p.read_bytes()) for p in out.iterdir())

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(NmtError, match="out cannot be written: No space left on device"):
        export_ct2(root / "hf", out, overwrite=True)
    assert sorted((p.name, p.read_bytes()) for p in out.iterdir()) == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_circle_of_links_is_no_place(exported, tmp_path):
    root, _, _ = exported
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(NmtError, match="there cannot be written: its links lead back"):
        export_ct2(root / "hf", tmp_path / "loop" / "there")


def test_other_models_are_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "rnnsearch"}))
    with pytest.raises(NmtError, match=r"type 'rnnsearch', and CTranslate2 runs none such"):
        export_ct2(tmp_path, tmp_path / "out")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "marian"}))
    with pytest.raises(NmtError, match=r"has no source\.spm"):
        export_ct2(tmp_path, tmp_path / "out")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(NmtError, match=r"config\.json is not JSON"):
        export_ct2(tmp_path, tmp_path / "out")
    with pytest.raises(NmtError, match=r"config\.json cannot be read: No such file"):
        export_ct2(tmp_path / "none", tmp_path / "out")


def test_a_checkpoint_without_weights_is_refused(exported, tmp_path):
    root, _, _ = exported
    for name in ("config.json", "source.spm", "target.spm", "vocab.json"):
        (tmp_path / name).write_bytes((root / "hf" / name).read_bytes())
    with pytest.raises(NmtError, match=r"cannot be loaded: .*model\.safetensors"):
        export_ct2(tmp_path, tmp_path / "out")


def test_an_unknown_quantization_is_refused(tmp_path):
    with pytest.raises(NmtError, match="no quantization 'int9', did you mean 'int8'"):
        export_ct2(tmp_path, tmp_path / "out", quantization="int9")
