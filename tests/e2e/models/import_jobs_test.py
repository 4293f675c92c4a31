#!/usr/bin/env python3
"""`ziggurat import --for JOB`: the deck of each job passes check without a warning, has the length that its data needs, and
trains; data that does not suit a job is refused before a file is written.

  import_jobs_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Decks of imports had the rate of full weights, 1000 steps and no validation, whatever they were for: adapters hardly
learned, and small data was repeated a hundred times.
Runs by a Python with transformers, which scripts/setup.sh --tests makes in build/peers. Without one, it exits with 77.
"""

import concurrent.futures
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("tokenizers", "torch", "transformers")

import small_model
from trainings import ProgramFolder, events, expect, run_script, say

RECORDS = 240
TEXT = pathlib.Path(__file__).resolve().parents[3] / "README.md"
# Job, data, epochs, learning rate, and lines of its deck.
JOBS = [
    ("chat", "chats.jsonl", 3, 2e-5, ["betas: [0.9, 0.999]", "warmup: 10%", "final_fraction: 0", "held_out: 5%"]),
    ("lora", "chats.jsonl", 3, 2e-4, ["lora: {rank: 16, alpha: 32, targets: ['attention.*', 'mlp.*']}"]),
    ("dpo", "pairs.jsonl", 1, 5e-7, ["objective: {kind: dpo, beta: 0.1, reference: start}"]),
    ("pretrain", "tokens.bin", 1, 3e-4, ["betas: [0.9, 0.95]", "weight_decay: 0.1", "warmup: 3%", "final_fraction: 0.1"]),
]
MAX_COMMANDS = 2


def conversation(number, length=4):
    question = {"role": "user", "content": f"What is {number} and {number + 1}?"}
    return [question], {"role": "assistant", "content": f"It is {2 * number + 1}. " * length}


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def make_files(place):
    text = TEXT.read_text()
    small_model.save_chat_model(place.folder / "model", [text])
    chats = [conversation(number) for number in range(RECORDS)]
    write(place.folder / "chats.jsonl", [{"messages": [*prompt, answer]} for prompt, answer in chats])
    write(place.folder / "pairs.jsonl", [{"prompt": prompt, "chosen": [answer], "rejected": [{**answer, "content": "No."}]}
                                         for prompt, answer in chats])
    prompt, answer = conversation(1, 200)
    write(place.folder / "long.jsonl", [{"messages": [*prompt, answer]}] * 20)
    (place.folder / "text.txt").write_text(text)
    place.call("tokenize", "text.txt", "--tokenizer", "model", "--out", "tokens", "--format", "llmc")


def key(deck, name):
    found = re.findall(rf"^ *{name}: ([^ ,\n]+)$", deck, re.M)
    expect(len(found) == 1, f"a deck has the key {name} {len(found)} times")
    return found[0]


