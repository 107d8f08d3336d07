"""Does a Marian checkpoint score alike through Transformers and through CTranslate2?

python scripts/marian.py FOLDER [--work DIR]

FOLDER is a Marian checkpoint of Transformers, English to French (OPUS-MT en-fr). It is converted by
CTranslate2's own converter, in float32 and in int8, and all three score and translate the same 40
items: 20 English words with two readings, in two sentences each, which decide the reading. The
table goes into docs/results/mt.md.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from results import write

import boxpen
from boxpen import Card, Choice, Suite
from boxpen.models.resolve import resolve_model
from boxpen.models.seq2seq import Seq2SeqModel

# An English sentence, its translation, and the same with the other reading of the word; twice.
BLOCKS = {
    "bat": (
        ("The bat flew out of the cave.", "La chauve-souris s'est envolée de la grotte.",
         "La batte s'est envolée de la grotte."),
        ("He hit the ball with a bat.", "Il a frappé la balle avec une batte.",
         "Il a frappé la balle avec une chauve-souris."),
    ),
    "bank": (
        ("I opened an account at the bank.", "J'ai ouvert un compte à la banque.",
         "J'ai ouvert un compte à la rive."),
        ("They camped on the bank of the river.", "Ils ont campé sur la rive du fleuve.",
         "Ils ont campé sur la banque du fleuve."),
    ),
    "pen": (
        ("She signed the letter with a pen.", "Elle a signé la lettre avec un stylo.",
         "Elle a signé la lettre avec un enclos."),
        ("The pigs sleep in their pen.", "Les cochons dorment dans leur enclos.",
         "Les cochons dorment dans leur stylo."),
    ),
    "seal": (
        ("The seal ate three fish.", "Le phoque a mangé trois poissons.",
         "Le sceau a mangé trois poissons."),
        ("The king put his seal on the letter.", "Le roi a mis son sceau sur la lettre.",
         "Le roi a mis son phoque sur la lettre."),
    ),
    "spring": (
        ("The flowers bloom in spring.", "Les fleurs éclosent au printemps.",
         "Les fleurs éclosent au ressort."),
        ("The spring of the clock is broken.", "Le ressort de l'horloge est cassé.",
         "Le printemps de l'horloge est cassé."),
    ),
    "jam": (
        ("I spread jam on my bread.", "J'étale de la confiture sur mon pain.",
         "J'étale des embouteillages sur mon pain."),
        ("The bus is stuck in a jam.", "Le bus est coincé dans un embouteillage.",
         "Le bus est coincé dans une confiture."),
    ),
    "nail": (
        ("He drove a nail into the wall.", "Il a planté un clou dans le mur.",
         "Il a planté un ongle dans le mur."),
        ("She painted every nail of her left hand.",
         "Elle a verni chaque ongle de sa main gauche.",
         "Elle a verni chaque clou de sa main gauche."),
    ),
    "fan": (
        ("It is hot, so switch on the fan.", "Il fait chaud, alors allume le ventilateur.",
         "Il fait chaud, alors allume le supporter."),
        ("The fan cheered when his team won.", "Le supporter a applaudi quand son équipe a gagné.",
         "Le ventilateur a applaudi quand son équipe a gagné."),
    ),
    "match": (
        ("He lit the candle with a match.", "Il a allumé la bougie avec une allumette.",
         "Il a allumé la bougie avec un match."),
        ("Our team won the match.", "Notre équipe a gagné le match.",
         "Notre équipe a gagné l'allumette."),
    ),
    "trunk": (
        ("The elephant raised its trunk.", "L'éléphant a levé sa trompe.",
         "L'éléphant a levé sa malle."),
        ("She packed her clothes in a trunk.", "Elle a rangé ses vêtements dans une malle.",
         "Elle a rangé ses vêtements dans une trompe."),
    ),
    "sentence": (
        ("This sentence has no verb.", "Cette phrase n'a pas de verbe.",
         "Cette peine n'a pas de verbe."),
        ("The judge imposed a sentence of ten years in prison.",
         "Le juge a prononcé une peine de dix ans de prison.",
         "Le juge a prononcé une phrase de dix ans de prison."),
    ),
    "ring": (
        ("He gave her a ring with a diamond.", "Il lui a donné une bague avec un diamant.",
         "Il lui a donné un ring avec un diamant."),
        ("The boxer stepped into the ring.", "Le boxeur est monté sur le ring.",
         "Le boxeur est monté sur la bague."),
    ),
    "plant": (
        ("Water the plant every morning.", "Arrose la plante chaque matin.",
         "Arrose l'usine chaque matin."),
        ("Four hundred people work at the car plant.",
         "Quatre cents personnes travaillent à l'usine automobile.",
         "Quatre cents personnes travaillent à la plante automobile."),
    ),
    "bark": (
        ("The bark of the tree is rough.", "L'écorce de l'arbre est rugueuse.",
         "L'aboiement de l'arbre est rugueux."),
        ("The bark of the dog woke me up.", "L'aboiement du chien m'a réveillé.",
         "L'écorce du chien m'a réveillé."),
    ),
    "nut": (
        ("The squirrel buried a nut.", "L'écureuil a enterré une noix.",
         "L'écureuil a enterré un écrou."),
        ("Tighten the nut with a wrench.", "Serrez l'écrou avec une clé.",
         "Serrez la noix avec une clé."),
    ),
    "light": (
        ("The suitcase is light, so I can carry it.",
         "La valise est légère, donc je peux la porter.",
         "La valise est claire, donc je peux la porter."),
        ("She painted the room light blue.", "Elle a peint la chambre en bleu clair.",
         "Elle a peint la chambre en bleu léger."),
    ),
    "hard": (
        ("The bread is so hard that it hurts my teeth.",
         "Le pain est si dur qu'il me fait mal aux dents.",
         "Le pain est si difficile qu'il me fait mal aux dents."),
        ("The exam was so hard that nobody passed.",
         "L'examen était si difficile que personne n'a réussi.",
         "L'examen était si mou que personne n'a réussi."),
    ),
    "tie": (
        ("He wore a blue tie.", "Il portait une cravate bleue.",
         "Il portait un match nul bleu."),
        ("The game ended in a tie.", "La partie s'est terminée par un match nul.",
         "La partie s'est terminée par une cravate."),
    ),
    "chest": (
        ("The pirates buried a chest full of gold.",
         "Les pirates ont enterré un coffre plein d'or.",
         "Les pirates ont enterré une poitrine pleine d'or."),
        ("The doctor listened to my chest.", "Le médecin a ausculté ma poitrine.",
         "Le médecin a ausculté mon coffre."),
    ),
    "date": (
        ("We ate figs and dates.", "Nous avons mangé des figues et des dattes.",
         "Nous avons mangé des figues et des dates."),
        ("Write the date at the top of the page.", "Écrivez la date en haut de la page.",
         "Écrivez la datte en haut de la page."),
    ),
}  # fmt: skip
LANGUAGES = ("en", "fr")
PADDED = "Transformers, padding not forbidden"


def suite() -> Suite:
    """Return the items; the right translation comes first in every second one."""
    items = [
        Choice(
            id=f"{word}-{n}", source=source, block=word, gold=n,
            candidates=(right, wrong) if n == 0 else (wrong, right),
        )
        for word, halves in BLOCKS.items()
        for n, (source, right, wrong) in enumerate(halves)
    ]  # fmt: skip
    return Suite("en-fr-words", tuple(items), Card(language="fr", source_language="en"))


def converted(folder: Path, work: Path) -> dict[str, str]:
    """Return the three models by what they are called here."""
    from ctranslate2.converters import TransformersConverter

    found = {"Transformers, float32": f"hf:{folder}"}
    for name, quantization in (("float32", None), ("int8", "int8")):
        out = work / f"ct2-{name}"
        if not out.is_dir():
            TransformersConverter(str(folder)).convert(str(out), quantization=quantization)
            for side in ("source.spm", "target.spm"):
                shutil.copy(folder / side, out / side)
        found[f"CTranslate2, {name}"] = f"ct2:{out}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/marian"))
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    items = suite()
    sources = [item.source or "" for item in items if isinstance(item, Choice)]
    rows = []
    first: tuple[boxpen.Run, list[str]] | None = None
    specs = converted(asked.folder, asked.work)
    for name, spec in {**specs, PADDED: next(iter(specs.values()))}.items():
        model = resolve_model(spec)
        if name == PADDED:
            assert isinstance(model, Seq2SeqModel)
            model.forbidden = ()
        run = boxpen.evaluate(model, items, cache=":memory:")
        made = dict(p for batch in model.translate(sources, LANGUAGES, beam=5) for p in batch)
        texts = [made[n] for n in range(len(sources))]
        first = first or (run, texts)
        rows.append(row(name, run, texts, *first))
    head = (
        "| engine | accuracy | both right | largest difference per token | per sentence | "
        "same verdicts | same translations |\n|---|---|---|--:|--:|--:|--:|"
    )
    table = "\n".join([head, *rows])
    print(table)
    write("mt.md", "marian", table)


def row(
    name: str, run: boxpen.Run, texts: list[str], first: boxpen.Run, first_texts: list[str]
) -> str:
    """Return the line of one way to run the model, compared with the first."""
    pairs = [
        (one.record, other.record)
        for item, scored in run.candidates.items()
        for one, other in zip(scored, first.candidates[item], strict=True)
    ]
    token = max(float(np.abs(a.logprobs - b.logprobs).max()) for a, b in pairs)
    sentence = max(abs(a.total - b.total) for a, b in pairs)
    winners = [v.winner == w.winner for v, w in zip(run.verdicts, first.verdicts, strict=True)]
    same = [a == b for a, b in zip(texts, first_texts, strict=True)]
    found = {row.metric: row for row in run.summary() if row.slice == "all"}
    accuracy, both = found["accuracy"], found["both_right"]
    apart = [f"{value:.1e}" for value in (token, sentence)] if run is not first else ["–", "–"]
    shares = [f"{sum(some)} of {len(some)}" for some in (winners, same)]
    shown = [f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in (accuracy, both)]
    return f"| {' | '.join([name, *shown, *apart, *shares])} |"


if __name__ == "__main__":
    main()
