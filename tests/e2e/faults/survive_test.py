#!/usr/bin/env python3
"""A run that saves all the time is killed at random instants and goes on each time as if nothing had happened.

  survive_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_KILLS=50 survive_test.py ...      so many kills (default 5); ZIGGURAT_SEED=N draws others (default 1);
                                             ZIGGURAT_KILLS_IN=saves draws no instants, but kills each job in a save,
                                             and tells those that are killed by the file `is_killed` in the run's folder

All ranks and the launcher get SIGKILL at once, or now and then one rank alone. Each restart, on another number of ranks with other axes, another way
to share the state and other homes for it, goes on from the newest complete checkpoint of the folder as the kill left it; every complete
checkpoint verifies; what a killed save left is gone; metrics.jsonl has each step once, and the losses are those of
a run that nobody disturbed.
"""

import contextlib
import os
import pathlib
import random
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

STEPS = 24
LEFT_BEHIND = "left-behind"  # put into what a killed save left: the folder of a later save of that step has none
SAME = ["train.global_batch=60", f"train.steps={STEPS}", "precision.compute=fp32"]


def some_axes(chance, ranks):
    """Degrees of tensor and pipeline for `ranks` ranks, of two layers and two heads."""
    return chance.choice([(tensor, stages) for tensor in (1, 2) for stages in (1, 2) if ranks % (tensor * stages) == 0])


def shared_state(chance, ranks, axes):
    """Some way of `ranks` ranks, with the degrees `axes`, to share the state."""
    tensor, stages = axes
    data = ranks // (tensor * stages)
    cut = [f"parallel.tensor={tensor}", f"parallel.pipeline={stages}"] if data < ranks else []
    if chance.random() < 0.3 and data > 1:
        return [*cut, "sharding.parameters=1", f"sharding.gradients={data}", f"sharding.optimizer={data}"]
    return [*cut, f"sharding.zero={chance.randrange(4)}"]


def homes(chance, folder):
    """Where each kind of state lives; NVMe more often than not, which is what saves take most care of."""
    places = ["device", "host", "nvme", "nvme", "{device: 25%, host: 35%, nvme: rest}"]
    folder.mkdir(exist_ok=True)
    return [f"tiers.nvme.paths=[{folder}]", "tiers.chunk=16384" if chance.random() < 0.5 else "tiers.chunk=auto",
            *(f"tiers.home.{kind}={chance.choice(places)}" for kind in ("parameters", "gradients", "optimizer"))]


def movement(chance, stages, has_homes):
    """Another order in which state moves, with the same results; most have something to move only away from the device."""
    ways = [[], ["overlap.optimizer_with_backward=true", "optimizer.clip.policy=speculate"]]
    if stages == 1:
        ways.append(["train.accumulate=by_layer"])
        if not has_homes:
            ways.append(["tiers.movement=chunks", "tiers.device=8 MiB", "tiers.host=1 GiB"])
    return chance.choice(ways)


# Layers of 20 ms, so that a kill in a step is probably between a speculative update and its commit.
SPECULATION = ["overlap.optimizer_with_backward=true", "optimizer.clip.policy=speculate", "debug.throttle.compute=20ms"]


def mark_unfinished(run):
    """Marks each `.tmp` that the kill left, and adds one that no later save will ever replace."""
    root = run / "ckpt"
    if not root.is_dir():
        return
    (root / "step-000999999.tmp").mkdir(exist_ok=True)
    for folder in root.glob("*.tmp"):
        if folder.is_dir():
            (folder / LEFT_BEHIND).touch()


def kills_in_saves():
    return os.environ.get("ZIGGURAT_KILLS_IN") == "saves"


