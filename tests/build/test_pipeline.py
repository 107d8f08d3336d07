"""A graph becomes a suite, stage by stage."""

import polars as pl
import pytest
from toy_builds import GRAPH
from toy_builds import KG as CONFIG

import boxpen
from boxpen.build.kg.config import read_config
from boxpen.build.kg.stages import BUILDER
from boxpen.errors import BuildError

STAGES = ["read", "filter", "rank", "sample", "negatives", "render"]


def config_file(folder, text=CONFIG, graph=GRAPH):
    path = folder / "kg.toml"
    path.write_text(text.replace("GRAPH", str(graph)))
    return path


def runner(path):
    return BUILDER.runner(read_config(path))


def built(folder, text=CONFIG, stage=None):
    return list(runner(config_file(folder, text)).run(stage))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, built(folder)


def test_all_stages_make_a_suite(whole):
    folder, done = whole
    assert [d.stage for d in done] == STAGES
    assert all(d.fresh for d in done)
    suite = boxpen.load_suite(folder / "out" / "toy.jsonl")
    assert {i.tags["task"] for i in suite} == {"nli", "qa", "pairs"}
    assert {i.tags["graph"] for i in suite} == {"starter"}
    sampled = pl.read_parquet(folder / "out" / "sampled.parquet")
    assert set(suite.blocks()) == set(sampled["id"])
    assert sampled.group_by("relation").len()["len"].max() == 8


def test_no_triple_is_lost_on_the_way(whole):
    folder, done = whole
    out = folder / "out"
    read = pl.read_parquet(out / "triples.parquet").height
    assert read == len(GRAPH.read_text().splitlines())
    dropped, total = runner(folder / "kg.toml").dropped()
    assert len(dropped) == total
    assert total + pl.read_parquet(out / "sampled.parquet").height == read
    assert all(row["reason"] and row["step"] for row in dropped)
    steps = {s["step"]: s["dropped"] for d in done for s in d.report.get("steps", ())}
    steps["sample"] = pl.read_parquet(out / "dropped-sample.parquet").height
    for step, count in steps.items():
        assert sum(row["step"] == step for row in dropped) == count, step


def test_the_same_seed_the_same_suite_in_any_order_of_rows(whole, tmp_path):
    folder, _ = whole
    rows = GRAPH.read_text().splitlines()
    turned = tmp_path / "turned.jsonl"
    turned.write_text("\n".join(reversed(rows)) + "\n")
    list(runner(config_file(tmp_path, graph=turned)).run())
    one, other = (boxpen.load_suite(f / "out" / "toy.jsonl") for f in (folder, tmp_path))
    assert one.hash == other.hash
    elsewhere = tmp_path / "seed"
    elsewhere.mkdir()
    built(elsewhere, CONFIG.replace("seed = 7", "seed = 8"))
    assert boxpen.load_suite(elsewhere / "out" / "toy.jsonl").hash != one.hash


def test_people_decide(tmp_path):
    from boxpen.build.kg.review import TripleTask
    from boxpen.review import Journal, Judgement, Target, find_task

    for stage in ("read", "filter", "rank", "sample"):
        built(tmp_path, stage=stage)
    table = pl.read_parquet(tmp_path / "out" / "sampled.parquet")
    asked = TripleTask(table).questions()
    verdicts = ["accept", "reject", ""]
    Journal(tmp_path / "review.jsonl").append(
        Judgement(q.item, "anna", verdicts[n % 3], seen=q.digest)
        for n, q in enumerate(asked)
        if verdicts[n % 3]
    )
    text = CONFIG + '[review]\njournal = "review.jsonl"\n'
    done = {d.stage: d for d in built(tmp_path, text)}
    counts = [sum(1 for n in range(len(asked)) if n % 3 == k) for k in range(3)]
    report = done["accept"].report
    assert [report[k] for k in ("accepted", "rejected", "open")] == counts
    suite = boxpen.load_suite(tmp_path / "out" / "toy.jsonl")
    assert set(suite.blocks()) == {q.item for n, q in enumerate(asked) if n % 3 == 0}
    for target in (tmp_path / "kg.toml", tmp_path / "out"):
        journal = tmp_path / "review.jsonl" if target.is_dir() else None
        task = find_task(Target((str(target),), journal))
        assert task.name == "triples"
        assert list(task.review().counts.values()) == [counts[0], 0, *counts[1:]]
    wrong = find_task(Target((str(tmp_path / "out"),)), "wrong-answers")
    assert wrong.journal.path == tmp_path / "out" / "review-wrong.jsonl"
    assert wrong.questions()


