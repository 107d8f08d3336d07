"""What a reader of the documentation has: models, suites, runs and files, all of them small.

What a command names is made when it is first named. A model is a tiny one of the right kind, in a
folder with the name that the page gives it; a public suite is eight items with its name, card and
recipes; a run is one of a tiny model; a file of a page is the block that begins with its name.
"""

from __future__ import annotations

import csv
import functools
import glob
import hashlib
import lzma
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

from pages import PAGES, ROOT, blocks
from small_files import FILES, GERMAN, config, suite
from typer.testing import CliRunner

import boxpen
from boxpen.catalog import entries
from boxpen.cli.app import app

sys.path += [str(ROOT / "tests" / room) for room in ("models", "exchange")]

KINDS = {
    r"\.gguf$": "gguf",
    r"^ct2:": "ct2",
    r"nli": "nli",
    r"piqa": "choice",
    r"(cadec|thumt|concat)$": "cadec",
    r"en-zh$|(discourse.*|sentence.*)$": "sentence",
    r"opus|commonmt|-transformer$": "marian",
    r"bert": "bert",
}
"""What kind of model a name means; any other name is a causal model."""

CHAT = "{% for m in messages %}{{ m.content }}\n{% endfor %}"


@functools.cache
def model(kind: str, root: Path) -> Path:
    """Return a tiny model of a kind, built once."""
    import classifiers
    import tiny

    folder = root / kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("gguf", "ct2"):
            folder.mkdir()
            if kind == "gguf":
                tiny.gguf(folder / "model.gguf", chat=CHAT)
            else:
                tiny.ct2(folder)
            return folder / ("model.gguf" if kind == "gguf" else "ct2")
        if kind in ("sentence", "cadec"):
            if kind == "cadec":
                model("sentence", root)
            path = folder.with_suffix(".toml")
            path.write_text(config(path), "utf-8")
            boxpen_run("train", "nmt", str(path))
            return folder
        if kind in ("nli", "choice"):
            for part in getattr(classifiers, kind)("bert"):
                part.save_pretrained(folder)
        else:
            _, tokenizer = tiny.build(kind, folder)
            tokenizer.chat_template = CHAT
            tokenizer.save_pretrained(folder)
    return folder


def boxpen_run(*words: str) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{words}\n{done.output}"


