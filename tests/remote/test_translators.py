"""Translation behind a server: chat models with a prompt, and translators of any HTTP shape."""

from __future__ import annotations

import logging
from urllib.parse import parse_qs, urlsplit

import pytest
from chat_server import ChatServer, longest
from json_server import JsonServer
from typer.testing import CliRunner

import boxpen
from boxpen.analysis.reading_judge import ReadingJudge
from boxpen.catalog.files import write_suite
from boxpen.cli.app import app
from boxpen.errors import ModelError, PolicyError
from boxpen.items import Translate
from boxpen.models.remote.unwrap import prompt_of, unwrapped
from boxpen.scoring.reading import ReadingRule

pytest.importorskip("httpx")
pytest.importorskip("sacrebleu")

KEY = "very-secret-0123456789"
WORDS = {
    "The box is in the pen.": "Die Kiste ist im Gehege.",
    "The pen is in the box.": "Der Stift ist in der Kiste.",
    "She writes with it.": "Sie schreibt damit.",
}
SUITE = boxpen.Suite(
    "small",
    (
        boxpen.Choice(
            id="box",
            candidates=("Die Kiste ist im Gehege.", "Die Kiste ist im Stift."),
            gold=0,
            source="The box is in the pen.",
        ),
        boxpen.Choice(
            id="pen",
            candidates=("Der Stift ist in der Kiste.", "Das Gehege ist in der Kiste."),
            gold=0,
            source="The pen is in the box.",
        ),
        Translate(
            id="it",
            source="She writes with it.",
            reference="Sie schreibt damit.",
            context="The pen is in the box.",
        ),
    ),
    boxpen.Card(language="de", source_language="en", title="Small"),
)


class Translator(JsonServer):
    """A translator with the shapes of DeepL, LibreTranslate, Azure, and one that takes a query."""

    def answer(self, path, body, headers):
        parts = urlsplit(path)
        if self.fault == "quota":
            return 456, {"message": "Quota exceeded"}
        if parts.path == "/v2/translate":  # DeepL
            if headers.get("Authorization") != f"DeepL-Auth-Key {self.key}":
                return 403, {"message": f"Forbidden: {headers.get('Authorization')}"}
            assert (body["source_lang"], body["target_lang"]) == ("en", "de")
            made = [self.made(text) for text in body["text"]]
            if None in made:
                return 400, {"message": "Bad request"}
            return 200, {
                "translations": [{"detected_source_language": "EN", "text": t} for t in made]
            }
        if parts.path == "/translate":  # LibreTranslate
            if body.get("api_key") != self.key:
                return 403, {"error": f"Invalid API key {body.get('api_key')}"}
            assert (body["source"], body["target"], body["format"]) == ("en", "de", "text")
            made = self.made(body["q"])
            return (400, {"error": f"no {self.key}"}) if made is None else (200, made)
        if parts.path == "/azure":
            return 200, [{"translations": [{"text": self.made(one["Text"])}]} for one in body]
        if parts.path == "/query":
            found = self.made(parse_qs(parts.query)["q"][0])
            return 200, {"data": {"text": found}, "usage": {"prompt_tokens": 0}}  # not characters
        return 404, {"error": "no such path"}

    def made(self, text):
        found = WORDS[text]
        if self.fault == "one" and "writes" in text:
            return None
        is_libre = any(path == "/translate" for path, _ in self.log)
        return {"translatedText": found} if is_libre else found


def run_of(spec, **options):
    return boxpen.evaluate(spec, SUITE, **{"cache": ":memory:", **options})


def made(run):
    return {t.source: t.translation for t in run.translations}


def bleu(run):
    return next(r.value for r in run.summary() if (r.metric, r.slice) == ("bleu", "all"))


@pytest.fixture
def deepl(monkeypatch):
    monkeypatch.setenv("DEEPL_API_KEY", KEY)
    with Translator(key=KEY) as server:
        yield server


def test_deepl(deepl, tmp_path):
    spec = f"translator:deepl#{deepl.url}"
    run = run_of(spec, cache=tmp_path / "scores")
    assert made(run) == WORDS
    assert bleu(run) == pytest.approx(100)
    assert not run.verdicts
    assert len(deepl.log) == 1  # a batch
    assert "translations only: " in run.info.model.remark
    assert "|api:http|" in run.signature
    assert "beam" not in next(r for r in run.summary() if r.metric == "bleu").signature
    assert made(run_of(spec, cache=tmp_path / "scores")) == WORDS
    assert len(deepl.log) == 1
    assert boxpen.Run.load(run.save(tmp_path)).translations == run.translations


