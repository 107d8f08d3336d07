"""The experiment of data sizes: what is trained and judged, once, and what is refused before."""

from __future__ import annotations

import json
import random
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("sentencepiece")
pytest.importorskip("accelerate")

from boxpen.catalog.jsonl import write_jsonl
from boxpen.errors import NmtError, PolicyError, SuiteError, TrainError
from boxpen.items import Card, Choice, Suite
from boxpen.nmt.config import NmtConfig, TrainConfig, read_config
from boxpen.nmt.data.feed import nested_share
from boxpen.nmt.data.prepared import open_prepared
from boxpen.nmt.scale import ScalePoint, _extent, _of_share, parse_share, run_scale
from boxpen.report.training.scale import scale_svg
from boxpen.runs.run import Run

NOUNS = {"猫": "cat", "狗": "dog", "鸟": "bird", "鱼": "fish", "人": "man", "马": "horse"}
VERBS = {"看": "sees", "吃": "eats", "爱": "loves", "追": "chases"}
CONFIG = """
source = "zh"
target = "en"
folder = "model"
data = "data"
[[corpora]]
name = "toy"
source = "train.zh"
target = "train.en"
[valid]
source = "valid.zh"
target = "valid.en"
[clean]
duplicates = "keep"
held_out = "keep"
[subwords]
size = 400
[model]
size = "tiny"
[train]
tokens = 400
warmup = 10
learning_rate = 3e-3
max_steps = 30
validate_every = 15
valid_sentences = 5
log_every = 10
"""


def sentence(chance: random.Random) -> tuple[str, str]:
    one, other, verb = (chance.choice(list(words)) for words in (NOUNS, NOUNS, VERBS))
    return f"{one}{verb}{other}", f"The {NOUNS[one]} {VERBS[verb]} the {NOUNS[other]}."