class Round:
    """One run from its first step to its last, over as many jobs as kills allow."""

    def __init__(self, place, number, chance, most_kills):
        self.place, self.chance, self.most_kills = place, chance, most_kills
        self.name = f"run{number}"
        self.run = place.folder / self.name
        self.asynchronous = ("true", "false")[number % 2]
        self.every, self.keep = chance.choice((1, 1, 2)), chance.choice((1, 2, 3))
        self.kills, self.jobs, self.ranks = 0, 0, 0

    def is_given(self):
        """Whatever the seed, the second job of all has four ranks cut by tensor and pipeline and is killed in a save."""
        return self.name == "run0" and self.jobs == 2

    def next_layout(self):
        """The number of ranks and the axes."""
        if self.is_given():
            self.ranks, self.axes = 4, (2, 2)
            return
        self.ranks = self.chance.choice([n for n in (1, 2, 3, 4) if n != self.ranks])
        self.axes = some_axes(self.chance, self.ranks)

    def speculates(self):
        """Whatever the seed, the first job of all updates state on NVMe in backward, and is killed in a step."""
        return self.name == "run0" and self.jobs == 1 and not kills_in_saves()

    def settings(self):
        has_homes = self.speculates() or self.chance.random() < 0.7
        state = homes(self.chance, self.place.folder / "nvme") if has_homes else []
        if self.speculates():
            state += ["tiers.home.optimizer=nvme", *SPECULATION]
        else:
            state += movement(self.chance, self.axes[1], has_homes)
        return [*SAME, f"checkpoint.every={self.every} steps", f"checkpoint.keep.last={self.keep}",
                f"checkpoint.async={self.asynchronous}", *shared_state(self.chance, self.ranks, self.axes), *state]

    def live(self):
        """Jobs until one finishes; returns the losses of all steps."""
        while True:
            self.jobs += 1
            self.next_layout()
            self.begin_before = trainings.latest_begin(self.run)
            self.goes_on_from = (trainings.complete_steps(self.run) or [0])[-1]
            self.latest = trainings.latest(self.run)
            mark_unfinished(self.run)
            settings = self.settings()
            if kills_in_saves():
                self.run.mkdir(exist_ok=True)
                (self.run / "is_killed").write_text("yes" if self.kills < self.most_kills else "no")
            with self.place.start(self.name, self.ranks, *settings) as job:
                is_killed = self.kills < self.most_kills and self.kill_at_some_instant(job)
                if not is_killed:
                    expect(job.wait() == 0, f"{job.name}: exit code {job.wait()}\n{job.tail()}")
            self.check(job, is_killed, settings)
            if not is_killed:
                return trainings.losses(self.run, 1, STEPS)

    def kill_at_some_instant(self, job):
        """False when the job ends before."""
        how = self.chance.random()
        if self.is_given() or kills_in_saves() or (how < 0.2 and not self.speculates()):
            job.wait_until(self.is_saving, "a save")
        elif self.speculates():
            job.wait_until(lambda: len(self.steps_of_this_job() or ()) >= 5, "5 more steps")
            time.sleep(self.chance.uniform(0.06, 0.12))  # in backward of two layers
        elif how < 0.4:  # while it starts, or soon after
            time.sleep(self.chance.uniform(0, 1))
        else:
            left = STEPS - self.goes_on_from
            further = self.chance.randint(1, max(1, 2 * left // (self.most_kills - self.kills + 1)))
            job.wait_until(lambda: len(self.steps_of_this_job() or ()) >= further, f"{further} more steps")
            time.sleep(self.chance.uniform(0, 0.06))  # somewhere in a step or a save
        if job.has_ended():
            return False
        ranks = job.ranks()
        if len(ranks) > 1 and self.chance.random() < 0.2:  # the others leave by themselves
            job.kill(self.chance.choice(ranks))
            if job.wait() == 0:  # it had done all it had to
                return False
        else:
            job.kill_all()
        self.kills += 1
        return True

    def is_saving(self):
        """Whether this job is writing a checkpoint; those that a killed save left are marked."""
        for folder in (self.run / "ckpt").glob("*.tmp"):
            with contextlib.suppress(OSError):  # it is complete meanwhile, or removed
                names = os.listdir(folder)
                if names and LEFT_BEHIND not in names:
                    return True
        return False

    def steps_of_this_job(self):
        """What it has added to metrics.jsonl; nothing at all before it is under way."""
        begin = trainings.latest_begin(self.run)
        if begin is None or begin == self.begin_before:
            return None
        return [row["step"] for row in trainings.events(self.run)[begin.row:] if row["event"] == "step"]

    def check(self, job, is_killed, settings):
        what = f"{self.name}, job {self.place.started} of {self.ranks} ranks"
        numbers = trainings.step_numbers(self.run)
        expect(numbers == list(range(1, len(numbers) + 1)),
               f"{what}: metrics.jsonl has the steps {numbers}\n{job.tail()}")
        ours = self.steps_of_this_job()
        if ours:
            found = trainings.latest_begin(self.run).step
            expect(found == self.goes_on_from and ours[0] == found + 1,
                   f"{what}: went on from {found}, but the newest complete step was {self.goes_on_from} "
                   f"(LATEST named {self.latest})\n{job.tail()}")
            stale = [str(path) for path in (self.run / "ckpt").glob(f"*/{LEFT_BEHIND}")]
            expect(not stale, f"{what}: left over from a killed save: {stale}\n{job.tail()}")
        expect(ours or is_killed or self.goes_on_from == STEPS, f"{what}: finished without a step")
        complete = trainings.complete_steps(self.run)
        self.place.expect_whole(self.run)
        if not is_killed and ours:  # without a step nothing is saved, nor removed
            kept = list(range(STEPS, 0, -self.every))[:self.keep]
            expect(complete == sorted(kept), f"{what}: kept {complete} instead of {sorted(kept)}")
        expect((complete or [0])[-1] >= self.goes_on_from, f"{what}: step {self.goes_on_from} is gone: {complete}")
        print(f"    {what}, {' '.join(settings[6:])}: from step {self.goes_on_from} (LATEST named {self.latest}), "
              f"{'killed' if is_killed else 'finished'} at {(numbers or [0])[-1]} after {len(ours or ())} steps; "
              f"complete {complete}", flush=True)


def survive(chosen):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    kills = int(os.environ.get("ZIGGURAT_KILLS", "5"))
    chance = random.Random(seed)
    print(f"{kills} kills, seed {seed}", flush=True)
    done = number = 0
    worst = {}
    places = {family: Place(chosen, family, family) for family in ("gpt2", "llama")}
    undisturbed = {}
    while done < kills:
        family = ("gpt2", "llama")[(number + number // 2) % 2]  # each with and without async
        if family not in undisturbed:
            places[family].train("undisturbed", 1, *SAME)
            undisturbed[family] = trainings.losses(places[family].folder / "undisturbed", 1, STEPS)
        life = Round(places[family], number, chance, most_kills=min(kills - done, chance.randint(2, 4)))
        curve = life.live()
        gap = trainings.expect_same_curve(f"{family}, {life.name}", curve, undisturbed[family])
        worst[family] = max(gap, worst.get(family, 0.0))
        done += life.kills
        number += 1
        say(f"{family}, async {life.asynchronous}, a save each {life.every} steps: survived {life.kills} kills, "
            f"losses within {gap:.1e} ({done} of {kills})")
        shutil.rmtree(life.run)
    say(f"{done} kills survived; losses within " + ", ".join(f"{gap:.1e} ({name})" for name, gap in worst.items()))


if __name__ == "__main__":
    trainings.run_script(__doc__, survive)
