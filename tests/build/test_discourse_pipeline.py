"""Subtitles become a suite, stage by stage."""

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boxpen
from boxpen.build.discourse import mine, work
from boxpen.build.discourse.always import constant_answers
from boxpen.build.discourse.candidates import Candidate
from boxpen.build.discourse.config import EXAMPLE, MineConfig
from boxpen.build.discourse.mine import read_rows
from boxpen.build.discourse.phenomena.pairs import built_in
from boxpen.build.discourse.review import CandidateTask
from boxpen.build.discourse.sample import Pool, lot, sample_candidates
from boxpen.build.discourse.stages import BUILDER
from boxpen.catalog import write_suite
from boxpen.config import check_config
from boxpen.errors import BoxpenError, BuildError
from boxpen.items import Card, Suite, Translate
from boxpen.review import Journal, Judgement

CONFIG = """
name = "toy"
seed = 7
folder = "out"
[[texts]]
name = "films"
tsv = "films.tsv"
[sample]
pronoun = 3
connective = 2
ellipsis = 2
"""
FILES = ("lines.parquet", "candidates.parquet")
GROUPS = ("girls", "nurses", "queens", "sisters", "mothers", "ladies")
CLASSES = {"她们": "pronoun", "or-否则": "connective"}


def stand_in(snippet, phenomena):
    """Find what tests need, by a glance: the score follows from the length of the context."""
    found = []
    for cls, phenomenon in CLASSES.items():
        word = cls.rpartition("-")[2]
        if word in snippet.target:
            score = len(snippet.context_source) % 5 / 4
            wrong = (snippet.target.replace(word, "他们"),)
            found.append(Candidate(snippet, phenomenon, cls, word, score, "seen", wrong))
    return found


def films():
    """Yield the lines of films about several groups of women, who wait, run or sing."""
    for film, who in enumerate(GROUPS):
        for line, (verb, chinese) in enumerate([("wait", "等"), ("run", "跑"), ("sing", "唱")]):
            yield f"{film}", 3 * line, f"The {who} {verb}.", f"女人{chinese}{'了' * (film % 3)}"
            yield f"{film}", 3 * line + 1, f"They {verb} for {film} days.", f"她们{chinese}了"
    yield "9", 0, "Take your coat.", "带上外套"
    yield "9", 1, "Hurry, or you miss the train.", "快点 否则你就赶不上火车了"
    yield "9", 3, "They wait.", "她们在等"  # a line is missing before it


@pytest.fixture
def real_rules():
    """Leave the rules of candidates as they are."""


@pytest.fixture(autouse=True)
def _rules(monkeypatch, request):
    if "real_rules" not in request.fixturenames:
        monkeypatch.setattr(mine, "candidates", stand_in)


def config_file(folder, text=CONFIG):
    rows = "".join(f"{doc}\t{line}\t{en}\t{zh}\n" for doc, line, en, zh in films())
    (folder / "films.tsv").write_text(rows)
    path = folder / "discourse.toml"
    path.write_text(text)
    return path


def run(path, stage=None):
    return list(BUILDER.runner(BUILDER.load(path)).run(stage))


def built(folder, text=CONFIG, stage=None):
    return {d.stage: d for d in run(config_file(folder, text), stage)}


def by_class(report, column="candidates"):
    return {row["class"]: row[column] for row in report["table"]}


def suite_of(folder):
    return boxpen.load_suite(folder / "out" / "toy.jsonl")


def test_all_stages_make_a_suite(tmp_path):
    done = built(tmp_path)
    assert list(done) == ["read", "clean", "mine", "sample", "write"]
    suite = suite_of(tmp_path)
    assert [item.tags["class"] for item in suite] == ["她们"] * 3 + ["or-否则"]
    assert done["write"].report["hash"] == suite.hash
    assert (suite.card.source_language, suite.card.language) == ("en", "zh")
    last = suite.items[-1]
    assert isinstance(last, Translate)
    assert last == Translate(
        id=last.id,
        source="Hurry, or you miss the train.",
        reference="快点 否则你就赶不上火车了",
        context="Take your coat.",
        reference_context="带上外套",
        contrast=("快点 他们你就赶不上火车了",),
        tags={"set": "connective", "class": "or-否则", "word": "否则", "score": "0.00"},
    )


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", {"or-否则": 2, "or-或者": 2, "since-自从": 2, "as-当": 0, "as-因为": 0, "她们": 3}),
        ('context = "any"\n', {"or-或者": 2, "as-当": 2, "as-因为": 2, "她们": 3}),
        ('classes = {"as-当" = 1}\n', {"or-否则": 2, "as-当": 1, "as-因为": 0, "她们": 3}),
    ],
)
def test_a_word_that_needs_no_context_is_left_out_in_all_its_senses_unless_wanted(
    tmp_path, more, wanted
):
    config = BUILDER.load(config_file(tmp_path, CONFIG + more))
    assert {cls: config.wanted[cls] for cls in wanted} == wanted


