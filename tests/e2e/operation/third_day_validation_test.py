#!/usr/bin/env python3
"""Losses by source, the best checkpoints, and early stopping.

  third_day_validation_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import csv
import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import equivalence
import trainings
from trainings import PATIENCE_S, Place, complete_steps, expect, run_script, say

PLAIN = "schedule={kind: constant, warmup: 0 steps}"


def write_sources(place):
    """Two texts that are learnt unlike well, and a third; of whole windows of 32 tokens."""
    (place.folder / "verse.txt").write_text(("a rose is a rose is a rose. " * 400)[:32 * 300 + 1])
    equivalence.write_text(place.folder / "prose.txt")
    (place.folder / "digits.txt").write_text("".join(f"{n * n * 7919 % 100003} " for n in range(3000))[:32 * 400 + 1])


SOURCES = ["data.train=[{format: text, path: verse.txt, weight: 1}, {format: text, path: prose.txt, weight: 3}]",
           "data.validation=[{format: text, path: verse.txt}, {format: text, path: digits.txt, name: squares/2}]"]


def rows_of(run, kind):
    return [row for row in trainings.events(run) if row["event"] == kind]


def numbers(losses):
    return {name: None if loss is None else float(loss) for name, loss in losses.items()}


def eval_of(place, *words):
    done = subprocess.run([place.binary, "eval", *words, "--json"], cwd=place.folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE_S)
    expect(done.returncode == 0, f"eval {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def expect_mean(what, row):
    """The loss of all is the mean over target tokens of those of the sources."""
    losses, tokens = numbers(row["loss_by_source"]), row["loss_tokens_by_source"]
    mean = sum(loss * tokens[name] for name, loss in losses.items() if loss is not None) / sum(tokens.values())
    expect(math.isclose(mean, float(row["loss"]), rel_tol=1e-9), f"{what}: {mean} and {row['loss']}")


def losses_are_told_by_source(chosen):
    place = Place(chosen, "by_source", "llama")
    write_sources(place)
    settings = [*SOURCES, PLAIN, "precision.compute=fp32", "train.steps=12", "validate={every: 4 steps}", "logging.tensorboard=true", "checkpoint.every=4 steps",
                "checkpoint.keep=9"]
    place.train("one", 1, *settings)
    said = place.train("grid", trainings.GRID_RANKS, *settings, *trainings.GRID)
    place.train("data", 2, *settings, "sharding.zero=3")
    one = place.folder / "one"
    for row in rows_of(one, "step"):
        expect(set(row["loss_by_source"]) == {"verse", "prose"}, f"sources of step {row['step']}: {row}")
        expect_mean(f"step {row['step']}", row)
    tokens = {name: sum(row["loss_tokens_by_source"][name] for row in rows_of(one, "step")) for name in ("verse", "prose")}
    expect(tokens == {"verse": 12 * 30 * 32 // 4, "prose": 12 * 30 * 32 * 3 // 4}, f"tokens by weight: {tokens}")
    for name in ("grid", "data"):
        for kind in ("step", "validate"):
            for mine, theirs in zip(rows_of(one, kind), rows_of(place.folder / name, kind), strict=True):
                expect(mine["loss_tokens_by_source"] == theirs["loss_tokens_by_source"], f"{name}: target tokens of {kind}")
                for source, loss in numbers(mine["loss_by_source"]).items():
                    other = numbers(theirs["loss_by_source"])[source]
                    expect((loss is None) == (other is None) and (loss is None or math.isclose(loss, other, rel_tol=1e-5)),
                           f"{name}: {kind} of {source}: {loss} and {other}")
    for row in rows_of(one, "validate"):
        expect(set(row["loss_by_source"]) == {"verse", "squares/2"}, f"validation: {row}")
        expect_mean(f"validation of step {row['step']}", row)
    expect("verse " in said and "squares/2 " in said, f"the line of a validation:\n{said}")
    # eval of each source alone gives its loss.
    last = numbers(rows_of(one, "validate")[-1]["loss_by_source"])
    whole = eval_of(place, "one")
    expect(numbers(whole["loss_by_source"]).keys() == last.keys(), f"eval: {whole}")
    for source, loss in numbers(whole["loss_by_source"]).items():
        expect(math.isclose(loss, last[source], rel_tol=1e-6), f"eval of {source}: {loss} and {last[source]}")
    for source, file in (("verse", "verse.txt"), ("squares/2", "digits.txt")):
        alone = eval_of(place, "one", "--data", file)["loss"]
        expect(math.isclose(alone, last[source], rel_tol=1e-6), f"eval --data {file}: {alone} and {last[source]}")
    # The table and the CSV have them.
    page = place.folder / "one"
    subprocess.run([place.binary, "report", "one"], cwd=place.folder, stdin=subprocess.DEVNULL, check=True, timeout=PATIENCE_S,
                   stdout=subprocess.DEVNULL)
    text = (page / "report.html").read_text()
    expect("Losses by source" in text and "squares/2" in text, "the report's table of sources")
    table = subprocess.run([place.binary, "plot", "one", "--csv", "one.csv"], cwd=place.folder, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=PATIENCE_S)
    expect(table.returncode == 0, table.stderr)
    rows = list(csv.DictReader(open(place.folder / "one.csv")))
    expect({"loss verse", "loss prose", "validation_loss squares/2"} <= set(rows[0]), f"columns: {list(rows[0])}")
    expect(math.isclose(float(rows[-1]["validation_loss verse"]), last["verse"], rel_tol=1e-9), f"CSV: {rows[-1]}")
    say("losses by source on 1, 2 and 4 ranks")


# A learning rate that breaks the model after its warm-up gives a best step in the middle.
WORSENING = ["schedule={kind: constant, warmup: 8 steps}", "optimizer.lr=0.05", "optimizer.clip={policy: off}"]


def best_checkpoints_stay(chosen):
    place = Place(chosen, "best", "llama")
    write_sources(place)
    settings = [*SOURCES, *WORSENING, "validate.every=2 steps", "checkpoint={every: 5 steps, keep: {last: 1, best: 2}}"]
    run = place.folder / "run"
    place.train("run", 2, "train.steps=12", *settings)
    place.train("run", 1, "train.steps=24", *settings)
    losses = {row["step"]: float(row["loss"]) for row in rows_of(run, "validate")}
    best = sorted(losses, key=losses.get)[:2]
    lows = [step for step in losses if all(losses[step] < losses[other] for other in losses if other < step)]
    expect([row["step"] for row in rows_of(run, "best")] == lows, f"bests {rows_of(run, 'best')} of {losses}")
    expect(best[0] < 16, f"the training does not get worse: {losses}")
    expect(set(best) <= set(complete_steps(run)), f"the best of {losses} stay: {complete_steps(run)}")
    expect(complete_steps(run)[-1] == 24 and len(complete_steps(run)) <= 4, f"others go: {complete_steps(run)}")
    found = eval_of(place, "run/best")
    expect(found["step"] == best[0] and math.isclose(found["loss"], losses[best[0]], rel_tol=1e-5),
           f"run/best is {found}, not step {best[0]}")
    expect(f"step-{best[0]:09d}" in place.inspect("run/best"), "inspect run/best")
    # A damaged record is no reason to delete what it may name.
    record = run / "ckpt" / "VALIDATIONS"
    whole = record.read_text()
    record.write_text(whole.replace(" ", "x", 1))
    said = place.train("run", 1, "train.steps=26", *settings, code=trainings.NO_CHECKPOINT)
    expect("line 1 of" in said and "VALIDATIONS" in said, said)
    expect(set(best) <= set(complete_steps(run)), "nothing is deleted then")
    record.write_text(whole)
    place.train("run", 1, "train.steps=26", *settings)
    expect(set(best) <= set(complete_steps(run)), "the best stay after another resume")
    say(f"best checkpoints {best} of {sorted(losses)}")


def training_stops_early(chosen):
    place = Place(chosen, "early", "llama")
    write_sources(place)
    settings = [*SOURCES, *WORSENING, "validate.every=2 steps", "train.steps=60", "checkpoint={every: 4 steps, keep: 50}"]
    patient = [*settings, "train.stop_when={patience: 3}"]
    said = place.train("run", 2, *patient)
    run = place.folder / "run"
    losses = {row["step"]: float(row["loss"]) for row in rows_of(run, "validate")}
    best = min(losses, key=losses.get)
    end = rows_of(run, "end")[-1]
    expect(end["exit_code"] == 0 and end["step"] == best + 6 and "train.stop_when.patience" in end["reason"], f"{end}")
    expect("finished early" in said and (run / "DONE").exists(), said)
    again = place.train("run", 1, *patient)
    expect("finished before" in again and "ended early" in again, again)
    expect(trainings.step_numbers(run)[-1] == end["step"], "the next job trains no step")
    # What was waited for counts over jobs: the same end after a stop in between.
    place.train("cut", 1, *patient, f"train.steps={best + 4}")
    expect(not rows_of(place.folder / "cut", "end")[-1]["reason"].startswith("finished early"), "cut too late")
    place.train("cut", 1, *patient)
    expect(rows_of(place.folder / "cut", "end")[-1]["step"] == end["step"], "patience counts over jobs")
    # More patience: the run continues.
    place.train("run", 1, *settings, "train.stop_when={patience: 4}")
    expect(rows_of(run, "end")[-1]["step"] == end["step"] + 2, f"{rows_of(run, 'end')[-1]}")
    target = losses[min(losses)] - 1e-6
    place.train("goal", 1, *settings, f"train.stop_when.validation_loss={target}")
    reached = rows_of(place.folder / "goal", "end")[-1]
    expect("train.stop_when.validation_loss" in reached["reason"] and reached["step"] < 20, f"{reached}")
    say(f"early stop after step {end['step']}, the best was {best}")


run_script(__doc__, losses_are_told_by_source, best_checkpoints_stay, training_stops_early)
