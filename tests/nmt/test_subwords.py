"""The folder of subwords against the tokenizer that Transformers makes of it."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.config import check_config
from boxpen.errors import ConfigError, NmtError
from boxpen.nmt.data.subwords import (
    EOS,
    PAD,
    UNK,
    SubwordConfig,
    _sample,
    encode_lines,
    train_subwords,
    vocabulary_sizes,
)
from boxpen.text.normal import normalised

transformers = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
TEXT = "The box is in the pen . A boy looks for his toys ; winter's lake freezes !"
HANZI = "盒子在围栏里男孩找他的玩具冬天湖水结冰了"
KINDS = ("joint", "separate")
NASTY = [
    "",
    " ",
    "The box  is in   the pen. ",
    "Quiz, zoo: X-ray & 1984 (100%)",
    "盒子 在围栏里 。",
    "盒子,在 the pen!",
    "ＡＢＣ，１２３　！",
    "鑫 😀 ñandú",
    "</s> <unk> a <pad>",
    ">>fr<< The box",
    ">> The box << is",
    "<< The >> box",
    "<0xE7> ▁The",
    "tab\there",
]


def english(n, seed=0):
    dice = random.Random(seed)
    return [" ".join(dice.choices(TEXT.split(), k=dice.randint(1, 9))) for _ in range(n)]


def chinese(n, seed=0):
    dice = random.Random(seed)
    return ["".join(dice.choices(HANZI, k=dice.randint(1, 9))) + "。" for _ in range(n)]


def train(folder, seed=0, languages=("zh", "en"), lines=2000, punctuation="space", **options):
    config = check_config(SubwordConfig, {"size": 450, **options}, "c.toml")
    made = {"zh": chinese, "en": english}
    train_subwords(
        config,
        *(iter(made[language](lines)) for language in languages),
        folder,
        source_language=languages[0],
        target_language=languages[1],
        punctuation=punctuation,
        seed=seed,
    )
    return folder


def load(folder, auto=True):
    cls = transformers.AutoTokenizer if auto else transformers.MarianTokenizer
    return cls.from_pretrained(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("subwords")
    return {
        (kind, fallback): train(root / f"{kind}{fallback}", kind=kind, byte_fallback=fallback)
        for kind in KINDS
        for fallback in (True, False)
    }


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_transformers_loads_the_folder_and_keeps_what_it_says(folders, tmp_path, kind, auto):
    tokenizer = load(folders[kind, True], auto)
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, load(tmp_path, auto)):
        assert type(one).__name__ == "MarianTokenizer"
        assert (one.source_lang, one.target_lang) == ("zh", "en")
        assert one.separate_vocabs == (kind == "separate")
        assert (one.eos_token_id, one.unk_token_id, one.pad_token_id) == (EOS, UNK, PAD)
        assert one.model_max_length == 512
        assert one("盒子在")["input_ids"] == tokenizer("盒子在")["input_ids"]
        assert one("</s>")["input_ids"][0] != EOS


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fallback", [True, False])
def test_bulk_encoding_is_that_of_the_tokenizer(folders, kind, fallback, side):
    folder = folders[kind, fallback]
    lines = NASTY + english(50, seed=3) + chinese(50, seed=3)
    key = "text" if side == "source" else "text_target"
    expected = load(folder)(**{key: lines})["input_ids"]
    for batch in (1, 7, 10_000):
        assert list(encode_lines(folder, side, iter(lines), batch)) == expected


@settings(max_examples=200, deadline=None)
@given(line=st.text(st.characters(codec="utf-8"), max_size=20))
def test_bulk_encoding_is_that_of_the_tokenizer_for_any_text(folders_for_all, line):
    folder, tokenizer = folders_for_all
    assert next(encode_lines(folder, "target", [line])) == tokenizer(text_target=line)["input_ids"]


@pytest.fixture(scope="module")
def folders_for_all(folders):
    folder = folders["separate", False]
    return folder, load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_text_comes_back_as_it_was(folders, kind):
    folder = folders[kind, True]
    tokenizer = load(folder)
    source = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    plain = [
        "",
        "The box is in the pen.",
        "Quiz: X",
        "盒子 在围栏里 。",
        "鑫 😀 ñandú",
        "</s> <pad>",
    ]
    ids = tokenizer(text_target=plain)["input_ids"]
    assert all(row[-1] == EOS and UNK not in row for row in ids)
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == plain
    # Transformers decodes with the target vocabulary alone, so the source is asked directly.
    spaced = ["", "The box is in the pen", "Quiz X", "盒子 在围栏里", *plain[4:]]
    assert source.decode(tokenizer(plain)["input_ids"]) == spaced


RAW_CHINESE = [
    "没问题,都办好了。",
    "“盒子在围栏里!”",
    '他说:"在".',
    "等等……盒子——３．５元，Ａ队４：30",
    "男孩 ，在找 ？ 玩具",
]
RAW_ENGLISH = ["The box—“it’s” in the pen…", "Ａ　boy, ‘his’ toys!", "It's 3.5, isn't it?"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("punctuation", ["space", "keep"])
def test_raw_text_has_the_tokens_of_what_is_trained_on(tmp_path, kind, punctuation):
    tokenizer = load(train(tmp_path, kind=kind, punctuation=punctuation))
    for side, language, raws in (("text", "zh", RAW_CHINESE), ("text_target", "en", RAW_ENGLISH)):
        forms = [normalised(raw, language, punctuation=punctuation) for raw in raws]
        assert not set(forms) & set(raws[:2])
        assert tokenizer(**{side: raws})["input_ids"] == tokenizer(**{side: forms})["input_ids"]


def test_a_joint_vocabulary_has_the_rules_of_each_language(folders):
    sides = [
        sentencepiece.SentencePieceProcessor(model_file=str(folders["joint", True] / name))
        for name in ("source.spm", "target.spm")
    ]
    pieces = [side.id_to_piece(list(range(len(side)))) for side in sides]
    assert pieces[0] == pieces[1]
    assert [side.decode(side.encode("The box, “in” 围栏。")) for side in sides] == [
        'The box " in " 围栏',
        'The box, "in" 围栏。',
    ]


@pytest.mark.parametrize(
    ("punctuation", "expected"),
    [
        ("space", ["没问题 都办好了", '他说 " 在 "', "3.5元"]),
        ("keep", ["没问题，都办好了。", '他说："在。"', "3.5元！"]),
    ],
)
def test_chinese_as_the_target_keeps_its_marks_if_told_so(tmp_path, punctuation, expected):
    tokenizer = load(train(tmp_path, languages=("en", "zh"), punctuation=punctuation))
    ids = tokenizer(text_target=["没问题,都办好了。", "他说：“在。”", "３．５元!"])["input_ids"]
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == expected


def test_identity_changes_nothing_but_spaces(tmp_path):
    folder = train(tmp_path, normalisation="identity")
    for side in ("source", "target"):
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        assert model.decode(model.encode("“ＡＢ，  １！” ")) == "“ＡＢ， １！”"


def test_the_models_are_small_and_name_no_file(folders):
    for path in folders["separate", True].glob("*.spm"):
        content = path.read_bytes()
        assert len(content) < 300_000
        assert b".tsv" not in content


def test_without_bytes_what_is_rare_is_unknown_but_ascii_never_is(folders):
    tokenizer = load(folders["separate", False])
    assert UNK in tokenizer(text_target="the ñ")["input_ids"]
    ascii_text = " ".join(map(chr, range(0x21, 0x7F)))
    for side in ("text", "text_target"):
        assert UNK not in tokenizer(**{side: ascii_text})["input_ids"]


def test_coverage_leaves_rare_characters_out_of_the_vocabulary(tmp_path):
    lines = [*chinese(2000), "鑫"]
    for coverage, covered in ((1.0, True), (0.9995, False)):
        folder = tmp_path / str(coverage)
        config = SubwordConfig(size=450, character_coverage=coverage, byte_fallback=False)
        train_subwords(
            config, lines, english(9), folder, source_language="zh", target_language="en"
        )
        assert ("鑫" in json.loads((folder / "vocab.json").read_text("utf-8"))) == covered


def test_vocabularies_are_as_large_as_asked_for_or_as_can_be(folders):
    assert vocabulary_sizes(folders["joint", True]) == (450, 450)
    assert vocabulary_sizes(folders["separate", True]) == (450, 450)
    source, target = vocabulary_sizes(folders["separate", False])
    assert source == 450
    assert 97 < target < 450  # a dozen words give no more
    tokenizer = load(folders["separate", False])
    assert (len(tokenizer.encoder), len(tokenizer.target_encoder)) == (source, target)


def test_a_separate_vocabulary_of_an_earlier_training_goes(tmp_path):
    train(tmp_path, kind="separate")
    assert (tmp_path / "target_vocab.json").is_file()
    train(tmp_path, kind="joint")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ]


def test_training_gives_the_same_files_again(folders, tmp_path):
    train(tmp_path, kind="separate", byte_fallback=True)
    for path in folders["separate", True].iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


@given(count=st.integers(0, 200), most=st.integers(1, 40), seed=st.integers(0, 1000))
def test_a_sample_is_every_nth_line(count, most, seed):
    lines = [str(i) for i in range(count)]
    step = 1
    while len(lines[seed % step :: step]) > most:
        step *= 2
    assert _sample(iter(lines), most, seed) == lines[seed % step :: step]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 300}, "size is 300, expected 354 or more"),
        ({"size": 50, "byte_fallback": False}, "size is 50, expected 98 or more"),
        ({"size": 360}, "cannot be learnt with size = 360"),
        ({"character_coverage": 1.5}, "character_coverage is 1.5, expected more than 0"),
        ({"sample": 0}, "sample is 0, expected 1 or more"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, options, said):
    with pytest.raises((ConfigError, NmtError), match=said):
        train(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_no_text_is_refused(tmp_path):
    for source, target, side in (
        ([" "], ["a"], "source"),
        (["。", "！"], ["a"], "source"),
        (["a"], [], "target"),
    ):
        with pytest.raises(NmtError, match=f"the {side} side has no text"):
            train_subwords(
                SubwordConfig(),
                source,
                target,
                tmp_path,
                source_language="zh",
                target_language="en",
            )


def test_a_folder_that_does_not_fit_together_is_refused(folders, tmp_path):
    train(tmp_path)
    (tmp_path / "vocab.json").write_text('{"</s>": 0}')
    with pytest.raises(NmtError, match="number their pieces differently"):
        next(encode_lines(tmp_path, "source", ["x"]))
    (tmp_path / "target_vocab.json").write_text("{")
    with pytest.raises(NmtError, match=r"target_vocab.json is not JSON"):
        next(encode_lines(tmp_path, "target", ["x"]))
    (tmp_path / "source.spm").unlink()
    with pytest.raises(NmtError, match=r"source.spm is not a SentencePiece model"):
        next(encode_lines(tmp_path, "source", ["x"]))


def test_a_table_of_toml_makes_the_configuration():
    table = {"kind": "joint", "size": 8000, "byte_fallback": False}
    made = check_config(SubwordConfig, table, "train.toml: [subwords]")
    assert made == SubwordConfig(kind="joint", size=8000, byte_fallback=False)
    with pytest.raises(ConfigError, match="kind is 'both', expected 'joint' or 'separate'"):
        check_config(SubwordConfig, {"kind": "both"}, "train.toml: [subwords]")
