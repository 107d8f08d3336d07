"""The HTML report holds every number, every item and every token, and nothing harmful."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from report_runs import HOSTILE, SENTENCES, Labelling, made_run, suite_of, translated

from boxpen import Card, Entail, Run, RunError, Suite, evaluate
from boxpen.catalog.lint.items import Finding
from boxpen.metrics.choice import accuracy
from boxpen.metrics.compare import compare_verdicts
from boxpen.metrics.intervals import Estimate
from boxpen.report.html.items import _sampled
from boxpen.report.html.page import whole_page
from boxpen.report.html.report import SuiteNotes, html_report
from boxpen.review.human_run import human_run
from boxpen.runs.info import Sample
from small_runs import human_table, small_run

ONE = made_run("++-+--++")
TWO = made_run("+++++-=+", model="two")
FOUR = suite_of(
    [tuple(f"Answer {k} of question {n}." for k in range(4)) for n in range(6)],
    name="four",
    blocks=False,
)


@pytest.fixture
def people(tmp_path) -> Run:
    table = "item,a,b,c\n" + "".join(f"i{n},0,0,{n % 2}\n" for n in range(8))
    return human_run(suite_of(SENTENCES), human_table(tmp_path, table))


class Matrix(HTMLParser):
    """The text of every cell of a matrix: the first one is number 1."""

    def __init__(self, page: str, number: int = 1) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = self.skipped = False
        self.feed(page.split('<table class="matrix">')[number].partition("</table>")[0])

    def handle_starttag(self, tag, attrs) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True
        self.skipped = tag == "small" or (self.skipped and tag != "td")

    def handle_endtag(self, tag) -> None:
        if tag == "small":
            self.skipped = False
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data) -> None:
        if self.inside and not self.skipped:
            self.rows[-1][-1] += data.strip()


class Pack:
    """The items of a page, read the slow way."""

    def __init__(self, page: str, number: int = 0) -> None:
        text = re.search(rf'id="pack-{number}">([^<]*)</script>', page)[1]
        data = gzip.decompress(base64.b64decode(text))
        size = int.from_bytes(data[:4], "little")
        self.head = json.loads(data[4 : 4 + size])
        rest = data[4 + size :]
        assert len(rest) == 2 * self.head["spans"] == 2 * sum(self.head["counts"])
        self.lengths, self.nats = rest[: len(rest) // 2], rest[len(rest) // 2 :]

    def tokens(self, item: str, candidate: int, run: int) -> list[tuple[str, float]]:
        """Return the stretches of a candidate and their nats."""
        number = self.head["ids"].index(item)
        text_number = sum(self.head["numbers"][:number]) + candidate
        place = text_number * len(self.head["runs"]) + run
        text = self.head["other"].get(str(place), self.head["texts"][text_number])
        start, out, at = sum(self.head["counts"][:place]), [], 0
        for k in range(start, start + self.head["counts"][place]):
            nats = math.nan if self.nats[k] == 255 else self.nats[k] / 8
            out.append((text[at : at + self.lengths[k]], nats))
            at += self.lengths[k]
        return out


def test_the_matrix_has_chance_models_and_people(people):
    rows = Matrix(html_report([ONE, people, TWO])).rows
    assert rows[0] == ["", "little"]
    assert rows[1] == ["", "Accuracy", "Consistency", "Both right", "A", "B"]
    assert rows[2] == ["Chance", "50.0", "50.0", "25.0", "50.0", "50.0"]
    # One is right on 5 of 8. Two: ++ ++ +- =+, the tie half a credit. Four blocks are too few.
    assert rows[3] == ["one", "62.5", "–", "–", "50.0", "75.0"]
    assert rows[4] == ["two", "81.2", "–", "–", "87.5", "75.0"]
    assert rows[5][0] == "human"
    assert rows[5][1] == "100.0"
    assert len(rows) == 6


def test_the_best_model_of_a_column_stands_out_and_people_do_not(people):
    page = html_report([ONE, TWO, people])
    best = re.findall(r'<td class="[^"]*best[^"]*">.*?<b>([\d.]+)</b>', page, re.DOTALL)
    # Both have 75.0 on B. More consistency is not better, and stands out for none.
    assert sorted(best) == ["75.0", "75.0", "81.2", "87.5"]
    assert "best" not in re.findall(r'<tr class="human">.*?</tr>', page, re.DOTALL)[0]


def test_suites_stand_side_by_side_and_what_is_missing_is_a_dash():
    other = made_run("++", FOUR, model="two")
    page = html_report([ONE, other])
    rows = Matrix(page, 1).rows
    assert rows[:3] == [
        ["", "little", "four"],
        ["", "Accuracy", "Accuracy"],
        ["Chance", "50.0", "25.0"],
    ]
    assert rows[3:] == [["one", "62.5", "–"], ["two", "–", "100.0"]]
    assert [row[0] for row in Matrix(page, 2).rows[3:]] == ["one"]
    assert Matrix(page, 2).rows[1:] == Matrix(html_report([ONE])).rows[1:]
    assert Matrix(page, 3).rows == Matrix(html_report([other])).rows


@pytest.mark.parametrize("name", ["cats.sm-duals", "piqa.mine", "mine", "mine.jsonl"])
def test_a_suite_that_is_not_in_the_registry_is_no_part_of_one_that_is(name):
    _, missing = whole_page([small_run("+-+-", suite=name)])
    told = f"no shortcuts of {name}: it is not known by name; see boxpen suite audit FILE"
    assert missing == [told]


def test_a_part_that_the_registry_has_is_looked_up():
    _, missing = whole_page([small_run("+-+-", suite="starter.sense")])
    assert missing == ["no shortcuts of starter.sense: it is not what it was when it was run"]


def test_a_table_of_numbers_stands_beside_the_charts():
    page = html_report([ONE, TWO])
    for run in (ONE, TWO):
        e = accuracy([v for v in run.verdicts if v.tags["topic"] == "sea"])
        text = f"{100 * e.value:.1f} [{100 * e.low:.1f}, {100 * e.high:.1f}]"
        assert f'<td class="num">{text}</td>' in page


def test_bleu_has_its_column():
    page = html_report([translated(ONE), TWO])
    rows = Matrix(page).rows
    assert rows[1][-1] == "BLEU"
    row = next(r for r in translated(ONE).summary() if r.metric == "bleu" and r.slice == "all")
    assert rows[3][-1] == f"{row.value:.1f}"
    assert rows[4][-1] == "–"
    head = Pack(page).head
    assert head["runs"][0]["made"]["3"] == "She does thing 3!"
    assert head["sources"]["3"] == "她在做第 3 件事。"


def test_translations_without_verdicts_make_a_page():
    only = replace(translated(ONE), verdicts=(), candidates={})
    page = html_report([only])
    assert Matrix(page).rows[1] == ["", "BLEU"]
    assert len(Pack(page).head["ids"]) == 8


def test_every_token_is_in_the_pack_to_a_sixteenth_of_a_nat():
    pack = Pack(html_report([ONE, TWO]))
    for number, run in enumerate((ONE, TWO)):
        for item, candidates in run.candidates.items():
            for place, scored in enumerate(candidates):
                found = pack.tokens(item, place, number)
                assert [t for t, _ in found] == [
                    run.tokens[int(i)] for i in scored.record.token_ids
                ]
                nats = -scored.record.logprobs
                assert np.abs(np.array([b for _, b in found]) - nats).max() <= 1 / 16 + 1e-5


def test_tokens_that_do_not_fit_are_shown_themselves():
    broken = replace(ONE, tokens={i: f"<{i}>" for i in ONE.tokens})
    long = max(ONE.candidates, key=lambda k: len(ONE.candidates[k][0].record.token_ids))
    found = Pack(html_report([broken])).tokens(long, 0, 0)
    ids = ONE.candidates[long][0].record.token_ids
    assert [t for t, _ in found] == [f"<{i}>" for i in ids]


def test_a_run_without_token_texts_shows_its_candidates_uncoloured():
    pack = Pack(html_report([made_run("+-", tells=False)]))
    assert pack.head["spans"] == 0
    assert pack.head["texts"][0] == SENTENCES[0][0]


def test_verdicts_are_in_the_pack():
    head = Pack(html_report([ONE, TWO])).head
    assert head["runs"][1]["credit"] == [1, 1, 1, 1, 1, 0, 0.5, 1]
    assert head["runs"][1]["tied"][6] == 2
    assert head["blocks"] == ["b0", "b0", "b1", "b1", "b2", "b2", "b3", "b3"]
    cuts = {c["name"]: [c["values"][n] for n in c["of"]] for c in head["cuts"]}
    assert cuts["set"] == ["A", "B"] * 4


def test_a_long_suite_is_sampled_block_by_block(monkeypatch):
    monkeypatch.setattr("boxpen.report.html.items.MOST_ITEMS", 5)
    page = html_report([ONE, TWO])
    head = Pack(page).head
    assert len(head["ids"]) == 4
    assert len(set(head["blocks"])) == 2
    assert len(head["runs"][0]["winner"]) == len(head["tags"][0]["of"]) == 4
    assert "4 of 8 items are in this page" in page
    assert "are in this page" not in html_report([translated(ONE)], items=False)
    monkeypatch.setattr("boxpen.report.html.items.MOST_ITEMS", 1)  # no block fits
    assert len(Pack(html_report([ONE, TWO])).head["ids"]) == 1


def test_a_block_too_large_for_the_page_does_not_hide_the_others(monkeypatch):
    monkeypatch.setattr("boxpen.report.html.items.MOST_ITEMS", 4)
    blocks = {f"large-{n}": "large" for n in range(5)} | {"a": "small", "b": "small"}
    for name in ("large", "grand", "vast", "huge"):  # whichever block is drawn first
        renamed = {key: block.replace("large", name) for key, block in blocks.items()}
        assert _sampled(renamed) == ["a", "b"]


def test_every_right_label_is_in_the_pack():
    suite = Suite("pairs", (
        Entail(id="strict", premise="p", hypothesis="e", label="entailment"),
        Entail(id="likely", premise="p", hypothesis="n", label="contradiction", also=("neutral",)),
    ))  # fmt: skip
    for nli, gold, also in (("3-way", [0, 2], {"1": [1]}), ("2-way", [0, 1], {})):
        head = Pack(
            html_report([evaluate(Labelling("one"), suite, cache=":memory:", nli=nli)])
        ).head
        assert (head["gold"], head["also"]) == (gold, also)


def test_people_have_verdicts_and_no_tokens(people):
    page = html_report([people])
    assert Pack(page).head["spans"] == 0
    assert 'id="margins"' not in page


def test_the_page_needs_nothing_else():
    page = html_report([ONE, TWO])
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"<(link|iframe|object|embed|base)\b", page)
    assert not re.search(r"\b(src|srcset|action|poster)\s*=", page.partition("<script")[0])
    assert all(h.startswith("#") for h in re.findall(r'href="([^"]*)"', page))
    assert "default-src 'none'" in page


def test_nothing_in_a_run_is_taken_for_markup():
    suite = suite_of(
        [(f"{HOSTILE} a{n}", f"{HOSTILE} b{n}") for n in range(4)],
        name=HOSTILE,
        card=Card(title=HOSTILE, citation=HOSTILE, url=HOSTILE, licence=HOSTILE, notes=HOSTILE),
    )
    items = [replace(i, id=i.id + HOSTILE, block=HOSTILE, tags={HOSTILE: "xy"[n % 2] + HOSTILE})
             for n, i in enumerate(suite)]  # fmt: skip
    run = made_run("+-+-", suite.take(items), model=HOSTILE)
    finding = Finding(HOSTILE, HOSTILE, HOSTILE)
    run = replace(run, info=replace(run.info, findings=(finding,)))
    notes = {HOSTILE: SuiteNotes([(HOSTILE, Estimate(0.5, 0.4, 0.6, 4))])}
    pairs = compare_verdicts({HOSTILE: run.verdicts, "b" + HOSTILE: run.verdicts}, HOSTILE)
    page = html_report([run], title=HOSTILE, pairs=pairs, suites=notes)
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script") == 2
    assert page.count("onerror=&#34;") > 10  # it is there, as text


def test_findings_shortcuts_signatures_and_citations_are_there():
    suite = replace(ONE.info.suite, citation="Somebody 1999. Something.", licence="CC0")
    findings = tuple(Finding("odd", f"i{n}", "is odd") for n in range(8))
    info = replace(ONE.info, suite=suite, findings=findings)
    notes = {"little": SuiteNotes([("the longer one", Estimate(0.61, 0.5, 0.7, 8))])}
    page = html_report([replace(ONE, info=info)], suites=notes)
    for text in ("<b>8</b> odd", "and 3 more", "Somebody 1999. Something.", "CC0", "the longer one",
                 ONE.signature):  # fmt: skip
        assert text in page


def test_without_items_no_text_of_the_suite_is_in_the_page():
    finding = Finding("odd", "i0", f"'{SENTENCES[0][0]}' is odd")
    run = replace(ONE, info=replace(ONE.info, findings=(finding,)))
    page = html_report([run, TWO], items=False)
    assert "pack-0" not in page
    assert 'href="#items' not in page
    assert 'id="items"' not in page
    assert not any(text in page for pair in SENTENCES for text in pair)
    assert "<b>1</b> odd" in page
    assert Matrix(page).rows == Matrix(html_report([ONE, TWO])).rows


def test_comparisons_are_there():
    pairs = compare_verdicts({"one": ONE.verdicts, "two": TWO.verdicts}, "little")
    page = html_report([ONE, TWO], pairs=pairs)
    found = f"{100 * pairs[0].difference.value:+.1f}".replace("-", "−")
    assert found in page[page.index('id="comparisons"') :]
    assert 'id="comparisons"' not in html_report([ONE, TWO])


def test_two_runs_of_one_model_are_told_apart_by_what_differs():
    rows = Matrix(html_report([ONE, ONE.rescore(norm="char")])).rows
    assert [r[0] for r in rows[3:]] == ["one · norm=sum", "one · norm=char"]
    rows = Matrix(html_report([ONE, ONE])).rows
    assert [r[0] for r in rows[3:]] == ["one", "one (2)"]


def test_a_model_that_ran_twice_is_one_model():
    page = html_report([ONE, ONE.rescore(norm="char"), TWO])
    assert "<h1>one and two on little</h1>" in page
    assert "3 runs of 2 models." in page
    three = [ONE, ONE.rescore(norm="char"), TWO, made_run("+", model="three")]
    page = html_report(three)
    assert "<h1>3 models on little</h1>" in page
    assert "4 runs of 3 models." in page


def test_other_weights_under_one_name_are_another_model():
    model = replace(ONE.info.model, fingerprint="0" * 64)
    page = html_report([ONE, replace(ONE, info=replace(ONE.info, model=model))])
    assert "2 runs of 2 models." in page
    assert re.search(r"<h1>one@[0-9a-f]{8} and one@00000000 on little</h1>", page)


def test_people_are_counted_apart(people):
    assert "1 run of 1 model, 1 run of answers by judges." in html_report([ONE, people])


def test_slices_tell_how_many_items_each_run_has():
    part = made_run("+-", suite_of(SENTENCES[:4]), model="two")
    page = html_report([ONE, part])
    rows = page[page.index("The same in numbers") :].partition("</details>")[0]
    row = next(r for r in rows.split("<tr>") if "set = A" in r)
    assert re.findall(r"n = (\d+)", row) == ["4", "2"]
    row = html_report([ONE, TWO]).partition("set = A</th>")[2].partition("</tr>")[0]
    assert row.startswith('<td class="num">4</td>')
    assert "n =" not in row


def test_methods_name_the_fields_that_must_agree():
    page = html_report([ONE, TWO])
    methods = page[page.index('id="methods"') :]
    assert (
        "agree in suite, sample, recipe, norm, nli, judge, rule, lead, ties, context, version;"
        in methods
    )
    assert "of one kind, also in bos, eos, pll." in methods
    assert "(model, kind, api, dtype, batch, max, hardware, trust_remote_code)" in methods


def test_runs_with_equal_signatures_are_compared():
    page, _ = whole_page([ONE, replace(ONE)])
    assert "one and one (2) have equal signatures" in page
    assert "no score differs by more than 0." in page


def test_a_sample_is_named_with_its_suite():
    suite = replace(ONE.info.suite, sample=Sample(8, 1200, 3))
    drawn = [replace(run, info=replace(run.info, suite=suite)) for run in (ONE, TWO)]
    page = html_report(drawn)
    note = "sample of 8 of 1,200, seed 3"
    assert f"<h1>one and two on little ({note})</h1>" in page
    assert page.count(f"<h3>little ({note})") == 4  # slices, consistency, margins, suites
    assert f"<small>on little ({note})</small>" in page
    assert f"A little suite</strong> ({note}), 8 items." in page
    assert f"little <small>{note}</small></th>" in page
    assert "sample of" not in html_report([ONE])
    assert "little (runs of different samples)" in html_report([drawn[0], TWO])


def test_runs_of_a_part_of_a_suite_stand_beside_the_others_with_a_caution():
    part = made_run("+-", suite_of(SENTENCES[:4]), model="two")
    page = html_report([ONE, part])
    assert Matrix(page).rows[0][1:] == ["little"]
    assert "did not judge the same items (4 / 8)" in page
    assert "did not judge the same items" not in html_report([ONE, TWO])


def test_two_suites_of_one_name_are_told_apart_by_their_hash():
    other = made_run("+-", suite_of([(b, a) for a, b in SENTENCES]), model="two")
    names = Matrix(html_report([ONE, other])).rows[0][1:]
    assert len(names) == 2
    assert all(re.fullmatch(r"little@[0-9a-f]{8}", n) for n in names)


def test_a_suite_without_blocks_has_no_consistency():
    page = html_report([made_run("+-", FOUR)])
    assert 'id="consistency"' not in page
    assert Matrix(page).rows[2] == ["Chance", "25.0", "25.0", "25.0"]


def test_the_same_runs_give_the_same_page():
    assert html_report([ONE, TWO]) == html_report([ONE, TWO])


def test_no_run_no_page():
    with pytest.raises(RunError, match="at least one run"):
        html_report([])
