#!/usr/bin/env python3
"""Scores of multiple-choice tasks, held against lm-evaluation-harness itself: sums of log-probabilities, choices, acc and acc_norm, by
a byte-level BPE and by SentencePiece, each with and without begin-of-text.

  lm_eval_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Needs lm-evaluation-harness, which scripts/setup.sh --lm-eval brings into build/lm_eval; without it the test says so and leaves
with 77. Models, vocabularies and tasks are made here.
"""

import argparse
import contextlib
import io
import json
import logging
import os
import pathlib
import random
import sys

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need_lm_eval()

import torch
import transformers
from lm_eval import evaluator
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from field2_tokenizers_test import byte_level_tokenizer, make_model, train_pieces, write_json
from tokenizer_test import SCRIPTS, Place
from trainings import Failure, expect

TASKS = 60
MOST_APART = 2e-4  # of sums of log-probabilities
SAME_APART = 1e-3  # scores so close to each other may be chosen either way
TASK = """task: local_choices
dataset_path: json
dataset_kwargs: {{data_files: {{test: {path}}}}}
output_type: multiple_choice
test_split: test
doc_to_text: ctx
doc_to_choice: endings
doc_to_target: label
metric_list: [{{metric: acc}}, {{metric: acc_norm}}]
"""


def make_tasks(place):
    """Contexts with and without white space at their ends, one too long for the model, and endings that begin with spaces or
    signs."""
    draw = random.Random(11)
    words = [word for word in " ".join(SCRIPTS[:4]).split() if len(word) < 10]
    some = lambda least, most: " ".join(draw.choice(words) for _ in range(draw.randint(least, most)))
    tasks = [{"ctx": some(1, 4) + draw.choice(("", "", "", " ", "  ", "\n", ":\t", " \n ", "...")),
              "endings": [draw.choice(("", "", "", " ", "'", "- ")) + some(1, 2) for _ in range(4)], "label": draw.randrange(4)} for _ in range(TASKS)]
    tasks[5]["ctx"] = some(60, 70)
    tasks[6]["ctx"] = ""
    tasks[7]["ctx"] = "Question: what is it?\nAnswer:"
    tasks[8]["ctx"], tasks[9]["ctx"] = "<s>It begins", "<begin>It begins"  # with the token itself
    (place.folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    (place.folder / "task").mkdir()
    (place.folder / "task" / "local_choices.yaml").write_text(TASK.format(path=place.folder / "tasks.jsonl"))
    return tasks


def scored_there(place, model, tokenizer, add_bos):
    """Of lm-evaluation-harness: samples in the order of tasks, and its results."""
    there = HFLM(pretrained=model, tokenizer=tokenizer, add_bos_token=add_bos, batch_size=1, device="cpu", max_length=model.config.max_position_embeddings)
    with contextlib.redirect_stderr(io.StringIO()):  # its progress
        found = evaluator.simple_evaluate(model=there, tasks=["local_choices"], log_samples=True, bootstrap_iters=0,
                                          task_manager=TaskManager(include_path=str(place.folder / "task"), include_defaults=False))
    samples = sorted(found["samples"]["local_choices"], key=lambda sample: sample["doc_id"])
    return [[float(answer[0]) for answer in sample["filtered_resps"]] for sample in samples], found["results"]["local_choices"]


def best(scores):
    """The first of the highest scores, and whether another is so close that rounding may choose it."""
    ranked = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return ranked[0], abs(scores[ranked[0]] - scores[ranked[1]]) < SAME_APART


def compare(place, name, tasks, model, tokenizer):
    for add_bos in (False, True):
        what = f"{name}, add_bos {add_bos}"
        said = json.loads(place.ziggurat("eval", f"run_{name}", "--task", "tasks.jsonl", "--tokenizer", name, "--compute", "fp32", "--json",
                                         "--choices", f"choices_{add_bos}.jsonl", "--add-bos", str(add_bos).lower()).splitlines()[-1])
        lines = [json.loads(line) for line in (place.folder / f"choices_{add_bos}.jsonl").read_text().splitlines()]
        theirs, results = scored_there(place, model, tokenizer, add_bos)
        close, apart = 0, 0.0
        for task, line, sums in zip(tasks, lines, theirs, strict=True):
            apart = max(apart, *(abs(a - b) for a, b in zip(line["sums"], sums, strict=True)))
            expect(apart < MOST_APART, f"{what}: {task}\nsums {line['sums']}, theirs {sums}")
            by_character = [score / len(ending) for score, ending in zip(sums, task["endings"])]
            for key, scores in (("choice", sums), ("choice_per_character", by_character)):
                choice, is_close = best(scores)
                close += is_close
                expect(is_close or line[key] == choice, f"{what}: {task}\n{key} {line[key]}, theirs {choice}: {scores}")
        if close == 0:
            for key, metric in (("accuracy", "acc,none"), ("accuracy_per_character", "acc_norm,none")):
                expect(abs(said[key] - results[metric]) < 1e-9, f"{what}: {key} {said[key]}, theirs {results[metric]}")
        print(f"  {what}: {len(tasks)} tasks, sums {apart:.1e} apart, acc {results['acc,none']:.3f}, acc_norm {results['acc_norm,none']:.3f}, "
              f"{close} too close to compare", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "HF_HOME": str(place.folder / "cache")}
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    tasks = make_tasks(place)
    byte_level_tokenizer(place, "byte_level", True)
    train_pieces(place, "pieces")
    write_json(place, "pieces/tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>",
                                                       "unk_token": "<unk>", "legacy": True})
    train_pieces(place, "unigram", kind="unigram", add_dummy_prefix=False)
    write_json(place, "unigram/tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>",
                                                        "unk_token": "<unk>", "legacy": True})
    for name, tokenizer in (("byte_level", transformers.PreTrainedTokenizerFast.from_pretrained(place.folder / "byte_level")),
                            ("pieces", transformers.LlamaTokenizer.from_pretrained(place.folder / "pieces")),
                            ("unigram", transformers.LlamaTokenizer.from_pretrained(place.folder / "unigram"))):
        compare(place, name, tasks, make_model(place, name, len(tokenizer)), tokenizer)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
