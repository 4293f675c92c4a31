#!/usr/bin/env python3
"""examples/hooks with the real packages, offline: every loss of a run arrives once, at its step, also after a resume.

  hooks_trackers_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("mlflow", "wandb")

import mlflow
from mlflow import MlflowClient
from wandb.proto import wandb_internal_pb2

import trainings
from trainings import Place, expect, run_script, say

HOOKS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "hooks"
STEPS, MORE_STEPS = 11, 14
SETTINGS = ["checkpoint.every=5 steps", "checkpoint.keep=9", "validate={every: 5 steps, batches: 1}", "schedule={kind: constant, warmup: 0 steps}",
            "data.held_out=20%"]
CURVES = {"step": "train/loss", "validate": "validation/loss"}


def train(place, hook, environment):
    """Returns each curve, {step: loss}, also with what the resume has cut off."""
    losses = {curve: {} for curve in CURVES.values()}
    for steps in (STEPS, MORE_STEPS):
        if steps == MORE_STEPS:  # as if it had been killed: it trains steps again that the tracker has
            shutil.rmtree(trainings.checkpoint(place.folder / "run", STEPS))
            (place.folder / "run" / "ckpt" / "LATEST").unlink()
        with place.start("run", 1, *SETTINGS, f"train.steps={steps}", f"run.on_event={sys.executable} {HOOKS / hook}",
                         environment=environment) as training:
            expect(training.wait() == 0, training.tail())
            expect("run.on_event failed" not in training.output(), (place.folder / "run" / "on_event.log").read_text()[-3000:])
        for row in trainings.events(place.folder / "run"):
            if row["event"] in CURVES:
                losses[CURVES[row["event"]]][row["step"]] = float(row["loss"])
    return losses


def mlflow_gets_each_loss(chosen):
    place = Place(chosen, "mlflow")
    store = f"file://{place.folder}/store"
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # MLflow prefers a database
    losses = train(place, "mlflow_hook.py", {"MLFLOW_TRACKING_URI": store, "MLFLOW_ALLOW_FILE_STORE": "true"})
    client = MlflowClient(store)
    runs = client.search_runs([client.get_experiment_by_name("ziggurat").experiment_id])
    expect(len(runs) == 1 and runs[0].info.status == "FINISHED", f"{runs}")
    for curve, expected in losses.items():
        points = client.get_metric_history(runs[0].info.run_id, curve)
        expect(sorted((point.step, point.value) for point in points) == sorted(expected.items()), f"{curve}: {points}")
    say(f"mlflow {mlflow.__version__}: {len(losses['train/loss'])} steps and {len(losses['validation/loss'])} validations")


def records_of(path):
    """The records of a .wandb file: LevelDB's log format after a header of 7 bytes."""
    header, block = 7, 32768
    data = path.read_bytes()
    at, whole = header, b""
    while at + 7 <= len(data):
        if block - at % block < 7:  # the rest of a block is filled
            at += block - at % block
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        whole += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


def wandb_gets_each_loss(chosen):
    place = Place(chosen, "wandb")
    folder = place.folder / "wandb_files"
    folder.mkdir()
    losses = train(place, "wandb_hook.py", {"WANDB_MODE": "offline", "WANDB_DIR": str(folder)})
    files = sorted(folder.glob("wandb/offline-run-*/*.wandb"))
    expect(len({file.name for file in files}) == 1, f"one run: {files}")
    found = {curve: [] for curve in losses}
    for file in files:
        for record in records_of(file):
            if record.WhichOneof("record_type") == "history":
                row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
                for curve in losses:
                    if curve in row:
                        found[curve].append((row["_step"], row[curve]))
    for curve, expected in losses.items():
        expect(sorted(found[curve]) == sorted(expected.items()), f"{curve}: {found[curve]} instead of {expected}")
    say(f"wandb: {len(losses['train/loss'])} steps and {len(losses['validation/loss'])} validations")


if __name__ == "__main__":
    run_script(__doc__, mlflow_gets_each_loss, wandb_gets_each_loss)