def test_wrong_tails_come_from_the_chosen_triples_alone_if_told(tmp_path):
    few = CONFIG.replace("per_relation = 8", "per_relation = 4")
    text = few.replace("wordnet = false", 'wordnet = false\npool = "chosen"')
    for name, config in (("ranked", few), ("chosen", text)):
        (tmp_path / name).mkdir()
        built(tmp_path / name, config)
    foreign = {}
    for name in ("ranked", "chosen"):
        out = tmp_path / name / "out"
        chosen = set(pl.read_parquet(out / "sampled.parquet")["id"])
        wrong = set(pl.read_parquet(out / "negatives.parquet")["wrong"].explode().drop_nulls())
        foreign[name] = wrong - chosen
    assert foreign["ranked"]
    assert not foreign["chosen"]


def test_other_languages_are_counted_and_can_be_listed(tmp_path):
    graph = tmp_path / "graph.tsv"
    graph.write_text("head\trelation\ttail\tlanguage\na dog\tisa\tan animal\ten\n"
                     "un chien\tisa\tun animal\tfr\n")  # fmt: skip
    text = CONFIG.replace(
        'columns = {head = "head", ', 'columns = {language = "language", head = "head", '
    )
    config = config_file(tmp_path, text, graph)
    (done,) = runner(config).run("read")
    assert done.report["steps"] == [{"step": "language", "dropped": 1, "left": 1}]
    rows, total = runner(config).dropped("language")
    assert total == 1
    assert (rows[0]["head"], rows[0]["reason"]) == ("un chien", "the language is fr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seed = 7", 'seed = "x"'), "kg.toml: seed is 'x', expected a whole number"),
        (("seed = 7", "sead = 7"), "kg.toml: unknown key 'sead', did you mean 'seed'?"),
        (("[[graphs]]", "[[graph]]"), "kg.toml: unknown key 'graph', did you mean 'graphs'"),
        (("[[graphs]]", "[graphs]"), "kg.toml: graphs is {'name': 'starter', 'files': ["),
        (('language = "en"', 'format = "plane"'), "graphs[0].format is 'plane', did you mean"),
        (("keep = 1.0", "keep = 0"), "rank.keep is 0, expected more than 0 and 1 or less"),
        (("per_relation = 8", "per_relation = 0"), "sample.per_relation is 0, expected 1 or more"),
        (("wordnet = false", "count = 0"), "negatives.count is 0, expected 1 to 1,000"),
        (('files = ["GRAPH"]', 'files = ["nope.tsv"]'), "/nope.tsv is missing"),
        (('files = ["GRAPH"]', 'files = ["no*.tsv"]'), "expected existing files: nothing matches"),
        (("[sample]", "[filter]\nrelations = ['capabelof']\n[sample]"), "relation 'capabelof' is"),
        (("[sample]", "[filter]\nmax_words = 3\n[sample]"), "unknown key 'filter.max_words'"),
        (
            ("[sample]", "[filter]\nmax_tail_words = 1\nrelations = ['xNeed']\n[sample]"),
            "no triple is left, the last went at step 'length'",
        ),
        (('relation = "relation"', 'relation = "predicate"'), "line 1: empty relation"),
    ],
)
def test_bad_configurations_are_named(tmp_path, change, message):
    with pytest.raises(BuildError) as caught:
        built(tmp_path, CONFIG.replace(*change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_slot_that_is_unknown_is_named_with_its_line(tmp_path):
    (tmp_path / "mine.toml").write_text(
        '[[isa.nli]]\nname = "mine"\npremise = "This is {head}."\nhypothesis = "It is {tial}."\n'
    )
    text = CONFIG + '[render]\ntemplates = ["mine.toml"]\n'
    with pytest.raises(BuildError, match=r"mine\.toml, line 4.*tial"):
        built(tmp_path, text)


def test_a_relation_of_ones_own_by_a_file(tmp_path):
    graph = tmp_path / "graph.tsv"
    pairs = ["wheel bicycle", "sail ship", "page book", "keel boat", "petal flower", "roof house",
             "string guitar", "branch tree"]  # fmt: skip
    rows = ["\t".join((pair.split()[0], "belongsto", pair.split()[1])) for pair in pairs]
    graph.write_text("head\trelation\ttail\n" + "\n".join(rows) + "\n")
    (tmp_path / "mine.toml").write_text(
        '[[belongsto.nli]]\nname = "mine"\npremise = "{this} {this.be} {head}."\n'
        'hypothesis = "{it} {it.belong} to {tail}."\n'
    )
    text = CONFIG.replace("[sample]", "[filter]\nrelations = ['belongsto']\n[sample]")
    text += '[render]\ntasks = ["nli"]\ntemplates = ["mine.toml"]\n'
    list(runner(config_file(tmp_path, text, graph)).run())
    suite = boxpen.load_suite(tmp_path / "out" / "toy.jsonl")
    said = {(i.premise, i.hypothesis) for i in suite}
    assert ("This is a wheel.", "It belongs to a bicycle.") in said
    assert len([i for i in suite if i.tags["tail"] == "right"]) == len(pairs)
