"""What a report calls a sample of a suite."""

import pytest

from boxpen.report.sample import sample_note


@pytest.mark.parametrize(
    ("about", "note"),
    [
        ({"name": "commonmt"}, ""),
        ({"sample": None}, ""),
        ({"sample": "100/4830@0"}, "sample of 100 of 4,830, seed 0"),
        ({"sample": "1500/4830@17"}, "sample of 1,500 of 4,830, seed 17"),
        ({"sample": "every tenth"}, "sample every tenth"),
    ],
)
def test_a_sample_in_words(about, note):
    assert sample_note(about) == note