def test_a_batch_that_is_rejected_is_sent_text_by_text(deepl):
    deepl.fault = "one"
    run = run_of(f"translator:deepl#{deepl.url}")
    assert [len(body["text"]) for _, body in deepl.log] == [3, 1, 1, 1]
    assert len(run.translations) == 2
    assert run.info.left_out == {"unanswered: HTTP 400: Bad request": ["it"]}


def test_the_host_of_deepl_follows_from_the_key(monkeypatch):
    for key, host in (("k:fx", "api-free.deepl.com"), ("k", "api.deepl.com")):
        monkeypatch.setenv("DEEPL_API_KEY", key)
        assert urlsplit(boxpen.resolve_model("translator:deepl").settings.url).hostname == host


@pytest.mark.parametrize("key", [KEY, None])
def test_libretranslate(key, monkeypatch):
    monkeypatch.delenv("LIBRETRANSLATE_API_KEY", raising=False)
    if key:
        monkeypatch.setenv("LIBRETRANSLATE_API_KEY", key)
    with Translator(key=key) as server:
        run = run_of(f"translator:libretranslate#{server.url}")
        assert made(run) == WORDS
        assert len(server.log) == 3


SHAPES = {
    "azure": """
        url = "{url}/azure"
        body = [{{ Text = "{{source}}" }}]
        result = "*.translations.0.text"
        batch = 2
        """,
    "azure, one by one": """
        url = "{url}/azure"
        body = [{{ Text = "{{source}}" }}]
        result = "0.translations.0.text"
        """,
    "query": """
        url = "{url}/query"
        method = "GET"
        body = {{ q = "{{source}}", pair = "{{source_language}}|{{target_language}}" }}
        languages = {{ de = "deu", en = "eng" }}
        result = "data.text"
        """,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_any_other_shape(shape, tmp_path):
    config = tmp_path / "own.toml"
    with Translator() as server:
        config.write_text(SHAPES[shape].format(url=server.url))
        run = run_of(f"translator:{config}")
        assert made(run) == WORDS
        assert len(server.log) == (2 if shape == "azure" else 3)
        assert run.info.model.short == "own"
        if shape == "query":
            assert "pair=eng%7Cdeu" in server.log[0][0]


def test_a_source_is_not_a_template(tmp_path):
    from boxpen.models.remote.translators.settings import TranslatorSettings

    settings = TranslatorSettings(
        url="http://h", body={"q": "{source} ({context})", "n": 1, "l": ["en"]}, result="t"
    )
    body = settings.filled_body(["a {context} $HOME"], ("en", "de"), "b {source}")
    assert body == {"q": "a {context} $HOME (b {source})", "n": 1, "l": ["en"]}


@pytest.mark.parametrize("fault", ["storm", "half_closed", "some_html"])
def test_a_translator_with_trouble_is_survived(fault, tmp_path):
    config = tmp_path / "own.toml"
    with Translator(fault=fault) as server:
        config.write_text(SHAPES["query"].format(url=server.url) + "retries = 60\n")
        assert made(run_of(f"translator:{config}")) == WORDS


def test_a_failed_translation_is_left_out_and_shown(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    path, place = tmp_path / "small.jsonl", tmp_path / "out"
    write_suite(SUITE, path)
    with Translator(key=KEY, fault="one") as server:
        spec = f"translator:libretranslate#{server.url}"
        command = ["run", str(path), "--model", spec, "--out", str(place)]
        done = CliRunner().invoke(app, [*command, "--cache", str(place / "scores")])
        assert done.exit_code == 0, done.output
        shown = " ".join(done.output.split())
        assert "left out 1 of 3 items: unanswered: HTTP 400: no …" in shown
        assert "BLEU" in shown
        server.fault = ""
        whole = CliRunner().invoke(app, [*command, "--cache", str(place / "scores")])
        assert "left out" not in whole.output
        assert len(server.log) == 4  # only what failed is asked for again
        monkeypatch.setenv("LIBRETRANSLATE_API_KEY", f"{KEY}-wrong")
        refused = CliRunner().invoke(app, [*command, "--cache", ":memory:"])
        assert refused.exit_code == 2
        assert "the key in LIBRETRANSLATE_API_KEY was rejected" in " ".join(refused.output.split())
    seen = [done.output, whole.output, refused.output, caplog.text]
    seen += [p.read_bytes().decode("latin-1") for p in place.rglob("*") if p.is_file()]
    assert not any(KEY in text for text in seen)


def test_characters_have_a_price(tmp_path):
    config, path = tmp_path / "own.toml", tmp_path / "small.jsonl"
    write_suite(SUITE, path)
    with Translator() as server:
        config.write_text(SHAPES["query"].format(url=server.url) + "price = 1e6\nconcurrency = 1\n")
        command = ["run", str(path), "--model", f"translator:{config}", "--out", str(tmp_path)]
        command += ["--cache", str(tmp_path / "scores"), "--max-cost"]
        stopped = CliRunner().invoke(app, [*command, "30"])
        assert stopped.exit_code == 2
        assert "stopped at a cost of 22" in stopped.output
        assert CliRunner().invoke(app, [*command, "63"]).exit_code == 0
        assert len(server.log) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('body = { q = "x" }\nresult = "t"', "body must contain {source}"),
        ('body = { q = "{source}" }', "'result' is missing|result"),
        ('body = { q = "{source}" }\nresult = "a..b"', "result is 'a..b', expected keys"),
        ('body = { q = "{source}" }\nresult = "t"\nbatch = 2', "{source} in a list"),
        ('body = { q = ["{source}"] }\nresult = "t"\nbatch = 2', r"and one \*"),
        ('body = { q = "{source}", k = "$K" }\nresult = "t"\nmethod = "GET"', "use a header"),
        ('body = { q = "{source}" }\nresult = "t"\nmethod = "PUT"', "method is 'PUT', expected"),
        ('body = { q = "{source}" }\nresult = "t"\nresults = 1', "unknown key 'results'"),
        ('body = { q = "{source}" }\nresult = "t"\nheaders = { K = "$NOT_SET" }', "NOT_SET"),
        ("body = ", "is not TOML"),
    ],
)
def test_bad_settings_are_one_sentence(tmp_path, text, said):
    config = tmp_path / "bad.toml"
    config.write_text(f'url = "http://127.0.0.1:9"\n{text}\n')
    with pytest.raises(ModelError, match=said) as refused:
        boxpen.resolve_model(f"translator:{config}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("translator:nowhere.toml", "cannot be read"),
        ("translator:google", "expected deepl, libretranslate#URL or a TOML file"),
        ("translator:libretranslate", "has no URL"),
        ("translator:libretranslate#localhost", "must be http://HOST"),
        ("translator:libretranslate#http://127.0.0.1:9", "cannot connect .*refused"),
        ("translator:libretranslate#http://no-such-host.invalid", "cannot connect"),
        ("translator:deepl", "set DEEPL_API_KEY"),
    ],
)
def test_bad_names_are_one_sentence(spec, said, monkeypatch, tmp_path):
    monkeypatch.delenv("DEEPL_API_KEY", raising=False)
    with pytest.raises(ModelError, match=said):
        run_of(spec)
    path = tmp_path / "small.jsonl"
    write_suite(SUITE, path)
    done = CliRunner().invoke(app, ["run", str(path), "--model", spec, "--out", str(tmp_path)])
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("status", "said"),
    [("wrong key", "DEEPL_API_KEY was rejected"), ("quota", r"quota .* used up \(HTTP 456\)")],
)
def test_what_ends_a_run(deepl, monkeypatch, status, said):
    if status == "quota":
        deepl.fault = "quota"
    else:
        monkeypatch.setenv("DEEPL_API_KEY", "another")
    with pytest.raises(ModelError, match=said):
        run_of(f"translator:deepl#{deepl.url}")


