"""Compare a GGUF file behind llama.cpp's server with the same file loaded here.

    python scripts/remote.py [--limit 60] [--cache FILE] [--float32 FILE]

Starts the server (``pip install xllamacpp``), scores the suite ``starter`` both ways, and prints
the figures of docs/results/servers.md: once with the file as it is, and once with its weights as
float32.
llama.cpp multiplies 4-bit weights by activations that are rounded to 8 bits, and float32 weights by
float32 activations; here, all is float32. So the second comparison tests boxpen, and the first one
the server's arithmetic.

``--asked`` asks the questions of the suite instead of scoring its texts.
``--order N`` compares the order of requests instead: as the texts come, or depth first by slot.
``--rounded N`` rounds activations to 8 bits here, too, and compares the effect on N texts.
``--server api:FILE.toml`` compares another server of the same model, such as vLLM.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from boxpen import Model, Run, evaluate, load_suite, resolve_model
from boxpen.analysis.order_effects import order_effects
from boxpen.items import Choice
from boxpen.models.loading.embedded import smollm2_path
from boxpen.models.remote.client import Call
from boxpen.models.remote.forced import Node, Walk
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

NEAR = 0.1  # nats between two candidates that count as a near-tie


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, help="Items of starter.")
    parser.add_argument("--cache", default=":memory:", help="Rerun with the same file to resume.")
    parser.add_argument("--threads", type=int, default=2, help="Threads of the server.")
    parser.add_argument("--slots", type=int, default=4, help="Texts that the server keeps.")
    parser.add_argument("--float32", type=Path, help="Where to write the file as float32.")
    parser.add_argument("--order", type=int, metavar="N", help="Compare orders on N texts.")
    parser.add_argument("--rounded", type=int, metavar="N", help="Compare roundings on N texts.")
    parser.add_argument("--server", help="Compare this server instead of llama.cpp's.")
    parser.add_argument("--asked", action="store_true", help="Ask instead of scoring.")
    args = parser.parse_args()
    if args.asked:
        server = serve(smollm2_path(), args.threads, args.slots)
        ask(resolve_model(f"api:{server.listening_address}"), args.limit, args.cache)
        return
    if args.order:
        orders(args)
        return
    if args.server:
        compare(args.server, args)
        return
    if args.rounded:
        rounded(args)
        return
    if args.float32 and not args.float32.exists():
        dequantise(smollm2_path(), args.float32)
    for path in filter(None, (smollm2_path(), args.float32)):
        print(f"\n{path.name}", flush=True)
        server = serve(path, args.threads, args.slots)
        compare(f"api:{server.listening_address}", args)


def serve(path: Path, threads: int, slots: int) -> Any:
    """Serve a file on a free port."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.port = 0
    params.n_ctx = 1024 * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = threads
    params.warmup = False
    params.verbosity = 0
    return xllamacpp.Server(params)