def test_items_of_classes_that_seldom_need_context_are_tagged(tmp_path, monkeypatch):
    monkeypatch.setitem(CLASSES, "or-或者", "connective")
    path = config_file(tmp_path, CONFIG + 'context = "any"\n')
    with (tmp_path / "films.tsv").open("a") as stream:
        stream.write("8\t0\tTake the bus.\t坐车\n8\t1\tOr we walk home.\t或者走回家\n")
    run(path)
    tags = {item.tags["class"]: item.tags.get("context") for item in suite_of(tmp_path)}
    assert tags == {"她们": None, "or-否则": None, "or-或者": "seldom needed"}


def test_what_the_same_answer_gets_right_is_printed(tmp_path):
    table = built(tmp_path)["write"].report["table"]
    assert table == [
        {"asked": "they", "items": 3, "always": "她们", "right": "100 %", "contrasts": 3,
         "right of contrasts": "100 %"},
        {"asked": "or", "items": 1, "always": "否则", "right": "100 %", "contrasts": 1,
         "right of contrasts": "100 %"},
    ]  # fmt: skip


def test_constant_answers():
    def row(cls, *wrong):
        return {"class": cls, "contrast": wrong}

    rows = [
        *[row("since-因为", "虽然他走了，我做饭。"), row("since-既然", "自从他走了，我做饭。")],
        *[row("since-自从", "因为他走了，我做饭。"), row("since-自从", "因为他来了，我做饭。")],
        *[row("while-而", "因为我做饭。"), row("while-当")],
        *[row("你", "你们走吧。"), row("你们", "你走吧。"), row("你们", "你走吧。")],
        row("ellipsis", "我也做了。"),
    ]
    found = {of["asked"]: [*of.values()][1:] for of in constant_answers(rows, built_in("en", "zh"))}
    assert found == {
        "you": [3, "你们", "67 %", 3, "67 %"],
        # 'Always 而' is not refuted by 因为, which nobody takes 'while' for.
        "while": [2, "而", "50 %", 1, "100 %"],
        "since": [4, "因为 既然", "50 %", 4, "75 %"],
    }


def test_counts_add_up_and_gaps_break_the_chain(tmp_path):
    done = built(tmp_path)
    lines = list(films())
    assert done["read"].report["lines"] == {"films": len(lines)}
    assert done["clean"].report["documents"] == 7
    assert done["mine"].report["snippets"] == 3 * len(GROUPS) + 1
    assert by_class(done["mine"].report, "found")["她们"] == 3 * len(GROUPS)
    assert done["sample"].report["short"] == {
        name: 1 if name == "or-否则" else 0
        for name in by_class(done["sample"].report)
        if name not in ("她们", "as-因为", "as-当")
    }


def test_the_order_of_documents_does_not_matter(tmp_path):
    hashes = set()
    for name, step in (("one", 1), ("two", -1)):
        folder = tmp_path / name
        folder.mkdir()
        path = config_file(folder)
        text = (folder / "films.tsv").read_text().splitlines(keepends=True)
        text.sort(key=lambda row: int(row[0]) * step)
        (folder / "films.tsv").write_text("".join(text))
        hashes |= {d.report["hash"] for d in run(path) if d.stage == "write"}
    assert len(hashes) == 1


def test_lines_that_are_empty_or_not_utf8_are_dropped_once(tmp_path):
    english = "Take your coat.\nCafé.\nGo on.\nCome in.\n".encode("latin-1")
    chinese = "带上外套\n".encode() + "咖啡\n\n\n".encode("gb18030")
    (tmp_path / "a.en").write_bytes(english)
    (tmp_path / "a.zh").write_bytes(chinese)
    (tmp_path / "a.ids").write_text("".join(f"a\tb\t{n}\t{n}\n" for n in range(1, 5)))
    moses = 'source = "a.en"\ntarget = "a.zh"\nids = "a.ids"'
    path = config_file(tmp_path, CONFIG.replace('tsv = "films.tsv"', moses))
    (done,) = run(path, "read")
    dropped = {step["step"]: step["dropped"] for step in done.report["steps"]}
    assert dropped["encoding"] + dropped["empty"] == 3
    assert done.report["steps"][-1]["left"] == 1
    assert "1 of 4 lines have text" in done.report["says"]