class Reader:
    """The folder in which the commands of a page run.

    Args:
        page: Path of the page in the repository.
        home: The folder.
        models: A folder with the models of all pages.
    """

    def __init__(self, page: str, home: Path, models: Path) -> None:
        self.page, self.home, self.models = page, home, models
        self.made: set[str] = set()
        _parent(home / "page")

    def embedded(self) -> str:
        """Put a tiny model in the place of smollm2, and return its checksum."""
        tiny = model("gguf", self.models)
        kept = self.home / ".cache" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
        shutil.copy(tiny, _parent(kept))
        return hashlib.sha256(tiny.read_bytes()).hexdigest()

    def model(self, word: str) -> str:
        """Return a model in place of the one that a page names."""
        kind, name = word.rpartition(":")[::2]
        if (self.home / name).exists() or word == "smollm2":
            return word
        if kind == "new":
            return "new:tiny"
        found = next((k for known, k in KINDS.items() if re.search(known, word.lower())), "gpt2")
        made = model(found, self.models)
        if found == "gguf":
            return str(made)
        places = [f".models/{Path(name).name}"]
        if "*" in word:
            places = [word.replace("*", "2"), word.replace("*", "10")]
        for place in places:
            if not (self.home / place).exists():
                shutil.copytree(made, self.home / place)
        return (
            word if "*" in word else f"{'ct2' if found == 'ct2' else 'hf'}:{self.home / places[0]}"
        )

    def suite(self, word: str) -> str:
        """Return a small file in place of a public suite."""
        name, _, part = word.partition(".")
        known = entries().get(name)
        if known is None or (part and part not in known.parts):
            return word
        if name == "starter" and part not in ("discourse", "mt"):
            return word
        path = self.home / f"{word}.jsonl"
        if not path.exists():
            boxpen.write_suite(suite(word), path)
        return path.name

    def files(self, word: str) -> list[str]:
        """Return the paths that a word means, made first if there are none."""
        if not (found := _found(word)):
            self.make(word)
            found = _found(word)
        return (found[:1] if "…" in word else found) or [word]

    def make(self, word: str) -> None:
        """Make a file or a folder that a command reads, if its name is that of one."""
        path = self.home / word
        if path.name in FILES:
            self.file(path)
        elif word == "conceptnet100k":
            self.file(path / "train.txt")
        elif word not in ("sentence.toml", "cadec.toml") and self.of_a_page(word):
            pass
        elif word == "answers.csv":
            ids = [item.id for item in boxpen.load_suite("starter")][:4]
            rows = [f"{item},{judge},0\n" for item in ids for judge in ("ann", "bo", "cy")]
            path.write_text("item,judge,answer\n" + "".join(rows), "utf-8")
        elif path.suffix == ".toml":
            path.write_text(config(path), "utf-8")
        elif word.startswith("docs/"):
            shutil.copy(ROOT / word, _parent(path))
        elif word in ("kg/sampled.parquet", "kg.jsonl"):
            self.make("kg.toml")
            boxpen_run("build", "run", "kg.toml")
            if path.suffix == ".jsonl":
                shutil.copy(self.home / "my-graph/my-graph.jsonl", path)
            else:
                shutil.copytree(self.home / "my-graph", self.home / "kg")
        elif word in ("cert.pem", "key.pem"):
            made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
            made += ["-keyout", "key.pem", "-out", "cert.pem"]
            subprocess.run(made, check=True, capture_output=True)
        elif word == "part.tsv":
            shutil.copy(self.home / "graph.tsv", path)
        elif path.suffix == ".jsonl":
            boxpen.write_suite(suite(path.stem), _parent(path))
        elif re.match(r"(build/)?[\w/-]*runs\b|RUN$|SAMPLED$|baseline$", word):
            self.run(word)
        else:
            return
        self.made.add(word)

    def edit(self, word: str) -> None:
        """Name small data in a configuration that was printed."""
        if word == "conjunctions.toml":
            self.make("sentences.txt")
        elif word.endswith(".toml"):
            (self.home / word).unlink()
            self.make(word)

    def file(self, path: Path) -> None:
        name = str(path.relative_to(self.home))
        _parent(path).write_text(FILES[name], "utf-8")

    def of_a_page(self, word: str) -> bool:
        """Write the block of a page that has the name of the file; of this page first."""
        pages = [ROOT / self.page, *PAGES] if word == "plan.toml" else [ROOT / self.page]
        found = [block for page in pages for block in blocks(page) if block.title == word]
        if not found:
            return False
        tables = re.split(r"(?=^\[)", found[0].text, flags=re.M)
        for number, text in enumerate(tables):
            if word.endswith(".toml") and not text.startswith("[[rule]]"):
                tables[number] = re.sub(r"(?m)^(suite|model) = .*", self._renamed, text)
        (self.home / word).write_text("".join(tables), "utf-8")
        if "my-german" in word:
            rows = "".join(f"a\t{n}\t{de}\t{en}\n" for n, (de, en) in enumerate(GERMAN))
            (self.home / "subtitles.tsv.xz").write_bytes(lzma.compress(rows.encode()))
        if re.search("^baseline =", found[0].text, re.M):
            self.files("baseline")
        return True

    def _renamed(self, line: re.Match[str]) -> str:
        """Return a line of a plan with small models and suites in it."""

        def name(found: re.Match[str]) -> str:
            if line[1] == "model":
                return f'"{self.model(found[1])}"'
            if found[1] in FILES:
                self.make(found[1])
                return f'"{found[1]}"'
            small = self.suite(found[1])
            return f'"./{small}"' if small.endswith(".jsonl") else f'"{small}"'

        return re.sub(r'"([^"]+)"', name, line[0])

    def run(self, word: str) -> None:
        """Make a run under the name that a page gives it, or two in a folder of runs."""
        if word in ("runs", "baseline") or word.endswith("/runs"):
            for name in ("commonmt-smollm2", "commonmt-opus", "starter-smollm2"):
                self.run(f"{word}/{name}")
            return
        place = self.home / re.sub(r"[*…].*", "made", word)
        base = next((s for s in sorted(entries()) if place.name.startswith(s)), "mine")
        if word in ("RUN", "SAMPLED"):
            base = "commonmt"
        kind = {"commonmt": "hf:opus", "discourse": "hf:discourse"}.get(base, "hf:gpt2")
        spec = self.model(kind if place.name in ("A", "RUN") else f"{kind}-{place.name}")
        if "smollm2" in place.name:
            spec = "smollm2"
        made = boxpen.evaluate(spec, suite(base), cache=":memory:")
        made.save(self.home / ".made").rename(_parent(place))

    def harness_log(self, word: str) -> str:
        """Return the log of a real run of lm-eval, and make a run of boxpen on the same suite."""
        from lm_eval_runs import own_logs, own_run, results_in

        folder = model("gpt2", self.models)
        logs = own_logs(folder)
        place = (self.home / word).parent
        if not place.exists():
            shutil.copytree(logs, place)
            run = own_run(folder).save(self.home / ".made")
            run.rename(_parent(self.home / "runs" / "starter-smollm2"))
        return str(place / results_in(logs).name)

    def sheet(self, word: str) -> None:
        """Fill in a sheet as a judge would; of another judge if this one's was not exported."""
        path = self.home / word
        if not path.exists():
            shutil.copy(max(self.home.glob("*.csv"), key=lambda file: file.stat().st_mtime), path)
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        for number, row in enumerate(rows):
            row["judge"] = path.stem.split("-")[-1]
            row["verdict"] = row.get("verdict") or _verdict(row, number)
        with path.open("w", encoding="utf-8-sig", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def judged(self, targets: list[str], options: list[str], database: str) -> None:
        """Serve targets, and let three judges judge four items."""
        judges = ("ann", "bo", "cy")
        if not (self.home / database).exists():
            served = ["--judges", *judges, "--database", database]
            boxpen_run("review", "serve", *targets, *options, *served)
        rest = [*options, "--journal", database]
        for judge in judges:
            who = ["--judge", judge, "--out", f".{judge}.csv", "--sample", "4", "--overwrite"]
            boxpen_run("review", "export", *targets, *who, *rest)
            self.sheet(f".{judge}.csv")
            boxpen_run("review", "import", *targets, f".{judge}.csv", *rest)


def _verdict(row: dict[str, str], number: int) -> str:
    """Return a verdict that the task of a sheet allows."""
    if "1" in row:
        return next(
            (n for n in "12" if re.fullmatch(r"The box \d is in the pen.", row[n] or "")), "1"
        )
    if "translation" in row:
        return "right"
    if "values" in row:
        values = row["values"].split(", ")
        return values[number % len(values)]
    return "accept"


def _found(word: str) -> list[str]:
    return sorted(glob.glob(word.replace("…", "*")))  # noqa: PTH207


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
