"""Compare a GGUF file behind llama.cpp's server with the same file loaded here.

    python scripts/remote.py [--limit 60] [--cache FILE] [--asked]

Starts the server (``pip install xllamacpp``), scores the suite ``starter`` both ways (or asks its
questions, with ``--asked``), and prints the figures of docs/remote.md.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from boxpen import Model, Run, evaluate, resolve_model
from boxpen.analysis.order_effects import order_effects
from boxpen.models.loading.embedded import smollm2_path


def start_server(threads: int) -> str:
    """Serve smollm2 on a free port; return the URL."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(smollm2_path())
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 4
    params.cpuparams.n_threads = threads
    params.warmup = False
    params.verbosity = 0
    start_server.kept = xllamacpp.Server(params)  # type: ignore[attr-defined]
    return str(start_server.kept.listening_address)  # type: ignore[attr-defined]


def totals(run: Run) -> dict[tuple[str, int], tuple[float, int]]:
    return {
        (item, number): (one.record.total, len(one.record.logprobs))
        for item, some in run.candidates.items()
        for number, one in enumerate(some)
    }


def ask(model: Model, limit: int | None, cache: str) -> None:
    """Ask the model behind the server and the one loaded here, and count equal answers."""
    for recipe in ("ask-letters", "ask"):
        options: dict[str, Any] = {"recipe": recipe, "limit": limit, "cache": cache}
        began = time.time()
        remote = evaluate(model, "starter", **options)
        seconds = time.time() - began
        local = evaluate(f"gguf:{smollm2_path()}", "starter", **options)
        pairs = list(zip(local.answers, remote.answers, strict=True))
        same = sum(a.chosen == b.chosen for a, b in pairs)
        texts = sum(a.text == b.text for a, b in pairs)
        print(f"{recipe}: {len(remote.verdicts)} items, {len(pairs)} questions, {seconds:.0f} s")
        print(f"  same choice: {same}, same text: {texts}")
        for name, run in (("here", local), ("there", remote)):
            found = order_effects(run.answers, run.info.unanswered)
            accuracy = next(row for row in run.summary() if row.metric == "accuracy")
            print(
                f"  {name}: accuracy {accuracy.value:.3f}, first option {found.first.value:.1%}, "
                f"unparsed {found.unparsed.value:.1%}, failed {found.failed.value:.1%}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", default=":memory:")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--asked", action="store_true")
    args = parser.parse_args()
    url = start_server(args.threads)
    began = time.time()
    model = resolve_model(f"api:{url}")
    print(f"probe: {time.time() - began:.1f} s, access {model.access}")
    if args.asked:
        ask(model, args.limit, args.cache)
        return
    began = time.time()
    remote = evaluate(model, "starter", limit=args.limit, cache=args.cache)
    seconds = time.time() - began
    local = evaluate(f"gguf:{smollm2_path()}", "starter", limit=args.limit, cache=args.cache)
    ours, theirs = totals(local), totals(remote)
    differences = sorted(abs(ours[key][0] - theirs[key][0]) for key in theirs)
    verdicts = {v.id: v for v in local.verdicts}
    flipped = [v for v in remote.verdicts if v.winner != verdicts[v.id].winner]
    tally = model.tally
    print(f"items: {len(remote.verdicts)} of {len(local.verdicts)}, texts: {len(theirs)}")
    print(f"same number of tokens: {all(ours[k][1] == theirs[k][1] for k in theirs)}")
    print(f"tokens {tally.tokens:,}, nodes {tally.nodes:,}, requests sent {tally.computed:,}")
    print(f"{seconds:.0f} s, {tally.computed / seconds:.1f} requests per second")
    print(
        f"difference per text: median {differences[len(differences) // 2]:.3f}, "
        f"largest {differences[-1]:.3f} nats"
    )
    print(f"verdicts that differ: {len(flipped)}")
    for verdict in flipped:
        print(
            f"  {verdict.id}: {verdicts[verdict.id].margin:+.3f} here, {verdict.margin:+.3f} there"
        )
    print(f"unanswered: {remote.info.left_out}")


if __name__ == "__main__":
    main()
