#!/usr/bin/env python3
"""Multiple choice by likelihood, held against transformers: every choice, every sum and both accuracies of 200 tasks, on 1
and 3 ranks, with whole and with cut parameters; and what is wrong with a task is said.

  eval_task_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Runs by a Python with tokenizers, transformers and PyTorch, which scripts/setup.sh --tests makes in build/peers; without one
it says so and leaves with 77. Models, vocabulary and tasks are made here. The script that it is held against takes each row
by itself, by the rule of llm.c's dev/data/hellaswag.py.
"""

import argparse
import json
import math
import pathlib
import random
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "tokenizers", "torch", "transformers")

import numpy
import tokenizers
import torch
import transformers

from trainings import Failure, ProgramFolder, expect

transformers.utils.logging.disable_progress_bar()
TASKS = 200
MOST_READ = 64  # positions of the models
SEQ = 40  # of the trainings: some rows are longer
MOST_APART = 1e-4  # of sums of log-probabilities, which are some hundred nats
END = "<|endoftext|>"
WORDS = ("a man is sitting on the roof , he starts pulling up tiles and wraps them in paper while water boils Über naïve "
         "œuvre 1948 don't they're … 人人 自由").split()
WAYS = {"accuracy": "choice", "accuracy_normalised": "choice_normalised", "accuracy_per_character": "choice_per_character"}


class Place(ProgramFolder):
    decoding = "replace"


