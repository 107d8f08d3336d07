"""Make the tables of docs/results: ``make results``.

Each table is on a page between two comments, ``<!-- begin NAME -->`` and ``<!-- end NAME -->``, and
is replaced there; the text around it is written by hand. Scores come from the cache, so a second
call takes seconds.

Needs the public suites (``BOXPEN_MIRROR``, or a network) and, for the models that are not public,
their folders: ``--models DIR`` with ``bert-mini`` and ``opus-mt-zh-en`` in it.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import boxpen
from boxpen.cli.evaluate.run import QUICK
from boxpen.report.failures import failure_tables
from boxpen.report.formats.failures import failures_markdown
from boxpen.report.formats.markdown import cell
from boxpen.report.terminal import notes, run_table

DOCS = Path(__file__).parents[1] / "docs" / "results"
METRICS = ("accuracy", "consistency", "both_right")
README_SUITES = ("starter", "commonmt", "cats", "cats-dual", "senmaking")
LM_SUITES = ("commonmt", "cats", "cats-dual", "senmaking", "comve", "starter")
LANGUAGE_MODELS = {
    "smollm2, 135 M": ("lm.md", "smollm2"),
    "bert-mini, 28 M": ("lm.md", "bert-mini, within-word"),
}
SYSTEMS = {**LANGUAGE_MODELS, "OPUS-MT zh-en": ("mt.md", "OPUS-MT, sound")}
SETS = {
    "commonmt": ("LA", "CL-SA", "CT-SA"),
    "cats": ("ca", "wsc", "sm", "smr", "swag", "hellaswag", "arct1", "arct2"),
    "cats-dual": ("add", "del", "sub", "swap"),
    "senmaking": ("sen-making", "explanation"),
    "comve": ("A", "B"),
}
Published = Mapping[tuple[str, str], Sequence[str]]
PUBLISHED: Published = {
    ("RNNSearch (paper)", "accuracy"): ("0.543", "0.569", "0.551", "0.555"),
    ("RNNSearch (paper)", "consistency"): ("0.24", "0.31", "0.27", "0.27"),
    ("RNNSearch (paper)", "bleu"): ("–", "–", "27.98", "25.86"),
    ("Transformer (paper)", "accuracy"): ("0.565", "0.656", "0.571", "0.601"),
    ("Transformer (paper)", "consistency"): ("0.26", "0.39", "0.27", "0.31"),
    ("Transformer (paper)", "bleu"): ("–", "–", "31.30", "30.75"),
}
"""Tables 4, 5 and 6 of CommonMT; the BLEU of two sets is illegible in our copy."""
PUBLISHED_LM: dict[str, Published] = {
    "commonmt": {
        ("GPT (paper)", "accuracy"): ("0.775", "0.650", "0.597", "0.678"),
        ("GPT-2 base (paper)", "accuracy"): ("0.803", "0.642", "0.606", "0.688"),
        ("GPT-2 medium (paper)", "accuracy"): ("0.798", "0.648", "0.611", "0.690"),
        ("BERT-base (paper)", "accuracy"): ("0.788", "0.642", "0.611", "0.684"),
        ("BERT-large (paper)", "accuracy"): ("0.818", "0.682", "0.623", "0.712"),
    },
    "senmaking": {
        ("ELMo (paper)", "accuracy"): ("0.694", "0.334", "–"),
        ("BERT (paper)", "accuracy"): ("0.701", "0.456", "–"),
        ("fine-tuned ELMo (paper)", "accuracy"): ("0.741", "0.346", "–"),
        ("people (paper)", "accuracy"): ("0.991", "0.978", "–"),
    },
}
"""Table 3 of CommonMT and Table 1 of Sen-Making."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).parents[1]
    parser.add_argument("--models", type=Path, default=here.parent / "shared" / "models")
    parser.add_argument("--only", nargs="*", default=["lm", "mt", "starter"])
    options = parser.parse_args()
    if "lm" in options.only:
        language_models(options.models)
    if "mt" in options.only:
        translation_models(options.models)
    if "starter" in options.only:
        starter(options.models)
    write("lm.md", "summary", summary(LM_SUITES, LANGUAGE_MODELS))
    write("../../README.md", "results", readme_results())


def language_models(models: Path) -> None:
    bert = f"hf:{models / 'bert-mini'}"
    systems = {
        "smollm2": partial(boxpen.evaluate, "smollm2"),
        "bert-mini, within-word": partial(boxpen.evaluate, bert),
        "bert-mini, original": partial(boxpen.evaluate, bert, pll="original"),
    }
    papers = {
        "smollm2": partial(boxpen.evaluate, "smollm2", recipe="paper"),
        "bert-mini": partial(boxpen.evaluate, bert, recipe="paper"),
    }
    for suite, sets in SETS.items():
        found = table(suite, sets, systems)
        write("lm.md", suite, beside_paper(found, PUBLISHED_LM.get(suite, {})))
        if "paper" in boxpen.recipes_of(suite):
            write("lm.md", f"{suite}-paper", table(suite, sets, papers))


