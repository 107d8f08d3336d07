"""What the width of rows costs: positions computed again, and nodes that attention looks at.

    python benchmarks/row_width.py

Nothing is run: the texts of CommonMT and CATs are cut into rows of several widths, and counted.
"""

from __future__ import annotations

from texts import flat, items_of, suites_at_hand

WIDTHS = (64, 96, 128, 160, 192, 256, 384)
BUDGET = 1024


def main() -> None:
    from boxpen.models.engine.packs import Reading, packs
    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.tree import Tree

    tokenizer = resolve_model("smollm2", device="cpu").tokenizer  # type: ignore[attr-defined]
    texts = [text for _, text in flat(items_of(suites_at_hand()["causal"]))]
    rows = sorted({(tokenizer.bos_token_id, *ids) for ids in tokenizer(texts)["input_ids"]})
    readings = [Reading(row[:-1], range(len(row) - 1), row[1:]) for row in rows]
    tree = Tree([one.tokens for one in readings])
    print(f"{len(rows):,} texts, {tree.nodes:,} nodes\n")
    print("| nodes of a row | positions computed | seen by each in attention |\n|--:|--:|--:|")
    for width in WIDTHS:
        computed = seen = 0
        chunks = [(range(len(readings)), tree)]
        for pack in packs(
            readings, chunks, BUDGET, limit=8192, size=None, stems=True, align=1, width=width
        ):
            computed += pack.computed
            seen += pack.ids.shape[0] * pack.ids.shape[1] ** 2
        print(f"| {width} | {computed:,} | {seen / computed:.0f} |", flush=True)


if __name__ == "__main__":
    main()