def dequantise(path: Path, target: Path) -> None:
    """Write a GGUF file with the same values as float32."""
    import gguf

    source = gguf.GGUFReader(str(path))
    writer = gguf.GGUFWriter(str(target), source.fields["general.architecture"].contents())
    for field in source.fields.values():
        if field.name.startswith("GGUF.") or field.name in (
            "general.architecture",
            "general.file_type",
        ):
            continue
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in source.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, values.reshape([int(n) for n in reversed(tensor.shape)]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def compare(spec: str, args: argparse.Namespace) -> None:
    """Print how a server of smollm2 differs from smollm2 as loaded here."""
    began = time.time()
    model = resolve_model(spec)
    print(f"probe: {time.time() - began:.1f} s, access {model.access}", flush=True)
    began = time.time()
    remote = evaluate(model, "starter", limit=args.limit, cache=args.cache)
    seconds = time.time() - began
    local = evaluate(f"gguf:{smollm2_path()}", "starter", limit=args.limit, cache=args.cache)
    ours, theirs = totals(local), totals(remote)
    differences = [abs(ours[key][0] - theirs[key][0]) for key in theirs]
    verdicts = {v.id: v for v in local.verdicts}
    flipped = [v for v in remote.verdicts if v.winner != verdicts[v.id].winner]
    tally = model.tally
    print(f"items: {len(remote.verdicts)} of {len(local.verdicts)}, texts: {len(theirs)}")
    print(f"same number of tokens: {all(ours[k][1] == theirs[k][1] for k in theirs)}")
    print(f"tokens {tally.tokens:,}, nodes {tally.nodes:,}, requests sent {tally.computed:,}")
    print(f"{seconds:.0f} s, {tally.computed / seconds:.1f} requests per second")
    print("difference per text: ", end="")
    print(f"median {np.median(differences):.4f}, largest {max(differences):.4f} nats")
    near = sum(abs(verdicts[v.id].margin) < NEAR for v in flipped)
    print(f"verdicts that differ: {len(flipped)}, of which near-ties (< {NEAR} nats): {near}")
    for v in flipped:
        print(f"  {v.id}: {verdicts[v.id].margin:+.4f} here, {v.margin:+.4f} there")
    for run in (local, remote):
        (row,) = [r for r in run.summary() if r.slice == "all" and r.metric == "accuracy"]
        print(f"accuracy: {row.value:.4f} ({run.signature})")
    print(f"unanswered: {remote.info.left_out}", flush=True)


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


def totals(run: Run) -> dict[tuple[str, int], tuple[float, int]]:
    return {
        (item, number): (one.record.total, len(one.record.logprobs))
        for item, some in run.candidates.items()
        for number, one in enumerate(some)
    }


def rounded(args: argparse.Namespace) -> None:
    """Print what rounding of activations changes here, and how the server differs."""
    import torch

    texts = [Request(text) for text in starter_texts(args.rounded)]
    here = resolve_model("smollm2")
    exact = scores(here, texts)
    for module in here.module.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda _, given: (eight_bits(given[0]),))
    server = serve(smollm2_path(), args.threads, args.slots)
    compared = {
        "8 bits here": scores(here, texts),
        "server": scores(resolve_model(f"api:{server.listening_address}"), texts),
    }
    for name, found in compared.items():
        apart = [abs(a.total - b.total) for a, b in zip(exact, found, strict=True)]
        tokens = [np.abs(a.logprobs - b.logprobs) for a, b in zip(exact, found, strict=True)]
        print(
            f"{name}, against float32 here: median {np.median(apart):.2f} and largest "
            f"{max(apart):.2f} nats per text, mean {np.concatenate(tokens).mean():.3f} per token"
        )


def eight_bits(values: Any) -> Any:
    """Round blocks of 32 values to 8 bits with a common scale, as llama.cpp's Q8 does."""
    import torch

    blocks = values.reshape(*values.shape[:-1], -1, 32)
    scale = blocks.abs().amax(-1, keepdim=True) / 127
    whole = torch.round(blocks / torch.where(scale > 0, scale, 1.0))
    return (whole * scale.half().float()).reshape(values.shape)


def scores(model: Model, texts: list[Request]) -> list[Record]:
    scored = model.score(texts, model.resolve_policy(ScoringPolicy()))
    found = dict(pair for batch in scored for pair in batch)
    return [found[number] for number in range(len(texts))]


def starter_texts(count: int) -> list[str]:
    """Return some texts of starter."""
    items = [item for item in load_suite("starter") if isinstance(item, Choice)]
    texts = [text for item in items for text in item.candidates]
    return texts[:: len(texts) // count][:count]


def orders(args: argparse.Namespace) -> None:
    """Print how fast the nodes of some texts are answered in two orders, and whether equally."""
    server = serve(smollm2_path(), args.threads, args.slots)
    model = resolve_model(f"api:{server.listening_address}")
    tokenizer = model.findings.tokenizer
    texts = starter_texts(args.order)
    found = dict(tokenizer.pieces([Request(text) for text in texts]))
    prompts = [(tokenizer.bos, *found[n].ids) for n in range(len(texts))]
    nodes = list(dict.fromkeys(p[: i + 1] for p in prompts for i in range(1, len(p))))
    print(f"{len(texts)} texts, {len(nodes)} nodes, {tokenizer.slots} slots")

    def answers(name: str, calls: Iterable[Call]) -> dict[Node, Any]:
        began = time.time()
        found = {call.tag: answer for call, answer in model.client.each(calls)}
        seconds = time.time() - began
        read = sum(answer["timings"]["prompt_n"] for answer in found.values()) / len(nodes)
        rate = len(nodes) / seconds
        print(
            f"{name}: {rate:.1f} requests per second, {read:.2f} tokens read for each", flush=True
        )
        return {node: answer["choices"][0]["logprobs"] for node, answer in found.items()}

    made = {call.tag: call for call in Walk(model.findings.model, nodes)}
    before = answers("as the texts come", [made[node] for node in nodes])
    after = answers("depth first by slot", Walk(model.findings.model, nodes, tokenizer.slots))
    same = sum(before[node] == after[node] for node in nodes)
    print(f"equal answers: {same} of {len(nodes)}")


if __name__ == "__main__":
    main()
