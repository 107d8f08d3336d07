"""Models with context through the whole path: prepared, trained, translated with, and judged."""

import json
import random
import shutil
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from toy_corpus import write_config
from typer.testing import CliRunner

import boxpen
from boxpen import Card, PolicyError, Suite, Translate
from boxpen.cli.app import app
from boxpen.config import check_config
from boxpen.errors import ConfigError, NmtError, TrainError
from boxpen.models.loading import fingerprint
from boxpen.nmt.config import ModelConfig, read_config
from boxpen.nmt.context.concat import ConcatForConditionalGeneration
from boxpen.nmt.context.making import with_bert
from boxpen.nmt.data.examples import Examples
from boxpen.nmt.data.inputs import Reads, batch_of
from boxpen.nmt.data.prepared import open_prepared, prepare
from boxpen.nmt.folder import ModelFolder, check_folder
from boxpen.nmt.loading import load_model
from boxpen.nmt.reading import Reading
from boxpen.nmt.training import Training
from boxpen.nmt.translate import force_score, translate_lines
from boxpen.scoring.recipe import SOUND
from boxpen.text.documents import LinesBefore

GROUPS = {"girls": ("女孩", "她们"), "men": ("男人", "他们"), "dogs": ("小狗", "它们")}
PLACES = {"here": "这里", "outside": "外面", "at home": "家里"}
VERBS = {"sleep": "睡觉", "eat": "吃饭", "sing": "唱歌", "wait": "等待"}

CONFIG = """
source = "en"
target = "zh"
folder = "out"
data = "data"
[[corpora]]
name = "toy"
source = "train.en"
target = "train.zh"
documents = "blank"
[valid]
source = "valid.en"
target = "valid.zh"
documents = "blank"
[clean]
duplicates = "keep"
held_out = "keep"
[subwords]
kind = "separate"
size = 380
[model]
architecture = "transformer"
size = "tiny"
[train]
tokens = 600
warmup = 30
learning_rate = 4e-3
schedule = "linear"
max_steps = 150
validate_every = 50
log_every = 10
valid_sentences = 20
"""


def document(dice):
    """Return two sentences in both languages; who 'they' are stands in the first."""
    group, place = dice.choice(sorted(GROUPS)), dice.choice(sorted(PLACES))
    verb = dice.choice(sorted(VERBS))
    noun, pronoun = GROUPS[group]
    return [
        (f"The {group} are {place}.", f"{noun}在{PLACES[place]}。"),
        (f"They {verb}.", f"{pronoun}{VERBS[verb]}。"),
    ]


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A prepared corpus of documents, and a sentence-level model."""
    folder = tmp_path_factory.mktemp("documents")
    dice = random.Random(1)
    for name, count in (("train", 150), ("valid", 30)):
        documents = [document(dice) for _ in range(count)]
        for side in (0, 1):
            text = "\n".join("".join(f"{line[side]}\n" for line in d) for d in documents)
            (folder / f"{name}.{'en' if side == 0 else 'zh'}").write_text(text, "utf-8")
    config = read_config(write_config(folder, CONFIG))
    # What it makes of contexts, CADec reads.
    well = replace(config.train, max_steps=120, learning_rate=6e-3, validate_every=60)
    config = replace(config, folder=folder / "base", train=well)
    Training(config, prepare(config), device="cpu").run()
    return folder


def suite():
    """Return every combination, with the other pronouns as wrong translations."""
    items = []
    for group, (noun, pronoun) in GROUPS.items():
        for verb, chinese in VERBS.items():
            others = tuple(f"{p}{chinese}" for _, p in GROUPS.values() if p != pronoun)
            items.append(
                Translate(
                    id=f"{group}-{verb}", source=f"They {verb}.", reference=f"{pronoun}{chinese}",
                    context=f"The {group} are here.", reference_context=f"{noun}在这里。",
                    contrast=others, tags={"set": "pronoun", "class": pronoun},
                )
            )  # fmt: skip
    return Suite(name="toy", items=tuple(items), card=Card(language="zh", source_language="en"))


def configured(toy, tmp_path, architecture, **changes):
    config = read_config(write_config(toy, CONFIG, **changes))
    bert = small_bert(toy / "bert") if architecture == "bert-fused" else None
    model = replace(
        config.model, architecture=architecture, base=toy / "base", bert=bert, drop_net=0.5
    )
    return replace(config, folder=tmp_path / "out", model=model)


def small_bert(folder):
    """Save a BERT with random weights that knows the words of the toy language."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = {w for text in (*GROUPS, *PLACES, *VERBS) for w in text.split()}
    tokens = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "are",
        "they",
        ".",
        *sorted(words),
    ]
    if not folder.is_dir():
        folder.mkdir()
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), "utf-8")
        BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
        torch.manual_seed(2)
        shape = BertConfig(
            vocab_size=len(tokens), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=128, max_position_embeddings=64,
        )  # fmt: skip
        BertModel(shape).save_pretrained(folder)
    return folder


