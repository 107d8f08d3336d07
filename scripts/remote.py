"""Compare a GGUF file behind llama.cpp's server with the same file loaded here.

    python scripts/remote.py [--limit 60] [--cache FILE]

Starts the server (``pip install xllamacpp``), scores the suite ``starter`` both ways, and prints
the figures of docs/remote.md.
"""

from __future__ import annotations

import argparse
import time

from boxpen import Run, evaluate, resolve_model
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", default=":memory:")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    url = start_server(args.threads)
    began = time.time()
    model = resolve_model(f"api:{url}")
    print(f"probe: {time.time() - began:.1f} s, access {model.access}")
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
