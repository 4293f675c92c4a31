#!/usr/bin/env python3
"""Lists, counts, numbers and notes are true: in pages, of sampled texts, in options, in records, and after a kill.

  attack_words_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import NO_CHECKPOINT, PATIENCE_S, Place, expect, run_script, say

DECK = 2
ROOT = pathlib.Path(__file__).resolve().parents[3]
TURNS = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


class Words(Place):
    def call(self, *words, code=0):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=PATIENCE_S)
        expect(done.returncode == code, f"{words} ended with {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def encode(self, text, code=0):
        (self.folder / "records.json").write_text(text)
        (self.folder / "t.jinja").write_text(TEMPLATE)
        said = self.call("tokenize", "records.json", "--chat", "--tokenizer", "bytes", "--template", "t.jinja",
                         "--out", "records", code=code)
        for left in self.folder.glob("records.samples*"):
            left.unlink()
        return said


def lists_of_pages_are_whole(chosen):
    done = subprocess.run([sys.executable, ROOT / "scripts/check_lists.py"], stdout=subprocess.PIPE, text=True)
    expect(done.returncode == 0, done.stdout)
    say("lists")


def numbers_beyond_all_bounds_are_refused(chosen):
    place = Words(chosen, "numbers")
    for option, words, numbers in (
            ("--tokens", ["plan", place.deck, "--machines", "cpu-64:1"], ["9223372036854775807", "1e30", "-1", "0x10"]),
            ("--tokens", ["sample", "run", "--prompt", "x"], ["9223372036854775808", "1.5", "", "+5", "5x"]),
            ("--ranks", ["check", place.deck], ["4611686018427387905", "1e3", "-1"]),
            ("--size", ["bench", "io", "."], ["4611686018427387904B", "1e30B", "5"]),
            ("--shard", ["export", "run", "out"], ["4611686018427387904B", "-1B"])):
        for number in numbers:
            said = place.call(*words, f"{option}={number}", code=DECK)
            expect(f"'{option}' takes a" in said and " from " in said and " to " in said and f"not '{number}'" in said, said)
    for override in ("train.steps=9223372036854775807", "train.global_batch=2305843009213693952",
                     "data.seq=4611686018427387905"):
        said = place.call("check", place.deck, override, code=DECK)
        expect("command line:1:" in said and override.split("=")[0] in said, said)
    say("numbers")


def records_are_strict_json(chosen):
    place = Words(chosen, "records")
    record = json.dumps({"messages": TURNS})
    expect("2 records" in place.encode(f"[{record},\n{record}\n]"), "an array")
    for text in (f"[{record},]", f"[{record},\n{record},\n]\n", f"[{record},,{record}]", f"[,{record}]",
                 f"{record},\n{record},\n", record.replace("}]}", "},]}"), record.replace("]}", "],}")):
        said = place.encode(text, code=DECK)
        expect("records.json" in said and ("Write JSON lines" in said or "is not JSON" in said), said)
    say("arrays")


def options_of_templates_are_used_or_refused(chosen):
    place = Words(chosen, "templates")
    for name, value in (("add_generation_prompt", True), ("messages", []), ("tools", [1]), ("tokenize", False)):
        said = place.encode(json.dumps({"messages": TURNS, "chat_template_kwargs": {name: value}}), code=DECK)
        expect(f"'chat_template_kwargs' has '{name}', which a record cannot set" in said, said)
    place.encode(json.dumps({"messages": TURNS, "chat_template_kwargs": {"enable_thinking": False}}))
    said = place.call("check", place.deck, "data.train[0].chat_template_kwargs={add_generation_prompt: true}", code=DECK)
    expect("data.train[0].chat_template_kwargs" in said, said)
    say("template options")


def samples_count_the_tokens_of_their_prompt(place):
    said = place.call("sample", "run", "--prompt", "abcdefgh", "--tokens", "60", "--seed", "1")
    found = re.search(r"60 tokens at \S+ tokens/s, after 8 tokens of the prompt at \S+ tokens/s; (\d+) tokens read again", said)
    expect(found and int(found[1]) > 8, said)
    said = place.call("sample", "run", "--prompt", "a", "--tokens", "3")
    expect("after 1 token of the prompt\n" in said, said)


def hash_of(step):
    return re.search(r'"xxh3": "([0-9a-f]{16})"\}\s*$', (step / "COMPLETE").read_text())[1]


def folders_after_a_kill_are_sound(place):
    """`--verify` judges the checkpoints that training resumes from, and notes the files of an interrupted save."""
    ckpt = place.folder / "run/ckpt"
    first, second = ckpt / "step-000000002", ckpt / "step-000000004"
    latest = (ckpt / "LATEST").read_bytes()
    expect(place.inspect("run", "--verify").count("note:") == 0, "a whole run needs no note")
    states = {
        "the second checkpoint is renamed, LATEST is not": "training resumes from step-000000004",
        "the first LATEST is not renamed": "it is missing; training resumes from step-000000004",
        "a save has begun": "step-000000006.tmp is not verified",
        "a folder has no COMPLETE": "step-000000006 is not verified (a folder without COMPLETE",
    }
    for state, note in states.items():
        (ckpt / "LATEST").write_bytes(latest)
        begun = ckpt / ("step-000000006" if "COMPLETE" in state else "step-000000006.tmp")
        if "second" in state:
            (ckpt / "LATEST").write_text(f"step-000000002 {hash_of(first)}\n")
        elif "first" in state:
            (ckpt / "LATEST").rename(ckpt / "LATEST.tmp")
        else:
            begun.mkdir()
            (begun / "shard-00000.h5").write_bytes((second / "shard-00000.h5").read_bytes()[:1000])
        said = place.inspect("run", "--verify")
        expect(note in said and "2 checkpoints" in said and "all bytes verified" in said, f"{state}:\n{said}")
        notes = json.loads(place.inspect("run", "--verify", "--json"))["notes"]
        expect(len(notes) == 1 and note in notes[0], f"{state}: {notes}")
        shutil.rmtree(begun, ignore_errors=True)
        (ckpt / "LATEST.tmp").unlink(missing_ok=True)
    (ckpt / "LATEST").write_text(f"step-000000002 {hash_of(second)}\n")
    expect("but not the hash of its COMPLETE" in place.inspect("run", "--verify", code=NO_CHECKPOINT), "a wrong hash")
    (ckpt / "LATEST").write_text(f"step-000000009 {hash_of(second)}\n")
    expect("which is not complete" in place.inspect("run", "--verify", code=NO_CHECKPOINT), "a checkpoint that is lost")
    (ckpt / "LATEST").write_text(f"step-000000002 {hash_of(first)}\n")
    place.train("run", 1, "train.steps=6", "checkpoint.every=2 steps", "schedule={kind: constant, warmup: 0 steps}")
    expect(place.inspect("run", "--verify").count("note:") == 0, "the next start repairs LATEST")


def a_run_is_described_truly(chosen):
    place = Words(chosen, "run", "llama")
    place.train("run", 1, "train.steps=4", "checkpoint={every: 2 steps, keep: {last: 3}}",
                "schedule={kind: constant, warmup: 0 steps}")
    samples_count_the_tokens_of_their_prompt(place)
    folders_after_a_kill_are_sound(place)
    say("a run")


if __name__ == "__main__":
    run_script(__doc__, lists_of_pages_are_whole, numbers_beyond_all_bounds_are_refused, records_are_strict_json,
               options_of_templates_are_used_or_refused, a_run_is_described_truly)