def test_texts_of_other_suites_are_not_found_again(tmp_path):
    item = Translate(id="1", source="they run for 2 days", reference="随便写的一句话")
    other = Suite("other", (item,), Card(language="zh", source_language="en"))
    write_suite(other, tmp_path / "other.jsonl")
    done = built(tmp_path, CONFIG + '[clean]\nexclude = ["other.jsonl"]\n')
    assert done["mine"].report["overlap"] == {"other, source": 1}
    rows = read_rows(tmp_path / "out" / "candidates.parquet")
    assert len(rows) == 3 * len(GROUPS)  # of 19, one was left out
    assert "They run for 2 days." not in [row["source"] for row in rows]


def judged(folder, *said):
    Journal(folder / "out" / "review.jsonl").append(
        Judgement(item, judge, verdict, edit) for item, judge, verdict, edit in said
    )


def test_only_what_people_accept_gets_into_the_suite(tmp_path):
    text = CONFIG.replace("pronoun = 3", "pronoun = 3\nspare = 1.4") + "[review]\n"
    with pytest.raises(BuildError, match=r"there is no .*review\.jsonl; 'boxpen review import'"):
        built(tmp_path, text)
    drawn = [row["id"] for row in read_rows(tmp_path / "out" / "sampled.parquet")]
    assert len(drawn) == 6  # 3 × 1.4 is 5 at least, and one connective
    edit = "她们自己在那里等了很久"
    judged(tmp_path, (drawn[0], "ann", "reject", ""), (drawn[1], "ann", "edit", edit))
    judged(tmp_path, *((item, "ann", "accept", "") for item in drawn[2:5]))
    done = built(tmp_path, text)
    told = ("rejected", "open", "spare")
    assert [done["accept"].report[name] for name in told] == [1, 1, 1]
    suite = suite_of(tmp_path)
    assert [item.id for item in suite] == drawn[1:4]
    runner = BUILDER.runner(BUILDER.load(tmp_path / "discourse.toml"))
    refused = {row["id"]: row["reason"] for row in runner.dropped("review")[0]}
    assert list(refused) == [drawn[0], drawn[4]]
    assert refused[drawn[0]].startswith("rejected by ")
    assert refused[drawn[4]] == "accepted, but the class has enough"
    assert isinstance(suite.items[0], Translate)
    assert suite.items[0].reference == edit
    assert suite.items[0].contrast
    assert all("她们" not in wrong for wrong in suite.items[0].contrast)


def test_a_journal_with_another_verdict_is_refused(tmp_path):
    built(tmp_path)
    rows = read_rows(tmp_path / "out" / "sampled.parquet")
    item = rows[0]["id"]
    with pytest.raises(BuildError, match=r"'ann' gives item .* the verdict 'maybe', expected acc"):
        CandidateTask(rows).decide([Judgement(item, "ann", "maybe")])
    with pytest.raises(BuildError, match="'edit' and no edit, expected the new text"):
        CandidateTask(rows).decide([Judgement(item, "ann", "edit")])
    judged(tmp_path, *((row["id"], "ann", "reject", "") for row in rows))
    with pytest.raises(BuildError, match="none of 4 candidates is accepted: 4 rejected, 0 op"):
        built(tmp_path, CONFIG + "[review]\n")


@pytest.mark.usefixtures("real_rules")
@pytest.mark.parametrize("part", [1, 2, 7, 1000])
def test_parts_find_what_the_whole_does(tmp_path, monkeypatch, part):
    """Nothing is lost or found twice where a table is cut, whether in cleaning or in mining."""
    text = CONFIG + "[clean]\nmax_characters = 26\n"
    built(tmp_path, text)
    whole = [pl.read_parquet(tmp_path / "out" / name).rows() for name in FILES]
    monkeypatch.setattr(work, "PART", part)
    runner = BUILDER.runner(BUILDER.load(tmp_path / "discourse.toml"))
    again = {n: next(runner.run(n, force=True)).report for n in ("clean", "mine")}
    assert again["clean"]["steps"][-1]["left"] < len(list(films()))
    assert [pl.read_parquet(tmp_path / "out" / name).rows() for name in FILES] == whole


def test_lines_of_a_part_are_cleaned_as_in_one_go(tmp_path):
    """The slow twin: all lines through one filter, and every two neighbours."""
    built(tmp_path, CONFIG + "[clean]\nmax_characters = 26\n")
    kept = [
        (f"films/{doc}", line, en, zh)
        for doc, line, en, zh in films()
        if max(len(en), len(zh)) <= 26
    ]
    assert mine.read_lines(tmp_path / "out" / "lines.parquet", 0, 1000) == kept
    assert mine.height(tmp_path / "out" / "texts.parquet") == len(list(films())) > len(kept)