def test_a_translator_does_nothing_else(deepl):
    spec = f"translator:deepl#{deepl.url}"
    with pytest.raises(PolicyError, match="gives no log-probabilities"):
        run_of(spec, translate=False)
    with pytest.raises(PolicyError, match="asks questions"):
        run_of(spec, recipe="ask")
    probed = CliRunner().invoke(app, ["model", "probe", spec])
    assert probed.exit_code == 0
    assert "de               Die Kiste ist im Gehege." in probed.output


def chatty(question):
    for source, translation in WORDS.items():
        if question.startswith("Translate") and question.endswith(source):
            return f'Here is the German translation:\n\n"{translation}"'
    return longest(question)


def test_a_chat_model_translates_only_if_told_to():
    with ChatServer(brain=chatty) as server:
        quiet = run_of(server.spec, recipe="ask")
        assert not quiet.translations
        assert not any(question.startswith("Translate") for question in server.asked())
        both = run_of(server.spec, recipe="ask", translate=True)
        assert made(both) == WORDS
        assert len(both.verdicts) == 2
        alone = run_of(server.spec, translate=True)
        assert made(alone) == WORDS
        assert not alone.verdicts
        last = next(q for q in server.asked() if q.endswith("She writes with it."))
    assert "For context" in last
    assert "The pen is in the box." in last
    assert last == prompt_of("She writes with it.", ("en", "de"), "The pen is in the box.")