STEPS = {"concat": "80", "thumt": "80", "cadec": "120", "bert-fused": "100"}


@pytest.fixture(scope="module")
def trained(toy, tmp_path_factory):
    """Give the folder of a model with context, each trained when it is first asked for."""

    @cache
    def folder(architecture):
        config = configured(
            toy, tmp_path_factory.mktemp(architecture), architecture,
            max_steps=STEPS[architecture], validate_every="40",
        )  # fmt: skip
        Training(config, prepare(config), device="cpu").run()
        return config.folder

    return folder


def accuracy(folder, context="given"):
    run = boxpen.evaluate(f"hf:{folder}", suite(), cache=":memory:", context=context)
    return {r.metric: r.value for r in run.summary() if r.slice == "all"}, run


@pytest.mark.parametrize(
    "architecture",
    [
        pytest.param(a, marks=[pytest.mark.heavy] if a in ("thumt", "bert-fused") else [])
        for a in STEPS
    ],
)
def test_context_settles_what_a_sentence_cannot(trained, architecture):
    folder = trained(architecture)
    assert json.loads((folder / "result.json").read_text())["bleu"] > 90
    model, tokenizer = load_model(folder)
    made = [
        t.text
        for t in translate_lines(
            model, tokenizer, ["They sing."] * 3,
            contexts=[f"The {group} are outside." for group in GROUPS], beam=2,
        )
    ]  # fmt: skip
    found, run = accuracy(folder)
    assert made == [f"{pronoun}唱歌" for _, pronoun in GROUPS.values()]
    assert found["accuracy"] == 1
    assert found["bleu"] > 95
    assert run.translations[0].context == "The girls are here."
    bare, without = accuracy(folder, "none")
    assert bare["accuracy"] < 0.6
    assert "context:none" in without.signature
    assert "context" not in run.signature
    # What boxpen scores is what the model gives, in batches of any size.
    scores = force_score(
        model, tokenizer, ["They sing."], ["她们唱歌"], contexts=["The girls are here."]
    )
    item = run.candidates["girls-sing"]
    gold = next(s for s in item if s.text == "她们唱歌")
    assert gold.record.total == pytest.approx(scores[0], abs=1e-4)


def test_a_model_without_context_stays_at_chance(toy):
    found, run = accuracy(toy / "base")
    assert found["accuracy"] == pytest.approx(1 / 3, abs=1e-6)
    assert run.info.unread_contexts == 12


def test_a_training_with_context_goes_on_after_a_kill_as_if_nothing_had_been(toy, tmp_path):
    class KilledError(Exception):
        pass

    def kill(state):
        if state.step == 20:
            raise KilledError

    losses = []
    for name, watch in (("whole", None), ("killed", kill)):
        config = configured(
            toy, tmp_path / name, "cadec", max_steps="30", validate_every="10", valid_beam="0",
            log_every="5",
        )  # fmt: skip
        prepared = prepare(config)
        if watch is not None:
            with pytest.raises(KilledError):
                Training(config, prepared, device="cpu", watch=watch).run()
        Training(config, prepared, device="cpu").run()
        lines = (config.folder / "log.jsonl").read_text().splitlines()
        losses.append([e["loss"] for e in map(json.loads, lines) if "loss" in e])
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_contexts_of_a_batch_are_the_sentences_before_in_the_document(toy):
    prepared = open_prepared(toy / "data")
    examples = prepared.train
    numbers = np.arange(6)
    batch = batch_of(
        examples, numbers, pad=2, start=2, reads=Reads(sentences=1, limit=50, target=True)
    )
    for row, number in enumerate(numbers):
        expected = {"context_input_ids": [0], "context_target_ids": [0]}
        if number % 2:  # the second of its document
            expected = {
                "context_input_ids": examples.tokens("source", number - 1).tolist(),
                "context_target_ids": examples.tokens("target", number - 1).tolist(),
            }
        for name, tokens in expected.items():
            mask = name.replace("_input_ids", "_attention_mask").replace(
                "_target_ids", "_target_attention_mask"
            )
            assert batch[name][row][batch[mask][row] == 1].tolist() == tokens
    short = batch_of(examples, numbers, pad=2, start=2, reads=Reads(sentences=1, limit=2))
    assert short["context_input_ids"].tolist() == [[0]] * 6  # no sentence fits