def starter(models: Path) -> None:
    opus = f"ct2:{models / 'opus-mt-zh-en'}"
    systems = {"smollm2": partial(boxpen.evaluate, "smollm2")}
    parts = ("mt", "sense", "dual")
    bert = {"bert-mini, within-word": partial(boxpen.evaluate, f"hf:{models / 'bert-mini'}")}
    write("lm.md", "starter", table("starter", parts, systems | bert, tag="part"))
    picture(quick_run())
    one = systems
    both = {**one, "OPUS-MT zh-en": partial(boxpen.evaluate, opus)}
    shown = {
        "starter.mt": (SETS["commonmt"], "set", both),
        "starter.sense": (SETS["senmaking"], "set", one),
        "starter.dual": (SETS["cats-dual"], "set", one),
    }
    for name, (values, tag, asked) in shown.items():
        write("starter.md", name, table(name, values, asked, tag=tag))
    write("starter.md", "comparison", comparison(both))
    run = systems["smollm2"]("starter-graph")
    tables = failures_markdown(failure_tables([run]))
    write("starter.md", "starter-graph", f"{tables}\n\n- smollm2: `{run.signature}`")


def quick_run(cache: str | None = None) -> boxpen.Run:
    """Return the run that ``boxpen run`` makes when nothing is asked for."""
    return boxpen.evaluate("smollm2", "starter", limit=QUICK, cache=cache)


def picture(run: boxpen.Run, path: Path = DOCS.parent / "images" / "demo.svg") -> None:
    """Draw what ``boxpen run`` shows, for the README."""
    from rich.console import Console

    screen = Console(record=True, width=80, file=io.StringIO())
    screen.print(run_table(run))
    for line in notes(run):
        screen.print(f"• {line}", highlight=False)
    drawn = screen.export_svg(title="boxpen run", unique_id="demo")
    # Without the fonts that it would fetch from another host.
    path.write_text(re.sub(r"\n    @font-face \{.*?\n    \}", "", drawn, flags=re.S), "utf-8")


def readme_results() -> str:
    """Return the table of README.md, taken from the pages of results."""
    return summary(README_SUITES, SYSTEMS)


def summary(suites: Sequence[str], systems: Mapping[str, tuple[str, str]]) -> str:
    """Return accuracy by suite, taken from the pages of results.

    Args:
        suites: One row each.
        systems: One column each: the page and the name of the system there.
    """
    lines = [f"| suite | items judged | {' | '.join(systems)} | chance |"]
    lines.append("|---" * (len(systems) + 3) + "|")
    for suite in suites:
        cells = [accuracy_on_page(page, suite, system) for page, system in systems.values()]
        items = max(n for _, n in cells)
        shown = " | ".join(value for value, _ in cells)
        lines.append(f"| `{suite}` | {items:,} | {shown} | {chance_of(suite):.3f} |")
    return "\n".join(lines)


def chance_of(name: str) -> float:
    """Return the accuracy of guessing on the English items of a suite."""
    suite = boxpen.load_suite(name)
    sizes = [
        len(item.candidates)
        for item in suite
        if isinstance(item, boxpen.Choice) and suite.languages_of(item)[0] == "en"
    ]
    return sum(1 / size for size in sizes) / len(sizes)


def accuracy_on_page(page: str, suite: str, system: str) -> tuple[str, int]:
    """Return the accuracy over all items that a page shows for a system, and of how many."""
    table = shown(page, suite) if pages_with(page, suite) else ""
    for line in table.splitlines():
        if line.startswith(f"| {system} | accuracy |"):
            (count,) = set(re.findall(rf"- {re.escape(system)}, n = (\d+):", table))
            return line.split("|")[-3].strip(), int(count)
    return "–", 0


def comparison(systems: dict[str, Callable[..., boxpen.Run]]) -> str:
    """Return accuracy on the parts of starter beside the public sets of the same kind."""
    lines = ["| system | set | starter | public suite | |", "|---|---|---|---|---|"]
    matches = {"mt": "commonmt", "sense": "senmaking", "dual": "cats-dual"}
    for name, evaluate in systems.items():
        for part, public in matches.items():
            if part != "mt" and name != "smollm2":
                continue
            found = [evaluate(suite).summary() for suite in (f"starter.{part}", public)]
            rows = [{r.slice: r for r in summary if r.metric == "accuracy"} for summary in found]
            for value in (*SETS[public], None):
                place = "all" if value is None else f"set={value}"
                ours, theirs = rows[0][place], rows[1][place]
                lines.append(
                    f"| {name} | {value or 'all'} | {cell(ours)} | {cell(theirs)} | {public} |"
                )
    return "\n".join(lines)