def import_and_train(place, job, data, epochs, rate, lines):
    said, warned = place.call("import", "model", f"runs/{job}", "--for", job, "--data", data)
    deck = (place.folder / f"runs/{job}/deck.yaml").read_text()
    expect("warning" not in warned, f"{job}: the import warns\n{warned}")
    for line in lines:
        expect(line in deck, f"{job}: the deck has '{line}', not\n{deck}")
    expect(float(key(deck, "lr")) == rate, f"{job}: a rate of {rate}, not\n{deck}")
    for number, line in enumerate(deck.splitlines()):
        expect(line.strip() != "#" or number < 5, f"{job}: line {number + 1} of the deck is an empty comment")
        expect(len(line) < 120, f"{job}: line {number + 1} of the deck is long: {line}")
    steps, batch = int(key(deck, "steps")), int(key(deck, "global_batch"))
    of = re.search(rf"# {epochs} epochs? of ([\d,]+) sequences \(", deck)
    expect(of, f"{job}: the deck says of how many sequences it has {epochs} epochs:\n{deck}")
    sequences = int(of[1].replace(",", ""))
    expect(steps == -(-epochs * sequences // batch), f"{job}: {steps} steps for {epochs} epochs of {sequences} in {batch}")
    expect(batch == (8 if epochs * sequences >= 80 else 2), f"{job}: batches of {batch} for {epochs} epochs of {sequences}")
    told = re.search(rf"^job +{job}: {steps} steps of {batch} sequences, ([\d.]+) epochs, learning rate", said, re.M)
    expect(told and abs(float(told[1]) - steps * batch / sequences) < 0.05, f"{job}: the import says what the deck has: {said}")

    said, warned = place.call("check", f"runs/{job}/deck.yaml", "--ranks", "2")
    expect("warning:" not in said + warned, f"{job}: check warns\n{said}{warned}")
    found = float(re.search(r", ([\d.]+) epochs", said)[1])
    expect(epochs <= found < epochs * 1.15, f"{job}: check reports {found} epochs, not {epochs}")
    place.call("train", f"runs/{job}/deck.yaml", f"run.dir=trained/{job}", "logging.every=1 steps", ranks=2)
    found = events(place.folder / "trained" / job)
    trained = [float(event["loss"]) for event in found if event["event"] == "step"]
    expect(len(trained) == steps and all(loss > 0 for loss in trained), f"{job}: {steps} steps with losses, not {trained}")
    expect(any(event["event"] == "validate" for event in found) == ("validate:" in deck), f"{job}: validations as in the deck")
    return job, steps


def jobs_train(chosen):
    place = ProgramFolder(chosen, "jobs")
    make_files(place)
    with concurrent.futures.ThreadPoolExecutor(MAX_COMMANDS) as threads:
        for job, steps in threads.map(lambda case: import_and_train(place, *case), JOBS):
            say(f"--for {job} trains {steps} steps")
    without_data(place)
    unsuitable_data_is_refused(place)


def without_data(place):
    said, _ = place.call("import", "model", "runs/later", "--for", "lora")
    expect("lora: 1000 steps of 16 sequences, learning rate 2.0e-4; set data.train and train.steps" in said, said)
    place.call("check", "runs/later/deck.yaml", "data.train=[{format: chat, path: chats.jsonl}]")
    # Long answers are cut; the import warns as check does.
    _, warned = place.call("import", "model", "runs/long", "--for", "chat", "--data", "long.jsonl")
    expect(re.search(r"warning: 20 of 20 samples of data\.train\[0\] are cut at data\.seq = 256", warned), warned)
    say("decks without data, and data that is cut")


def unsuitable_data_is_refused(place):
    cases = [
        ("chat", "tokens.bin", "cannot use 'tokens.bin' with --for chat (it is a file of tokens without conversations)"),
        ("pretrain", "chats.jsonl", "(it is neither a .bin nor an .idx file of tokens). Run 'ziggurat tokenize'"),
        ("dpo", "chats.jsonl", "the data cannot be used for this job:"),
        ("chat", "pairs.jsonl", "'pairs.jsonl' holds pairs of answers"),
        ("chat", "missing.jsonl", "cannot use 'missing.jsonl' as chat"),
    ]
    for job, data, said in cases:
        _, error = place.call("import", "model", "runs/refused", "--for", job, "--data", data, code=2)
        expect(said in error, f"--for {job} --data {data}: '{said}', not\n{error}")
        expect(not (place.folder / "runs/refused").exists(), f"--for {job} --data {data} leaves a folder")
    for words, said in ((("--data", "chats.jsonl"), "--data needs --for"), (("--for", "lora", "--dry-run"), "Leave out --for"),
                        (("--for", "sft"), "chat, lora, dpo and pretrain")):
        _, error = place.call("import", "model", "runs/refused", *words, code=2)
        expect(said in error, f"{words}: '{said}', not\n{error}")
    say(f"{len(cases)} kinds of unsuitable data are refused")


if __name__ == "__main__":
    run_script(__doc__, jobs_train)
