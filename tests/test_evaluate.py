"""Suite x model -> run, with a tiny but real GPT-2."""

import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import boxpen
from boxpen import Card, Choice, Entail, ModelError, PolicyError, Suite, Translate
from boxpen.cli.app import app
from boxpen.models.causal import CausalModel
from boxpen.models.engine.packed import PackedDecoder
from boxpen.plans import other_contexts
from boxpen.scoring.cache import ScoreCache, cache_key
from small_runs import Liking, without_checksums

EN = Card(language="en", title="Tests of tests")


def pairs(count: int = 6, *, name: str = "pairs") -> Suite:
    words = ["box", "pen", "house", "tree", "river", "stone", "cloud", "boat"]
    items = [
        Choice(
            id=f"p{i}",
            candidates=(
                f"The {words[i % 8]} is in the pen.",
                f"The pen is in the {words[(i + 3) % 8]} {i}.",
            ),
            gold=i % 2,
            block=f"b{i // 2}",
            tags={"set": "odd" if i % 2 else "even"},
        )
        for i in range(count)
    ]
    return Suite(name, tuple(items), EN)


def test_every_row_of_the_summary_has_its_numbers_and_its_signature(gpt2):
    run = boxpen.evaluate(gpt2, pairs(), cache=":memory:")
    rows = {(r.slice, r.metric): r for r in run.summary()}
    every = {"accuracy", "failure_rate", "margin", "chance"}
    blocks = {"consistency", "both_right", "both_wrong", "flip_rate"}
    blocks |= {"macro_accuracy", "macro_chance"}
    assert set(rows) == {
        (place, metric)
        for place in ("all", "set=even", "set=odd")
        for metric in (every | blocks if place == "all" else every)
    }
    accuracy = rows["all", "accuracy"]
    assert accuracy.value == pytest.approx(sum(v.credit for v in run.verdicts) / 6)
    assert 0 <= accuracy.low <= accuracy.value <= accuracy.high <= 1
    assert accuracy.n == 6
    assert rows["all", "consistency"].n == 3
    assert f"pairs@{pairs().hash[:8]}" in accuracy.signature
    assert "|bos:yes|" in accuracy.signature
    assert "|norm:sum|" in accuracy.signature
    assert accuracy.signature.endswith(f"version:{boxpen.__version__}")


def test_scores_are_sums_of_the_records(gpt2):
    run = boxpen.evaluate(gpt2, pairs(), cache=":memory:")
    for verdict in run.verdicts:
        sums = [math.fsum(map(float, c.record.logprobs)) for c in run.candidates[verdict.id]]
        assert verdict.scores == pytest.approx(sums)
        assert verdict.winner == sums.index(max(sums))


def test_identical_candidates_tie_and_earn_half(gpt2):
    same = Choice(id="same", candidates=("A pen.", "A pen."), gold=0)
    spaced = Choice(id="spaced", candidates=("A pen.", "A  pen. "), gold=1)
    run = boxpen.evaluate(gpt2, Suite("ties", (same, spaced), EN), cache=":memory:")
    assert [(v.tied, v.credit) for v in run.verdicts] == [(2, 0.5), (2, 0.5)]
    assert run.summary()[0].ties == 2
    strict = run.rescore(ties="strict")
    assert [v.credit for v in strict.verdicts] == [0, 0]
    first = run.rescore(ties="first")
    assert [v.credit for v in first.verdicts] == [1, 0]


def test_rescoring_needs_no_model_and_equals_a_run_under_that_norm(gpt2, tmp_path):
    place = boxpen.evaluate(gpt2, pairs(), cache=":memory:").save(tmp_path)
    for norm in ("token", "word", "char", "byte"):
        again = boxpen.Run.load(place).rescore(norm=norm)
        fresh = boxpen.evaluate(gpt2, pairs(), cache=":memory:", norm=norm)
        assert again.signature == fresh.signature
        assert again.summary() == fresh.summary()
        assert again.verdicts == fresh.verdicts
    with pytest.raises(boxpen.RunError, match="needs the model"):
        boxpen.Run.load(place).rescore(bos="never")