def test_as_many_sentences_are_read_of_either_side():
    lengths = [[3, 9], [4, 2], [5, 5], [2, 2], [6, 1]]  # of source and target
    flat = [np.arange(sum(side), dtype=np.int32) for side in zip(*lengths, strict=True)]
    ends = [np.cumsum(side) for side in zip(*lengths, strict=True)]
    examples = Examples(
        flat[0], ends[0], flat[1], ends[1],
        document=np.array([0, 0, 0, 0, 1], np.int32), line=np.array([1, 2, 3, 4, 5], np.int32),
    )  # fmt: skip
    numbers = np.arange(5)
    for sentences, limit in ((1, 99), (2, 99), (3, 10), (3, 16), (3, 4)):
        found = examples.context_counts(numbers, sentences, limit, "source", "target")
        for number in numbers:
            expected = 0
            for count in range(1, min(sentences, [0, 1, 2, 3, 0][number]) + 1):
                before = lengths[number - count : number]
                if all(sum(side) <= limit for side in zip(*before, strict=True)):
                    expected = count
            assert found[number] == expected, (sentences, limit, number)


def test_what_does_not_go_together_is_refused(toy, tmp_path):
    with pytest.raises(ConfigError, match="'thumt', which needs base = the folder"):
        ModelConfig(architecture="thumt")
    with pytest.raises(ConfigError, match="'rnnsearch', which does not start from a Transformer"):
        ModelConfig(architecture="rnnsearch", base=toy / "base")
    with pytest.raises(ConfigError, match="'bert-fused', which needs bert"):
        ModelConfig(architecture="bert-fused", base=toy / "base")
    with pytest.raises(ConfigError, match="'concat', which does not use bert"):
        ModelConfig(architecture="concat", bert=toy)
    with pytest.raises(ConfigError, match=r"model\.toml: context is 0, expected 1 to 10"):
        check_config(ModelConfig, {"architecture": "concat", "context": 0}, "model.toml")
    (tmp_path / "strange").mkdir()
    for file in (toy / "base").iterdir():
        if file.is_file():
            (tmp_path / "strange" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "strange" / "source.spm").write_bytes((toy / "base" / "target.spm").read_bytes())
    config = configured(toy, tmp_path, "thumt")
    config = replace(config, model=replace(config.model, base=tmp_path / "strange"))
    with pytest.raises(NmtError, match="has another vocabulary than"):
        Training(config, prepare(config), device="cpu").run()
    model, tokenizer = load_model(toy / "base")
    with pytest.raises(NmtError, match="contexts were given to a model that reads none"):
        list(translate_lines(model, tokenizer, ["They sing."], contexts=["The men are here."]))
    with pytest.raises(PolicyError, match="context is 'every', expected given, none or shuffled"):
        accuracy(toy / "base", "every")