def translation_models(models: Path) -> None:
    spec = f"ct2:{models / 'opus-mt-zh-en'}"
    systems = {
        "OPUS-MT, sound": partial(boxpen.evaluate, spec),
        "OPUS-MT, paper": partial(boxpen.evaluate, spec, recipe="paper"),
    }
    sets = SETS["commonmt"]
    found = table("commonmt", sets, systems, metrics=(*METRICS, "bleu"))
    write("mt", "commonmt", beside_paper(found))


def beside_paper(lines: str, published: Published = PUBLISHED) -> str:
    """Return a table with the rows of the paper after ours."""
    rows = [
        f"| {system} | {metric} | {' | '.join(cells)} | – |"
        for (system, metric), cells in published.items()
    ]
    out = lines.splitlines()
    place = max(n for n, line in enumerate(out, 1) if re.match(r"\| (?!all \| blocks)", line))
    return "\n".join([*out[:place], *rows, *out[place:]])


def table(
    suite: str,
    sets: Sequence[str],
    systems: dict[str, Callable[..., boxpen.Run]],
    *,
    tag: str = "set",
    metrics: Sequence[str] = METRICS,
) -> str:
    """Return one table: a line per system and metric, a column per set, signatures below.

    Of how many blocks consistency and both_right are shares is in a line of its own.
    """
    slices = [f"{tag}={value}" for value in sets]
    lines = ["| system | metric | " + " | ".join([*sets, "all"]) + " | ties |"]
    lines.append("|---" * (len(sets) + 4) + "|")
    signatures = []
    blocks: list[set[int]] = [set() for _ in (*slices, "all")]
    for name, evaluate in systems.items():
        print(f"{suite}: {name}", file=sys.stderr)
        run = evaluate(suite)
        rows = {(r.slice, r.metric): r for r in run.summary()}
        for metric in metrics:
            if ("all", metric) not in rows:
                continue
            found = [rows.get((s, metric)) for s in (*slices, "all")]
            cells = [cell(row) if row else "–" for row in found]
            lines.append(
                f"| {name} | {metric} | {' | '.join(cells)} | {rows['all', metric].ties} |"
            )
        for sizes, place in zip(blocks, (*slices, "all"), strict=True):
            sizes.update(rows[at].n for at in [(place, "consistency")] if at in rows)
        made = dict.fromkeys(r.signature for r in run.summary() if r.slice == "all")
        signatures += [f"- {name}, n = {rows['all', 'accuracy'].n}: `{line}`" for line in made]
    if blocks[-1]:
        counts = ("–".join(map(str, dict.fromkeys((min(n), max(n))))) if n else "–" for n in blocks)
        lines.append(f"| all | blocks | {' | '.join(counts)} | |")
    return "\n".join([*lines, "", *signatures])


def write(topic: str, key: str, lines: str) -> None:
    """Put a table between its two comments, on the page of a topic that has them."""
    path = page_of(topic, key)
    before, begin, rest = path.read_text("utf-8").partition(f"<!-- begin {key} -->")
    _, end, after = rest.partition(f"<!-- end {key} -->")
    path.write_text(f"{before}{begin}\n{lines}\n{end}{after}", "utf-8")


def shown(topic: str, key: str) -> str:
    """Return the table that a page shows."""
    rest = page_of(topic, key).read_text("utf-8").partition(f"<!-- begin {key} -->\n")[2]
    return rest.partition(f"<!-- end {key} -->")[0].removesuffix("\n")


def page_of(topic: str, key: str) -> Path:
    """Return the page of a topic that has a table.

    The pages of ``kg`` (or ``kg.md``) are ``kg.md`` and all pages in the folder ``kg``.
    """
    found = pages_with(topic, key)
    if len(found) == 1:
        return found[0]
    places = ", ".join(str(page.relative_to(DOCS.parents[1])) for page in found)
    raise SystemExit(f"table '{key}' of {topic}: expected on one page, found on {places or 'none'}")


def pages_with(topic: str, key: str) -> list[Path]:
    stem = (DOCS / topic).resolve().with_suffix("")
    pages = [
        page for page in (stem.with_suffix(".md"), *sorted(stem.glob("*.md"))) if page.exists()
    ]
    comments = f"<!-- begin {key} -->", f"<!-- end {key} -->"
    return [page for page in pages if all(c in page.read_text("utf-8") for c in comments)]


def said(*command: str) -> str:
    """Return what a command of boxpen prints."""
    return subprocess.run(
        [sys.executable, "-m", "boxpen", *command], check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