def test_a_run_directory_comes_back_as_it_went(gpt2, tmp_path):
    run = boxpen.evaluate(gpt2, pairs(), cache=":memory:")
    place = run.save(tmp_path)
    assert sorted(p.name for p in place.iterdir()) == [
        "records.parquet",
        "run.json",
        "tokens.json",
        "translations.parquet",
        "verdicts.parquet",
    ]
    back = boxpen.Run.load(place)
    assert back.summary() == run.summary()
    assert back.verdicts == run.verdicts
    assert back.tokens == run.tokens
    for members in run.candidates.values():
        for one in members:
            shown = "".join(run.tokens[t] for t in one.record.token_ids.tolist())
            assert shown == one.text
    without_checksums(place)  # as in runs of earlier versions
    (place / "tokens.json").unlink()
    assert boxpen.Run.load(place).tokens == {}
    assert back.info == run.info
    assert run.save(tmp_path) == place  # the same run again takes its own place
    assert [p.name for p in tmp_path.iterdir()] == [place.name]


@pytest.mark.parametrize(
    "damage",
    [
        lambda a: a.pop("suite"),
        lambda a: a.update(model=None),
        lambda a: a["model"].pop("short"),
        lambda a: a.update(findings=["x"]),
        lambda a: a.update(left_out=[]),
        lambda a: a["policy"].update(norm="length"),
        lambda a: a.update(signature=7),
        lambda a: a["suite"].update(name="\ud800"),
    ],
)
def test_a_damaged_run_json_is_refused_in_one_sentence(gpt2, tmp_path, damage):
    place = boxpen.evaluate(gpt2, pairs(), cache=":memory:").save(tmp_path)
    about = json.loads((place / "run.json").read_text("utf-8"))
    damage(about)
    (place / "run.json").write_text(json.dumps(about), "utf-8")
    with pytest.raises(boxpen.RunError, match="is not a whole run directory") as caught:
        boxpen.Run.load(place)
    assert "\n" not in str(caught.value)


def test_a_damaged_row_of_the_cache_is_scored_again(gpt2, tmp_path):
    import sqlite3

    fresh = boxpen.evaluate(gpt2, pairs(), cache=tmp_path / "c.sqlite")
    with sqlite3.connect(tmp_path / "c.sqlite") as db:
        db.execute("UPDATE scores SET logprobs = x'010203'")
    again = boxpen.evaluate(gpt2, pairs(), cache=tmp_path / "c.sqlite")
    assert again.info.engine["from_cache"] == 0
    assert again.verdicts == fresh.verdicts


@pytest.mark.parametrize("template", ["{0}", "{", "{source.__class__}", "{source:>99}", "{x}"])
def test_templates_take_plain_names_only(template):
    with pytest.raises(PolicyError, match="is not valid, it may use"):
        boxpen.Recipe(name="mine", prompt=template)


def test_a_template_that_nothing_could_fill_is_refused(gpt2):
    with pytest.raises(PolicyError, match="no source or context"):
        boxpen.evaluate(gpt2, pairs(), cache=":memory:", template="{source}")


def test_a_second_run_scores_nothing(gpt2, tmp_path, monkeypatch):
    cache = tmp_path / "scores.sqlite"
    first = boxpen.evaluate(gpt2, pairs(), cache=cache)
    monkeypatch.setattr(CausalModel, "run", _fail)
    second = boxpen.evaluate(gpt2, pairs(), cache=cache)
    assert second.summary() == first.summary()
    assert second.verdicts == first.verdicts


def test_no_committed_batch_is_scored_twice_after_an_interruption(gpt2, tmp_path, monkeypatch):
    cache = tmp_path / "scores.sqlite"
    plain = PackedDecoder.run
    seen = []

    def three_packs(self, pack, **more):
        if len(seen) == 3:
            raise KeyboardInterrupt
        values = plain(self, pack, **more)
        if len(pack.members) == 4:  # not the self-check
            seen.append(pack.targets.tobytes())
        return values

    monkeypatch.setattr(PackedDecoder, "run", three_packs)
    with pytest.raises(KeyboardInterrupt):
        boxpen.evaluate(gpt2, pairs(20), cache=cache, batch_size=4)
    with ScoreCache(cache) as kept:
        (committed,) = kept._db.execute("SELECT count(*) FROM scores").fetchone()
    assert committed == 12
    later = []

    def rest(self, pack, **more):
        later.extend(np.split(pack.targets, pack.ends[:-1]))
        return plain(self, pack, **more)

    monkeypatch.setattr(PackedDecoder, "run", rest)
    resumed = boxpen.evaluate(gpt2, pairs(20), cache=cache, batch_size=4)
    assert resumed.info.engine["from_cache"] == 12
    distinct = {c for item in pairs(20) for c in item.candidates}
    assert len(later) == resumed.info.engine["texts"] == len(distinct) - 12
    assert not any(texts.tobytes() in before for texts in later for before in seen)
    monkeypatch.setattr(PackedDecoder, "run", plain)
    whole = boxpen.evaluate(gpt2, pairs(20), cache=":memory:", batch_size=4)
    assert [v.winner for v in resumed.verdicts] == [v.winner for v in whole.verdicts]
    for a, b in zip(resumed.verdicts, whole.verdicts, strict=True):
        assert a.scores == pytest.approx(b.scores, abs=1e-4)


