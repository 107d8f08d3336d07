"""LaTeX: what stands in a name is set as it stands, and a table is a table."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.report.formats.latex import escape, matrix_latex
from boxpen.report.tables import matrix
from boxpen.review.human_run import human_run
from small_runs import human_table, small_run, small_suite

NASTY = r"a_b & 50% #1 $x$ {y} ~z ^w \ [v] <u> | * -- `t' ,,"


def read_back(latex: str) -> str:
    """What LaTeX sets for an escaped text, by the rules of its manual."""
    names = {
        "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
        "textgreater": ">", "textbar": "|", "textasciigrave": "`",
    }  # fmt: skip
    token = r"\\([a-z]+)\{\}|\\(.)|\{([\[\]*])\}|\{\}|([^\\{}$&#%_~^<>|`\[\]*])"
    out, place = "", 0
    while place < len(latex):
        match = re.compile(token).match(latex, place)
        assert match, latex[place:]
        out += names[match[1]] if match[1] else match[2] or match[3] or match[4] or ""
        place = match.end()
    return out


@given(st.text(alphabet=st.sampled_from("\\{}$&#%_~^<>|`[]*-', ax1é文")))
def test_every_special_character_is_set_as_itself(text):
    escaped = escape(text)
    assert read_back(escaped) == re.sub(" +", " ", text)
    assert not re.search(r"--|''|,,", escaped)


def test_control_characters_become_a_space():
    assert escape("a\n\tb\x00c") == "a b c"


@pytest.fixture
def document(tmp_path) -> str:
    table = "item,a,b,c\n" + "".join(f"i{i},0,0,0\n" for i in range(20))
    runs = [
        small_run("+++-" * 5, model=NASTY),
        small_run("+-" * 6, suite="big_&_new"),
        human_run(small_suite(), human_table(tmp_path, table)),
    ]
    return matrix_latex(matrix(runs), [r.signature for r in runs])


def test_structure(document):
    lines = document.splitlines()
    comments = [line for line in lines if line.startswith("%")]
    assert any("suite:small@" in line for line in comments)
    body = [line for line in lines if not line.startswith("%")]
    assert body[0] == r"\begin{tabular}{lrr}"
    assert body[1] == r"\toprule"
    assert body[2] == r"model & small & big\_\&\_new \\"
    assert body[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = [line for line in body if line.endswith(r" \\")]
    assert [len(re.split(r"(?<!\\)&", row)) for row in rows] == [3] * 5
    assert body.count(r"\midrule") == 2
    assert rows[-2] == r"chance & 0.500 & 0.500 \\"
    assert rows[-1].startswith(r"human (3 judges) & 1.000 {\scriptsize [0.")
    assert rows[-1].endswith(r" & -- \\")
    assert document.count("{") == document.count("}")


def test_negative_numbers_have_a_minus_sign():
    text = matrix_latex(matrix([small_run("-" * 8)], "margin"))
    assert re.search(r"one & \$-\$1\.000 ", text)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_compiles(document, tmp_path):
    head = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(head + document + "\\end{document}\n", "utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
