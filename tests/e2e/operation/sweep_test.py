#!/usr/bin/env python3
"""Runs of a sweep have the bits of single trainings, also after one was killed or the sweep was stopped.

  sweep_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import csv
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, run_script, say

RUN_AGAIN, DECK = 75, 2  # exit codes
STEPS = 150
RATES, SEEDS = ("1e-4", "1e-2"), ("1", "2")
ANY_LENGTH = ["checkpoint.every=50 steps", "validate={every: 100 steps, batches: 2}", "data.held_out=20%",
              "schedule={kind: constant, warmup: 0 steps}"]
SETTINGS = [f"train.steps={STEPS}", *ANY_LENGTH]
AXES = [f"optimizer.lr={','.join(RATES)}", f"run.seed={','.join(SEEDS)}"]


def name_of(rate, seed):
    return f"lr={rate}_seed={seed}"


def rows_of(folder):
    with open(folder / "sweep.csv") as file:
        return list(csv.DictReader(file))


def expect_single_runs(place, folder):
    """Rows of the table, beside trainings of their own."""
    for row in rows_of(folder):
        rate, seed = row["optimizer.lr"], row["run.seed"]
        single = f"single_{rate}_{seed}"
        if not (place.folder / single).exists():
            place.train(single, 2, *SETTINGS, f"optimizer.lr={rate}", f"run.seed={seed}")
        ours, other = folder / name_of(rate, seed), place.folder / single
        expect(trainings.losses(ours, 1, STEPS) == trainings.losses(other, 1, STEPS), f"{row}: other losses")
        validations = [float(event["loss"]) for event in trainings.events(other) if event["event"] == "validate"]
        losses = trainings.losses(other, 1, STEPS)
        expect(float(row["best_validation"]) == min(validations), f"{row}: validations {validations}")
        expect(float(row["last_loss"]) == float(losses[-1]), f"{row}: last loss {losses[-1]}")
        expect(row["steps"] == str(STEPS) and row["state"] == "finished", str(row))


def a_killed_run_goes_on(chosen):
    place = Place(chosen, "killed")
    launch = " ".join(place.mpiexec) + " -n 2"
    # Rank 0 of the third run is killed once, by the command of its events, after a checkpoint.
    kill = ('case $ZIGGURAT_RUN_DIR in *lr=1e-2_seed=1) [ $ZIGGURAT_EVENT != checkpoint_end ] || [ -e killed ] || '
            '{ touch killed; kill -9 $PPID; } ;; esac')
    words = [place.deck, *SETTINGS, *AXES, f"run.on_event={kill}", "--ranks", "2", "--launch", launch, "--folder", "swept"]
    command = [place.binary, "sweep", *words]
    done = subprocess.run(command, cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=trainings.PATIENCE_S, env=dict(os.environ, OMP_NUM_THREADS="1",
                          OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    expect(done.returncode not in (0, DECK), f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    folder = place.folder / "swept"
    states = {row["run"]: row["state"] for row in rows_of(folder)}
    expect([state for state in states.values()].count("finished") == 3 and "finished" not in states["lr=1e-2_seed=1"],
           f"one run died: {states}")
    before = {name: (folder / name / "metrics.jsonl").read_text() for name in states}
    os.chdir("/")  # the record knows where it was started
    said, _ = place.call("sweep", folder)
    os.chdir(place.folder)
    for name, text in before.items():
        is_same = (folder / name / "metrics.jsonl").read_text() == text
        expect(is_same == (name != "lr=1e-2_seed=1"), f"{name}: trained again, or not")
    expect_single_runs(place, folder)
    table = [line.split() for line in said[said.rindex("optimizer.lr "):].splitlines()[1:5]]
    ordered = sorted(rows_of(folder), key=lambda row: float(row["best_validation"]))
    expect([line[:2] for line in table] == [[row["optimizer.lr"], row["run.seed"]] for row in ordered], f"{table}")
    shown, _ = place.call("sweep", folder, "--table")
    expect([line.split()[:2] for line in shown.splitlines()[1:5]] == [line[:2] for line in table], shown)
    picture = (folder / "sweep.svg").read_text()
    expect(all(name in picture for name in states), "the picture names each run")
    say("a killed run went on; the table is that of single runs")


def a_stopped_sweep_goes_on(chosen):
    place = Place(chosen, "stopped")
    words = [place.deck, *ANY_LENGTH, "train.steps=200000", "run.seed=1,2", "--folder", "swept", "--ranks", "1"]
    process = subprocess.Popen([place.binary, "sweep", *words], cwd=place.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    first = place.folder / "swept" / "seed=1"
    trainings.wait_until(lambda: trainings.complete_steps(first) or process.poll() is not None, "a checkpoint of the first run")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=trainings.PATIENCE_S)[0]
    expect(process.returncode == RUN_AGAIN, f"exit code {process.returncode}\n{said[-2000:]}")
    expect("1 of 2 runs" in said and not (place.folder / "swept" / "seed=2").exists(), said[-2000:])
    expect(re.search(r"seed=2|^2 +- +- +0 +- +not started", said, re.M), said[-2000:])
    last = trainings.complete_steps(first)[-1]
    (place.folder / "swept" / "sweep.json").write_text(
        (place.folder / "swept" / "sweep.json").read_text().replace("200000", str(last + 2)))
    place.call("sweep", "swept")
    for row in rows_of(place.folder / "swept"):
        expect(row["state"] == "finished" and row["steps"] == str(last + 2), str(row))
    say("a stopped sweep went on")


def tasks_of_a_job_array_are_its_runs(chosen):
    place = Place(chosen, "array")
    script, _ = place.call("slurm", place.deck, *SETTINGS, "run.seed=1,2", "--sweep", "swept", "--ntasks-per-node", "2")
    (place.folder / "array.sbatch").write_text(script)
    environment = dict(os.environ, SLURM_JOB_ID="7", SLURM_NTASKS="2", SLURM_JOB_NAME="swept", OMP_NUM_THREADS="1",
                       ZIGGURAT_LAUNCH=" ".join(place.mpiexec) + " -n 2", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    for task, code in (("1", 0), ("0", 0), (None, 2)):
        of_task = environment | {"SLURM_ARRAY_TASK_ID": task} if task else environment
        done = subprocess.run(["bash", "array.sbatch"], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=trainings.PATIENCE_S, env=of_task)
        expect(done.returncode == code, f"task {task}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    shown, _ = place.call("sweep", "swept", "--table")
    expect(len(re.findall(f" {STEPS} .* finished$", shown, re.M)) == 2, shown)
    say("tasks of a job array are the runs of a sweep")


def mistakes_start_nothing(chosen):
    place = Place(chosen, "mistakes")
    for words, reason in ((["optimizer.lr=1e-4,hello"], r"optimizer\.lr = 'hello'"), (["optimizer.lr=1e-4"], "with commas"),
                          (["run.seed=1,2", "parallel.tensor=3"], "parallel.tensor"),
                          (["run.seed=1,2", "tiers.device=1KiB"], "DOES NOT FIT")):
        done = subprocess.run([place.binary, "sweep", place.deck, *words, "--folder", "swept", "--ranks", "2"], cwd=place.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=trainings.PATIENCE_S)
        expect(done.returncode in (2, 3) and re.search(reason, done.stderr), f"{words}: {done.returncode} {done.stderr}")
        expect(not (place.folder / "swept").exists(), f"{words}: something was started")
    for words in (["sweep", place.deck, "--table"], ["sweep", "nothere.yaml", "run.seed=1,2"], ["sweep"]):
        place.call(*words, code=DECK)
    say("mistakes start nothing")


if __name__ == "__main__":
    run_script(__doc__, a_killed_run_goes_on, a_stopped_sweep_goes_on, tasks_of_a_job_array_are_its_runs,
               mistakes_start_nothing)
