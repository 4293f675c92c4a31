#!/usr/bin/env python3
"""A model whose states are 20 times the device memory and 5 times the host memory trains within these, by the kernel's
own count.

  tiers_memory_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_TIERS=full tiers_memory_test.py ...      312M parameters instead of 14M: 5 GB of NVMe, 4 GB of checkpoint

Budgets follow from the model states (16 bytes a parameter). Each job runs in a memory cgroup that holds the device
budgets of its ranks, the host budget and a fixed sum for each rank's program, and nothing more; reaching it means
death. Page cache and shared memory count. The same training with everything on the device has to die there.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

import equivalence
import trainings
from memory_group import MemoryGroup, NoGroups
from trainings import Failure, Training, expect, say

SKIPPED = 77
MIB = 1 << 20
SHARE_OF_DEVICES, SHARE_OF_HOST = 20, 5  # model states over the sum of device budgets, and over the host budget
STATE_BYTES = 16  # of a parameter: bf16 weight and gradient, fp32 master and two moments
STATES = [f"tiers.home.{kind}=nvme" for kind in ("parameters", "gradients", "optimizer")]
OTHER_HOMES = ["tiers.home.parameters=nvme", "tiers.home.gradients={host: 20%, nvme: rest}",
               "tiers.home.optimizer={host: 10%, nvme: rest}", "tiers.home.activations=nvme"]
SMALL = {"settings": [], "program_MiB": 40, "patience_s": 120}
FULL = {"settings": ["model.layers=92", "model.hidden=512", "model.heads=8", "model.ffn_hidden=1408",
                     "model.vocab=16384", "model.max_seq=128", "data.seq=128", "tiers.chunk=auto"],
        "program_MiB": 200, "patience_s": 3600}


def amount(text):
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


class Place:
    """A folder with the deck, its text and its disk."""

    def __init__(self, chosen, name, shape):
        self.binary, self.mpiexec, self.shape = chosen.binary, shlex.split(chosen.mpiexec), shape
        self.folder = chosen.work.resolve() / name
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "nvme").mkdir(parents=True)
        shutil.copy(trainings.HERE / "decks" / "llama_tiers.yaml", self.folder)
        equivalence.write_text(self.folder / "text.txt")
        parameters = re.search(r"size +([\d,]+) parameters", self.check(2, code=None))
        self.states = STATE_BYTES * int(parameters[1].replace(",", ""))
        self.started = 0

    def budgets(self, ranks):
        """Device bytes of a rank, host bytes of the node."""
        return self.states // SHARE_OF_DEVICES // ranks, self.states // SHARE_OF_HOST

    def limit(self, ranks):
        device, host = self.budgets(ranks)
        return ranks * device + host + ranks * self.shape["program_MiB"] * MIB

    def check(self, ranks, *settings, code=0):
        done = subprocess.run([self.binary, "check", "llama_tiers.yaml", "--ranks", str(ranks),
                               *self.shape["settings"], *settings], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        expect(code is None or done.returncode == code,
               f"check {settings} on {ranks} ranks ended with {done.returncode}\n{done.stdout}")
        return done.stdout

    def plan(self, ranks, *settings):
        """Bytes of device and host memory of all ranks."""
        device, host = self.budgets(ranks)
        text = self.check(ranks, f"tiers.device.budget={device}B", f"tiers.host.budget={host}B", *settings)
        amounts = re.search(r"^ +total +per rank +([\d.]+ \w*B) +([\d.]+ \w*B)", text, re.M)
        return ranks * (amount(amounts[1]) + amount(amounts[2]))

    def job(self, group, ranks, *words):
        """Starts the program with `words` in `group`, all ranks and their launcher."""
        self.started += 1
        launcher = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        return Training(group.joined([*launcher, self.binary, *words]), self.folder, f"{words[0]}.{self.started}")

    def run(self, group, ranks, *words):
        """The console of a job that ends well."""
        with self.job(group, ranks, *words) as job:
            code = job.wait(self.shape["patience_s"])
            expect(code == 0, f"'{' '.join(words)}' on {ranks} ranks ended with {code}; in its {group.limit_bytes >> 20} "
                              f"MiB the kernel has killed {group.kills()}\n{job.tail()}")
            return job.output()

    def train_words(self, ranks, *settings):
        device, host = self.budgets(ranks)
        return ["train", "llama_tiers.yaml", *self.shape["settings"], f"tiers.device.budget={device}B",
                f"tiers.host.budget={host}B", *settings]


def note(what, group, plan=None):
    peak = group.peak_bytes()
    beside = f", plan {plan / MIB:.1f} MiB" if plan else ""
    say(f"{what}: the kernel's peak is {peak / MIB:.1f} MiB of {group.limit_bytes / MIB:.1f} MiB{beside}")
    expect(group.kills() == 0, f"{what}: the kernel killed {group.kills()}")


def in_place(place):
    """Initialisation, steps, a validation and a save; a resume on three ranks; another validation, and a sample."""
    device, host = place.budgets(2)
    say(f"model states {place.states / MIB:.0f} MiB; budgets {device / MIB:.1f} MiB for each of two devices, "
        f"{host / MIB:.1f} MiB for the host")
    with MemoryGroup(place.limit(2)) as group:
        place.run(group, 2, *place.train_words(2, "run.resume=never"))
        note("20 steps on two ranks, two validations and a save", group, place.plan(2))
    first = trainings.losses(place.folder / "run", 1, 20)
    with MemoryGroup(place.limit(3)) as group:
        place.run(group, 3, *place.train_words(3, "run.resume=must", "train.steps=22", *OTHER_HOMES))
        note("two more on three ranks with other homes, and a save", group, place.plan(3, *OTHER_HOMES))
    losses = trainings.losses(place.folder / "run", 1, 22)
    expect(losses[:20] == first and losses[20] < first[0], f"losses {losses} after a resume of {first}")
    with MemoryGroup(place.limit(2)) as group:
        place.run(group, 2, "eval", "run", "--data", "text.txt")
        note("validation", group)
    with MemoryGroup(place.limit(2)) as group:
        place.run(group, 2, "sample", "run", "--prompt", "In the", "--tokens", "4")
        note("a sample", group)
    return first


def control(place, losses):
    """With everything on the device the bits are the same, and it dies in the group."""
    on_device = [setting.replace("=nvme", "=device") for setting in STATES] + ["tiers.home.activations=device"]
    words = ["train", "llama_tiers.yaml", "run.dir=control", "checkpoint.every=none", *on_device,
             "sharding.reduce=each_microbatch", "tiers.nvme.paths=[]"]
    with MemoryGroup(place.limit(2)) as group:
        with place.job(group, 2, *words) as job:
            code = job.wait(place.shape["patience_s"])
            expect(code != 0 and group.kills() > 0, f"everything fits into {group.limit_bytes >> 20} MiB: this shows nothing")
    with MemoryGroup(1 << 40) as group:
        place.run(group, 2, *words, "run.resume=never")
        expect(trainings.losses(place.folder / "control", 1, 20) == losses, "other homes, other losses")
        note("the same on devices alone, which dies under that limit,", group)


class Watch:
    """Resident memory, open files and bytes of nameless files of the ranks, all the time."""

    def __init__(self, job, run):
        self.job, self.run, self.samples = job, run, []
        self.thread = threading.Thread(target=self._look)
        self.thread.start()

    def _look(self):
        while not self.job.has_ended():
            step = len(trainings.step_numbers(self.run)) if self.run.exists() else 0
            found = [self._of(pid) for pid in self.job.ranks()]
            if found and None not in found:
                self.samples.append((step, *map(sum, zip(*found))))
            time.sleep(0.05)

    @staticmethod
    def _of(pid):
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            resident = sum(int(re.search(rf"^{name}:\s+(\d+)", status, re.M)[1]) for name in ("RssAnon", "RssShmem"))
            files = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
            nameless = {(found.st_dev, found.st_ino): found.st_blocks for found in map(os.stat, files)
                        if found.st_nlink == 0 and found.st_blocks}
            return resident * 1024, len(files), sum(nameless.values()) * 512
        except (OSError, TypeError):
            return None

    def most(self, first, last):
        """Of each count while steps first..last-1 were the latest that had ended."""
        found = [counts for step, *counts in self.samples if first <= step < last]
        return [max(values) for values in zip(*found)] if found else None


def stays_flat(place):
    """Over many steps and saves nothing grows."""
    steps, every = 200, 20
    with MemoryGroup(place.limit(2)) as group:
        words = place.train_words(2, "run.dir=flat", f"train.steps={steps}", f"checkpoint.every={every} steps",
                                  "checkpoint.keep.last=1", "validate.every=50 steps")
        with place.job(group, 2, *words) as job:
            watch = Watch(job, place.folder / "flat")
            code = job.wait(place.shape["patience_s"])
            watch.thread.join()
            expect(code == 0, f"it ended with {code}\n{job.tail()}")
        note(f"{steps} steps and {steps // every} saves", group)
    names = ("resident memory", "open files", "bytes of the disk")
    begin, rest = watch.most(3, every + 3), watch.most(every + 3, steps)
    expect(begin and rest, f"nothing was seen of it: {len(watch.samples)} samples")
    for name, first, later in zip(names, begin, rest):
        expect(first > 0 and later <= 1.01 * first, f"{name} grow from {first} in the first {every} steps to {later}")
    say("; ".join(f"{name} {first} in the first {every} steps, {later} in the others"
                  for name, first, later in zip(names, begin, rest)))


def main(chosen):
    if os.environ.get("ZIGGURAT_TIERS") == "full":
        in_place(Place(chosen, "full", FULL))
        return
    place = Place(chosen, "small", SMALL)
    control(place, in_place(place))
    stays_flat(place)


if __name__ == "__main__":
    try:
        trainings.run_script(__doc__, main)
    except NoGroups as reason:
        print(f"skipped: no memory cgroup can be made here ({reason})")
        sys.exit(SKIPPED)