def test_a_model_that_reads_context_must_be_given_some(trained):
    model, tokenizer = load_model(trained("concat"))
    lines, targets = ["They sing."], ["她们唱歌"]
    told = "no contexts were given to a model that reads them, expected one .* empty strings"
    with pytest.raises(NmtError, match=told):
        translate_lines(model, tokenizer, lines)
    with pytest.raises(NmtError, match=told):
        force_score(model, tokenizer, lines, targets)
    assert len(list(translate_lines(model, tokenizer, lines, contexts=[""], beam=1))) == 1
    assert len(force_score(model, tokenizer, lines, targets, contexts=[""])) == 1
    told = "the context of 'They sing.' is None, expected a string, empty for no context"
    with pytest.raises(NmtError, match=told):
        list(translate_lines(model, tokenizer, lines, contexts=[None]))
    with pytest.raises(NmtError, match=told):
        force_score(model, tokenizer, lines, targets, contexts=[None])
    with pytest.raises(NmtError, match="there are more contexts than lines"):
        list(translate_lines(model, tokenizer, lines, contexts=["", None], beam=1))


def test_lines_before_are_those_of_the_document():
    before = LinesBefore(2)
    assert before.contexts(["a", "b", "c", "", "d"]) == ["", "a", "a\nb", "b\nc", ""]
    assert before.contexts(["e"]) == ["d"]  # it goes on in the next window


def test_documents_are_translated_from_the_command_line(toy, trained):
    model = trained("thumt")
    text = "The dogs are here.\nThey sing.\n\nThe girls are here.\nThey sing.\n"
    command = ["translate", str(model), "--device", "cpu", "--beam", "1"]
    made = CliRunner().invoke(app, [*command, "--context", "lines"], input=text)
    assert made.exit_code == 0, made.output
    assert made.stdout.splitlines() == ["小狗在这里", "它们唱歌", "", "女孩在这里", "她们唱歌"]
    same = CliRunner().invoke(app, [*command, "--context", "none"], input=text)
    assert same.stdout.splitlines()[1] == same.stdout.splitlines()[4]
    for folder, more, reason in (
        (model, [], "reads context; give --context lines or --context none"),
        (toy / "base", ["--context", "lines"], "does not read context; leave it out"),
    ):
        refused = CliRunner().invoke(app, ["translate", str(folder), *more], input=text)
        assert refused.exit_code == 2
        assert reason in " ".join(refused.stderr.split())


def test_a_wrong_base_is_told_first_and_leaves_the_folder_free(toy, tmp_path):
    config = configured(toy, tmp_path, "thumt", max_steps="2")
    wrong = replace(config, model=replace(config.model, base=tmp_path / "nowhere"))
    with pytest.raises(NmtError, match=r"base = .*nowhere is not a model: it has no config\.json"):
        check_folder(wrong)
    with pytest.raises(NmtError, match="nowhere"):
        Training(wrong, prepare(wrong), device="cpu").run()
    assert Training(config, prepare(config), device="cpu").run()["steps"] == 2


def test_a_refused_bert_leaves_nothing(toy, tmp_path):
    config = configured(toy, tmp_path, "bert-fused", max_steps="2")
    strange = tmp_path / "strange"
    shutil.copytree(config.model.bert, strange)
    shape = json.loads((strange / "config.json").read_text())
    (strange / "config.json").write_text(json.dumps({**shape, "vocab_size": 99}))
    wrong = replace(
        config,
        folder=tmp_path / "new" / "out",
        data=tmp_path / "new" / "data",
        model=replace(config.model, bert=strange),
    )
    with pytest.raises(NmtError, match="it is a BERT of another tokenizer"):
        check_folder(wrong)  # before the corpus is prepared
    prepared = prepare(config)
    with pytest.raises(NmtError, match="it is a BERT of another tokenizer"):
        Training(wrong, prepared, device="cpu").run()
    assert not (tmp_path / "new").exists()
    # A folder that was there stays, without a lock; so does what a begun training has.
    wrong.folder.mkdir(parents=True)
    (strange / "model.safetensors").write_bytes(b"")
    (strange / "config.json").write_text(json.dumps(shape))
    with pytest.raises(NmtError, match="cannot be loaded"):
        Training(wrong, prepared, device="cpu").run()
    assert list(wrong.folder.iterdir()) == []
    ModelFolder(wrong, prepared).begin()
    with pytest.raises(NmtError, match="cannot be loaded"):
        Training(wrong, prepared, device="cpu").run()
    assert [p.name for p in wrong.folder.iterdir()] == ["training.json"]


