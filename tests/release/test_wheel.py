"""The wheel and the sdist: what is in them, and that the wheel works without the repository."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import site
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from boxpen.version import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "boxpen"
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def source_files() -> set[str]:
    """Every file under src that git would keep."""
    return {
        f"boxpen/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_of_the_source_and_no_other(built):
    (wheel,) = built.glob(f"boxpen-{__version__}-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = {name for name in names if name.startswith(f"boxpen-{__version__}.dist-info/")}
    assert names - about == source_files()
    assert {name.rpartition("/")[2] for name in about} == {
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"
    }  # fmt: skip


def test_the_sdist_has_what_a_build_needs_and_nothing_else(built):
    (sdist,) = built.glob("boxpen-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    own = {name for name in names if not name.startswith("src/")}
    assert {name.removeprefix("src/") for name in names - own} == source_files()
    assert own == {
        ".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "PKG-INFO",
        "README.md", "SECURITY.md", "constraints.txt", "pyproject.toml",
    }  # fmt: skip


def environment(folder: Path, *, libraries: bool = True) -> Path:
    """Make an environment that has the libraries of this one, but not its boxpen."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    if libraries:
        found = [sysconfig.get_path("purelib"), *site.getsitepackages()]
        inside = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        # A path that is added so brings no editable install: its .pth files are not read.
        (inside / "site-packages" / "libraries.pth").write_text("\n".join(dict.fromkeys(found)))
    return python


def run(python: Path, *words: object, cwd: Path) -> str:
    """Run a command of the environment in a folder, with nothing of the repository in reach."""
    outside = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "BOXPEN_MIRROR")}
    done = subprocess.run(
        [str(python), *map(str, words)], cwd=cwd, env=outside, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    python = environment(folder / "venv")
    (wheel,) = built.glob("*.whl")
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--ignore-installed", wheel, cwd=folder)
    return python


@pytest.mark.heavy
class TestInstalled:
    """In an environment of its own, from an empty folder."""

    @pytest.fixture
    def empty(self, tmp_path) -> Path:
        return tmp_path

    def test_it_is_this_version_and_not_the_repository(self, installed, empty):
        code = "import boxpen; print(boxpen.__file__, boxpen.__version__)"
        place, version = run(installed, "-c", code, cwd=empty).split()
        assert Path(place).is_relative_to(installed.parents[1])
        assert version == __version__

    @pytest.mark.parametrize(
        "words",
        [
            "suite lint starter",
            "suite stats starter",
            "suite export starter --out starter.csv",
            "build example kg",
            "build example duals",
            "build example discourse",
            "build example conjunctions",
            "build example nmt",
            "model list",
            "check --help",
        ],
    )
    def test_commands(self, installed, empty, words):
        run(installed, "-m", "boxpen", *words.split(), cwd=empty)

    def test_run_and_report(self, installed, empty):
        from boxpen.errors import ModelError
        from boxpen.models.loading.embedded import smollm2_path

        try:
            smollm2_path(download=False)
        except ModelError as error:
            pytest.skip(str(error))
        run(
            installed,
            "-m",
            "boxpen",
            *["run", "starter", "--limit", "12", "--cache", ":memory:"],
            cwd=empty,
        )
        run(installed, "-m", "boxpen", *["report", "runs", "--html", "report.html"], cwd=empty)
        assert "smollm2" in (empty / "report.html").read_text("utf-8")

    def test_a_build(self, installed, empty):
        (empty / "triples.tsv").write_text("box\tisa\tcontainer\npen\tisa\tenclosure\n")
        (empty / "graph.toml").write_text(
            "builder = 'kg'\nname = 'g'\nfolder = 'out'\n[[graphs]]\nname = 't'\n"
            "files = ['triples.tsv']\ncolumns = {head = 1, relation = 2, tail = 3}\n"
            "language = 'en'\n[rank]\nmodel = 'none'\n[negatives]\nwordnet = false\n"
        )
        for stage in ("read", "filter"):
            run(
                installed, "-m", "boxpen", "build", "run", "graph.toml", "--stage", stage, cwd=empty
            )

    def test_the_web_app(self, installed, empty):
        command = [str(installed), "-m", "boxpen", "review", "serve", "--demo", "--port", "0"]
        with subprocess.Popen(
            command, cwd=empty, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as server:
            try:
                with _deadline(server, 120):
                    assert server.stdout is not None
                    link = re.search(r"http://\S+?/(?=enter)", server.stdout.readline())
                    while link is None:
                        link = re.search(r"http://\S+?/(?=enter)", server.stdout.readline())
                    for name in ("enter", "static/app.css", "static/judge.js", "healthz"):
                        with urllib.request.urlopen(link[0] + name, timeout=20) as answer:
                            assert answer.status == 200
            finally:
                server.terminate()


@contextlib.contextmanager
def _deadline(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    import threading

    timer = threading.Timer(seconds, process.kill)
    timer.start()
    began = time.monotonic()
    try:
        yield
    finally:
        timer.cancel()
    assert time.monotonic() - began < seconds


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, lines that go on joined."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def test_the_dockerfile_copies_what_exists_and_does_not_run_as_root():
    found = instructions()
    (base,) = (rest for name, rest in found if name == "FROM")
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", base)
    copied = [word for name, rest in found if name == "COPY" for word in rest.split()[:-1]]
    kept = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert copied
    for word in copied:
        assert (ROOT / word).exists(), word
        assert f"!{word}" in kept, word
    names = [name for name, _ in found]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert dict(found)["USER"] != "root"
    assert dict(found)["ENTRYPOINT"] == '["boxpen"]'


def test_any_user_of_the_image_can_write_to_its_cache():
    """Who keeps runs in a folder of their own needs ``--user``, and then is nobody in it."""
    found = instructions()
    (env,) = (rest for name, rest in found if name == "ENV")
    assert {"BOXPEN_CACHE=/cache", "HOME=/cache"} <= set(env.split())
    assert any("chmod 1777 /cache" in rest for name, rest in found if name == "RUN")


def test_hadolint_has_no_complaint():
    beside = Path(sys.executable).with_name("hadolint")
    hadolint = str(beside) if beside.exists() else shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.heavy
def test_the_steps_of_the_dockerfile(tmp_path):
    """Copies what it copies, and runs what it installs, in a plain environment."""
    python = environment(tmp_path / "venv")
    folder = tmp_path / "src"
    folder.mkdir()
    done = []
    for name, rest in instructions():
        if name == "COPY":
            *sources, target = rest.split()
            for source in sources:
                place = folder / target if target != "./" else folder / source
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, place)
        elif name == "RUN" and rest.startswith("python -m pip"):
            words = shlex.split(rest)[1:]
            # The constraints are met by the libraries of this environment: nothing is fetched but
            # what builds the wheel.
            run(python, *words, "--quiet", cwd=folder)
            done.append(rest)
    assert done
    assert run(python, "-m", "boxpen", "--version", cwd=tmp_path).split()[-1] == __version__
