#!/usr/bin/env python3
"""What survive_test.py sees of the program, without a model: losses by a formula, folders of a few bytes.

PRETENDED_FAULT in the environment names a fault that the test must find. A job that is to be killed stands still in its
third save, the only one that shows while it is written, so that what a kill leaves is no matter of time. Started with
`-n N PROGRAM ...`, it is the launcher, too.
"""

import json
import os
import pathlib
import shutil
import sys
import time


PATIENCE_S = 600  # only for what hangs
MOST_SAVES = 3


def fault(name):
    return os.environ.get("PRETENDED_FAULT") == name


def write(path, text):
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text)
    draft.rename(path)


def complete(root):
    return sorted(path for path in root.glob("step-*") if "." not in path.name)


def save(root, step, keep, is_killed):
    folder = root / f"step-{step:09d}"
    draft = root / f"{folder.name}.tmp" if is_killed else root.parent / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    (draft / "shard-00000.h5").write_text("pretended" * 1000)
    if is_killed:
        time.sleep(PATIENCE_S)
    (draft / "COMPLETE").write_text(f'{{"step": {step}}}\n0\n')
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
    write(root / "LATEST", f"{folder.name} 0\n")
    for old in complete(root)[:-keep]:
        (old / "COMPLETE").unlink()
        old.rename(old.with_name(old.name + ".tmp"))
        shutil.rmtree(old.with_name(old.name + ".tmp"))
    if fault("loses_newest") and step > 3:
        shutil.rmtree(folder)


def go_on(run, root):
    """Steps done by the newest complete checkpoint; metrics.jsonl is cut to it."""
    begin = int(complete(root)[-1].name[5:]) if complete(root) else 0
    if begin and fault("takes_an_older") and len(complete(root)) > 1:
        begin = int(complete(root)[-2].name[5:])
    rows = (run / "metrics.jsonl").read_text().splitlines() if (run / "metrics.jsonl").exists() else []
    rows = [row for row in rows if json.loads(row).get("step", 0) <= begin] if begin else []
    rows += [row for row in rows if json.loads(row)["event"] == "step"][-1:] if fault("repeats_steps") else []
    rows += [json.dumps({"event": "resume", "step": begin})] if begin else []
    rows += [json.dumps({"event": "start", "time": time.time()})]
    write(run / "metrics.jsonl", "".join(row + "\n" for row in rows))
    return begin


def verify(root):
    folders = complete(root)
    latest = (root / "LATEST").read_text().split()[0] if (root / "LATEST").exists() else ""
    lags = latest != folders[-1].name
    if lags:
        print(f"corrupt: {root}: LATEST: it names '{latest}'")
    return 4 if lags or not all((folder / "COMPLETE").exists() for folder in folders) else 0


def train(words):
    deck = dict(word.split("=", 1) for word in words if "=" in word)
    run = pathlib.Path(deck["run.dir"])
    root = run / "ckpt"
    root.mkdir(parents=True, exist_ok=True)
    if not fault("keeps_unfinished"):
        for folder in root.glob("*.tmp"):
            shutil.rmtree(folder)
    begin = go_on(run, root)
    steps = int(deck["train.steps"])
    every = int(deck.get("checkpoint.every", "0 steps").split()[0])
    is_killed = (run / "is_killed").exists() and (run / "is_killed").read_text() == "yes"
    saves = 0
    for step in range(begin + 1, steps + 1):
        loss = 5.0 / (1 + 0.1 * step) + (1e-3 if begin and fault("another_loss") else 0.0)
        with open(run / "metrics.jsonl", "a") as metrics:
            metrics.write(json.dumps({"event": "step", "step": step, "loss": loss}) + "\n")
        if every and step % every == 0:
            saves += 1
            save(root, step, int(deck["checkpoint.keep.last"]), is_killed and saves == MOST_SAVES)
    return 0


def main():
    words = sys.argv[1:]
    if words[0] == "-n":
        words = words[3:]
    if words[0] == "inspect":
        return verify(pathlib.Path(words[-1]) / "ckpt")
    return train(words[2:])


if __name__ == "__main__":
    sys.exit(main())