def test_a_lock_that_was_taken_away_is_none(toy, tmp_path, monkeypatch):
    """Another training may fail, and remove the file, between its opening and its lock."""
    import fcntl

    config = configured(toy, tmp_path, "concat")
    folder = ModelFolder(config, prepare(config))
    monkeypatch.setattr(fcntl, "flock", lambda *_: (config.folder / ".lock").unlink())
    with pytest.raises(TrainError, match="another training is running in"), folder.alone():
        pass


def test_a_transformer_goes_on_from_another(toy, tmp_path):
    """It begins with the weights of its base, and learns on."""
    config = configured(toy, tmp_path, "transformer", max_steps="2", validate_every="1")
    prepared = prepare(config)
    base, _ = load_model(toy / "base")
    made = ModelFolder(config, prepared).new_model()
    for name, weight in base.state_dict().items():
        assert torch.equal(made.state_dict()[name], weight), name
    still = {name for name, weight in made.named_parameters() if not weight.requires_grad}
    assert still == {f"model.{part}.embed_positions.weight" for part in ("encoder", "decoder")}
    assert Training(config, prepared, device="cpu").run()["steps"] == 2
    other = replace(config, model=replace(config.model, dropout=0.4))
    changed = ModelFolder(other, prepared).new_model()
    assert {layer.dropout for layer in changed.model.decoder.layers} == {0.4}
    assert torch.equal(changed.lm_head.weight, base.lm_head.weight)
    longer = replace(config, model=replace(config.model, max_tokens=100_000))
    with pytest.raises(NmtError, match="max_tokens = 100000, more than the 512 that base = "):
        ModelFolder(longer, prepared).new_model()
    after, _ = load_model(config.folder)
    moved = [n for n, w in base.state_dict().items() if not torch.equal(after.state_dict()[n], w)]
    assert "model.decoder.layers.0.fc1.weight" in moved


def test_a_training_does_not_go_on_with_other_contexts(toy, tmp_path):
    config = configured(toy, tmp_path, "concat", max_steps="2")
    prepared = prepare(config)
    ModelFolder(config, prepared).begin()
    (config.folder / "checkpoints" / "step-1").mkdir(parents=True)
    loose = replace(prepared.train, document=np.full(len(prepared.train), -1, np.int32))
    with pytest.raises(TrainError, match="was started with other pairs"):
        ModelFolder(config, replace(prepared, train=loose)).check()


def test_the_tokens_of_bert_are_those_of_this_corpus_and_this_tokenizer(toy, tmp_path):
    config = configured(toy, tmp_path, "bert-fused").model
    prepared = prepare(read_config(write_config(toy, CONFIG)))
    first = with_bert(prepared, config).train
    half = replace(
        prepared.train,
        row=prepared.train.row[::2],
        source=np.concatenate(
            [prepared.train.tokens("source", n) for n in range(0, len(prepared.train), 2)]
        ),
        source_ends=np.cumsum(prepared.train.source_lengths[::2]),
    )
    again = with_bert(replace(prepared, train=half), config).train
    assert again.tokens("bert", 1).tolist() == first.tokens("bert", 2).tolist()
    other = tmp_path / "other"
    shutil.copytree(config.bert, other)
    words = json.loads((other / "tokenizer.json").read_text())
    vocabulary = words["model"]["vocab"]
    vocabulary["they"], vocabulary["the"] = vocabulary["the"], vocabulary["they"]
    (other / "tokenizer.json").write_text(json.dumps(words))
    changed = with_bert(prepared, replace(config, bert=other)).train
    assert not np.array_equal(changed.bert, first.bert)


def test_several_sentences_are_read_as_several_and_no_more_than_were_learnt(toy):
    model, tokenizer = load_model(toy / "base")
    model = ConcatForConditionalGeneration.from_sentence_model(model)
    model.config.context_sentences, model.config.context_tokens = 2, 50
    reading = Reading(model, tokenizer)
    ends = [
        row.context.count(tokenizer.eos_token_id)
        for row in reading.rows(["They sing."] * 4, ["", "A.", "A.\nB.", "A.\nB.\nC."])
    ]
    assert ends == [1, 1, 2, 2]
    model.config.context_tokens = 3
    (row,) = Reading(model, tokenizer).rows(["They sing."], ["A cat.\nThe dogs are here."])
    assert row.context.count(tokenizer.eos_token_id) == 1
    assert not row.cut
    assert SOUND.tidied_lines("A  cat.\n B.") == "A cat.\nB."