rows = st.lists(
    st.fixed_dictionaries(
        {
            "class": st.sampled_from(["你", "你们"]),
            "score": st.sampled_from([0.1, 0.5, 0.9]),
            "document": st.sampled_from(["a", "b", "c"]),
            "line": st.integers(1, 40),
            "text": st.sampled_from(["x\t1", "x\t2", "x\t3", "x\t4", "y\t1", "y\t2", "y\t3"]),
        }
    ).map(lambda row: {**row, "id": "{class}{text}{score}".format(**row)}),
    max_size=60,
)


def merit(row, seed):
    return (-row["score"], lot(seed, row["id"]), row["document"], row["line"])


@settings(max_examples=200, deadline=None)
@given(rows, st.integers(1, 4), st.integers(0, 3))
def test_a_pool_keeps_what_sorting_everything_would(found, size, seed):
    pool = Pool(size, seed)
    for row in found:
        pool.add(row)
    expected = []
    for cls in sorted({row["class"] for row in found}):
        best = {}
        for row in sorted((r for r in found if r["class"] == cls), key=lambda r: merit(r, seed)):
            best.setdefault(row["text"], row)
        expected += list(best.values())[:size]
    assert pool.rows() == expected


@settings(max_examples=200, deadline=None)
@given(rows, st.integers(1, 5), st.integers(1, 3), st.sampled_from(["score", "random"]))
def test_a_sample_is_spread_and_leaves_out_nothing_better(found, count, per_document, by):
    found = list({row["id"]: row for row in found}.values())
    drawn = sample_candidates(found, {"你": count}, 3, per_document=per_document, by=by)
    names = [row["id"] for row in drawn.rows]
    assert names == [
        row["id"]
        for row in sample_candidates(
            found[::-1], {"你": count}, 3, per_document=per_document, by=by
        ).rows
    ]
    assert all(row["class"] == "你" for row in drawn.rows)
    documents = [row["document"] for row in drawn.rows]
    assert all(documents.count(name) <= per_document for name in documents)
    sentences = [row["text"].split("\t")[1] for row in drawn.rows]
    assert len(set(sentences)) == len(sentences) <= count
    assert drawn.short == ({"你": len(names)} if len(names) < count else {})
    for row in found:
        if row["class"] != "你" or row["id"] in names:
            continue
        # Whoever was left out came too late, or could not have been taken in its turn.
        place = (lambda r: lot(3, r["id"])) if by == "random" else (lambda r: merit(r, 3)[:2])
        before = [r for r in drawn.rows if place(r) < place(row)]
        taken = [r["document"] for r in before].count(row["document"]) == per_document
        said = row["text"].split("\t")[1] in [r["text"].split("\t")[1] for r in before]
        assert len(before) == count or taken or said


def test_only_neighbours_make_a_snippet():
    lines = [("a", 1, "A", "甲"), ("a", 2, "B", "乙"), ("a", 4, "C", "丙"), ("b", 5, "D", "丁")]
    found = list(mine.snippets(lines))
    assert [(s.document, s.line, s.context_source, s.source) for s in found] == [("a", 2, "A", "B")]
    assert (found[0].context_target, found[0].target) == ("甲", "乙")