def text_of(draw, least, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def make_tasks(place):
    """200 tasks, now and then with another number of endings, with a label as text or none, and with a context that is too
    long for a model."""
    draw = random.Random(8)
    tasks = []
    for i in range(TASKS):
        count = 4 if i % 5 else draw.randint(2, 6)
        task = {"ind": i, "ctx": text_of(draw, 1, 14), "endings": [text_of(draw, 1, 6) for _ in range(count)]}
        if i % 50 == 3:
            task["ctx"] = text_of(draw, 90, 100)
        if i % 40 == 7:
            task["ctx_a"], task["ctx_b"] = task.pop("ctx"), text_of(draw, 1, 2)
        label = draw.randrange(count)
        if i % 20 != 11:
            task["label"] = str(label) if i % 3 == 0 else label
        tasks.append(task)
    lines = [json.dumps(task, ensure_ascii=i % 2 == 0) for i, task in enumerate(tasks)]
    (place.folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    return tasks


def make_tokenizer():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    draw = random.Random(9)
    tokenizer.train_from_iterator([text_of(draw, 5, 30) for _ in range(300)], tokenizers.trainers.BpeTrainer(
        vocab_size=330, show_progress=False, special_tokens=[END],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def make_models(place, tokenizer):
    """gpt2 and llama: folders with a model in f32, each number of it random, and the tokenizer."""
    vocab = tokenizer.get_vocab_size() + 3
    made = {"gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(
                n_layer=2, n_embd=36, n_head=3, n_positions=MOST_READ, vocab_size=vocab, bos_token_id=0, eos_token_id=0)),
            "llama": transformers.LlamaForCausalLM(transformers.LlamaConfig(
                num_hidden_layers=2, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44,
                vocab_size=vocab, max_position_embeddings=MOST_READ, bos_token_id=0, eos_token_id=0))}
    for name, model in made.items():
        torch.manual_seed(len(name))
        with torch.no_grad():
            for tensor_name, tensor in model.named_parameters():
                is_gain = tensor.dim() == 1 and tensor_name.endswith("weight")
                tensor.copy_(torch.randn_like(tensor) * 0.15 + (1.0 if is_gain else 0.0))
        model.save_pretrained(place.folder / name)
        tokenizer.save(str(place.folder / name / "tokenizer.json"))
    return vocab


# ---------------------------------------------------------------- the other side


def context_of(task):
    return task["ctx"] if "ctx" in task else task["ctx_a"] + " " + task["ctx_b"]


def sums_there(model, encode, task):
    """Of each ending the sum of its tokens' log-probabilities, and how many there are."""
    context = encode(context_of(task))
    sums, lengths = [], []
    for ending in task["endings"]:
        tokens = encode(" " + ending)
        row = torch.tensor([(context + tokens)[-MOST_READ - 1:]])
        with torch.no_grad():
            logits = model(row[:, :-1]).logits[0, -len(tokens):].double()
        losses = torch.nn.functional.cross_entropy(logits, row[0, -len(tokens):], reduction="none")
        sums.append(-losses.sum().item())
        lengths.append(len(tokens))
    return sums, lengths


def answers_there(folder, encode, tasks):
    """Sums, and choices by each way, of every task."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    answers, closest = [], math.inf
    for task in tasks:
        sums, lengths = sums_there(model, encode, task)
        answer = {"sums": sums, "tokens": lengths}
        for way, divisors in zip(WAYS.values(), ([1] * len(sums), lengths, [len(ending) for ending in task["endings"]])):
            scores = [value / divisor for value, divisor in zip(sums, divisors)]
            answer[way] = int(numpy.argmax(scores))
            first, second = sorted(scores)[:-3:-1]
            closest = min(closest, (first - second) * max(divisors))
        answers.append(answer)
    expect(closest > 2 * MOST_APART, f"{folder}: two choices are {closest} apart, which no arithmetic can tell; draw others")
    return answers


# ---------------------------------------------------------------- both


def agrees(place, what, run, words, tasks, theirs):
    lines = {}
    for ranks in (1, 3):
        said, noted = place.call("eval", run, "--task", "tasks.jsonl", *words, "--json", "--choices", "choices.jsonl", ranks=ranks)
        said = json.loads(said)
        lines[ranks] = (place.folder / "choices.jsonl").read_text()
        ours = [json.loads(line) for line in lines[ranks].splitlines()]
        expect(len(ours) == TASKS and said["tasks"] == TASKS, f"{what}: {len(ours)} lines\n{said}")
        apart = 0
        for i, (task, mine, other) in enumerate(zip(tasks, ours, theirs)):
            label = int(task["label"]) if "label" in task else None
            expect(mine["index"] == i and mine["line"] == i + 1 and mine["label"] == label, f"{what}: {mine}\n{task}")
            expect(all(mine[key] == other[key] for key in (*WAYS.values(), "tokens")), f"{what} on {ranks}:\n{mine}\n{other}")
            apart = max(apart, max(abs(a - b) for a, b in zip(mine["sums"], other["sums"])))
        expect(apart <= MOST_APART, f"{what} on {ranks}: sums {apart} apart")
        labelled = [i for i, task in enumerate(tasks) if "label" in task]
        for key, choice in WAYS.items():
            right = sum(theirs[i][choice] == int(tasks[i]["label"]) for i in labelled)
            expect(said[key] == right / len(labelled), f"{what}: {key} {said[key]}, not {right} of {len(labelled)}")
        expect(said["labelled"] == len(labelled) and said["undecided"] == 0, f"{said}")
        expect(said["tokens"] == sum(sum(answer["tokens"]) for answer in theirs), f"{said}")
        expect((said["cut_contexts"] > 0) == ("cut at the beginning" in noted), f"{said}\n{noted}")
        print(f"    {what} on {ranks}: sums {apart:.1e} apart; accuracy {said['accuracy']:.3f}, normalised "
              f"{said['accuracy_normalised']:.3f}, {said['cut_contexts']} contexts cut", flush=True)
    expect(lines[1] == lines[3], f"{what}: sums on 1 and 3 ranks are not the same bits")
    return said


def tokens_file(path, vocab):
    tokens = numpy.random.default_rng(5).integers(0, vocab, 2000).astype(numpy.uint16)
    path.write_bytes(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253) + tokens.tobytes())


def trains(place, name, model, data, *settings):
    deck = place.folder / f"{name}.yaml"
    deck.write_text(f"deck_version: 1\nrun: {{name: {name}, dir: runs/{name}}}\nmodel: {model}\ndata: {data}\n"
                    "train: {steps: 3, global_batch: 6, micro_batch: 2}\noptimizer: {lr: 1.0e-2}\n"
                    "schedule: {kind: constant}\nprecision: {compute: fp32}\n")
    place.call("train", deck.name, *settings, ranks=3)
    place.call("export", f"runs/{name}", f"{name}_out", "--dtype", "f32")


def an_imported_model(place, tasks, tokenizer):
    place.call("import", "gpt2", "runs/imported")
    encode = lambda text: tokenizer.encode(text).ids
    theirs = answers_there(place.folder / "gpt2", encode, tasks)
    said = agrees(place, "gpt2, imported", "runs/imported", ["--tokenizer", "gpt2", "--compute", "fp32"], tasks, theirs)
    expect(said["cut_contexts"] >= 12, f"{said}")
    in_bf16 = json.loads(place.call("eval", "runs/imported", "--task", "tasks.jsonl", "--tokenizer", "gpt2", "--json")[0])
    expect(abs(in_bf16["accuracy"] - said["accuracy"]) < 0.1 and in_bf16["tokens"] == said["tokens"], f"{in_bf16}\n{said}")
    return said


def trained_models(place, tasks, tokenizer, vocab):
    tokens_file(place.folder / "tokens.bin", vocab)
    data = f"{{tokenizer: none, seq: {SEQ}, train: [{{format: llmc, path: tokens.bin}}]}}"
    for zero in (0, 3):
        name = f"zero_{zero}"
        trains(place, name, "{init: {from: hf, path: llama}}", data, f"sharding.zero={zero}")
        if zero == 0:
            theirs = answers_there(place.folder / f"{name}_out", lambda text: tokenizer.encode(text).ids, tasks)
        trained = [(place.folder / f"{other}_out" / "model.safetensors").read_bytes() for other in ("zero_0", name)]
        expect(trained[0] == trained[1], "ZeRO 3 has trained another model than ZeRO 0")
        agrees(place, f"llama, ZeRO {zero}", f"runs/{name}", ["--tokenizer", "llama/tokenizer.json"], tasks, theirs)


def a_model_of_bytes(place, tasks):
    (place.folder / "text.txt").write_text(text_of(random.Random(3), 400, 400))
    short = [task | {"ctx": context_of(task)[-30:], "endings": [ending[:20] for ending in task["endings"]]} for task in tasks]
    (place.folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in short))
    trains(place, "bytes", f"{{family: gpt2, layers: 1, hidden: 32, heads: 2, max_seq: {MOST_READ}}}",
           f"{{tokenizer: bytes, seq: {SEQ}, train: [{{format: text, path: text.txt}}]}}", "sharding.zero=2")
    theirs = answers_there(place.folder / "bytes_out", lambda text: list(text.encode()), short)
    agrees(place, "bytes", "runs/bytes", [], short, theirs)


def what_is_told(place, said):
    """The table has the numbers of the JSON, a task without labels has no accuracy."""
    table, _ = place.call("eval", "runs/imported", "--task", "first.jsonl", "--tokenizer", "gpt2", "--compute", "fp32")
    for text in (f"accuracy    {said['accuracy']:.4f}, standard error {said['accuracy_standard_error']:.4f}",
                 f"normalised  {said['accuracy_normalised']:.4f}", "200 tasks, 190 of them with a label", "tokens/s"):
        expect(text in table, f"{text}\n{table}")
    (place.folder / "plain.jsonl").write_text('{"context": "a man", "choices": ["is", "he"]}\n')
    words = ("eval", "runs/imported", "--task", "plain.jsonl", "--tokenizer", "gpt2")
    table, _ = place.call(*words, ranks=3)  # fewer sequences than ranks
    expect("1 task, without labels" in table and "accuracy" not in table, table)
    plain = json.loads(place.call(*words, "--json")[0])
    expect(plain["accuracy"] is None and plain["labelled"] == 0 and plain["tasks"] == 1, f"{plain}")


def what_is_wrong_is_said(place):
    small = transformers.GPT2Config(n_layer=1, n_embd=32, n_head=2, n_positions=MOST_READ, vocab_size=70, bos_token_id=0,
                                    eos_token_id=0)
    transformers.GPT2LMHeadModel(small).save_pretrained(place.folder / "small")
    place.call("import", "small", "runs/small")
    good = '{"ctx": "a man", "endings": ["is", "he"], "label": 0}\n'
    (place.folder / "good.jsonl").write_text(good)
    (place.folder / "bad.jsonl").write_text(good + good + '{"ctx": "a man", "endings": ["is"], "label": 0}\n')
    (place.folder / "long.jsonl").write_text(good + json.dumps({"ctx": "a", "endings": ["he", "man " * 99]}))
    (place.folder / "folder").mkdir()
    model = ("--tokenizer", "gpt2")
    for words, code, what in (
            (("runs/imported", "--task", "bad.jsonl", *model), 2, "'bad.jsonl', line 3: only one ending"),
            (("runs/imported", "--task", "long.jsonl", *model), 2, "'long.jsonl', line 2: ending 1 has "),
            (("runs/imported", "--task", "nowhere.jsonl", *model), 2, "--task: cannot read 'nowhere.jsonl'"),
            (("runs/small", "--task", "good.jsonl"), 2, "Give the tokenizer that made them: --tokenizer PATH"),
            (("runs/imported", "--task", "good.jsonl", "--tokenizer", "nowhere"), 2, "nowhere"),
            (("runs/bytes", "--task", "good.jsonl", *model), 2, "it reads bytes of text"),
            (("runs/small", "--task", "good.jsonl", *model), 2, "'good.jsonl', line 1: token "),
            (("runs/imported", "--task", "good.jsonl", *model, "--choices", "folder"), 3, "cannot write 'folder' (a folder)"),
            (("runs/imported", "--task", "good.jsonl", *model, "--choices", "good.jsonl/x"), 3, "--choices FILE"),
            (("runs/imported", "--task", "good.jsonl", "--data", "tokens.bin"), 2, "exclude each other")):
        for ranks in (1, 3) if words[2] == "bad.jsonl" else (1,):
            _, said = place.call("eval", *words, ranks=ranks, code=code)
            expect(said.count("error: ") == 1 and what in said, f"{words}: {said}")


def numbers_that_break_down_are_exit_code_5(place):
    broken = transformers.AutoModelForCausalLM.from_pretrained(place.folder / "gpt2")
    with torch.no_grad():
        broken.transformer.ln_f.weight.fill_(math.nan)
    broken.save_pretrained(place.folder / "broken")
    place.call("import", "broken", "runs/broken")
    for ranks in (1, 3):
        said, _ = place.call("eval", "runs/broken", "--task", "good.jsonl", "--tokenizer", "gpt2", "--json", "--choices",
                             "choices.jsonl", ranks=ranks, code=5)
        expect(json.loads(said)["undecided"] == 1 and json.loads(said)["accuracy"] == 0, said)
        line = json.loads((place.folder / "choices.jsonl").read_text())
        expect(line["choice"] is None and line["sums"] == [None, None], f"{line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    vocab = make_models(place, tokenizer)
    tasks = make_tasks(place)
    shutil.copy(place.folder / "tasks.jsonl", place.folder / "first.jsonl")
    said = an_imported_model(place, tasks, tokenizer)
    trained_models(place, tasks, tokenizer, vocab)
    a_model_of_bytes(place, tasks)
    what_is_told(place, said)
    what_is_wrong_is_said(place)
    numbers_that_break_down_are_exit_code_5(place)
    print("ok")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