def test_chat_translations_that_fail_are_left_out():
    def brain(question):
        if "Text:\n\nThe pen" in question:
            return {"message": {"content": "Der"}, "finish_reason": "length"}
        if "Text:\n\nShe" in question:
            return {"message": {"content": ""}, "finish_reason": "stop"}
        return chatty(question)

    with ChatServer(brain=brain) as server:
        run = run_of(server.spec, translate=True)
    assert list(made(run)) == ["The box is in the pen."]
    assert run.info.left_out == {
        "unanswered: a translation was cut off": ["pen"],
        "unanswered: a translation is empty": ["it"],
    }


@pytest.mark.parametrize(
    ("answer", "source", "expected"),
    [
        ("Die Kiste.", "The box.", "Die Kiste."),
        (" “Die Kiste.” ", "The box.", "Die Kiste."),
        ('"Die Kiste."', '"The box."', '"Die Kiste."'),
        ('"Der Traum der roten Kammer"', "《红楼梦》", '"Der Traum der roten Kammer"'),
        ("„Ja, gut“", "“好”，“对”", "„Ja, gut“"),
        ('"Ja", sagte er, "gut"', "Yes, he said, good", '"Ja", sagte er, "gut"'),
        ("Sure! Here is the translation:\nDie Kiste.", "The box.", "Die Kiste."),
        ("**German:** Die Kiste.", "The box.", "Die Kiste."),
        ("German: Die Kiste.", "German: The box.", "German: Die Kiste."),
        ("Translation: „Die Kiste.“", "The box.", "Die Kiste."),
        ("Er sagte: ja.", "He said yes.", "Er sagte: ja."),
        ("Die Kiste.\nSie ist rot.", "The box. It is red.", "Die Kiste. Sie ist rot."),
        ("Die Kiste. (The box.)", "The box.", "Die Kiste. (The box.)"),
    ],
)
def test_what_is_around_a_translation_is_removed(answer, source, expected):
    assert unwrapped(answer, source, "de") == expected


def test_free_translations_of_a_translator_are_judged(deepl, gpt2, tmp_path):
    judge = ReadingJudge(gpt2, ReadingRule(threshold=0.0))
    run = run_of(f"translator:deepl#{deepl.url}", recipe="generate", judge=judge)
    assert [v.id for v in run.verdicts] == ["box", "pen"]
    assert all(v.scores[v.winner] == max(v.scores) for v in run.verdicts)
    assert made(run) == WORDS
    assert (run.info.unread_sources, run.info.left_out) == (0, {})
    again = boxpen.Run.load(run.save(tmp_path))
    assert again.signature == run.signature


def test_free_translations_of_a_chat_model_are_judged_and_unanswered_ones_left_out(gpt2):
    def brain(question):
        return 422 if "The pen is in the box." in question.splitlines()[-1] else chatty(question)

    judge = ReadingJudge(gpt2, ReadingRule(threshold=0.0))
    with ChatServer(brain=brain) as server:
        run = run_of(server.spec, recipe="generate", judge=judge)
    assert [v.id for v in run.verdicts] == ["box"]
    assert [ids for why, ids in run.info.left_out.items() if why.startswith("unanswered")] == [
        ["pen"]
    ]
