"""Bars of the words that only right, or only wrong, candidates have: Figure 2 of Sen-Making."""

from __future__ import annotations

from html import escape

from boxpen.analysis.suites.differences import Differences
from boxpen.errors import SuiteError
from boxpen.report.html.axes import COLOURS

__all__ = ["ARTICLES", "frequent_words", "words_svg"]

ARTICLES = frozenset({"a", "an", "the"})
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 560, 110, 40, 34, 18, 7


def frequent_words(found: Differences, over: int) -> dict[str, tuple[int, int]]:
    """Return the words that are different words more than ``over`` times, without articles.

    Returns:
        How often each is in right candidates only and in wrong ones only, commonest first.
    """
    right, wrong = found.right.different, found.wrong.different
    counts = {word: (right.get(word, 0), wrong.get(word, 0)) for word in {*right, *wrong}}
    kept = [word for word, both in counts.items() if sum(both) > over and word not in ARTICLES]
    return {word: counts[word] for word in sorted(kept, key=lambda w: (-sum(counts[w]), w))}


def words_svg(found: Differences, over: int, title: str) -> str:
    """Return a chart with two bars per word, readable on white and on black.

    Raises:
        SuiteError: If no word is frequent enough.
    """
    words = frequent_words(found, over)
    if not words:
        raise SuiteError(f"no different word occurs more than {over} times; give a lower --over")
    height = _TOP + _ROW * len(words) + 10
    scale = (_WIDTH - _LEFT - _RIGHT) / max(max(both) for both in words.values())
    light, dark = (
        "".join(f".s{n}{{fill:{COLOURS[n][shade]}}}" for n in range(2)) for shade in range(2)
    )
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        "<style>text{font:12px system-ui,sans-serif;fill:#333}.end{text-anchor:end}"
        f"{light}@media(prefers-color-scheme:dark){{text{{fill:#ddd}}{dark}}}</style>",
    ]
    for n, side in enumerate(("in right sentences only", "in wrong sentences only")):
        x = _LEFT + 200 * n
        out.append(f'<rect class="s{n}" x="{x}" y="9" width="10" height="10"/>')
        out.append(f'<text x="{x + 16}" y="18">{side}</text>')
    for row, (word, both) in enumerate(words.items()):
        y = _TOP + _ROW * row
        out.append(f'<text class="end" x="{_LEFT - 8}" y="{y + 11}">{escape(word)}</text>')
        for n, count in enumerate(both):
            bar = f'x="{_LEFT}" y="{y + n * (_BAR + 1)}" width="{count * scale:.1f}"'
            tip = f"<title>{escape(word)}: {count}</title>"
            out.append(f'<rect class="s{n} bar" {bar} height="{_BAR}">{tip}</rect>')
        end = _LEFT + max(both) * scale + 6
        out.append(f'<text x="{end:.1f}" y="{y + 11}">{both[0]}/{both[1]}</text>')
    return "\n".join([*out, "</svg>", ""])
