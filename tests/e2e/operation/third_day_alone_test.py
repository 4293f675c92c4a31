#!/usr/bin/env python3
"""A run stands on its own: it goes on without the weights that it began with, from another folder, as a copy.

  third_day_alone_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import PATIENCE_S, Place, complete_steps, expect, losses, run_script, say

DECK = 2
SETTINGS = ["checkpoint.every=2 steps", "checkpoint.keep=9", "schedule={kind: constant, warmup: 0 steps}", "optimizer.lr=0.01"]


class Runs(Place):
    """A base that was trained for two steps, and exported."""

    def __init__(self, chosen, name):
        super().__init__(chosen, name, "llama")
        self.train("base", 1, "train.steps=2", *SETTINGS)
        self.call("export", "base", "model")

    def call(self, *words, code=0, folder=None):
        """What a command says."""
        done = subprocess.run([self.binary, *map(str, words)], cwd=folder or self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        expect(done.returncode == code, f"{words} ended with {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def remove_bases(self):
        shutil.rmtree(self.folder / "base")
        shutil.rmtree(self.folder / "model")


def goes_on_without_its_base(chosen):
    """By its deck and by its folder, to the losses of a run that was never stopped."""
    place = Runs(chosen, "without_base")
    kinds = {"tuned": ["model.init={from: checkpoint, path: base}"],
             "adapted": ["model.init={from: hf, path: model}", "train.lora.rank=4"]}
    for run, settings in kinds.items():
        place.train(f"{run}_whole", 1, "train.steps=6", *SETTINGS, *settings)
        place.train(run, 1, "train.steps=4", *SETTINGS, *settings)
    place.remove_bases()
    for run, settings in kinds.items():
        whole = losses(place.folder / f"{run}_whole", 1, 6)
        shutil.copytree(place.folder / run, place.folder / f"{run}_by_folder")
        place.train(run, 2, "train.steps=6", *SETTINGS, *settings)
        trainings.expect_same_curve(run, losses(place.folder / run, 1, 6), whole)
        place.call("train", f"{run}_by_folder", "train.steps=6")
        expect(losses(place.folder / f"{run}_by_folder", 1, 6) == whole, f"{run} by its folder")
        said = place.call("check", place.deck, *settings, f"run.dir={run}_new", code=DECK)
        expect("is not here" in said or "cannot" in said, f"a run that begins needs its base: {said}")
        place.call("check", place.deck, *SETTINGS, *settings, f"run.dir={run}", "run.resume=never", code=DECK)
    say("without its base")


def goes_on_from_another_folder(chosen):
    """Paths of its deck begin where it was started, or as far from its folder as they did; files of the command line
    where the command is given."""
    place = Runs(chosen, "elsewhere")
    project, other = place.folder / "project", place.folder / "other"
    for name in ("project/data", "other/data"):
        (place.folder / name).mkdir(parents=True)
    shutil.copy(place.folder / "text.txt", project / "data" / "text.txt")
    (other / "data" / "text.txt").write_text("another text of the same name, " * 40)
    (other / "more.txt").write_text("what is validated: " * 40)
    settings = [*SETTINGS, "data.train=[{format: text, path: data/text.txt}]", "logging.every=1 steps"]
    place.call("train", place.folder / place.deck, "run.dir=runs/whole", "train.steps=10", *settings, folder=project)
    place.call("train", place.folder / place.deck, "run.dir=runs/a", "train.steps=4", *settings, folder=project)

    said = place.call("train", "../project/runs/a", "train.steps=6", folder=other)
    expect("paths of the run start at '" in said and "(data.train[0].path exists there" in said, said)
    expect(f'working_folder: "{project}"' in (project / "runs/a/deck.effective.yaml").read_text(), "where paths begin")
    expect("the folder of this deck" not in said, f"it is where it was: {said}")
    shutil.copytree(project, place.folder / "copy")
    shutil.rmtree(project)
    said = place.call("train", place.folder / "copy/runs/a", "train.steps=8", folder=other)
    expect("paths of the run start at '" in said and "the folder of this deck" in said, said)
    copied = (place.folder / "copy/runs/a/deck.effective.yaml").read_text()
    expect(f'working_folder: "{place.folder / "copy"}"' in copied, "where paths of the copy begin")
    said = place.call("train", place.folder / "copy/runs/a", "train.steps=9", "validate.every=1 steps",
                      "data.validation=[{format: text, path: more.txt}]", folder=other)
    expect("validate" in said, said)
    said = place.call("train", "runs/a", "train.steps=10", folder=place.folder / "copy")
    expect("paths of the run start" not in said, said)
    whole = losses(place.folder / "copy/runs/whole", 1, 10)
    expect(losses(place.folder / "copy/runs/a", 1, 10) == whole, "the same losses wherever it goes on")

    run = place.folder / "moved"
    shutil.move(place.folder / "copy/runs/a", run)
    shutil.move(place.folder / "copy", place.folder / "away")
    said = place.call("train", run, "train.steps=12", folder=place.folder, code=DECK)
    expect("data.train[0].path" in said and "data/text.txt" in said, f"the key that names it: {said}")
    place.call("train", run, "train.steps=12", "data.train[0].path=away/data/text.txt", folder=place.folder)
    expect(complete_steps(run)[-1] == 12, "with the path that was given")
    say("from another folder")


# Stand for Slurm's scontrol, and for a launcher that lets root start ranks.
STAND_INS = {"scontrol": '#!/bin/bash\necho "$*" >>scontrol.calls\n', "mpirun": '#!/bin/bash\nexec {} "$@"\n'}


def queued_again_without_its_base(chosen):
    """A job of the script that `ziggurat slurm` prints is stopped by Slurm's warning, and queued again after that."""
    place = Runs(chosen, "queued")
    deck, run = place.folder / "job.yaml", place.folder / "run"
    text = (place.folder / place.deck).read_text().replace("resume: never", "resume: auto")
    for name, stand_in in STAND_INS.items():
        (place.folder / "bin").mkdir(exist_ok=True)
        (place.folder / "bin" / name).write_text(stand_in.format(" ".join([shutil.which(place.mpiexec[0]), *place.mpiexec[1:]])))
        (place.folder / "bin" / name).chmod(0o755)

    def start(steps, restarts):
        deck.write_text(text.replace("steps: 20", f"steps: {steps}"))
        slurm = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2", "SLURM_RESTART_COUNT": str(restarts), "ZIGGURAT": place.binary,
                 "PATH": f"{place.folder}/bin:{os.environ['PATH']}"}
        return trainings.Training(["bash", "job.sbatch"], place.folder, f"job.{restarts}", slurm)

    deck.write_text(text)
    settings = [setting.replace("=2 steps", "=5 steps") for setting in SETTINGS]
    script = place.call("slurm", deck.name, "--nodes", "1", "--ntasks-per-node", "2", "run.dir=run", "logging.every=1 steps", *settings,
                        "train.lora.rank=4", "model.init={from: hf, path: model}")
    (place.folder / "job.sbatch").write_text(script)
    with start(1000000, 0) as training:
        expect(training.wait_until(lambda: complete_steps(run), "a checkpoint"), training.tail())
        training.process.send_signal(signal.SIGUSR1)
        expect(training.wait() == 75, training.tail())
    expect((place.folder / "scontrol.calls").read_text() == "requeue 7\n", "Slurm is asked to queue it again")
    place.remove_bases()
    saved = complete_steps(run)[-1]
    with start(saved + 3, 1) as training:
        expect(training.wait() == 0 and "done after 1 restarts" in training.output(), training.tail())
    expect(trainings.step_numbers(run) == list(range(1, saved + 4)), "each step once")
    say("queued again without its base")


if __name__ == "__main__":
    run_script(__doc__, goes_on_without_its_base, queued_again_without_its_base, goes_on_from_another_folder)