def suite() -> Suite:
    """Who does it to whom; with the same verb all over, or with any."""
    items = []
    for number, (verb, name) in enumerate([("追", "chase"), ("爱", "other"), ("看", "other")] * 4):
        one, other = list(NOUNS)[number % 6], list(NOUNS)[(number + 1) % 6]
        said = f"The {NOUNS[one]} {VERBS[verb]} the {NOUNS[other]}."
        turned = f"The {NOUNS[other]} {VERBS[verb]} the {NOUNS[one]}."
        gold = number % 2
        items.append(
            Choice(
                id=str(number),
                source=f"{one}{verb}{other}",
                candidates=(turned, said) if gold else (said, turned),
                gold=gold,
                tags={"set": name},
            )
        )
    return Suite("roles", tuple(items), Card(language="en", source_language="zh"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scale")
    chance = random.Random(3)
    for name, count in (("train", 400), ("valid", 10)):
        pairs = [sentence(chance) for _ in range(count)]
        (folder / f"{name}.zh").write_text("".join(f"{zh}\n" for zh, _ in pairs), "utf-8")
        (folder / f"{name}.en").write_text("".join(f"{en}\n" for _, en in pairs), "utf-8")
    (folder / "c.toml").write_text(CONFIG, "utf-8")
    with (folder / "roles.jsonl").open("wb") as stream:
        write_jsonl(suite(), stream)
    with (folder / "plain.jsonl").open("wb") as stream:
        bare = tuple(replace(i, tags={}) for i in suite() if isinstance(i, Choice))[:4]
        write_jsonl(replace(suite(), name="plain", items=bare), stream)
    return folder


@pytest.fixture(scope="module")
def config(place: Path) -> NmtConfig:
    return read_config(place / "c.toml")


def scale(config: NmtConfig, place: Path, shares: list[float], **named):
    given = {"suites": [str(place / "roles.jsonl")], "out": place / "out", "device": "cpu"}
    given |= {"plot": scale_svg}
    return run_scale(config, shares, **given | {"cache": place / "scores.sqlite"} | named)


class Killed(Exception):  # noqa: N818
    """In place of a signal."""


class Experiment(NamedTuple):
    """What a call returned, told and wrote."""

    points: list[ScalePoint]
    notes: list[str]
    json: dict[str, Any]
    svg: str


@pytest.fixture(scope="module")
def killed(config: NmtConfig, place: Path) -> Experiment:
    """Begin, and be killed in the middle of the second model."""
    notes: list[str] = []

    def watch(state) -> None:
        begun = [note for note in notes if note.startswith("share ")]
        if begun[-1].startswith("share 0.5:") and state.step == 20:
            raise Killed

    with pytest.raises(Killed):
        scale(config, place, [0.5, 0.25], watch=watch, note=notes.append)
    return Experiment([], notes, *written(place))


@pytest.fixture(scope="module")
def resumed(killed, config: NmtConfig, place: Path) -> Experiment:
    """The same call again."""
    notes: list[str] = []
    points = scale(config, place, [0.5, 0.25], note=notes.append)
    return Experiment(points, notes, *written(place))


def written(place: Path) -> tuple[dict[str, Any], str]:
    out = place / "out"
    return json.loads((out / "scale.json").read_text("utf-8")), (out / "scale.svg").read_text()


def test_a_killed_experiment_keeps_the_points_it_has(killed):
    assert [point["share"] for point in killed.json["points"]] == [0.25]
    assert killed.svg.count("<circle") == 2


def test_a_killed_experiment_goes_on(killed, resumed):
    assert [point["share"] for point in resumed.points] == [0.25, 0.5]
    assert resumed.points[0] == killed.json["points"][0], "the finished model is judged as before"
    assert any("share-0.25 is finished" in note for note in resumed.notes)
    assert "resuming from step 15" in resumed.notes


def test_points_are_what_the_files_say(resumed, place: Path):
    assert resumed.json["points"] == resumed.points
    for point in resumed.points:
        folder = place / "out" / point["folder"]
        result = json.loads((folder / "result.json").read_text("utf-8"))
        assert (point["steps"], result["steps"]) == (30, 30)
        assert (point["valid_loss"], point["valid_bleu"]) == (result["loss"], result["bleu"])
        assert point["valid_bleu_signature"] == result["bleu_signature"]
        begun = json.loads((folder / "training.json").read_text("utf-8"))
        assert begun["train"]["share"] == point["share"]


def test_pairs_and_tokens_are_those_of_the_share(resumed, config: NmtConfig):
    examples = open_prepared(config.data).train
    assert len(examples) == 400
    for point, pairs in zip(resumed.points, (100, 200), strict=True):
        chosen = nested_share(400, point["share"], config.seed)
        assert point["pairs"] == pairs
        assert point["target_tokens"] == sum(len(examples.tokens("target", n)) for n in chosen)


def test_a_full_share_is_the_whole_corpus(resumed, config: NmtConfig):
    prepared = open_prepared(config.data)
    assert _extent(prepared, 1.0, 1) == (400, len(prepared.train.target))


def test_all_models_have_the_same_subwords(resumed, place: Path):
    models = [place / "out" / f"share-{share}" / "vocab.json" for share in ("0.25", "0.5")]
    assert models[0].read_bytes() == models[1].read_bytes()
    assert models[0].read_bytes() == (place / "data/subwords/vocab.json").read_bytes()
    weights = [model.with_name("model.safetensors").read_bytes() for model in models]
    assert weights[0] != weights[1]


def test_accuracy_is_that_of_the_kept_run(resumed, place: Path):
    for point in resumed.points:
        (result,) = point["suites"]
        run = Run.load(place / "out" / result["run"])
        right = {"chase": [], "other": []}
        for verdict in run.verdicts:
            right[verdict.tags["set"]].append(verdict.credit)
        for name, earned in right.items():
            measure = result["sets"][name]
            assert measure["n"] == len(earned) == {"chase": 4, "other": 8}[name]
            assert measure["value"] == pytest.approx(sum(earned) / len(earned))
            assert 0 <= measure["low"] <= measure["value"] <= measure["high"] <= 1
        assert result["accuracy"]["n"] == 12
        assert result["bleu"]["n"] == 12
        assert result["signature"] == run.signature
        (made,) = (r.signature for r in run.summary() if (r.metric, r.slice) == ("bleu", "all"))
        assert result["bleu_signature"] == made
        assert re.fullmatch(
            r"\|beam:\d+\|nrefs:1\|.+\|tok:13a\|.+", made.removeprefix(run.signature)
        )
        assert Path(run.info.model.name.removeprefix("hf:")).name == point["folder"]


def test_the_drawing_has_a_curve_for_every_set(resumed):
    drawn = resumed.svg
    assert drawn.count("<polyline") == 2
    assert re.findall(r'name".*>(\w+)</text>', drawn) == ["chase", "other"]
    for mark in (">100<", ">200<", ">pairs of sentences<", ">accuracy<"):
        assert mark in drawn


def test_several_suites_are_told_apart(resumed, config: NmtConfig, place: Path):
    suites = [str(place / "roles.jsonl"), str(place / "plain.jsonl")]
    (point,) = scale(config, place, [0.25], suites=suites)
    assert [result["suite"] for result in point["suites"]] == ["roles", "plain"]
    assert point["suites"][1]["sets"] == {}
    _, drawn = written(place)
    names = re.findall(r'name".*>([^<]+)</text>', drawn)
    assert names == ["roles: chase", "roles: other", "plain"]


def test_without_suites_models_are_only_trained(resumed, config: NmtConfig, place: Path):
    points = scale(config, place, [0.5, 0.25, 0.25], suites=[])
    assert [(point["share"], point["suites"]) for point in points] == [(0.25, []), (0.5, [])]


def test_a_share_gets_a_power_of_itself_of_the_steps(config: NmtConfig, place: Path, tmp_path):
    begun: list[TrainConfig] = []
    points = scale(
        config, place, [0.25, 1.0], suites=[], out=tmp_path, steps_power=0.5, begin=begun.append
    )
    assert [point["steps"] for point in points] == [15, 30]
    for point, train in zip(points, begun, strict=True):
        kept = json.loads((tmp_path / point["folder"] / "training.json").read_text("utf-8"))
        for told in (kept["train"], asdict(train)):
            found = [told[key] for key in ("share", "max_steps", "warmup", "validate_every")]
            assert found == ([0.25, 15, 5, 8] if point["share"] < 1 else [1.0, 30, 10, 15])


@pytest.mark.parametrize(
    ("power", "steps"),
    [(0.75, [562, 946, 1591, 2676, 4500]), (0, [4500] * 5), (1, [281, 562, 1125, 2250, 4500])],
)
def test_the_steps_of_shares(config: NmtConfig, power: float, steps: list[int]):
    """At 0.75 they are those of docs/results/nmt.md."""
    whole = replace(config, train=replace(config.train, max_steps=4500))
    shares = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
    made = [_of_share(whole, share, Path("out"), power).train.max_steps for share in shares]
    assert made == steps


def test_little_is_never_nothing(config: NmtConfig):
    train = _of_share(config, 0.001, Path("out"), 2).train
    assert (train.max_steps, train.warmup, train.validate_every) == (1, 1, 1)


def test_a_share_of_another_training_is_refused(resumed, config: NmtConfig, place: Path):
    other = replace(config, train=replace(config.train, learning_rate=1e-3))
    with pytest.raises(
        TrainError, match=r"started with \[train\] learning_rate = 0.003, not 0.001"
    ):
        scale(other, place, [0.25])


@pytest.mark.parametrize(
    ("error", "says", "changed"),
    [
        (NmtError, "no share of the data is given", {"shares": []}),
        (NmtError, "a share of the data is 1.5, expected more than 0", {"shares": [0.5, 1.5]}),
        (SuiteError, "nothing.jsonl", {"suites": ["nothing.jsonl"]}),
        (NmtError, "two suites have the name 'roles'", {"suites": ["roles.jsonl", "twin.jsonl"]}),
        (NmtError, "no items to translate from en to zh", {"turned": True}),
        (PolicyError, "has no recipe 'papre'", {"recipe": "papre"}),
        (NmtError, "the power of the steps is -1, expected 0 or more", {"steps_power": -1.0}),
        (NmtError, "the power of the steps is nan", {"steps_power": float("nan")}),
        (NmtError, "the power of the steps is inf", {"steps_power": float("inf")}),
        (NmtError, "c.toml has no max_steps", {"steps_power": 0.5, "endless": True}),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_trained(
    error, says, changed, config: NmtConfig, place: Path, tmp_path: Path
):
    changed = dict(changed)
    (place / "twin.jsonl").write_bytes((place / "roles.jsonl").read_bytes())
    given = replace(config, source="en", target="zh") if changed.pop("turned", False) else config
    if changed.pop("endless", False):
        given = replace(given, train=replace(given.train, max_steps=None))
    shares = changed.pop("shares", [0.5])
    if "suites" in changed:
        changed["suites"] = [str(place / name) for name in changed["suites"]]
    with pytest.raises(error, match=re.escape(says)):
        scale(given, place, shares, **{"out": tmp_path / "new", **changed})
    assert not (tmp_path / "new").exists()


def test_no_share_is_trained_before_one_that_is_refused(config: NmtConfig, place: Path, tmp_path):
    (tmp_path / "share-0.5").mkdir()
    (tmp_path / "share-0.5" / "thesis.tex").touch()
    with pytest.raises(TrainError, match=r"share-0\.5 holds 'thesis\.tex' and no training\.json"):
        scale(replace(config, data=tmp_path / "data"), place, [0.25, 0.5], out=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["share-0.5"]


def test_a_file_is_no_folder(config: NmtConfig, place: Path):
    with pytest.raises(NmtError, match=r"c\.toml cannot be created: File exists"):
        scale(config, place, [0.5], out=place / "c.toml")


@given(st.integers(1, 999), st.integers(1, 999))
def test_a_share_is_a_fraction(top: int, bottom: int):
    if top > bottom:
        with pytest.raises(NmtError, match="not a share"):
            parse_share(f"{top}/{bottom}")
    else:
        assert parse_share(f"{top}/{bottom}") == pytest.approx(top / bottom, rel=1e-15)


@given(st.integers(1, 10**6))
def test_or_a_decimal(millionths: int):
    assert parse_share(f" {millionths / 10**6:.6f} ") == millionths / 10**6


def test_shares_are_read():
    shares = [parse_share(text) for text in ("1/16", ".25", "0.5", "1", "1.0")]
    assert shares == [0.0625, 0.25, 0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    "text",
    ["0", "2", "x", "", "0.0", "1/0", "0/3", "-1/2", "1/2/3", "1e-3", "50%", "nan", "½", "٣"],
)
def test_nonsense_is_no_share(text: str):
    with pytest.raises(NmtError, match=re.escape(f"'{text}' is not a share of the data; expected")):
        parse_share(text)
