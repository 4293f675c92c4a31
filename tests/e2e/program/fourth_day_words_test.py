#!/usr/bin/env python3
"""Messages and pages say what is so: units in bits, contradictions of machine files, booleans, folders of outputs.

  fourth_day_words_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import pathlib
import re
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import PATIENCE_S, Place, expect, run_script, say

ROOT = pathlib.Path(__file__).resolve().parents[3]
DECK = 2  # exit code


def start(place, *words):
    done = subprocess.run([place.binary, *map(str, words)], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


def with_figures(place, **figures):
    """The laptop with other figures."""
    text = (ROOT / "decks" / "machines" / "laptop.yaml").read_text()
    for key, value in figures.items():
        text = re.sub(f"^{key}:.*\n", "", text, flags=re.M) + f"{key}: {value}\n"
    (place.folder / "machine.yaml").write_text(text)
    return start(place, "plan", place.deck, "--machine", "./machine.yaml")


def bits_are_not_bytes(chosen):
    place = Place(chosen, "bits")
    for key, value, right in (("nvme_read_rate", "100Gb/s", "12.5GB/s"), ("nvme_read_rate", "200Gbps", "25GB/s"),
                              ("nvme_write_rate", "400 Gbit/s", "50GB/s"), ("host_bandwidth", "800Mb/s", "100MB/s"),
                              ("host_memory", "128Gb", "16GB"), ("host_memory", "64Gibit", "8GiB")):
        code, said = with_figures(place, **{key: value})
        expect(code == DECK and f"its unit is bits, and this key takes bytes: it is {right}" in said and
               f"Did you mean '{right}'?" in said, f"{key} {value}: {code} {said}")
        expect(re.search(r"machine\.yaml:\d+:\d+: ", said), f"{key} {value}: no place: {said}")
    code, said = with_figures(place, nvme_read_rate="100GB/s")
    expect(code == 0, said)
    code, said = start(place, "check", place.deck, "tiers.chunk=8Mb", "run.resume=auto")
    expect(code == DECK, said)
    for figures in ({"device_flops": "70T", "peak_flops": "60T"}, {"peak_flops": "60T", "products": "{bf16: {flops: 61T}}"},
                    {"power": "100", "idle_power": "101"}):
        code, said = with_figures(place, **figures)
        expect(code == DECK and " is above " in said and re.search(r"machine\.yaml:\d+:\d+: ", said), f"{figures}: {code} {said}")
    expect(with_figures(place, device_flops="60T", peak_flops="60T", power="101", idle_power="100")[0] == 0, "equal figures")
    say("bits are not bytes, and nothing is faster than its peak")


def booleans_are_those_of_yaml(chosen):
    place = Place(chosen, "booleans")
    for word in ("true", "True", "TRUE", "false", "False", "FALSE", "yes", "no", "on", "off", "Yes", "tRUE", "1"):
        is_right = word.lower() in ("true", "false") and word != "tRUE"
        deck = place.folder / "deck.yaml"
        deck.write_text((place.folder / place.deck).read_text() + f"\nlogging: {{tensorboard: {word}}}\n")
        for words in ((place.deck, f"logging.tensorboard={word}"), (deck,)):
            code, said = start(place, "check", *words, "--print", "run.resume=auto")
            expect((code == 0) == is_right, f"{word}: {code} {said[-500:]}")
            expect(is_right or f"'{word}' is not true or false" in said, f"{word}: {said[-500:]}")
    say("booleans are those of YAML 1.2")


def folders_of_outputs_are_made(chosen):
    place = Place(chosen, "outputs")
    place.train("run", 1, "train.steps=2", "checkpoint.every=2 steps", "schedule={kind: constant, warmup: 0 steps}")
    for name, words in (("plot.svg", ("plot", "run", "--out")), ("plot.csv", ("plot", "run", "--csv")),
                        ("report.html", ("report", "run", "--out")),
                        ("tokens", ("tokenize", "text.txt", "--tokenizer", "bytes", "--format", "llmc", "--out")),
                        ("hf", ("export", "run"))):
        output = place.folder / "deep" / name.replace(".", "_") / name
        code, said = start(place, *words, output)
        expect(code == 0 and list(output.parent.iterdir()), f"{words}: {code} {said}")
    say("folders of outputs are made")


def sample_file(samples):
    """Bytes of a file as decks/DATA.md describes it; a negative token counts in the loss."""
    words = [-token | 1 << 31 if token < 0 else token for sample in samples for token in sample]
    begins = [0]
    for sample in samples:
        begins.append(begins[-1] + len(sample))
    header = struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", 1, 0, len(samples), len(words), sum(word >> 31 for word in words), 0, 0, 0)
    return header + struct.pack(f"<{len(words)}I", *words) + struct.pack(f"<{len(begins)}q", *begins)


def a_training_says_what_it_loses(chosen):
    """Ten samples of four tokens, two of which count, and of these some that are longer than a sequence."""
    place = Place(chosen, "lost")
    settings = ["data.tokenizer=none", "model.vocab=300", "data.seq=8", "train.steps=2", "train.global_batch=2",
                "train.micro_batch=1", "schedule={kind: constant, warmup: 0 steps}", "data.packing=none"]
    for name, long, more in (("cut", 4, ()), ("dropped", 4, ("data.long_samples=drop",)), ("whole", 0, ())):
        samples = [[1, 2, -3, -4] + [-5] * (20 if i < long else 0) for i in range(10)]
        (place.folder / f"{name}.samples").write_bytes(sample_file(samples))
        said = place.train(name, 1, *settings, *more, f"data.train=[{{format: chat, path: {name}.samples}}]")
        warned = f"4 of 10 samples of data.train[0] are {name} at data.seq = 8 (40.0 %"
        expect((warned in said) == (long > 0), f"{name}: {said[:3000]}")
        counted = sum(min(len(sample), 8) - 2 for sample in samples if len(sample) <= 8 or not more)
        sequences = len(samples) if not more else len(samples) - long
        expect(f"data.train[0]: {counted} tokens count in the loss" in said, f"{name}: {counted} {said[:3000]}")
        expect(f"a step has 2 samples and {2 * counted / sequences:.4g} tokens that count, on average" in said, f"{name}: {said[:3000]}")
        rows = [row for row in trainings.events(place.folder / name) if row["event"] == "step"]
        shown = [float(found) for found in re.findall(r"^step .*\| +([0-9.]+) targets", said, re.M)]
        expect([row["loss_tokens"] for row in rows] == shown and len(shown) == 2, f"{name}: {shown} {rows}")
    say("trainings say what is cut, dropped and counted")


def help_names_what_runs(chosen):
    place = Place(chosen, "help")
    _, said = start(place, "--help")
    expect("context" in said and "not run" not in said, said[:800])
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("decks/*.md"), ROOT / "README.md"]
    unbuilt = (ROOT / "lib" / "deck" / "rules" / "not_built.cpp").read_text()
    for page in pages:
        for sentence in re.findall(r"[^.|\n]*\b(?:planned, not run|is not implemented|not implemented yet)\b[^.|\n]*", page.read_text()):
            keys = re.findall(r"`([a-z_]+\.[a-z_.]+)", sentence)
            expect(page.name == "troubleshooting.md" or (keys and all(key in unbuilt for key in keys)), f"{page.name}: {sentence}")
    say("pages name nothing as missing that runs")


if __name__ == "__main__":
    run_script(__doc__, bits_are_not_bytes, booleans_are_those_of_yaml, folders_of_outputs_are_made,
               a_training_says_what_it_loses, help_names_what_runs)