def test_the_example_is_a_configuration(tmp_path):
    path = tmp_path / "discourse.toml"
    path.write_text(EXAMPLE)
    config = BUILDER.load(path)
    assert config.wanted["though-不过"] == 20
    assert config.wanted["你们"] == 80
    assert config.journal == tmp_path / "my-discourse" / "review.jsonl"
    assert config.mine == MineConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n" + CONFIG, r"discourse\.toml: unknown key 'x', "),
        (CONFIG + "[minee]\n", r"unknown key 'minee', did you mean 'mine'"),
        (CONFIG + "[mine]\npol = 1\n", r"unknown key 'mine.pol', did you mean 'pool'"),
        (CONFIG + "[mine]\npool = 0\n", r"mine\.pool is 0, expected 1 or more"),
        (CONFIG + "[mine]\nprocesses = 2\n", r"unknown key 'mine\.processes', "),
        (CONFIG + "[mine]\nmin_score = 1.01\n", r"mine\.min_score is 1.01, expected 0 to 1"),
        (CONFIG + "[mine]\nmin_score = 2\n", r"mine\.min_score is 2, expected 0 to 1"),
        (CONFIG + "[mine]\nmin_score = -0.01\n", r"mine\.min_score is -0.01, expected 0 to 1"),
        (CONFIG + "[mine]\nmin_score = nan\n", r"mine\.min_score is nan, expected a finite"),
        (CONFIG + "[clean]\nmax_ratio = 0.5\n", r"clean\.max_ratio is 0.5, expected 1 or more"),
        (CONFIG + 'classes = {"while-因为" = 3}\n', r"unknown key 'sample.classes.while-因为'"),
        (CONFIG + "classes = {你 = -1}\n", "is not TOML"),
        (CONFIG + 'classes = {"你" = -1}\n', r"sample\.classes\.你 is -1, expected 0 or more"),
        (CONFIG + "spare = 0.5\n", r"sample\.spare is 0.5, expected 1 to 100"),
        (CONFIG + '[review]\nrule = "adjudicator"\n', "expected the name of the adjudicator"),
        (CONFIG + '[clean]\nexclude = ["starters"]\n', "starters"),
        (CONFIG.replace('"films.tsv"', '"gone.tsv"'), r"that does not exist: .*gone\.tsv"),
        (CONFIG.replace("tsv =", "source ="), r"texts\[0\]: found source, expected tsv"),
        (CONFIG.replace('"toy"', '"a/b"'), "name is 'a/b', expected a name that a file can have"),
        (CONFIG.replace('"toy"', r'"a\nb"'), r"name is 'a\\nb', expected a name that a file can"),
        (CONFIG.replace('"toy"', r'"a\u001b"'), r"name is 'a\\x1b', expected a name that a file"),
        (
            CONFIG + '[review]\nrule = "adjudicator"\nadjudicator = "a\\tb"\n',
            r"review\.adjudicator is 'a\\tb', expected a name without control characters",
        ),
        ('name = "toy"\nfolder = "out"\n', r"texts is missing; add a table \[\[texts\]\]"),
        ('name = "toy"\nfolder = "out"\ntexts = []\n', r"texts is \[\], expected 1 or more"),
        (
            CONFIG + '[[texts]]\nname = "films"\ntsv = "films.tsv"\n',
            r"texts\[1\]\.name is 'films', expected one of its own",
        ),
        (
            re.sub(r"(pronoun|connective|ellipsis) = \d", r"\1 = 0", CONFIG),
            "sample.pronoun, connective, ellipsis and classes are 0, expected 1 or more",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(tmp_path, text, message):
    with pytest.raises(BoxpenError, match=message):
        built(tmp_path, text)


def test_the_edges_of_mining_are_allowed():
    for edge in ({"min_score": 0}, {"min_score": 1}):
        assert check_config(MineConfig, edge, "c.toml") == MineConfig(**edge)


def test_candidates_that_are_not_in_the_suite_are_listed(tmp_path):
    built(tmp_path)
    rows, total = BUILDER.runner(BUILDER.load(tmp_path / "discourse.toml")).dropped()
    drawn = read_rows(tmp_path / "out" / "sampled.parquet")
    assert total + len(drawn) == len(read_rows(tmp_path / "out" / "candidates.parquet"))
    assert {row["reason"] for row in rows} >= {"the class has 3 already"}
    assert {row["found_for"] for row in rows} == {"seen"}


def test_nothing_left_is_an_error_that_says_why(tmp_path, monkeypatch):
    with pytest.raises(BuildError, match=r"no line of 39 is left: long 39"):
        built(tmp_path, CONFIG + "[clean]\nmax_characters = 1\n")
    path = config_file(tmp_path)
    text = tmp_path / "films.tsv"
    text.write_bytes(text.read_text().encode("gb18030") + b"9\t4\tHello.\t\n")
    with pytest.raises(BuildError, match=r"no line of 40 is left: not UTF-8 39, empty 1$"):
        run(path)
    monkeypatch.setattr(mine, "candidates", lambda snippet, phenomena: [])
    with pytest.raises(BuildError, match=r"no candidate was found in 19 snippets of 39 lines"):
        built(tmp_path)
    assert "candidates.parquet" not in [path.name for path in (tmp_path / "out").iterdir()]


def test_a_damaged_table_is_named(tmp_path):
    built(tmp_path)
    path = tmp_path / "out" / "sampled.parquet"
    pl.read_parquet(path).drop("word").write_parquet(path)
    with pytest.raises(BuildError, match=r"sampled\.parquet has no column 'word', it has id, set"):
        read_rows(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(BuildError, match=r"sampled\.parquet is not a Parquet file"):
        read_rows(path)


def test_a_damaged_table_of_lines_is_named(tmp_path):
    built(tmp_path)
    path = tmp_path / "out" / "lines.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(BuildError, match=r"lines\.parquet is not a Parquet file") as caught:
        built(tmp_path, stage="mine")
    assert "\n" not in str(caught.value)
