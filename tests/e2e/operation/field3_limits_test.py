#!/usr/bin/env python3
"""Stops outside of steps: in the pass of the reference model, in the last validation, and in commands without steps.
Each ends with 75 and keeps its results; the next start continues from them.

  field3_limits_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from pair_folder import PairFolder
from trainings import PATIENCE_S, Place, Training, complete_steps, environment_of, events, expect, processes_of, run_script, say

REPEATS = 50  # of the pairs of the oracle
PAIRS = 22 * REPEATS
STEPS = 20  # of four pairs
HEADER_BYTES = 32  # of reference.scores.part
WHOLE_HEADER_BYTES = 48  # of reference.scores
# A pass over all pairs takes minutes, so it is still running when the request comes; it needs no core meanwhile.
SLOW = (f"train.steps={PAIRS // 4}", "debug.throttle.compute=100ms")
AGAIN = ("run.resume=auto", "checkpoint.every=1000 steps")


# ---------------------------------------------------------------- pairs


def many_pairs(chosen, name):
    place = PairFolder(chosen, name)
    path = place.folder / "pairs.samples"
    content = path.read_bytes()
    header = struct.unpack_from("<8siiqqqQQQ", content)
    samples, tokens, counted = header[3:6]
    words, begins = content[64:64 + 4 * tokens], struct.unpack_from(f"<{samples + 1}q", content, 64 + 4 * tokens)
    ends = [begins[-1] * k + begin for k in range(REPEATS) for begin in begins[:-1]] + [begins[-1] * REPEATS]
    expect(samples * REPEATS == 2 * PAIRS, f"{samples} samples")
    path.write_bytes(struct.pack("<8siiqqqQQQ", *header[:3], samples * REPEATS, tokens * REPEATS, counted * REPEATS, *header[6:]) +
                     words * REPEATS + struct.pack(f"<{len(ends)}q", *ends))
    return place


def start(place, run, *settings, ranks=1):
    objective = json.dumps({key: value for key, value in place.oracle["all_pairs"]["objective"].items() if value != 0})
    launcher = [*place.mpiexec, "-n", str(ranks)] if ranks > 1 else []
    place.started = getattr(place, "started", 0) + 1
    return Training([*launcher, place.binary, "train", "deck.yaml", f"run.dir={run}", f"train.objective={objective}", *AGAIN,
                     *settings], place.folder, f"{run}.{place.started}")


def partial_pairs(path):
    """The numbers of the pairs in the file, in its order, up to an incomplete record."""
    content = path.read_bytes() if path.exists() else b""
    at, pairs = HEADER_BYTES, []
    while at + 8 <= len(content):
        count, = struct.unpack_from("<q", content, at)
        if at + 16 + 24 * count > len(content):
            break
        pairs += [struct.unpack_from("<q", content, at + 8 + 24 * k)[0] for k in range(count)]
        at += 16 + 24 * count
    return pairs


def whole_records(path):
    """The bytes up to the first record that is not complete. One pass of more ranks writes longer records."""
    content = path.read_bytes()
    at = HEADER_BYTES
    while at + 8 <= len(content) and at + 16 + 24 * struct.unpack_from("<q", content, at)[0] <= len(content):
        at += 16 + 24 * struct.unpack_from("<q", content, at)[0]
    return content[:at]


def wait_for_pairs(training, part, number):
    expect(training.wait_until(lambda: len(partial_pairs(part)) >= number, f"{number} scored pairs"),
           f"ended before it was asked to\n{training.tail()}")


def expect_stopped(training, part, before, text):
    """Ends with 75, and keeps more pairs than `before`, none of them twice."""
    code = training.wait()
    expect(code == 75 and text in training.output(), f"{training.name} ended with {code}, without '{text}'\n{training.tail()}")
    pairs = partial_pairs(part)
    known = f"the reference has scored {len(pairs)} of {PAIRS:,} pairs, which reference.scores.part keeps"
    expect(known in training.output(), f"does not say '{known}'\n{training.tail()}")
    expect(len(before) < len(pairs) < PAIRS and pairs[:len(before)] == before and len(set(pairs)) == len(pairs),
           f"{len(before)} pairs were known, now {pairs}")
    expect(not [event for event in events(part.parent) if event["event"] == "step"], "it has done no step")
    expect(events(part.parent)[-1]["event"] == "end", "metrics.jsonl has the end")
    return pairs


def rank_process(training, rank):
    return next(pid for pid in processes_of(training.tag) if b"OMPI_COMM_WORLD_RANK=%d\0" % rank in environment_of(pid))


def reference_passes_continue(chosen):
    place = many_pairs(chosen, "reference")
    run, part = place.folder / "stopped", place.folder / "stopped" / "reference.scores.part"
    with start(place, "whole", f"train.steps={STEPS}") as whole:
        expect(whole.wait() == 0, whole.tail())
    expect(not (place.folder / "whole" / part.name).exists(), "a complete pass leaves no part")

    with start(place, "stopped", *SLOW, ranks=2) as training:
        wait_for_pairs(training, part, 1)
        os.kill(rank_process(training, 1), signal.SIGUSR1)
        known = expect_stopped(training, part, [], "another rank was asked to stop: stops before step 1, exits 75")
    say(f"a signal to rank 1 of 2: {len(known)} pairs are kept")
    before = whole_records(part)

    with start(place, "stopped", *SLOW) as training:
        wait_for_pairs(training, part, len(known) + 4)
        training.kill_all()
    killed = partial_pairs(part)
    expect(len(set(killed)) == len(killed) and part.read_bytes().startswith(before), f"{known} and then {killed}")
    before = whole_records(part)
    with part.open("ab") as damaged:
        damaged.write(b"\1\0\0\0\0\0\0\0 never completed")
    say(f"SIGKILL: {len(killed)} pairs are kept")

    with start(place, "stopped", *SLOW, ranks=2) as training:
        wait_for_pairs(training, part, len(killed) + 1)
        (run / "STOP").write_text("")
        known = expect_stopped(training, part, killed, "found STOP: stops before step 1, exits 75")
    expect(part.read_bytes().startswith(before), "kept scores are not computed again")
    expect(not (run / "STOP").exists() and not complete_steps(run), "STOP is obeyed, and nothing is saved before a step")
    say(f"STOP: {len(known)} pairs are kept")

    with start(place, "stopped", f"train.steps={STEPS}") as training:
        expect(training.wait() == 0, training.tail())
    expect(not part.exists(), "the complete pass leaves no part")
    scores = [(place.folder / name / "reference.scores").read_bytes()[WHOLE_HEADER_BYTES:] for name in ("whole", "stopped")]
    needed = 16 * 4 * STEPS
    expect(scores[0][:needed] == scores[1][:needed] and len(scores[0]) == len(scores[1]) == 16 * PAIRS,
           "the scores have the bits of a pass that was not stopped")
    losses = [[step["loss"] for step in place.steps(name)] for name in ("whole", "stopped")]
    expect(len(losses[0]) == STEPS and losses[0] == losses[1], f"losses {losses}")
    say("the pass continues to the same bits")


def limits_end_any_phase(chosen):
    """A limit that is over before the pass can end: wherever the start is by then."""
    place = many_pairs(chosen, "limit")
    run = place.folder / "limited"
    with start(place, "limited", *SLOW, "run.time_limit=1s") as training:
        code = training.wait()
        expect(code == 75 and "run.time_limit is reached" in training.output(), f"ended with {code}\n{training.tail()}")
    expect(not trainings.step_numbers(run) and not complete_steps(run), "it has done no step")
    say("a time limit ends the start of a run")


# ---------------------------------------------------------------- validation


def last_validation_is_done_later(chosen):
    place = Place(chosen, "validation")
    run = place.folder / "run"
    (place.folder / "long.txt").write_text("much more to validate on than to train on\n" * 100000)
    settings = ["train.steps=2", "schedule={kind: constant, warmup: 0 steps}", "checkpoint.every=1000 steps",
                "data.validation=[{format: text, path: long.txt}]", "validate.every=1000 steps"]
    with place.start("run", 1, *settings, "debug.throttle.compute=20ms") as training:
        expect(training.wait_until(lambda: complete_steps(run) == [2], "the last checkpoint"), training.tail())
        training.process.send_signal(signal.SIGTERM)
        code = training.wait()
        expect(code == 75 and "stopped after step 2 of 2, in the last validation, on request" in training.output(),
               f"ended with {code}\n{training.tail()}")
    expect(not (run / "DONE").exists() and "validate" not in [event["event"] for event in events(run)], "it is not done")
    said = place.train("run", 1, *settings, "validate.batches=1")
    rows = [event["step"] for event in events(run) if event["event"] == "validate"]
    expect(rows == [2] and (run / "DONE").read_text() == "step 2\n", f"validations after {rows}\n{said}")
    expect(trainings.step_numbers(run) == [1, 2], "no step is repeated")
    said = place.train("run", 1, *settings, "validate.batches=1")
    expect("finished before" in said, said)
    say("a run whose last validation was stopped is not done before it")


# ---------------------------------------------------------------- commands


def catches(pid, number):
    """True once the process has a handler."""
    with contextlib.suppress(OSError, StopIteration):
        line = next(line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
        return int(line.split()[1], 16) >> (number - 1) & 1 == 1
    return False


def expect_note(code, said, text):
    expect(code == 75 and f"ziggurat: note: stopped while it {text}" in said and "error" not in said, f"{code}: {said}")


def stop_piped(place, words, fed, number):
    """Stops a command that waits for more of a pipe; returns exit code and output."""
    fifo = place.folder / "fifo"
    os.mkfifo(fifo)
    command = subprocess.Popen([place.binary, *map(str, words)], cwd=place.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        with fifo.open("wb") as pipe:
            pipe.write(fed)
            pipe.flush()
            trainings.wait_until(lambda: catches(command.pid, number), "a handler")
            command.send_signal(number)
            said, _ = command.communicate(timeout=PATIENCE_S)
    finally:
        command.kill()
        fifo.unlink()
    return command.returncode, said


def run_piped(place, words, fed):
    """Runs the command with the whole pipe."""
    fifo = place.folder / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(fed), daemon=True)
    writer.start()
    place.call(*words)
    writer.join(PATIENCE_S)
    fifo.unlink()


def commands_can_be_repeated(chosen):
    place = Place(chosen, "commands")
    text = "".join(f"line {k} of a text that is longer than one batch\n" for k in range(60000)).encode()
    words = ["tokenize", "fifo", "--tokenizer", "bytes", "--input", "text", "--format", "llmc", "--out", "tokens"]
    (place.folder / "whole.txt").write_bytes(text)
    place.call("tokenize", "whole.txt", "--tokenizer", "bytes", "--input", "text", "--format", "llmc", "--out", "whole")
    code, said = stop_piped(place, words, text[:len(text) // 2], signal.SIGTERM)
    expect_note(code, said, "tokenizes (received SIGTERM)")
    expect(not (place.folder / "tokens.bin").exists(), "a stopped file does not look complete")
    run_piped(place, words, text)
    expect((place.folder / "tokens.bin").read_bytes() == (place.folder / "whole.bin").read_bytes(), "other tokens")
    expect(sorted(path.name for path in place.folder.glob("tokens*")) == ["tokens.bin"], "left files")

    pairs = "".join(json.dumps({"prompt": f"question {k}", "chosen": "yes", "rejected": "no"}) + "\n" for k in range(20)).encode()
    words = ["tokenize", "--chat", "fifo", "--tokenizer", "bytes", "--out", "pairs"]
    code, said = stop_piped(place, words, pairs, signal.SIGINT)
    expect_note(code, said, "encodes records (received SIGINT)")
    expect(not list(place.folder.glob("pairs*")), f"left {list(place.folder.glob('pairs*'))}")
    run_piped(place, words, pairs)
    expect((place.folder / "pairs.samples").exists(), "the same command does not work again")
    say("tokenize, with and without --chat")

    place.train("run", 1, "train.steps=1", "schedule.warmup=0 steps", "checkpoint.every=1000 steps")
    (place.folder / "long.txt").write_text("more text than can be evaluated before the signal\n" * 400000)
    command = subprocess.Popen([place.binary, "eval", "run", "--data", "long.txt", "--format", "text"], cwd=place.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        trainings.wait_until(lambda: catches(command.pid, signal.SIGINT), "a handler")
        command.send_signal(signal.SIGINT)
        said, _ = command.communicate(timeout=PATIENCE_S)
    finally:
        command.kill()
    expect_note(command.returncode, said, "evaluates the model (received SIGINT)")
    expect("loss" not in said, said)
    say("eval")

    place.call("export", "run", "model")
    (place.folder / "imported" / "ckpt" / "step-000000000.tmp").mkdir(parents=True)  # as an import leaves that was killed
    place.call("import", "model", "imported")
    expect(complete_steps(place.folder / "imported") == [0], "the model is imported")
    say("import")


if __name__ == "__main__":
    run_script(__doc__, reference_passes_continue, limits_end_any_phase, last_validation_is_done_later, commands_can_be_repeated)
