"""A training: it learns, it goes on after a kill as if nothing had been, it refuses what is odd."""

import contextlib
import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from full_disk import largest_file
from toy_corpus import write_config, write_corpus
from typer.testing import CliRunner

import boxpen
from boxpen.cli.app import app
from boxpen.errors import BoxpenError, ConfigError, NmtError, TrainError
from boxpen.models.vocabulary import vocabulary_digest
from boxpen.nmt.config import TrainConfig, read_config
from boxpen.nmt.data.feed import Feed, nested_share
from boxpen.nmt.data.inputs import IGNORED, batch_of
from boxpen.nmt.data.prepared import open_prepared, prepare
from boxpen.nmt.folder import ModelFolder
from boxpen.nmt.learner import Learner
from boxpen.nmt.loading import load_model
from boxpen.nmt.objective import cross_entropy
from boxpen.nmt.schedule import learning_rate
from boxpen.nmt.training import Training
from boxpen.training.checkpoints import Checkpoints, averaged
from boxpen.training.processes import Processes
from boxpen.training.state import Place, Step, ValidationResult, best, given_up


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with a prepared toy corpus."""
    folder = tmp_path_factory.mktemp("toy")
    write_corpus(folder)
    prepare(read_config(write_config(folder)))
    return folder


def config_of(corpus, folder, **changes):
    """Return the configuration of a training in a folder of its own, on the prepared corpus."""
    config = read_config(write_config(corpus, **changes))
    return replace(config, folder=folder / "out")


def trained(config, **more):
    return Training(config, prepare(config), device="cpu", **more).run()


def losses(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return {e["step"]: e["loss"] for e in map(json.loads, lines) if "loss" in e}


@pytest.mark.parametrize("architecture", ["transformer", "rnnsearch"])
def test_a_toy_language_is_learnt_and_the_model_is_one_of_transformers(
    corpus, tmp_path, architecture
):
    config = config_of(
        corpus,
        tmp_path,
        architecture=f'"{architecture}"',
        max_steps="180",
        validate_every="60",
        learning_rate="6e-3",
    )
    seen = []
    result = trained(config, watch=lambda state: seen.append(state.step))
    assert result["bleu"] > 90
    assert result["loss"] < 0.3
    assert seen[:2] == [0, 5]
    assert not (config.folder / "checkpoints").exists()
    model, tokenizer = load_model(config.folder)
    made = model.generate(**tokenizer(["小狗追红鸟。"], return_tensors="pt"), max_new_tokens=20)
    assert tokenizer.batch_decode(made, skip_special_tokens=True) == [
        "The small dog chases the red bird."
    ]
    assert trained(config) == json.loads((config.folder / "result.json").read_text())
    asked = {
        "大猫看小鱼。": ("The big cat sees the small fish.", "The big cat eats the small fish."),
        "红马爱大人。": ("The red horse loves the big man.", "The big man loves the red horse."),
    }
    items = [
        boxpen.Choice(id=f"toy-{n}", source=source, candidates=candidates, gold=0)
        for n, (source, candidates) in enumerate(asked.items())
    ]
    card = boxpen.Card(language="en", source_language="zh")
    run = boxpen.evaluate(
        f"hf:{config.folder}", boxpen.Suite("toy", tuple(items), card), cache=":memory:"
    )
    assert [v.credit for v in run.verdicts] == [1.0, 1.0]


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", ["transformer", "rnnsearch"])
def test_200_real_pairs_can_be_learnt_by_heart(data_dir, tmp_path, architecture):
    rows = (data_dir / "tatoeba" / "cmn.txt").read_text("utf-8").splitlines()
    pairs = list({r.split("\t")[1]: r for r in rows[2000::120]}.values())[:200]
    assert len(pairs) == 200
    (tmp_path / "pairs.tsv").write_text("\n".join(pairs) + "\n", "utf-8")
    (tmp_path / "heart.toml").write_text(f"""
