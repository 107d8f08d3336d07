"""BLEU: an interval that stays on the scale, and two systems compared."""

import itertools

import pytest

from boxpen.metrics.bleu import BleuPair, corpus_bleu, paired_bleu, sentence_counts


def test_an_interval_does_not_leave_the_scale():
    references = [f"the box number {n} is in the pen of the child" for n in range(8)]
    made = [*references[:7], "the pen is in the box"]
    found = corpus_bleu(made, [references], "en")
    assert found.estimate.value < found.estimate.high <= 100


REFERENCES = [f"盒子{n}号在孩子的围栏里面" for n in range(12)]
WORSE = [text.replace("围栏里面", "笔外") for text in REFERENCES]


def compared(one: list[str], other: list[str], references: list[str]) -> BleuPair:
    mine, theirs = (sentence_counts(texts, references, "zh") for texts in (one, other))
    return paired_bleu(mine, theirs, "zh")


def test_two_systems_are_compared_on_the_same_sentences():
    pair = compared(REFERENCES, WORSE, REFERENCES)
    alone = corpus_bleu(WORSE, [REFERENCES], "zh", resamples=0)
    assert (pair.a, pair.b) == pytest.approx((100, alone.estimate.value))
    assert pair.signature.replace("|ar:10000|seed:1960", "") == alone.signature
    assert "ar:10000" in pair.signature
    # Every sentence is worse: of 4,096 exchanges only those of all or of none are as far apart.
    assert pair.p < 0.005
    assert compared(WORSE, REFERENCES, REFERENCES).p == pair.p


def test_equal_systems_do_not_differ():
    assert compared(WORSE, WORSE, REFERENCES).p == 1
    one, other = [*REFERENCES[:6], *WORSE[6:]], [*WORSE[:6], *REFERENCES[6:]]
    assert compared(one, other, REFERENCES).p > 0.5  # each better in one half


def test_the_test_is_that_of_all_exchanges():
    few = REFERENCES[:5]
    one = [few[0], few[1][1:], few[2][2:], few[3], few[4][:-3]]
    other = [few[0][3:], few[1], few[2][:-1], few[3][:4], few[4][5:]]
    apart = []
    for exchange in itertools.product([False, True], repeat=5):
        pairs = [(b, a) if so else (a, b) for a, b, so in zip(one, other, exchange, strict=True)]
        scores = [
            corpus_bleu(side, [few], "zh", resamples=0).estimate.value
            for side in zip(*pairs, strict=True)
        ]
        apart.append(abs(scores[0] - scores[1]))
    exact = sum(gap >= apart[0] - 1e-9 for gap in apart) / len(apart)
    assert compared(one, other, few).p == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(
    "texts",
    [
        ["", "", ""],
        ["盒", "子", "围栏"],
        ["盒子里面在孩子", "栏围的", "里面"],
        ["盒子0号在孩子的围栏里面", "", "号2盒子"],
    ],
)
def test_scores_of_counts_are_those_of_sacrebleu(texts):
    few = REFERENCES[:3]
    pair = compared(texts, few, few)
    alone = corpus_bleu(texts, [few], "zh", resamples=0)
    assert pair.a == pytest.approx(alone.estimate.value)
    assert pair.b == pytest.approx(100)
