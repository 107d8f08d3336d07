"""BLEU: an interval that stays on the scale."""

from boxpen.metrics.bleu import corpus_bleu


def test_an_interval_does_not_leave_the_scale():
    references = [f"the box number {n} is in the pen of the child" for n in range(8)]
    made = [*references[:7], "the pen is in the box"]
    found = corpus_bleu(made, [references], "en")
    assert found.estimate.value < found.estimate.high <= 100
