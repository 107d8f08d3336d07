"""Sentences to learn from: read, put into words, freed of test items, and honestly divided."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from boxpen.build.kg.sentences import verbalise, write_sentences
from boxpen.build.kg.triples import schema, triple_id
from boxpen.build.kg.wording.sentence_wording import RELATIONS, sentences_of
from boxpen.errors import BoxpenError, BuildError, SuiteError, TrainError
from boxpen.items import Card, Choice, Entail, Suite
from boxpen.lm.data import digest_of, read_data
from boxpen.lm.exclude import exclude
from boxpen.lm.folder import OutFolder
from boxpen.lm.split import given_sentences, hold_out_sentences
from boxpen.text.normal import key
from boxpen.text.sentences import Sentence, read_text

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
GRAPH = "CapableOf\tdog\tbark\nIsA\tdog\tanimal\nMadeOf\twindow\tglass\nRelatedTo\tdog\tcat\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_a_file_is_read_however_it_is_packed_and_called(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(pack("\ufeffThe  box is\tin the pen.\r\n\n \nÉtè\u2028noir".encode()))
    found, blank = read_text([path])
    assert found == [Sentence("The box is in the pen."), Sentence("Étè noir")]
    assert blank == 2


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"The box.\n" * 9999)[:-9])
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"The box.\ncaf\xe9\n")
    for path, message in (
        (cut, r"cut\.gz is damaged or cut off after line \d+"),
        (latin, r"latin\.txt, line 2: byte 0xe9 is not UTF-8"),
        (
            written(tmp_path / "e.txt", "\n \n"),
            r"e\.txt has no text, expected one sentence per line",
        ),
        (tmp_path / "absent", r"there is no file .*absent"),
        (tmp_path, rf"^{tmp_path} is a folder, expected a file with one sentence per line"),
    ):
        with pytest.raises(SuiteError, match=message):
            read_text([path])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_from_its_first_byte(pack: Callable[[bytes], bytes]) -> None:
    begin, end = os.pipe()
    os.write(end, pack(b"The box is in the pen.\nThe pen is in the box.\n"))
    os.close(end)
    try:
        found, _ = read_text([Path(f"/dev/fd/{begin}")])
    finally:
        os.close(begin)
    assert [s.text for s in found] == ["The box is in the pen.", "The pen is in the box."]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("first", [1, 5])
def test_a_pipe_may_begin_with_less_than_tells_how_it_is_packed(
    pack: Callable[[bytes], bytes], first: int
) -> None:
    begin, end = os.pipe()
    content = pack(b"The box is in the pen.\nThe pen is in the box.\n" * 2000)
    os.write(end, content[:first])  # all that a peek would see

    def rest() -> None:
        time.sleep(0.2)
        with os.fdopen(end, "wb") as pipe:
            pipe.write(content[first:])

    writer = threading.Thread(target=rest)
    writer.start()
    try:
        found, _ = read_text([Path(f"/dev/fd/{begin}")])
    finally:
        writer.join()
        os.close(begin)
    assert [s.text for s in found] == ["The box is in the pen.", "The pen is in the box."] * 2000


@pytest.mark.parametrize("content", [b"A", b"A.\n", b"BZ\n"])
def test_a_file_shorter_than_any_mark_of_packing_is_text(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(content)
    assert read_text([tmp_path / "short"]) == ([Sentence(content.decode().strip())], 0)


def test_a_table_of_sentences_is_no_text(tmp_path: Path) -> None:
    table = tmp_path / "s.tsv"
    write_sentences(verbalise(written(tmp_path / "g.txt", GRAPH)), table)
    for content in (table.read_bytes(), gzip.compress(b"\xef\xbb\xbf" + table.read_bytes())):
        table.write_bytes(content)
        with pytest.raises(SuiteError, match=r"s\.tsv is a table of 'boxpen build .* --triples"):
            read_text([table])


def test_the_digest_tells_order_text_and_pair_apart() -> None:
    one, other = Sentence("A."), Sentence("B.")
    told = [[one, other], [other, one], [one], [Sentence("A.", "a | b"), other]]
    assert len({digest_of(some) for some in told}) == 4


words = st.sampled_from(["dog", "cat", "bark", "run"])
some_sentences = st.lists(
    st.builds(
        Sentence,
        st.builds(" ".join, st.lists(words, min_size=1, max_size=3)),
        st.none() | st.builds(lambda a, b: f"{a} | {b}", words, words),
    ),
    min_size=2,
    max_size=30,
)


@patient
@given(sentences=some_sentences, share=st.floats(0.05, 0.9), seed=st.integers(0, 99))
def test_the_sides_share_no_sentence_and_no_pair(
    sentences: list[Sentence], share: float, seed: int
) -> None:
    try:
        split = hold_out_sentences(sentences, share, seed, "en")
    except BoxpenError:
        return
    assert sorted([*split.train, *split.held_out]) == list(range(len(sentences)))
    assert split.train
    assert 0 < len(split.held_out) <= share * len(sentences)
    learnt, held = ([sentences[i] for i in side] for side in (split.train, split.held_out))
    assert not {s.text for s in learnt} & {s.text for s in held}
    assert not {s.pair for s in learnt if s.pair} & {s.pair for s in held if s.pair}


@patient
@given(sentences=some_sentences, held=some_sentences)
def test_what_stands_in_another_file_leaves_training(
    sentences: list[Sentence], held: list[Sentence]
) -> None:
    held = [Sentence(s.text.upper()) for s in held]
    try:
        split = given_sentences(sentences, held, "en")
    except TrainError:
        return
    kept = [sentences[i] for i in split.train]
    gone = [s for i, s in enumerate(sentences) if i not in set(split.train)]
    assert split.removed == len(gone)
    assert not {s.text for s in kept} & {s.text.lower() for s in held}
    assert not {s.pair for s in kept if s.pair} & {s.pair for s in gone if s.pair}


def test_what_differs_in_marks_alone_stands_on_one_side() -> None:
    """'I do not know.' tells how 'I do not know!' goes on."""
    sentences = [Sentence(f"line {n % 20} of a text{'.!?,'[n // 20]}") for n in range(80)]
    sentences += [Sentence("..."), Sentence("?!")]  # which have no words to share
    for seed in range(5):
        split = hold_out_sentences(sentences, 0.3, seed, "en")
        sides = [{key(sentences[i].text, "en") for i in side} for side in split[:2]]
        assert not (sides[0] & sides[1]) - {""}
        assert len(split.held_out) >= 20
    split = given_sentences(sentences, [Sentence("Line 3, of a text")], "en")
    assert split.removed == 4
    assert not any(sentences[i].text.startswith("line 3 ") for i in split.train)


def test_two_suites_of_one_name_are_both_excluded(tmp_path: Path) -> None:
    texts = ["The first thing is asked.", "The second thing is asked."]
    for folder, text in zip("ab", texts, strict=True):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder / "t.csv", f"premise,hypothesis,label\n{text},No.,neutral\n")
    lines = [*(f"line number {i}" for i in range(20)), *texts, f"Look: {texts[1]}"]
    given = [str(tmp_path / folder / "t.csv") for folder in "ab"]
    data = read_data(
        text=[written(tmp_path / "t.txt", "\n".join(lines))], triples=(), valid=(), ways=1,
        holdout=0.2, language="en", seed=1, exclude=given,
    )  # fmt: skip
    assert data.counts["excluded"] == {given[0]: 1, given[1]: 2}
    assert list(data.suites) == given, "the same labels"
    assert not set(texts) & {s.text for s in [*data.train, *data.held_out]}
    assert len(data.suites) == 2, "or another second file would not be noticed"


def test_another_suite_of_the_same_name_is_told(tmp_path: Path) -> None:
    def folder(settings: dict[str, object]) -> OutFolder:
        return OutFolder(tmp_path / "m", settings, {"text": "x"}, "sentences")

    begun = {"task": "lm", "exclude": {"asked": "1a"}}
    folder(begun).begin()
    (tmp_path / "m" / "checkpoints" / "step-1").mkdir(parents=True)
    folder(begun).check()
    for now, message in (({"asked": "2b"}, "other items in --exclude"), ({}, "asked, not unset")):
        with pytest.raises(TrainError, match=message):
            folder(begun | {"exclude": now}).check()
    (tmp_path / "m" / "training.json").write_text("[]")
    with pytest.raises(TrainError, match=r"training\.json is damaged or not the record .* --out"):
        folder(begun).check()


def suite_of(*texts: str, name: str = "asked") -> Suite:
    items = tuple(
        Choice(id=str(i), candidates=(text, f"{text} otherwise"), gold=0)
        for i, text in enumerate(texts)
    )
    return Suite(name, items, Card(title=name, language="en"))


def test_texts_of_a_suite_are_found_whole_and_within_a_line() -> None:
    suite = suite_of("He put a turkey into the fridge.", "Yes, sir!", "I do not know")
    sentences = [
        Sentence("He put a turkey, into the FRIDGE"),  # but for case and marks
        Sentence("Look: he put a turkey into the fridge. Then he left."),
        Sentence("He put a turkey into the freezer."),
        Sentence("Yes sir."),  # too short to tell of a test
        Sentence("I do not know."),  # the whole of a text
        Sentence("I do not know him."),  # too short to count within a line
    ]
    found = exclude(sentences, {"asked": suite}, "en")
    assert found.kept == [sentences[2], sentences[3], sentences[5]]
    assert found.counts == {"asked": 3}
    premise = Suite(
        "nli",
        (Entail(id="1", premise="The dog is loud.", hypothesis="It barks now.", label="neutral"),),
        Card(title="nli", language="en"),
    )
    both = {"asked": suite, "nli": premise}
    found = exclude([Sentence("the dog is loud"), Sentence("It barks now")], both, "en")
    assert (found.kept, found.counts) == ([], {"asked": 0, "nli": 2})
    assert exclude(sentences, {}, "en").kept == sentences


@patient
@given(
    texts=st.lists(st.builds(" ".join, st.lists(words, min_size=1, max_size=7)), min_size=1),
    lines=st.lists(st.builds(" ".join, st.lists(words, min_size=1, max_size=12))),
)
def test_what_is_excluded_equals_a_slow_search(texts: list[str], lines: list[str]) -> None:
    suite = suite_of(*texts)
    asked = {key(c, "en") for item in suite for c in item.candidates}  # type: ignore[union-attr]

    def stands(line: str) -> bool:
        if line in asked and len(line.split()) >= 3:
            return True
        return any(len(t.split()) >= 5 and f" {t} " in f" {line} " for t in asked)

    kept = exclude([Sentence(line) for line in lines], {"asked": suite}, "en").kept
    assert [s.text for s in kept] == [line for line in lines if not stands(line)]


def test_relations_are_said_in_good_english() -> None:
    for relation, head, tail, said in (
        ("capableof", "dog", "bark", "A dog can bark."),
        ("hasproperty", "mountain", "big", "A mountain is big."),
        ("receivesaction", "coconut", "eat", "A coconut can be eaten."),
        ("notcapableof", "banana", "play poker", "A banana cannot play poker."),
        ("notdesires", "person", "crash car", "A person does not want to crash a car."),
        ("hasprerequisite", "eat lunch", "get food", "To eat lunch, you need to get food."),
        ("hassubevent", "be shot", "scream", "When you are shot, you may scream."),
        ("motivatedbygoal", "climb", "see view", "You would climb in order to see a view."),
        ("causes", "crime", "punishment", "Crime can lead to punishment."),
        ("causes", "obstruct justice", "go to jail", "Obstructing justice can lead to going to"),
    ):
        assert sentences_of(relation, head, tail)[0].startswith(said)


def test_what_cannot_be_said_is_not_made_up() -> None:
    for relation, head, tail in (
        ("hasproperty", "man", "right hand"),
        ("hasprerequisite", "buy something", "cash"),
        ("relatedto", "dog", "cat"),
        ("capableof", "", "bark"),
        ("causes", "", ""),
    ):
        assert sentences_of(relation, head, tail) == []
    assert "relatedto" not in RELATIONS


def test_several_ways_are_different_ones() -> None:
    few = sentences_of("capableof", "dog", "chase cat", ways=1)
    many = sentences_of("capableof", "dog", "chase cat", ways=4)
    assert len(few) == 1
    assert few == many[:1]
    assert len(set(many)) == len(many) == 3  # there are no more


def test_a_graph_file_or_folder_becomes_sentences_with_pairs(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    path = written(tmp_path / "graph" / "train.txt", GRAPH)
    found = verbalise(path)
    assert [row[0] for row in found.rows] == [
        "A dog can bark.", "A dog is an animal.", "A window is made of glass.",
    ]  # fmt: skip
    assert (found.triples, found.unsaid, found.relations) == (3, 0, {"relatedto": 1})
    assert verbalise(path.parent) == found
    assert found.sentences[0] == Sentence("A dog can bark.", "bark | dog")
    assert found.says == ("3 sentences of 3 triples; 1 more are of relations without a sentence")
    for name, first in (
        ("a.txt", "A dog can bark."),
        ("a.tsv", "sentence\trelation\thead\ttail\tpair"),
    ):
        write_sentences(found, tmp_path / name)
        assert (tmp_path / name).read_text().splitlines()[0] == first
    again = verbalise(tmp_path / "a.tsv")
    assert again.rows == found.rows
    with pytest.raises(TrainError, match="cannot be written: No such file"):
        write_sentences(found, tmp_path / "no" / "folder.txt")


def test_head_and_tail_are_one_pair_in_either_direction_and_any_inflection(tmp_path: Path) -> None:
    path = written(tmp_path / "g.txt", "HasA\tdog\ttail\nPartOf\ttail\tdogs\n")
    pairs = {sentence.pair for sentence in verbalise(path).sentences}
    assert pairs == {"dog | tail"}


def test_the_stages_of_a_build_are_taken_as_they_are(tmp_path: Path) -> None:
    starter = resources.files("boxpen.catalog").joinpath("data", "starter", "triples.jsonl")
    config = written(
        tmp_path / "kg.toml",
        f'name = "toy"\nfolder = "out"\n[[graphs]]\nname = "g"\nfiles = ["{starter}"]\n'
        'columns = {head = "head", relation = "relation", tail = "tail"}\nlanguage = "en"\n'
        '[filter]\nrelations = ["isa", "madeof"]\n',
    )
    found = verbalise(config)
    assert {row[1] for row in found.rows} == {"isa", "madeof"}
    assert verbalise(tmp_path / "out" / "filtered.parquet") == found
    row = {"head": "dog", "relation": "isa", "tail": "pet", "id": triple_id("isa", "dog", "pet")}
    table = pl.DataFrame([row], schema=schema()).with_columns(sentence=pl.lit("Any dog is a pet."))
    table.write_parquet(tmp_path / "ranked.parquet")
    assert verbalise(tmp_path / "ranked.parquet", ways=3).rows == [
        ("Any dog is a pet.", "isa", "dog", "pet", "dog | pet")
    ]


def test_sources_without_sentences_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    header = "sentence\trelation\thead\ttail\tpair\n"
    no_parquet = written(tmp_path / "no.parquet", "no table")
    unsaid = written(tmp_path / "r.txt", "RelatedTo\tdog\tcat\nRelatedTo\tcow\thorse\n")
    for source, message in (
        (tmp_path / "absent", "absent does not exist, expected a file or folder of a graph"),
        (tmp_path / "empty", "empty has no file of a graph, expected .txt"),
        (Path("/dev/null"), "^/dev/null is not a file, expected a file or folder of a graph"),
        (no_parquet, "no.parquet is not a Parquet file"),
        (written(tmp_path / "b.tsv", header), "b.tsv has no sentence below its header"),
        (written(tmp_path / "c.tsv", f"{header}A.\tisa\n"), r"c.tsv, line 2 has 2 cell\(s\) or no"),
        (
            unsaid,
            r"yields no sentence: 0 triples cannot be expressed in English, 2 are of relations",
        ),
        (written(tmp_path / "t.txt", "Once upon a time.\n"), "t.txt has an unknown format"),
    ):
        with pytest.raises(BuildError, match=message):
            verbalise(source)
    with pytest.raises(TrainError, match="ways is 0, expected 1 or more"):
        verbalise(unsaid, ways=0)
    for nothing in ("", " "):
        with pytest.raises(TrainError, match="--triples is empty, expected a file or folder"):
            verbalise(nothing)


def test_everything_read_is_learnt_held_out_or_counted(tmp_path: Path) -> None:
    graph = written(tmp_path / "g.txt", GRAPH)
    text = written(tmp_path / "t.txt", "".join(f"line number {i} of a text\n" for i in range(40)))
    asked = written(
        tmp_path / "asked.csv", "premise,hypothesis,label\nA dog can bark.,No.,neutral\n"
    )
    data = read_data(
        text=[text], triples=[graph], valid=(), ways=1, holdout=0.2, exclude=[str(asked)],
        language="en", seed=1,
    )  # fmt: skip
    assert data.counts["excluded"] == {"asked": 1}
    assert (data.counts["text"], data.counts["triples"], data.counts["unsaid"]) == (40, 3, 1)
    assert len(data.train) + len(data.held_out) == 40 + 3 - 1
    assert len(data.held_out) == 8
    assert "A dog can bark." not in {s.text for s in [*data.train, *data.held_out]}


def test_the_command_writes_sentences_whole_or_prints_them(tmp_path: Path) -> None:
    from boxpen.cli.app import app

    graph = written(tmp_path / "g.txt", GRAPH)
    command = ["build", "sentences", "--triples", str(graph)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "A dog can bark."
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "s.tsv")])
    assert (done.exit_code, done.stdout) == (0, "")
    assert (tmp_path / "s.tsv").read_text().splitlines()[
        1
    ] == "A dog can bark.\tcapableof\tdog\tbark\tbark | dog"
    done = CliRunner().invoke(app, ["build", "sentences", "--triples", str(tmp_path / "no")])
    assert done.exit_code == 2
    told = f"boxpen: {tmp_path / 'no'} does not exist"
    assert done.stderr.startswith(told), "nothing comes before the sentence"
    done = CliRunner().invoke(app, [*command, "--ways", "0", "--out", str(tmp_path / "t.txt")])
    assert (done.exit_code, done.stderr) == (2, "boxpen: ways is 0, expected 1 or more\n")


def test_the_command_looks_at_the_place_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.cli.app import app

    monkeypatch.chdir(tmp_path)
    written(tmp_path / "g.txt", GRAPH)
    kept = written(tmp_path / "edited.tsv", "sentence\trelation\thead\ttail\tpair\nmine\n")
    (tmp_path / "dir").mkdir()
    Path("loop.tsv").symlink_to("loop.tsv")
    command = ["build", "sentences", "--triples", "g.txt", "--out"]
    with monkeypatch.context() as patch:
        patch.setattr("boxpen.build.kg.sentences.verbalise", _never)
        for out, said in (
            ("edited.tsv", "edited.tsv already exists; give another name or --overwrite"),
            ("g.parquet", "--out is g.parquet, expected a file that ends in .tsv or .txt"),
            ("g.csv", "--out is g.csv, expected a file that ends in .tsv or .txt"),
            ("g", "--out is g, expected a file that ends in .tsv or .txt"),
            ("dir", "dir cannot be written: it is a folder"),
            ("no/x.tsv", "no/x.tsv cannot be written: No such file or directory"),
            ("g.txt/x.tsv", "g.txt/x.tsv cannot be written: Not a directory"),
            ("/proc/x.tsv", "/proc/x.tsv cannot be written: No such file or directory"),
            ("loop.tsv", "loop.tsv cannot be written: its links lead back to themselves"),
        ):
            done = CliRunner().invoke(app, [*command, out])
            assert (done.exit_code, done.stderr) == (2, f"boxpen: {said}\n")
    assert kept.read_text().endswith("mine\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir", "edited.tsv", "g.txt", "loop.tsv"]
    assert CliRunner().invoke(app, [*command, "edited.tsv", "--overwrite"]).exit_code == 0
    assert kept.read_text().splitlines()[1].startswith("A dog can bark.\t")
    assert CliRunner().invoke(app, [*command, "/dev/null"]).exit_code == 0


def _never(*_: object, **__: object) -> None:
    raise AssertionError("the work was begun")