def test_kill_9_and_start_again_gives_the_same_result(gpt2_dir, tmp_path):
    suite = tmp_path / "pairs.jsonl"
    boxpen.write_suite(pairs(150), suite)
    command = [
        *("run", "--suite", str(suite), "--model", f"hf:{gpt2_dir}"),
        *("--batch-size", "1", "--json"),
    ]
    cache = tmp_path / "killed.sqlite"
    killed = subprocess.Popen(
        [
            *(sys.executable, "-m", "boxpen", *command),
            *("--cache", str(cache), "--out", str(tmp_path / "a")),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while _rows(cache) < 20 and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    kept = _rows(cache)
    fresh = tmp_path / "fresh.sqlite"
    results = []
    for name, store in (("a", cache), ("b", fresh)):
        done = CliRunner().invoke(
            app, [*command, "--cache", str(store), "--out", str(tmp_path / name)]
        )
        assert done.exit_code == 0, done.output
        results.append(json.loads(done.stdout)["results"])
    assert 20 <= kept < _rows(cache) == _rows(fresh)
    assert results[0] == results[1]
    assert not list((tmp_path / "a").glob(".*"))


def test_two_processes_share_one_cache(tmp_path):
    context = multiprocessing.get_context("spawn")
    begin, found = context.Barrier(2, timeout=120), context.Queue()
    work = (tmp_path / "scores.sqlite", begin, found)
    other = context.Process(target=_evaluate_with_another, args=work)
    other.start()
    _evaluate_with_another(*work)
    other.join(timeout=120)
    assert other.exitcode == 0
    (first, some), (second, others) = (found.get(timeout=10) for _ in range(2))
    assert first == second == 0.5
    texts = len({text for item in pairs(60) for text in item.candidates})
    assert _rows(tmp_path / "scores.sqlite") == texts == max(some, others)


def test_items_that_a_model_cannot_judge_are_left_out_and_named(gpt2):
    english = Choice(id="en", candidates=("A pen.", "A box."), gold=0)
    entail = Entail(id="nli", premise="A pen.", hypothesis="A box.", label="neutral")
    bare = Translate(id="mt", source="A pen.", reference="一支笔。", language="zh")
    suite = Suite("mixed", (english, entail, bare), EN)
    run = boxpen.evaluate(gpt2, suite, cache=":memory:")
    assert [v.id for v in run.verdicts] == ["en"]
    assert sorted(i for ids in run.info.left_out.values() for i in ids) == ["mt", "nli"]
    assert f"mixed@{suite.take([english]).hash[:8]}" in run.signature
    parts = Suite(
        "parts", (replace(english, tags={"part": "en"}), replace(bare, tags={"part": "zh"}))
    )
    from boxpen.report.terminal import notes

    assert any(
        note.startswith("left out 1 of 2 items (part=zh)")
        for note in notes(boxpen.evaluate(gpt2, parts, cache=":memory:"))
    )
    with pytest.raises(ModelError, match="cannot judge suite 'mixed'"):
        boxpen.evaluate(gpt2, suite.take([entail]), cache=":memory:")


def test_a_language_that_the_model_does_not_read_gets_no_number(gpt2_dir):
    model = boxpen.resolve_model(f"hf:{gpt2_dir}")
    model.languages = frozenset({"en"})
    chinese = Choice(id="zh", candidates=("笔在盒子里。", "盒子在笔里。"), gold=0, language="zh")
    with pytest.raises(ModelError, match="does not read zh"):
        boxpen.evaluate(model, Suite("zh", (chinese,)), cache=":memory:")
    forced = boxpen.evaluate(
        model, Suite("zh", (chinese,)), cache=":memory:", check_languages=False
    )
    assert len(forced.verdicts) == 1


def test_a_causal_model_judges_translations_by_the_target_or_through_a_prompt(gpt2):
    item = Choice(
        id="t",
        source="盒子在围栏里。",
        candidates=("The box is in the pen.", "The pen is in the box."),
        gold=0,
        language="en",
        source_language="zh",
    )
    suite = Suite("t", (item,))
    alone = boxpen.evaluate(gpt2, suite, cache=":memory:")
    assert {c.prefix for c in alone.candidates["t"]} == {""}
    prompted = boxpen.evaluate(gpt2, suite, cache=":memory:", recipe="translate")
    assert {c.prefix for c in prompted.candidates["t"]} == {"Chinese: 盒子在围栏里。\nEnglish:"}
    own = boxpen.evaluate(gpt2, suite, cache=":memory:", template="{source} =")
    assert {c.prefix for c in own.candidates["t"]} == {"盒子在围栏里。 ="}
    assert len({r.signature for r in (alone, prompted, own)}) == 3
    with pytest.raises(PolicyError, match="not valid"):
        boxpen.evaluate(gpt2, suite, cache=":memory:", template="{nothing}")


def test_a_context_that_no_model_reads_is_said_and_a_prompt_shows_it(gpt2):
    item = Translate(
        id="d", context="My keys are gone.", source="I need them.", reference="I need keys.",
        contrast=("I need men.",), language="en", source_language="de",
    )  # fmt: skip
    suite = Suite("d", (item,))
    from boxpen.report.terminal import notes

    alone = boxpen.evaluate(gpt2, suite, cache=":memory:")
    assert any("1 item(s) have a context" in note for note in notes(alone))
    shown = boxpen.evaluate(gpt2, suite, cache=":memory:", recipe="translate")
    assert not any("have a context" in note for note in notes(shown))
    assert {c.prefix for c in shown.candidates["d"]} == {
        "My keys are gone.\nGerman: I need them.\nEnglish:"
    }


def test_a_failed_save_leaves_the_old_run(gpt2, tmp_path, monkeypatch):
    run = boxpen.evaluate(gpt2, pairs(), cache=":memory:")
    place = run.save(tmp_path)
    plain = Path.rename

    def full(self, target):
        if self.suffix == ".tmp":
            raise OSError(28, "No space left on device")
        return plain(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(boxpen.RunError, match="No space left"):
        run.save(tmp_path)
    assert boxpen.Run.load(place).summary() == run.summary()
    assert [p.name for p in tmp_path.iterdir()] == [place.name]


def test_pmi_subtracts_the_score_without_context(gpt2, tmp_path):
    item = Choice(id="q", context="Where is it?", candidates=("In the pen.", "On it."), gold=0)
    suite = Suite("q", (item,), EN)
    pmi = boxpen.evaluate(gpt2, suite, cache=":memory:", norm="pmi")
    with_context = boxpen.evaluate(gpt2, suite, cache=":memory:")
    alone = Suite("alone", (Choice(id="q", candidates=item.candidates, gold=0),), EN)
    without = boxpen.evaluate(gpt2, alone, cache=":memory:")
    expected = [
        a - b
        for a, b in zip(with_context.verdicts[0].scores, without.verdicts[0].scores, strict=True)
    ]
    assert pmi.verdicts[0].scores == pytest.approx(expected, abs=1e-4)
    rescored = boxpen.Run.load(pmi.save(tmp_path)).rescore(norm="sum").verdicts
    assert rescored[0].winner == with_context.verdicts[0].winner
    assert rescored[0].scores == pytest.approx(with_context.verdicts[0].scores, abs=1e-4)
    with pytest.raises(PolicyError, match="run with --norm pmi"):
        with_context.rescore(norm="pmi")
    with pytest.raises(PolicyError, match="needs a context"):
        boxpen.evaluate(gpt2, alone, cache=":memory:", norm="pmi")


def test_over_long_items_are_flagged(gpt2):
    long = "The box is in the pen. " * 60
    item = Choice(id="long", candidates=(long, "The box is in the pen."), gold=1)
    run = boxpen.evaluate(gpt2, Suite("long", (item,), EN), cache=":memory:", max_length=32)
    assert run.verdicts[0].truncated
    from boxpen.report.terminal import notes

    assert any("longer than the model reads" in note for note in notes(run))


def test_limit_draws_whole_blocks_and_shows_in_the_signature(gpt2):
    run = boxpen.evaluate(gpt2, pairs(), cache=":memory:", limit=3)
    assert len(run.verdicts) == 2
    assert len({v.block for v in run.verdicts}) == 1
    assert pairs().hash[:8] not in run.signature
    assert "|sample:2/6@0|" in run.signature
    with pytest.raises(PolicyError, match="limit is 0"):
        boxpen.evaluate(gpt2, pairs(), cache=":memory:", limit=0)


def test_findings_of_lint_go_with_the_run(gpt2):
    same = Choice(id="same", candidates=("A pen.", "A pen."), gold=0)
    run = boxpen.evaluate(gpt2, Suite("bad", (same,), EN), cache=":memory:")
    assert any(f.item == "same" for f in run.info.findings)


def _fail(*_: object) -> None:
    raise AssertionError("the model was asked")


def _rows(cache: Path) -> int:
    if not cache.exists():
        return 0
    import sqlite3

    try:
        with sqlite3.connect(f"file:{cache}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM scores").fetchone()[0])
    except sqlite3.Error:
        return 0


class OneByOne(Liking):
    """A model that has each score written before it gives the next."""

    def run(self, encoded, policy):
        for number, one in enumerate(encoded):
            time.sleep(0.002)
            yield [(number, self._scores(bytes(one.ids)))]


def _evaluate_with_another(cache: Path, begin: Barrier, found: Queue) -> None:
    """Begin when both are ready to, and tell the accuracy and how much was scored."""
    suite = pairs(60)
    model = OneByOne("one", {item.candidates[0] for item in suite})
    begin.wait()
    with ScoreCache(cache) as scores:
        run = boxpen.evaluate(model, suite, cache=scores)
    found.put((run.summary()[0].value, run.info.engine["texts"]))


def test_contexts_are_taken_away_or_exchanged_within_their_set():
    items = [
        Translate(
            id=f"t{n}", source=f"s{n}", reference=f"r{n}", context=f"c{n}",
            tags={"set": "ab"[n % 2]},
        )
        for n in range(9)
    ]  # fmt: skip
    items.append(Translate(id="bare", source="s", reference="r"))
    suite = Suite(name="contexts", items=tuple(items))
    assert other_contexts(suite, "given") == {}
    assert other_contexts(suite, "none") == {f"t{n}": None for n in range(9)}
    shuffled = other_contexts(suite, "shuffled")
    assert shuffled == other_contexts(suite, "shuffled")
    for part in (0, 1):
        numbers = range(part, 9, 2)
        assert {shuffled[f"t{n}"] for n in numbers} == {f"c{n}" for n in numbers}
        assert all(shuffled[f"t{n}"] != f"c{n}" for n in numbers)
    alike = [*(replace(item, context="c") for item in items[0:8:2]), items[8]]
    mixed = other_contexts(Suite(name="alike", items=tuple(alike)), "shuffled")
    assert [mixed[f"t{n}"] for n in range(0, 9, 2)] == ["c8"] * 4 + ["c"]
    with pytest.raises(PolicyError, match="context is 'none', and no item of suite"):
        other_contexts(Suite(name="bare", items=tuple(items[-1:])), "none")


def test_an_item_without_another_context_to_take_is_refused():
    items = [
        Translate(
            id=f"t{n}", source=f"s{n}", reference=f"r{n}", contrast=(f"w{n}",), context=context,
            tags={"set": part},
        )
        for n, (part, context) in enumerate([("a", "c"), ("b", "d"), ("a", "e"), ("b", "d")])
    ]  # fmt: skip
    suite = Suite(name="few", items=tuple(items), card=Card(language="zh", source_language="en"))
    said = "item 't{}' finds no other context than its own in set={} of suite 'few', expected two"
    with pytest.raises(PolicyError, match=re.escape(said.format(1, "b"))):
        boxpen.evaluate(
            Liking("one", set()), suite, cache=":memory:", context="shuffled", limit=1,
            check_languages=False,
        )  # fmt: skip
    with pytest.raises(PolicyError, match="finds no other context than its own in set=b of suite"):
        other_contexts(suite, "shuffled")
    untold = Suite(name="one", items=(replace(items[0], tags={}),))
    with pytest.raises(PolicyError, match="than its own in suite 'one', expected two"):
        other_contexts(untold, "shuffled")
    both = other_contexts(Suite(name="two", items=(items[0], items[2])), "shuffled")
    assert both == {"t0": "e", "t2": "c"}
    assert other_contexts(suite.take(items[:1]), "none") == {"t0": None}


class Translating(Liking):
    """A model whose translation is its source, upside down."""

    encoder = True

    def can_translate(self) -> bool:
        return True

    def translate(self, sources, languages, *, beam, contexts=None):
        yield [(n, source[::-1]) for n, source in enumerate(sources)]


def test_translations_cut_by_the_old_rule_are_not_served():
    """Once, how long a translation could get depended on the others of its batch."""
    items = (Translate(id="1", source="盒子", reference="box"),)
    suite = Suite("one", items, Card(language="en", source_language="zh"))
    model = Translating("m", set())
    settings = {"task": "translate", "beam": 5, "max_length": 100}
    old = cache_key(model.fingerprint, settings, ("盒子", "zh", "en"))
    with ScoreCache(":memory:") as cache:
        cache.add_translations([(old, "cut")])
        (made,) = boxpen.evaluate(model, suite, cache=cache).translations
        assert made.translation == "子盒"