def test_bert_reads_the_beginning_of_what_is_too_long_for_it(toy, tmp_path):
    config = configured(toy, tmp_path, "bert-fused", max_steps="2", valid_beam="0")
    Training(config, prepare(config), device="cpu").run()
    model, tokenizer = load_model(config.folder)
    lines = ["They sing.", "they sing " * 50]
    made = list(translate_lines(model, tokenizer, lines, contexts=["", ""], beam=1))
    assert [translation.cut for translation in made] == [False, True]
    # BERT takes 64: three tokens of the source, [CLS], two [SEP], and 58 of the context.
    before = ["sing " * 58, "sing " * 59]
    made = list(translate_lines(model, tokenizer, lines[:1] * 2, contexts=before, beam=1))
    assert [translation.cut for translation in made] == [False, True]
    said = "".join(f"{line}\n" for line in (before[1], lines[0]))
    command = ["translate", str(config.folder), "--device", "cpu", "--beam", "1"]
    told = CliRunner().invoke(app, [*command, "--context", "lines"], input=said).stderr
    assert "1 sentence(s) or contexts of sentences exceeded the model's maximum length" in told
    long = replace(suite().items[0], context=before[1])
    run = boxpen.evaluate(
        f"hf:{config.folder}", suite().take([long, suite().items[1]]), cache=":memory:"
    )
    assert [verdict.truncated for verdict in run.verdicts] == [True, False]
    with pytest.raises(NmtError, match="there are more contexts than lines"):
        list(translate_lines(model, tokenizer, lines[:1], contexts=["", ""], beam=1))
    known = fingerprint.of_directory(config.folder)
    tokens = config.folder / "bert" / "tokenizer.json"
    tokens.write_text(tokens.read_text().replace('"they"', '"thou"'))
    assert fingerprint.of_directory(config.folder) != known


def test_a_corpus_without_documents_is_no_corpus_for_context(toy, tmp_path):
    config = configured(toy, tmp_path, "concat", max_steps="2")
    prepared = prepare(config)
    loose = replace(prepared.train, document=np.full(len(prepared.train), -1, np.int32))
    with pytest.raises(NmtError, match=r"'concat' reads context, but no pair of \[\[corpora\]\] "):
        Training(config, replace(prepared, train=loose), device="cpu").run()
    loose = replace(prepared.valid, document=np.full(len(prepared.valid), -1, np.int32))
    with pytest.raises(NmtError, match=r"'concat' reads context, but no pair of \[valid\] has any"):
        Training(config, replace(prepared, valid=loose), device="cpu").run()
    assert not config.folder.exists()
    refused = CliRunner().invoke(
        app,
        ["translate", str(toy / "base"), "--out", str(toy / "base" / "config.json")],
        input="They sing.\n",
    )
    assert refused.exit_code == 2
    assert "is inside the model folder" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("part", ["[[corpora]]", "[valid]"])
def test_text_without_documents_is_refused_in_the_configuration(toy, part):
    text = CONFIG.replace('architecture = "transformer"', 'architecture = "concat"')
    assert read_config(write_config(toy, text)).model.reads_context
    head, after = text.split(part)
    path = write_config(toy, head + part + after.replace('documents = "blank"', "", 1))
    with pytest.raises(ConfigError) as refused:
        read_config(path)
    assert str(refused.value) == (
        f"{path}: {part.strip('[]')}.documents is 'none', expected 'blank' or 'column', since "
        "model.architecture is 'concat', which reads context"
    )
    plain = path.read_text().replace('"concat"', '"transformer"')
    assert not read_config(write_config(toy, plain)).model.reads_context


def test_frozen_weights_are_not_counted_as_trained():
    model = torch.nn.Linear(3, 2)
    model.weight.requires_grad_(False)
    training = SimpleNamespace(
        learner=SimpleNamespace(model=model, device=torch.device("cpu")),
        processes=SimpleNamespace(count=1),
        size=lambda: "5 pairs",
    )
    assert Training._told(training) == "training: 2 parameters, 5 pairs, on cpu"
