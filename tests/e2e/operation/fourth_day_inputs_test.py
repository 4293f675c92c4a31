#!/usr/bin/env python3
"""A run that has saved never starts from scratch by itself: not where its checkpoints are gone, nor where their disk is.
A run keeps the checkpoints that it began with, where its deck names a run that is trained on meanwhile.

  fourth_day_inputs_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from pair_folder import PairFolder
from trainings import PATIENCE_S, Place, complete_steps, expect, run_script, say

NO_INPUT, RESOURCE = 2, 3  # exit codes
SAVES = ["checkpoint.every=2 steps", "checkpoint.keep=2", "schedule={kind: constant, warmup: 0 steps}"]


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def expect_refused(place, run, reason, ranks=1):
    """By train on `ranks`, check and doctor; nothing of the run changes but its log of errors."""
    folder = place.folder / run
    before = {name: data for name, data in bytes_of(folder).items() if name.parts[0] != "errors"}
    said = place.train(run, ranks, *SAVES, "train.steps=8", code=RESOURCE)
    expect(reason in said, f"train {run}: {said[-2000:]}")
    after = {name: data for name, data in bytes_of(folder).items() if name.parts[0] not in ("errors", "run.log")}
    before.pop(pathlib.Path("run.log"), None)
    expect(after == before, f"{run}: files changed: {before.keys() ^ after.keys()}")
    for command in (("check", place.deck, *SAVES, "train.steps=8", f"run.dir={run}", "run.resume=auto"), ("doctor", run)):
        done = subprocess.run([place.binary, *command], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        told = done.stdout + done.stderr
        expect(done.returncode == RESOURCE and reason.split(" (")[-1] in told, f"{command}: {done.returncode} {told[-3000:]}")


def lost_checkpoints_are_missed(chosen):
    place = Place(chosen, "lost")
    place.train("run", 2, *SAVES, "train.steps=6")
    copies = {}
    for name in ("removed", "emptied", "without_metrics", "killed"):
        copies[name] = place.folder / name
        shutil.copytree(place.folder / "run", copies[name])
    shutil.rmtree(copies["removed"] / "ckpt")
    expect_refused(place, "removed", "are missing (metrics.jsonl records them")
    # A disk that is not mounted leaves an empty folder.
    shutil.rmtree(copies["emptied"] / "ckpt")
    (copies["emptied"] / "ckpt").mkdir()
    expect_refused(place, "emptied", "are missing (metrics.jsonl records them", ranks=2)
    shutil.rmtree(copies["without_metrics"] / "ckpt")
    (copies["without_metrics"] / "metrics.jsonl").unlink()
    expect_refused(place, "without_metrics", "are missing (DONE shows that the run has finished")
    # A run that was killed after a save has no DONE.
    shutil.rmtree(copies["killed"] / "ckpt")
    for name in ("DONE", "ranks.jsonl"):
        (copies["killed"] / name).unlink()
    lines = (copies["killed"] / "metrics.jsonl").read_text().splitlines(keepends=True)
    (copies["killed"] / "metrics.jsonl").write_text("".join(line for line in lines if '"event":"end"' not in line))
    expect_refused(place, "killed", "are missing (metrics.jsonl records them")
    place.train("killed", 1, *SAVES, "train.steps=4", "run.resume=never")
    expect(complete_steps(copies["killed"]) == [2, 4], "as it was told to")
    say("lost checkpoints are missed")


def a_link_to_nowhere_is_an_error(chosen):
    place = Place(chosen, "link")
    disk = place.folder / "disk"
    disk.mkdir()
    (place.folder / "run").mkdir()
    (place.folder / "run" / "ckpt").symlink_to(disk)
    place.train("run", 1, *SAVES, "train.steps=4")
    disk.rename(place.folder / "elsewhere")
    expect_refused(place, "run", f"is a link to '{disk}', which is not there", ranks=2)
    (place.folder / "new").mkdir()
    (place.folder / "new" / "ckpt").symlink_to(disk)
    said = place.train("new", 1, *SAVES, "train.steps=4", code=RESOURCE)
    expect(f"is a link to '{disk}', which is not there" in said, said[-2000:])
    (place.folder / "elsewhere").rename(disk)
    place.train("run", 1, *SAVES, "train.steps=6")
    expect(trainings.step_numbers(place.folder / "run") == list(range(1, 7)), "it went on when its disk was back")
    say("a link to nowhere is an error")


def runs_without_saves_start_again(chosen):
    place = Place(chosen, "never")
    for run, settings in (("unsaved", ["checkpoint.every=none"]), ("killed_early", SAVES)):
        place.train(run, 1, *SAVES, *settings, "train.steps=3")
        if settings is SAVES:  # as if it had been killed before its first save
            shutil.rmtree(place.folder / run / "ckpt")
            for name in ("DONE", "ranks.jsonl"):
                (place.folder / run / name).unlink()
            lines = (place.folder / run / "metrics.jsonl").read_text().splitlines(keepends=True)
            (place.folder / run / "metrics.jsonl").write_text("".join(lines[:3]))
        said = place.train(run, 1, *SAVES, *settings, "train.steps=4")
        expect("starts from scratch" in said, f"{run}: {said[-1500:]}")
    say("runs without saves start again")


def other_validation_data_begins_anew(chosen):
    """Losses of other data neither end the run nor take the best checkpoint from each other."""
    place = Place(chosen, "other")
    (place.folder / "easy.txt").write_text("aaaaaaaa" * 200)
    (place.folder / "hard.txt").write_text("".join(f"{n * n * 7919 % 100003} " for n in range(600)))
    settings = ["schedule={kind: constant, warmup: 0 steps}", "checkpoint={every: 50 steps, keep: {last: 1, best: 1}}",
                "validate={every: 2 steps, batches: 2}", "train.stop_when.patience=1"]
    on = "data.validation=[{{format: text, path: {}.txt}}]".format
    run = place.folder / "run"
    train = on("easy"), on("hard")
    (place.folder / "text.txt").write_text("aaaaaaaa" * 400 + (place.folder / "hard.txt").read_text())
    place.train("run", 1, *settings, train[0], "train.steps=4")
    said = place.train("run", 2, *settings, train[1], "train.steps=8")
    rows = [row for row in trainings.events(run) if row["event"] in ("validate", "best", "end")]
    losses = [float(row["loss"]) for row in rows if row["event"] == "validate"]
    expect(losses[2] > min(losses[:2]), f"the other data is not harder: {losses}")
    expect(rows[-1]["event"] == "end" and rows[-1]["step"] == 8, f"the run ended early: {rows[-1]}\n{said}")
    steps = [row["step"] for row in rows if row["event"] == "best"]
    expect(steps == [2, 4, 6, 8], f"best of each data: {steps} of {losses}")
    expect({4, 8} <= set(complete_steps(run)), f"the best of each data stay: {complete_steps(run)}")
    say("other validation data begins anew")


OBJECTIVE = {"kind": "dpo", "beta": 0.1}
REFERENCES = {"start": {}, "named": {"reference": "base"}}


def a_run_keeps_its_reference(chosen):
    """The first weights, and the reference that the deck names, are those of the start, and not newer ones."""
    place = PairFolder(chosen, "reference")
    saves = ("checkpoint={every: 2 steps, keep: 9}", "run.resume=auto")
    base, init = ("optimizer.lr=0.02", *saves), ("model.init={from: checkpoint, path: base}", *saves)
    place.train("base", OBJECTIVE, "train.steps=2", *base)
    whole = {}
    for name, reference in REFERENCES.items():
        whole[name] = place.train(f"whole_{name}", OBJECTIVE | reference, *init, "train.steps=6")
        place.train(name, OBJECTIVE | reference, *init, "train.steps=3")
        deck = (place.folder / name / "deck.effective.yaml").read_text()
        expect(deck.count("base/ckpt/step-000000002") == 1 + len(reference), f"inputs of {name}: {deck}")
    place.train("base", OBJECTIVE, "train.steps=6", *base)
    for name, reference in REFERENCES.items():
        shutil.copytree(place.folder / name, place.folder / f"{name}_gone")
        ours = place.train(name, OBJECTIVE | reference, *init, "train.steps=6")
        for step, expected in zip(ours, whole[name], strict=True):
            for key in ("loss", "reward_chosen", "reward_rejected"):
                expect(abs(step[key] - expected[key]) < 1e-6, f"{name}, {key} of step {step['step']}: {step[key]} and "
                                                              f"{expected[key]} without a pause")
    # Where these weights are gone, the message says what needs them.
    shutil.rmtree(place.folder / "base" / "ckpt" / "step-000000002")
    for name, reference in REFERENCES.items():
        said = place.call("train", "deck.yaml", f"run.dir={name}_gone", f"train.objective={json.dumps(OBJECTIVE | reference)}",
                          *init, "train.steps=6", code=NO_INPUT)[1]
        reason = "run.dir has no reference.scores that applies" if reference else "reference.scores has the scores of"
        expect("step-000000002" in said and reason in said, f"{name}: {said}")
    say("a run keeps its reference")


if __name__ == "__main__":
    run_script(__doc__, lost_checkpoints_are_missed, a_link_to_nowhere_is_an_error, runs_without_saves_start_again,
               other_validation_data_begins_anew, a_run_keeps_its_reference)