source = "zh"
target = "en"
folder = "out"
[[corpora]]
name = "heart"
tsv = "pairs.tsv"
columns = {{source = 1, target = 0}}
[valid]
tsv = "pairs.tsv"
columns = {{source = 1, target = 0}}
[clean]
held_out = "keep"
[subwords]
size = 1000
[model]
architecture = "{architecture}"
size = "tiny"
dropout = 0.0
[train]
tokens = 1200
warmup = 20
learning_rate = 7e-3
schedule = "constant"
label_smoothing = 0.0
max_steps = 120
validate_every = 120
""")
    assert trained(read_config(tmp_path / "heart.toml"))["bleu"] > 90


@pytest.mark.heavy  # fast: the same loop, in train/test_lm_resume.py
def test_a_training_that_was_killed_ends_as_one_that_was_not(corpus, tmp_path):
    one, other = (config_of(corpus, tmp_path / name) for name in ("one", "other"))
    whole = trained(one)
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from boxpen.nmt.config import read_config; from boxpen.nmt.training import Training\n"
        "from boxpen.nmt.data.prepared import prepare\n"
        "config = replace(read_config(Path(sys.argv[1])), folder=Path(sys.argv[2]))\n"
        "import time\n"
        "def watch(state):\n"
        "    print(state.step, flush=True)\n"
        "    if state.step >= 15: time.sleep(60)\n"
        "Training(config, prepare(config), device='cpu', watch=watch).run()\n"
    )
    begun = subprocess.Popen(
        [sys.executable, "-c", code, str(corpus / "toy.toml"), str(other.folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in begun.stdout:  # killed between two checkpoints
        if int(line) >= 15:
            begun.send_signal(signal.SIGKILL)
            break
    begun.wait()
    assert not (other.folder / "config.json").exists()
    told = []
    again = trained(other, note=told.append)
    assert told[0] == "resuming from step 10"
    assert re.fullmatch(r"training: [\d,]{6,} parameters, \d+ pairs, on cpu", told[1])
    assert len(told) == 2
    assert losses(other.folder).keys() == losses(one.folder).keys()
    for step, loss in losses(one.folder).items():
        assert losses(other.folder)[step] == pytest.approx(loss, abs=1e-6)
    assert again["loss"] == pytest.approx(whole["loss"], abs=1e-6)
    # Not the weights: some, as the bias of keys, have no effect and only noise for a gradient.
    asked = load_model(one.folder)[1](["大猫看小鱼。"], return_tensors="pt")
    first, second = (
        load_model(c.folder)[0](**asked, decoder_input_ids=torch.tensor([[2, 5, 7]])).logits
        for c in (one, other)
    )
    assert torch.allclose(first, second, atol=1e-4)


@pytest.mark.parametrize("share", [0.02, 1.25])  # the weights do not fit, or only the optimiser
def test_a_full_disk_leaves_the_last_good_checkpoint(corpus, tmp_path, share):
    """A file may not grow beyond a limit that the first checkpoint keeps and the second bursts."""
    config = config_of(corpus, tmp_path, max_steps="20")
    weights = config.folder / "checkpoints" / "step-10" / "model.safetensors"
    with contextlib.ExitStack() as disk:

        def watch(state):
            if state.step == 15:
                disk.enter_context(largest_file(int(weights.stat().st_size * share)))

        with pytest.raises(TrainError) as found:
            trained(config, watch=watch)
    said = str(found.value)
    assert "the checkpoint of step 20 cannot be written to" in said
    assert "File too large" in said
    assert "enforce fail" not in said
    assert "rerun the same command to resume from step-10" in said
    assert Checkpoints(config.folder / "checkpoints").steps() == [10]
    assert not list((config.folder / "checkpoints").glob(".*"))
    assert trained(config)["steps"] == 20


def test_the_folder_of_another_training_is_refused(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="5", validate_every="5")
    trained(config)
    with pytest.raises(TrainError, match=r"was started with \[train\] tokens = 400, not 500"):
        trained(config_of(corpus, tmp_path, max_steps="5", validate_every="5", tokens="500"))
    with pytest.raises(TrainError, match=r"was started with seed = 1, not 2"):
        trained(replace(config, seed=2))
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "thesis.txt").write_text("mine")
    with pytest.raises(TrainError, match=r"holds 'thesis.txt' and no training.json"):
        trained(replace(config, folder=tmp_path / "strange"))


def test_a_checkpoint_of_another_vocabulary_is_refused(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="5", validate_every="5")
    trained(config)
    write_corpus(tmp_path, pairs=200)
    smaller = replace(config, subwords=replace(config.subwords, size=440), data=tmp_path / "data")
    with pytest.raises(TrainError, match="was started with another vocabulary"):
        trained(smaller)
    (tmp_path / "mixed").mkdir()
    for file in config.folder.iterdir():
        if file.is_file():
            (tmp_path / "mixed" / file.name).write_bytes(file.read_bytes())
    vocabulary = json.loads((tmp_path / "mixed" / "target_vocab.json").read_text())
    vocabulary["▁more"] = len(vocabulary)
    (tmp_path / "mixed" / "target_vocab.json").write_text(json.dumps(vocabulary))
    with pytest.raises(NmtError, match=r"target vocabulary of 451 pieces, but its model knows 450"):
        load_model(tmp_path / "mixed")


def test_steps_of_several_batches_equal_those_of_one(corpus, tmp_path):
    """Gradients of parts add up to those of the whole, by tokens and not by batches."""
    config = config_of(corpus, tmp_path)
    config = replace(config, model=replace(config.model, dropout=0.0))
    prepared = prepare(config)
    weights = []
    for parts in (1, 3):
        torch.manual_seed(1)
        processes = Processes("cpu")
        model = ModelFolder(config, prepared).new_model()
        learner = Learner(config, model, processes, processes.device, (8.0, 8.0))
        numbers = np.arange(21)
        batches = [
            batch_of(prepared.train, part, pad=2, start=2)
            for part in np.array_split(numbers, parts)
        ]
        tokens = int(prepared.train.target_lengths[numbers].sum())
        learnt = learner.step(Step(batches, tokens, Place(), 0.0), rate=1e-3)
        weights.append((float(learnt.loss), model.state_dict()))
    (one, whole), (other, added) = weights
    assert other == pytest.approx(one, rel=1e-5)
    for name, weight in whole.items():
        assert torch.allclose(weight, added[name], atol=2e-5), name


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_equals_a_twin(smoothing):
    dice = np.random.default_rng(2)
    logits = dice.normal(size=(2, 3, 7))
    labels = np.array([[1, 4, IGNORED], [0, IGNORED, IGNORED]])
    total = 0.0
    for row in range(2):
        for place in range(3):
            label = labels[row, place]
            if label == IGNORED:
                continue
            scores = logits[row, place]
            log = scores - np.log(np.exp(scores).sum())
            total -= (1 - smoothing) * log[label] + smoothing * log.mean()
    found = cross_entropy(torch.tensor(logits), torch.tensor(labels), smoothing)
    assert float(found) == pytest.approx(total, rel=1e-5)


def test_the_decoder_reads_the_target_behind_its_start(corpus):
    examples = open_prepared(corpus / "data").train
    numbers = np.array([5, 1, 7])
    batch = batch_of(examples, numbers, pad=2, start=2)
    for row, number in enumerate(numbers):
        source, target = (examples.tokens(side, number).tolist() for side in ("source", "target"))
        width = len(source)
        assert batch["input_ids"][row, :width].tolist() == source
        assert (batch["input_ids"][row, width:] == 2).all()
        labels = batch["labels"][row].tolist()
        assert labels[: len(target)] == target
        assert set(labels[len(target) :]) <= {IGNORED}
        assert batch["decoder_input_ids"][row, : len(target)].tolist() == [2, *target[:-1]]
        assert batch["attention_mask"][row].tolist() == [1] * width + [0] * (
            batch["input_ids"].shape[1] - width
        )


def test_processes_share_every_step_between_them(corpus):
    examples = open_prepared(corpus / "data").train
    settings = {"tokens": 200, "accumulate": 2, "seed": 1, "pad": 2, "start": 2}

    def read(feed, steps):
        found = feed.steps(Place())
        return [next(found) for _ in range(steps)]

    alone = Feed(examples, None, **{**settings, "accumulate": 4})
    shared = [Feed(examples, None, **settings, rank=r, world=2) for r in (0, 1)]
    for whole, *parts in zip(read(alone, 8), *(read(f, 8) for f in shared), strict=True):
        assert whole.tokens == parts[0].tokens == parts[1].tokens
        together = [b for part in parts for b in part.batches]
        assert sorted(_rows(whole.batches)) == sorted(_rows(together))
        assert whole.after == parts[0].after == parts[1].after


def _rows(batches):
    return [tuple(row[row != IGNORED].tolist()) for b in batches for row in b["labels"]]


def test_an_epoch_can_be_taken_up_anywhere(corpus):
    examples = open_prepared(corpus / "data").train
    feed = Feed(examples, None, tokens=300, accumulate=1, seed=4, pad=2, start=2)
    through = feed.steps(Place())
    steps = [next(through) for _ in range(len(feed.groups(0)) + 3)]
    assert steps[len(feed.groups(0)) - 1].after == Place(1, 0)
    for number in (0, 3, len(feed.groups(0)) - 1):
        step = next(feed.steps(steps[number].after))
        assert _rows(step.batches) == _rows(steps[number + 1].batches)


def test_smaller_shares_are_parts_of_larger_ones():
    assert nested_share(1000, 1.0, 1) is None
    eighth, half = (set(nested_share(1000, s, 1).tolist()) for s in (0.125, 0.5))
    assert (len(eighth), len(half)) == (125, 500)
    assert eighth < half
    assert set(nested_share(1000, 0.125, 2).tolist()) != eighth


def test_averages_equal_a_twin(tmp_path):
    from safetensors.torch import save_file

    dice = torch.Generator().manual_seed(3)
    tensors = [{"w": torch.randn(3, 4, generator=dice)} for _ in range(3)]
    for number, tensor in enumerate(tensors):
        (tmp_path / str(number)).mkdir()
        save_file(tensor, tmp_path / str(number) / "model.safetensors")
    found = averaged([tmp_path / str(n) for n in range(3)])["w"]
    for row in range(3):
        for column in range(4):
            mean = sum(float(t["w"][row, column]) for t in tensors) / 3
            assert float(found[row, column]) == pytest.approx(mean, rel=1e-6)
    for other in ({"other": torch.zeros(1)}, {"w": torch.zeros(5, 4)}):
        save_file(other, tmp_path / "0" / "model.safetensors")
        with pytest.raises(TrainError, match="belongs to a different model"):
            averaged([tmp_path / "1", tmp_path / "0"])


def test_schedules():
    base = TrainConfig(learning_rate=1e-3, warmup=100, schedule="inverse_sqrt")
    assert learning_rate(base, 50) == pytest.approx(5e-4)
    assert learning_rate(base, 100) == pytest.approx(1e-3)
    assert learning_rate(base, 400) == pytest.approx(5e-4)
    linear = replace(base, schedule="linear", max_steps=1000)
    assert learning_rate(linear, 500, 0.5) == pytest.approx(5e-4)
    rates = [learning_rate(linear, n, n / 1000) for n in range(1, 1001)]
    assert max(abs(a - b) for a, b in pairwise(rates)) < 1.2e-5  # no jump
    assert learning_rate(linear, 1000, 1.0) == 0
    cosine = replace(base, schedule="cosine", max_steps=1000)
    assert learning_rate(cosine, 500, 0.5) == pytest.approx(5e-4)
    assert learning_rate(replace(base, schedule="constant"), 10**6) == 1e-3


def test_patience_counts_validations_without_improvement():
    losses = [9.0, 3.0, 2.0, 2.5, 2.0]
    results = [ValidationResult(n, loss) for n, loss in enumerate(losses)]
    assert best(results, "valid_loss").step == 2  # the first of equals
    assert not given_up(results[:4], "valid_loss", 2)
    assert given_up(results, "valid_loss", 2)
    assert not given_up(results, "valid_loss", 0)
    assert not given_up([], "valid_loss", 1)
    assert not given_up(results[:1], "valid_loss", 1)
    for metric in ("bleu", "accuracy"):
        results = [ValidationResult(n, 1.0, **{metric: x}) for n, x in enumerate([9, 3, 5, 5, 4])]
        assert best(results, metric).step == 2  # of step 0 there are no weights
        assert given_up(results, metric, 2)
        assert not given_up(results, metric, 3)


def test_a_training_stops_early(corpus, tmp_path):
    config = config_of(
        corpus, tmp_path, learning_rate="1e-12", patience="2", max_steps="1000", validate_every="3"
    )
    assert trained(config)["steps"] <= 15


def test_a_loss_that_is_no_number_is_told(corpus, tmp_path):
    config = config_of(corpus, tmp_path, learning_rate="1e30", warmup="0", clip="0.0")
    with pytest.raises(
        TrainError, match=r"the loss is (nan|inf) at step \d+; a lower learning_rate"
    ):
        trained(config)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": "0"}, r"toy\.toml: train\.tokens is 0, expected 1 or more"),
        ({"learning_rate": "0.0"}, r"learning_rate is 0.0, expected more than 0"),
        (
            {"betas": "[0.9]"},
            r"train\.betas is \[0.9\], expected 2 of them",
        ),
        (
            {"betas": "[0.9, 1.0]"},
            r"train\.betas\[1\] is 1.0, expected 0 or more and less than 1",
        ),
        ({"label_smoothing": "1.0"}, r"label_smoothing is 1.0, expected 0 or more and less than 1"),
        ({"valid_beam": "1001"}, r"valid_beam is 1001, expected 0 to 1,000"),
        ({"share": "1.5"}, r"share is 1.5, expected more than 0 and 1 or less"),
        (
            {"schedule": '"linar"'},
            r"schedule is 'linar', expected 'constant'.* did you mean 'linear'",
        ),
        ({"tokns": "3"}, r"unknown key 'train.tokns', did you mean 'tokens'"),
        (
            {"max_steps": "3", "metric": '"bleu"', "valid_beam": "0"},
            "metric is 'bleu', which needs a valid_beam",
        ),
    ],
)
def test_bad_configurations_are_named(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        read_config(write_config(tmp_path, **changes))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("", "[decod]\nbeam = 3\n", r"toy\.toml: unknown key 'decod', .*'decode'"),
        ("", '[[test]]\nname = "x"\n', r"unknown key 'test', did you .*'tests'"),
        ("", "[decode]\nbeam = 1001\n", r"decode\.beam is 1001, expected 1 to 1,000"),
        ("", "[decode]\nbeam = 0\n", r"decode\.beam is 0, expected 1 to 1,000"),
        (
            "",
            "[decode]\nlength_penalty = 1e3\n",
            r"length_penalty is 1000.0, expected -10 to 10",
        ),
        ("", "[zzz]\n", r"unknown key 'zzz', known: .*corpora, valid, tests, .*train, decode\."),
        ("sead = 3\n", "", r"toy.toml: unknown key 'sead', did you mean 'seed'"),
        ("modl = 3\n", "", r"unknown key 'modl', did you mean 'model'"),
        ("zzz = 3\n", "", r"unknown key 'zzz', known: .*source, .*seed, clean, .*decode\."),
    ],
)
def test_tables_are_checked_and_unknown_names_bring_the_nearest(tmp_path, before, after, message):
    path = write_config(tmp_path)
    path.write_text(f"{before}{path.read_text()}{after}")
    with pytest.raises(ConfigError, match=message):
        read_config(path)


def test_lines_with_an_empty_side_are_counted(tmp_path):
    write_corpus(tmp_path, pairs=30)
    for side, more in (("zh", "\n\n\n"), ("en", "\n \nOne.\n")):
        with (tmp_path / f"train.{side}").open("a", encoding="utf-8") as stream:
            stream.write(more)
    done = CliRunner().invoke(app, ["build", "run", str(write_config(tmp_path)), "--json"])
    assert done.exit_code == 0, done.output
    clean = json.loads(done.stdout)[0]
    rules = clean["rules"]
    assert (rules["read"], rules["empty"]) == (33, 3)
    assert sum(rules.values()) == 2 * rules["read"]  # rules and what is kept add up to it
    assert f"{rules['kept']} of 33 pairs stay" in clean["says"]
    assert clean["steps"][-1]["left"] == rules["kept"]
    assert open_prepared(tmp_path / "data").counts["clean"]["rules"] == rules


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("size = 450", "size = 440", "another vocabulary: [subwords] size = 450, not 440; use"),
        ('"keep"', '"drop"', "started with [clean] duplicates = 'keep', not 'drop'; use"),
    ],
)
def test_a_training_that_is_refused_leaves_the_corpus_as_it_is(tmp_path, old, new, says):
    write_corpus(tmp_path, pairs=40)
    path = write_config(tmp_path, max_steps="2", validate_every="2")
    command = ["train", "nmt", str(path), "--device", "cpu"]
    assert CliRunner().invoke(app, command).exit_code == 0
    before = files_of(tmp_path / "data")
    path.write_text(path.read_text().replace(old, new))
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert says in " ".join(done.stderr.split())
    assert files_of(tmp_path / "data") == before


def files_of(folder):
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def test_sides_of_unequal_length_are_named(tmp_path):
    write_corpus(tmp_path, pairs=20)
    (tmp_path / "train.en").write_text("One line.\n")
    with pytest.raises(NmtError, match=r"train.en ends after line 1, .*train.zh has a line 2"):
        prepare(read_config(write_config(tmp_path)))
    assert not (tmp_path / "data" / "train.npz").exists()


def test_preparing_twice_does_nothing(corpus):
    told = []
    prepare(read_config(write_config(corpus)), told.append)
    assert all(line.endswith("(as before)") for line in told)


def test_suites_are_kept_out_and_counted(tmp_path):
    write_corpus(tmp_path, pairs=50)
    suite = boxpen.Suite(
        "toy-test",
        tuple(
            boxpen.Choice(id=f"t{n}", source=line, candidates=("Yes.", "No."), gold=0)
            for n, line in enumerate((tmp_path / "train.zh").read_text().splitlines()[:2])
        ),
        boxpen.Card(language="en", source_language="zh"),
    )
    boxpen.write_suite(suite, tmp_path / "toy-test.jsonl")
    config = read_config(write_config(tmp_path))
    config = replace(
        config, clean=replace(config.clean, exclude=(str(tmp_path / "toy-test.jsonl"),))
    )
    counts = prepare(config).counts["clean"]
    assert counts["rules"]["overlap"] >= 2
    assert sum(counts["overlap"].values()) == counts["rules"]["overlap"]
    left = (tmp_path / "data" / "text" / "source.txt").read_text().splitlines()
    assert not {i.source.rstrip("。") for i in suite} & {line.strip() for line in left}


def steps_logged(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [e["step"] for e in map(json.loads, lines) if "loss" in e]


def test_the_log_has_every_step_once_after_a_kill_before_the_first_checkpoint(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="12", validate_every="12", log_every="2")
    with pytest.raises(KeyboardInterrupt):
        trained(config, watch=_interrupts(at=6))
    with (config.folder / "log.jsonl").open("a") as stream:
        stream.write('{"step": 8, "lo')  # as a kill leaves it
    trained(config)
    assert steps_logged(config.folder) == [2, 4, 6, 8, 10, 12]


def test_the_last_steps_are_logged(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="7", validate_every="100", log_every="5")
    trained(config)
    assert steps_logged(config.folder) == [5, 7]


def _interrupts(at):
    def watch(state):
        if state.step >= at:
            raise KeyboardInterrupt

    return watch


def test_a_damaged_checkpoint_is_told(corpus, tmp_path):
    config = config_of(corpus, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trained(config, watch=_interrupts(at=15))
    weights = config.folder / "checkpoints" / "step-10" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(TrainError, match=r"step-10 is damaged \(.* to start over"):
        trained(config)


def test_a_model_of_noise_is_not_kept(corpus, tmp_path):
    config = config_of(
        corpus, tmp_path, learning_rate="1e30", warmup="0", clip="0.0", max_steps="3",
        log_every="50",
    )  # fmt: skip
    with pytest.raises(TrainError, match="the loss is"):
        trained(config)
    assert not (config.folder / "config.json").exists()


def test_other_pairs_of_the_same_number_are_refused(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="5", validate_every="5")
    trained(config)
    for file in corpus.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    lines = (tmp_path / "train.en").read_text().splitlines()
    (tmp_path / "train.en").write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
    other = read_config(tmp_path / "toy.toml")
    # the vocabulary of another order of lines is the same, or it would be refused before
    with pytest.raises(TrainError, match=r"was started with (other pairs|another vocabulary)"):
        trained(replace(other, folder=config.folder, data=tmp_path / "data"))


def test_greedy_models_can_be_saved(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="2", validate_every="2")
    config = replace(config, decode=replace(config.decode, beam=1, length_penalty=0.6))
    trained(config)
    assert load_model(config.folder)[0].generation_config.num_beams == 1


def test_a_checkpoint_with_weights_of_another_vocabulary_is_told(corpus, tmp_path):
    from safetensors.torch import load_file, save_file

    config = config_of(corpus, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trained(config, watch=_interrupts(at=15))
    file = config.folder / "checkpoints" / "step-10" / "model.safetensors"
    weights = load_file(file)
    name = "model.decoder.embed_tokens.weight"
    weights[name] = weights[name][:-10].clone()
    save_file(weights, file)
    file.with_name("checksums.json").unlink()  # as earlier versions wrote it
    with pytest.raises(TrainError) as found:
        trained(config)
    assert "step-10 is damaged (the weights are not of this model: " in str(found.value)
    assert f"'{name}' has the shape (440, 64), expected (450, 64)); remove" in str(found.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda state: state.pop("place"), "state.json lacks 'place'"),
        (lambda state: state.pop("validations"), "state.json lacks 'validations'"),
        (lambda state: state.update(place=[3]), "must be a mapping"),
        (lambda state: state.update(place={"epoch": 0, "steps": "x"}), "steps of its place is 'x'"),
        (lambda state: state.update(step=None), "its step is None, expected a whole number from 0"),
        (lambda state: state.update(validations=[{"when": 3}]), "'when'"),
        (
            lambda state: state.update(processes=0),
            "its processes is 0, expected a whole number from 1",
        ),
    ],
)
def test_a_state_that_is_none_is_one_sentence(corpus, tmp_path, change, says):
    config = config_of(corpus, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trained(config, watch=_interrupts(at=15))
    file = config.folder / "checkpoints" / "step-10" / "state.json"
    state = json.loads(file.read_text())
    change(state)
    file.write_text(json.dumps(state))
    file.with_name("checksums.json").unlink()  # as earlier versions wrote it
    with pytest.raises(TrainError) as found:
        trained(config)
    told = str(found.value)
    assert told.startswith(f"{file.parent} is damaged (")
    assert says in told
    assert told.endswith(f"remove {file.parents[1]} and rerun the same command to start over")


def test_weights_of_another_model_are_refused():
    from boxpen.training.checkpoints import load_weights

    layer = torch.nn.Linear(2, 3)
    load_weights(layer, {"weight": torch.ones(3, 2), "bias": torch.zeros(3)})
    with pytest.raises(TrainError, match="not of this model: bias"):
        load_weights(layer, {"weight": torch.ones(3, 2)})
    with pytest.raises(TrainError) as found:
        load_weights(layer, {"weight": torch.ones(4, 2), "bias": torch.zeros(3)})
    assert str(found.value) == (
        "the weights are not of this model: 'weight' has the shape (4, 2), expected (3, 2)"
    )
    with pytest.raises(TrainError, match="not of this model: more"):
        load_weights(
            layer, {"weight": torch.ones(3, 2), "bias": torch.zeros(3), "more": torch.zeros(1)}
        )


def test_held_out_pairs_are_not_learnt_from(tmp_path):
    write_corpus(tmp_path, pairs=60)
    chinese, english = ((tmp_path / f"train.{s}").read_text().splitlines() for s in ("zh", "en"))
    (tmp_path / "test.tsv").write_text(f"{chinese[3]}\t{english[3]}\n{chinese[4]}\t{english[5]}\n")
    text = write_config(tmp_path).read_text() + '[[tests]]\nname = "held"\ntsv = "test.tsv"\n'
    (tmp_path / "toy.toml").write_text(text)
    prepared = prepare(read_config(tmp_path / "toy.toml"))
    found = prepared.counts["clean"]["overlap"]
    assert found["held, both"] == sum(
        pair == (chinese[3], english[3]) for pair in zip(chinese, english, strict=True)
    )
    held = [(tmp_path / f"valid.{s}").read_text().splitlines() for s in ("zh", "en")]
    both = set(zip(*held, strict=True))
    assert found.get("valid, both", 0) == sum(p in both for p in zip(chinese, english, strict=True))
    assert prepared.train.line.tolist() == sorted(prepared.train.line.tolist())


def test_a_suite_that_grows_is_left_out_anew(tmp_path):
    write_corpus(tmp_path, pairs=50)
    lines = sorted(set((tmp_path / "train.zh").read_text().splitlines()))
    config = read_config(write_config(tmp_path))
    path = tmp_path / "suite.jsonl"
    config = replace(config, clean=replace(config.clean, exclude=(str(path),)))
    dropped = []
    for count in (1, 3):
        items = tuple(
            boxpen.Choice(id=f"t{n}", source=line, candidates=("Yes.", "No."), gold=0)
            for n, line in enumerate(lines[:count])
        )
        card = boxpen.Card(language="en", source_language="zh")
        boxpen.write_suite(boxpen.Suite("grows", items, card), path)
        dropped.append(prepare(config).counts["clean"]["rules"]["overlap"])
    assert dropped[0] < dropped[1]


def test_two_trainings_do_not_share_a_folder(corpus, tmp_path):
    config = config_of(corpus, tmp_path, max_steps="4", validate_every="2", log_every="2")
    refused = []

    def watch(state):
        if state.step == 2 and not refused:
            with pytest.raises(TrainError, match="another training is running in"):
                trained(config)
            refused.append(True)

    assert trained(config, watch=watch)["steps"] == 4
    assert refused


def own_corpus(corpus, folder):
    """Return a training on a prepared corpus of its own, and one that shares its data folder."""
    for name in ("train.zh", "train.en", "valid.zh", "valid.en"):
        (folder / name).write_bytes((corpus / name).read_bytes())
    config = read_config(write_config(folder))
    valid = config.valid
    (folder / "other.zh").write_text("猫看狗。\n" * 12)
    (folder / "other.en").write_text("Cat sees dog.\n" * 12)
    valid = replace(valid, source=folder / "other.zh", target=folder / "other.en")
    other = replace(config, subwords=replace(config.subwords, size=440), valid=valid)
    return config, replace(other, folder=folder / "other")


def test_a_corpus_that_is_prepared_anew_in_the_midst_changes_nothing(corpus, tmp_path):
    """Validation set and vocabulary change between two validations."""
    config, other = own_corpus(corpus, tmp_path)
    whole = trained(replace(config, folder=tmp_path / "whole"))
    vocabulary = vocabulary_digest(config.data / "subwords")

    def watch(state):
        if state.step == 15:
            prepare(other)
            assert vocabulary_digest(config.data / "subwords") != vocabulary

    result = trained(config, watch=watch)
    assert {**result, "seconds": 0} == {**whole, "seconds": 0}
    assert vocabulary_digest(config.folder) == vocabulary
    seen, expected = (
        [{**e, "seconds": 0} for e in map(json.loads, lines) if "bleu" in e]
        for lines in ((c / "log.jsonl").open() for c in (config.folder, tmp_path / "whole"))
    )
    assert seen == expected
    load_model(config.folder)


def test_a_corpus_that_was_prepared_anew_is_not_gone_on_with(corpus, tmp_path):
    config, other = own_corpus(corpus, tmp_path)
    prepared = prepare(config)
    with pytest.raises(KeyboardInterrupt):
        Training(config, prepared, device="cpu", watch=_interrupts(at=15)).run()
    anew = prepare(other)
    with pytest.raises(TrainError, match="was started with another vocabulary"):
        Training(config, anew, device="cpu").run()
    for folder in (config.folder, tmp_path / "new"):  # what is in memory is not what is there
        with pytest.raises(NmtError, match=r"data was prepared anew while it was in use, expected"):
            Training(replace(config, folder=folder), prepared, device="cpu").run()
    assert Checkpoints(config.folder / "checkpoints").steps() == [10]
    assert not (tmp_path / "new").exists()
    assert trained(config)["steps"] == 30


def test_a_corpus_that_is_prepared_anew_while_the_model_is_made_is_refused(
    corpus, tmp_path, monkeypatch
):
    config, other = own_corpus(corpus, tmp_path)
    prepared, make = prepare(config), ModelFolder.new_model

    def new_model(folder):
        made = make(folder)
        prepare(other)
        return made

    monkeypatch.setattr(ModelFolder, "new_model", new_model)
    with pytest.raises(NmtError, match="was prepared anew while it was in use"):
        Training(config, prepared, device="cpu").run()
    assert not config.folder.exists()


def test_a_model_is_not_finished_with_another_tokenizer(corpus, tmp_path):
    config = config_of(corpus, tmp_path)
    record, whole = config.folder / "training.json", []

    def watch(state):
        if state.step == 30:
            whole.append(record.read_text())
            record.write_text(json.dumps({**json.loads(whole[0]), "vocabulary": "another"}))

    with pytest.raises(TrainError, match=r"is not the one that .* was started with"):
        trained(config, watch=watch)
    assert Checkpoints(config.folder / "checkpoints").steps() == [10, 20, 30]
    assert not (config.folder / "config.json").exists()
    assert not (config.folder / ".finished").exists()
    record.write_text(whole[0])
    assert trained(config)["steps"] == 30


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ({"tokens": "3"}, "raise 'tokens'"),
        ({"learning_rate": "1e30", "warmup": "0", "clip": "0.0"}, "a lower learning_rate"),
    ],
)
def test_advice_can_be_followed_in_the_same_folder(corpus, tmp_path, wrong, advice):
    with pytest.raises(BoxpenError, match=advice):
        trained(config_of(corpus, tmp_path, **wrong))
    assert (tmp_path / "out" / "training.json").is_file()
    config = config_of(corpus, tmp_path, max_steps="10")
    assert trained(config)["steps"] == 10
    assert json.loads((config.folder / "training.json").read_text())["train"]["tokens"] == 400
    with pytest.raises(TrainError, match=r"was started with \[train\] tokens = 400, not 500"):
        trained(config_of(corpus, tmp_path, max_steps="10", tokens="500"))


@pytest.mark.parametrize("lost", ["optimizer.pt", "state.json", "rng_state-0.pt"])
def test_a_checkpoint_that_lost_a_file_is_told(corpus, tmp_path, lost):
    config = config_of(corpus, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trained(config, watch=_interrupts(at=15))
    (config.folder / "checkpoints" / "step-10" / lost).unlink()
    with pytest.raises(
        TrainError,
        match=r"step-10 is damaged \(.*; remove .*/checkpoints and rerun .* to start over",
    ):
        trained(config)


@pytest.mark.parametrize("damaged", ["model.safetensors", "source.spm", "config.json"])
def test_a_damaged_model_is_one_sentence(corpus, tmp_path, damaged):
    config = config_of(corpus, tmp_path, max_steps="2", validate_every="2")
    trained(config)
    file = config.folder / damaged
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(NmtError, match=r"cannot be loaded|no tokenizer that can be loaded"):
        load_model(config.folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": "-1"}, "seed is -1, expected 0 or more"),
        ({"source": '"../zh"'}, "expected the code of a language"),
        ({"size": "99999999999999"}, r"expected"),
    ],
)
def test_top_values_are_checked(corpus, tmp_path, changes, message):
    text = (corpus / "toy.toml").read_text()
    for key, value in changes.items():
        text = re.sub(
            rf"^{key} = .*$", f"{key} = {value}", f"seed = 1\n{text}", count=1, flags=re.M
        )
    (tmp_path / "toy.toml").write_text(text)
    write_corpus(tmp_path, pairs=20)
    with pytest.raises(ConfigError, match=message):
        prepare(read_config(tmp_path / "toy.toml"))
