"""Real runs of lm-evaluation-harness on a tiny model: exported tasks, and tasks in its manner."""

import functools
import json
import logging
from pathlib import Path

import boxpen
from boxpen.exchange import export_suite
from boxpen.items import Card, Choice, Entail, Suite, Translate


def harness(
    tasks: list[str], folder: Path, out: Path, model: object, args: str = "", **options: object
) -> Path:
    """Run tasks from a folder as the command does, and return the folder of the logs."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    tracker = EvaluationTracker(output_path=str(out))
    found = lm_eval.simple_evaluate(
        model=model, model_args=args or None, device="cpu", batch_size=8, tasks=tasks,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True, evaluation_tracker=tracker, bootstrap_iters=0, verbosity="ERROR",
        **options,
    )  # fmt: skip
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    for task, some in samples.items():
        tracker.save_results_samples(task, some)
    return next(out.iterdir())


def results_in(folder: Path) -> Path:
    return next(folder.glob("results_*.json"))


def samples_in(folder: Path, task: str) -> Path:
    return next(folder.glob(f"samples_{task}_2*.jsonl"))


def mixed_suite() -> Suite:
    """A suite with everything that can be exported, and an item that cannot."""
    items = [
        Choice(
            id=f"pen-{n}", gold=n % 2,
            candidates=(f"The box {n} is in the pen.", f"The pen {n} is in the box."),
            block=f"b{n // 2}", tags={"set": "Pen & box", "n": str(n)},
        )
        for n in range(8)
    ]  # fmt: skip
    items += [
        Choice(
            id=f"why-{n}", context=f"He put {n} boxes in the pen.", gold=2,
            candidates=("It was small.", "The river is wide.", "The pen was large."),
            tags={"set": "why"},
        )
        for n in range(4)
    ]  # fmt: skip
    zh = Choice(
        id="zh", context="盒子在哪里？", candidates=("在围栏里。", "在钢笔里。"), gold=0,
        language="zh", tags={"set": "why"},
    )  # fmt: skip
    mt = Translate(
        id="mt", source="Das Haus", reference="The house", contrast=("The tree", "The river"),
        language="en", source_language="de", tags={"set": "mt"},
    )  # fmt: skip
    nli = Entail(id="nli", premise="It rains.", hypothesis="It is wet.", label="entailment")
    card = Card(title="Mixed", language="en", licence="CC0-1.0", citation="Nobody (2026).")
    return Suite("Mixed suite", (items[0], zh, mt, *items[1:], nli), card)


@functools.cache
def exported(gpt2_dir: Path) -> Path:
    folder = gpt2_dir.parent / f"{gpt2_dir.name}-tasks"
    export_suite(mixed_suite(), "lm-eval", folder)
    return folder


@functools.cache
def own_logs(gpt2_dir: Path) -> Path:
    """The logs of the exported suite, which was moved after its export."""
    args = f"pretrained={gpt2_dir},add_bos_token=True"
    moved = exported(gpt2_dir).rename(gpt2_dir.parent / f"{gpt2_dir.name}-moved")
    logs = harness(
        ["boxpen_mixed_suite"], moved, gpt2_dir.parent / f"{gpt2_dir.name}-own", "hf", args
    )
    moved.rename(exported(gpt2_dir))
    return logs


@functools.cache
def own_run(gpt2_dir: Path) -> boxpen.Run:
    return boxpen.evaluate(f"hf:{gpt2_dir}", mixed_suite())


_TASKS = {
    "tiny_blimp": 'doc_to_text: ""\ndoc_to_target: 0\n'
    'doc_to_choice: "{{[good, bad]}}"\nmetric_list: [{metric: acc}]\n',
    "tiny_blimp_two": 'doc_to_text: ""\ndoc_to_target: 0\n'
    'doc_to_choice: "{{[good, bad]}}"\nmetric_list: [{metric: acc}]\n',
    "tiny_piqa": 'doc_to_text: "Question: {{question}}\\nAnswer:"\ndoc_to_target: label\n'
    'doc_to_choice: "{{options}}"\nmetric_list: [{metric: acc}, {metric: acc_norm}, '
    "{metric: acc_mutual_info}]\n",
    "tiny_text": 'doc_to_text: "{{question}}"\ndoc_to_target: "{{options[label]}}"\n'
    'doc_to_choice: "{{options}}"\nmetric_list: [{metric: acc}]\n'
    "filter_list: [{name: one, filter: [{function: take_first}]}, "
    "{name: two, filter: [{function: take_first}]}]\n",
    "tiny_winogrande": "doc_to_text: !function tiny.place\ndoc_to_target: !function tiny.rest\n"
    "doc_to_choice: !function tiny.contexts\nmetric_list: [{metric: acc}]\n",
    "tiny_lambada": 'doc_to_text: "{{question}}"\ndoc_to_target: " {{good}}"\n'
    "metric_list: [{metric: acc}]\n",
    "tiny_generation": 'doc_to_text: "{{question}}"\ndoc_to_target: "{{good}}"\n'
    'generation_kwargs: {max_gen_toks: 2, until: ["."]}\nmetric_list: [{metric: exact_match}]\n',
}
_KINDS = {"tiny_lambada": "loglikelihood", "tiny_generation": "generate_until"}
_TINY = """\
def place(doc):
    return int(doc["answer"]) - 1


def contexts(doc):
    before = doc["sentence"].split("_")[0]
    return [before + doc["option1"], before + doc["option2"]]


def rest(doc):
    return doc["sentence"].split("_")[1].strip()
"""


def docs() -> list[dict[str, object]]:
    return [
        {
            "good": f"The box {n} is in the pen.", "bad": f"The pen {n} is in the box.",
            "field": "space" if n < 3 else "time", "question": f"Where is box {n}?",
            "options": ["In the pen", "In the tree", "On the river"], "label": n % 3,
            "sentence": f"The box {n} is not in the pen because the _ is too small.",
            "option1": "pen", "option2": "box", "answer": str(1 + n % 2),
        }
        for n in range(6)
    ]  # fmt: skip


@functools.cache
def foreign_logs(gpt2_dir: Path) -> Path:
    """The logs of tasks that are written as lm-eval's own are."""
    folder = gpt2_dir.parent / f"{gpt2_dir.name}-foreign"
    folder.mkdir()
    (folder / "tiny.py").write_text(_TINY)
    data = folder / "data.jsonl"
    data.write_text("".join(json.dumps(doc) + "\n" for doc in docs()))
    for task, text in _TASKS.items():
        (folder / f"{task}.yaml").write_text(
            f"task: {task}\ndataset_path: json\ntest_split: test\n"
            f"dataset_kwargs: {{data_files: {{test: {data}}}, cache_dir: {folder / 'cache'}}}\n"
            f"output_type: {_KINDS.get(task, 'multiple_choice')}\n{text}"
        )
    group = "group: tiny_group\ntask: [tiny_blimp, tiny_blimp_two]\n"
    (folder / "tiny_group.yaml").write_text(group)
    tasks = ["tiny_group", *list(_TASKS)[2:]]
    return harness(tasks, folder, folder / "logs", "hf", f"pretrained={gpt2_dir}")
