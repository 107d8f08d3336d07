"""Make a weaker translation system: a CTranslate2 model that samples its words.

    sampled.py MODEL_FOLDER RUNS        translate CommonMT and write the run

Every word is drawn from the likeliest 20, so that translations are freer, and worse, than those of
beam search.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import ctranslate2

import boxpen
from boxpen.models.ct2 import CTranslate2Model

TOP = 20
SEED = 22


class SampledModel(CTranslate2Model):
    """A model that draws every word by lot."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder.name}, sampled", folder)
        self.fingerprint = f"{self.fingerprint}-top{TOP}-seed{SEED}"

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],  # noqa: ARG002
        *,
        beam: int,  # noqa: ARG002
        contexts: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate, yielding one translation at a time."""
        for i, source in enumerate(sources):
            ctranslate2.set_random_seed(SEED + i)  # a new generator, so one source per call
            pieces = self._source_pieces(self._source.encode(source, out_type=str))
            [made] = self._translator.translate_batch([pieces], beam_size=1, sampling_topk=TOP)
            yield [(i, self._joined(made.hypotheses[0]).replace("▁", " ").strip())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("runs", type=Path)
    given = parser.parse_args()
    run = boxpen.evaluate(SampledModel(given.model), "commonmt", cache=":memory:")
    print(run.save(given.runs))


if __name__ == "__main__":
    main()
