#!/usr/bin/env python3
"""Damaged checkpoints, absent ones and ones that belong to another job: never other weights, never a silent new start.

  damage_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_DAMAGES=200 damage_test.py ...    so many damages of the newest checkpoint (default 4); ZIGGURAT_SEED=N
"""

import os
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import NO_CHECKPOINT, Place, expect, say

STEPS = 12
SAVES = (4, 8)
ALIKE = ["train.global_batch=60", "precision.compute=fp32", "schedule.kind=constant"]  # whatever the last step is
SAME = [*ALIKE, f"train.steps={STEPS}"]
SAVING = ["checkpoint.every=4 steps", "checkpoint.keep.last=10", "sharding.zero=3"]


def bytes_of(folder):
    """Every file of a folder, to say later that nobody has touched it."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# ---------------------------------------------------------------- damages


def flip_a_bit(path, chance):
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return f"bit flipped in byte {at} of {path.name}"


def truncate(path, chance):
    size = chance.randrange(path.stat().st_size)
    os.truncate(path, size)
    return f"{path.name} truncated to {size} bytes"


def remove(path, _):
    path.unlink()
    return f"{path.name} removed"


def append(path, _):
    with open(path, "ab") as file:
        file.write(b"more")
    return f"four bytes appended to {path.name}"


def swap_with_another_step(path, _):
    shutil.copy(path.parent.parent / f"step-{SAVES[0]:09d}" / path.name, path)
    return f"{path.name} taken from step {SAVES[0]}"


DAMAGES = (flip_a_bit, truncate, remove, append, swap_with_another_step)
DAMAGES_OF_LATEST = (flip_a_bit, truncate, append)  # there may be none, and there is only one


class Damaged:
    """A run that ended with its second save, of whose checkpoints each test gets a copy; and one that went on."""

    def __init__(self, chosen):
        self.place = Place(chosen, "gpt2")
        self.place.train("whole", 2, *SAME, *SAVING[1:])
        self.curve = trainings.losses(self.place.folder / "whole", 1, STEPS)
        self.place.train("first", 2, *ALIKE, *SAVING, f"train.steps={SAVES[-1]}")
        self.source = self.place.folder / "first" / "ckpt"
        expect(trainings.latest(self.source.parent) == SAVES[-1], "LATEST names the last save")

    def copy(self, name, *steps):
        """A run folder that holds these checkpoints, LATEST where it names one of them, and nothing else."""
        run = self.place.folder / name
        shutil.rmtree(run, ignore_errors=True)
        for step in steps:
            shutil.copytree(self.source / f"step-{step:09d}", trainings.checkpoint(run, step))
        if SAVES[-1] in steps:
            shutil.copy(self.source / "LATEST", run / "ckpt")
        return run

    def expect_curve_from(self, what, run, step, bound=0.0):
        """The same layout: the same bits."""
        ours = trainings.losses(run, step + 1, STEPS)
        trainings.expect_same_curve(what, ours, self.curve[step:], bound)


def one_damaged(of, number, chance):
    """The newest is damaged: it is not taken, or the damage is in nothing that a resume needs."""
    run = of.copy("damaged", *SAVES)
    newest = trainings.checkpoint(run, SAVES[1])
    file = chance.choice([*sorted(newest.iterdir()), run / "ckpt" / "LATEST"])
    what = f"damage {number}: {chance.choice(DAMAGES_OF_LATEST if file.name == 'LATEST' else DAMAGES)(file, chance)}"
    damaged = bytes_of(newest)
    verdict = of.place.inspect("--verify", run, code=NO_CHECKPOINT)
    expect(file.name in verdict, f"{what}: --verify does not name it:\n{verdict}")
    console = of.place.train("damaged", 2, *SAME, *SAVING[1:], "run.resume=must")
    taken = trainings.latest_begin(run).step
    needed = file.name not in ("LATEST", "master.h5")
    expect(taken == SAVES[0] if needed else taken in SAVES, f"{what}: went on from step {taken}\n{console}")
    of.expect_curve_from(what, run, taken)
    expect(taken == SAVES[1] or newest.name in console, f"{what}: the console does not say why:\n{console}")
    expect(not newest.exists() or bytes_of(newest) == damaged, f"{what}: the damaged one was changed")
    say(f"{what}: named by --verify; went on from step {taken} with the same bits")


def some_damaged(of):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    for number in range(1, int(os.environ.get("ZIGGURAT_DAMAGES", "4")) + 1):
        one_damaged(of, number, chance)


def damage_a_weight(checkpoint):
    """One bit of a tensor, which shows only when it is read."""
    told = trainings.manifest(checkpoint)
    fields = told["piece_fields"].split(", ")
    piece = dict(zip(fields, told["pieces"][len(told["pieces"]) // 2]))
    shard = checkpoint / told["files"][piece["file"]]["name"]
    data = bytearray(shard.read_bytes())
    data[piece["offset_bytes"]] ^= 1
    shard.write_bytes(data)


def saves_again_what_was_damaged(of):
    """From the older one over the step whose checkpoint is damaged: in the end all is whole."""
    run = of.copy("again", *SAVES)
    newest = trainings.checkpoint(run, SAVES[1])
    damage_a_weight(newest)
    console = of.place.train(run.name, 2, *SAME, *SAVING)
    expect(trainings.latest_begin(run).step == SAVES[0] and newest.name in console,
           f"again: not gone on from step {SAVES[0]}\n{console}")
    of.expect_curve_from("again", run, SAVES[0])
    expect(trainings.complete_steps(run) == [*SAVES, STEPS], f"again: {trainings.complete_steps(run)}")
    of.place.expect_whole(run)
    say("a step whose checkpoint is damaged is saved again; in the end every checkpoint is whole")


def latest_lags(of):
    """Death between the name of a checkpoint and LATEST: the newest counts, and the next save puts LATEST right."""
    run = of.copy("lags", *SAVES)
    older = trainings.checkpoint(run, SAVES[0])
    (run / "ckpt" / "LATEST").write_text(f"{older.name} {trainings.manifest(older)['xxh3']}\n")
    of.place.expect_whole(run)
    of.place.train(run.name, 3, *SAME, *SAVING)
    expect(trainings.latest_begin(run).step == SAVES[1], "lags: not gone on from the newest")
    expect(trainings.latest(run) == STEPS, f"lags: LATEST names {trainings.latest(run)}")
    of.place.expect_whole(run)
    say("where LATEST lags behind, the newest complete checkpoint is taken")


def all_damaged(of):
    run = of.copy("all_damaged", *SAVES)
    for step in SAVES:
        damage_a_weight(trainings.checkpoint(run, step))
    before = bytes_of(run / "ckpt")
    for ranks in (1, 3):
        console = of.place.train(run.name, ranks, *SAME, *SAVING, code=NO_CHECKPOINT)
        for step in SAVES:
            expect(f"step-{step:09d}" in console, f"all damaged: step {step} is not named:\n{console}")
        expect(bytes_of(run / "ckpt") == before, "all damaged: they were changed")
        expect(not trainings.step_numbers(run), "all damaged: it trained")
        say(f"all checkpoints damaged, {ranks} ranks: exit code 4, each is named, nothing is touched")


def none_at_all(of):
    for name, steps in (("no_folder", ()), ("unfinished", SAVES[:1])):
        run = of.copy(name, *steps)
        for step in steps:
            folder = trainings.checkpoint(run, step)
            folder.rename(folder.with_name(folder.name + ".tmp"))
        of.place.train(name, 2, *SAME, *SAVING[1:], "run.resume=must", code=NO_CHECKPOINT)
        of.place.train(name, 2, *SAME, *SAVING[1:])
        of.expect_curve_from(name, run, 0)
        expect(not list(run.glob("ckpt/*.tmp")), f"{name}: what was not complete is still there")
        say(f"no complete checkpoint ({name}): `must` ends with 4, `auto` starts afresh")


def never_keeps_what_is_there(of):
    """`never` starts afresh or refuses; either way all bytes of the earlier checkpoints are still in the folder."""
    run = of.copy("never", *SAVES)
    before = sorted(bytes_of(run / "ckpt").values())
    with of.place.start(run.name, 2, *SAME, *SAVING, "run.resume=never") as job:
        code = job.wait()
    after = list(bytes_of(run).values())
    lost = [data for data in before if data not in after]
    expect(not lost, f"never: {len(lost)} files of earlier checkpoints are lost\n{job.tail()}")
    expect(code in (0, 2, 3, 4), f"never: exit code {code}\n{job.tail()}")
    if code == 0:
        of.expect_curve_from("never", run, 0)
    say(f"`never` in a folder with checkpoints: exit code {code}, nothing is lost")


def another_job_is_kept_out(of):
    """A second job in the same folder is refused, and changes nothing; a killed one leaves no lock behind."""
    run = of.copy("shared", SAVES[0])
    endless = ["train.global_batch=60", "precision.compute=fp32", "train.steps=1000000"]
    with of.place.start(run.name, 2, *endless) as first:
        began = first.wait_until(lambda: len(trainings.step_numbers(run)) > 3, "some steps")
        expect(began, f"shared: the first job ended\n{first.tail()}")
        for ranks in (1, 2):
            with of.place.start(run.name, ranks, *SAME, *SAVING) as second:
                code = second.wait()
            expect(code == 3 and "another job" in second.output(), f"shared: exit code {code}\n{second.tail()}")
        expect(trainings.checkpoint(run, SAVES[0]).is_dir(), "shared: the second job removed a checkpoint")
        count = len(trainings.step_numbers(run))
        more = first.wait_until(lambda: len(trainings.step_numbers(run)) > count, "more steps")
        expect(more, f"shared: the second job ended the first\n{first.tail()}")
        first.kill_all()
    of.place.train(run.name, 3, *SAME, *SAVING)
    of.expect_curve_from("shared", run, SAVES[0], 1e-5)
    say("a second job in the folder is refused with 3; the lock of a killed job is gone")


def damage(chosen):
    of = Damaged(chosen)
    another_job_is_kept_out(of)
    none_at_all(of)
    never_keeps_what_is_there(of)
    all_damaged(of)
    saves_again_what_was_damaged(of)
    latest_lags(of)
    some_damaged(of)


if __name__ == "__main__":
    trainings.run_script(__doc__, damage)
