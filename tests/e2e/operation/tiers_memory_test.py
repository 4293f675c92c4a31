#!/usr/bin/env python3
"""A model whose states are 20 times the device memory and 5 times the host memory trains within these, by the kernel's
own count.

  tiers_memory_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_TIERS=full tiers_memory_test.py ...      312M parameters instead of 15M: 5 GB of NVMe, 4 GB of checkpoint
  ZIGGURAT_TIERS=flat tiers_memory_test.py ...      200 steps and ten saves of these

Budgets follow from the model states (16 bytes a parameter). Each job runs in a memory cgroup that holds the device
budgets of its ranks, the host budget and a fixed sum for each rank's program, and nothing more; reaching it means
death. Page cache and shared memory count. The same training with everything on the device is refused there.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import equivalence
import trainings
from memory_group import MemoryGroup, NoGroups
from trainings import Failure, Training, expect, say

SKIPPED = 77
PR_SET_THP_DISABLE = 41
NO_RESOURCES = 3  # exit code
MIB = 1 << 20
SHARE_OF_DEVICES, SHARE_OF_HOST = 20, 5  # model states over the sum of device budgets, and over the host budget
SHORT = 600  # characters to be evaluated: each few of them read all weights
STATE_BYTES = 16  # of a parameter: bf16 weight and gradient, fp32 master and two moments
STATES = [f"tiers.home.{kind}=nvme" for kind in ("parameters", "gradients", "optimizer")]
OTHER_HOMES = ["tiers.home.parameters=nvme", "tiers.home.gradients={host: 10%, nvme: rest}",
               "tiers.home.optimizer={host: 5%, nvme: rest}", "tiers.home.activations=nvme"]
SMALL = {"settings": [], "micro_batch": {2: 3, 3: 1}, "program_MiB": 80, "patience_s": 200}
FULL = {"settings": ["model.layers=92", "model.hidden=512", "model.heads=8", "model.ffn_hidden=1408",
                     "model.vocab=16384", "model.max_seq=128", "data.seq=128", "tiers.chunk=1048576"],
        "micro_batch": {2: 3, 3: 2},
        "program_MiB": 200, "patience_s": 900}


def amount(text):
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


def exit_code(job, patience):
    """What a job ends with that prints something every `patience` seconds."""
    printed = None
    while not job.has_ended():
        expect(job.output() != printed, f"{job.name} printed nothing for {patience} s\n{job.tail()}")
        printed = job.output()
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(timeout=patience)
    return job.process.returncode


class Place:
    """A folder with the deck, its text and its disk."""

    def __init__(self, chosen, name, shape):
        self.binary, self.mpiexec, self.shape = chosen.binary, shlex.split(chosen.mpiexec), shape
        self.folder = chosen.work.resolve() / name
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "nvme").mkdir(parents=True)
        shutil.copy(trainings.DECKS / "llama_tiers.yaml", self.folder)
        equivalence.write_text(self.folder / "text.txt")
        (self.folder / "short.txt").write_text((self.folder / "text.txt").read_text()[:SHORT])
        parameters = re.search(r"size +([\d,]+) parameters", self.check(2, *shape["settings"], code=None))
        self.states = STATE_BYTES * int(parameters[1].replace(",", ""))
        self.started = 0

        # Of two ranks' devices; a third rank brings one more.
        self.device, self.host = self.states // SHARE_OF_DEVICES // 2, self.states // SHARE_OF_HOST

    def limit(self, ranks):
        return ranks * (self.device + self.shape["program_MiB"] * MIB) + self.host

    def settings(self, ranks, *more):
        return [*self.shape["settings"], f"train.micro_batch={self.shape['micro_batch'][ranks]}",
                f"tiers.device.budget={self.device}B", f"tiers.host.budget={self.host}B", *more]

    def check(self, ranks, *settings, code=0):
        done = subprocess.run([self.binary, "check", "llama_tiers.yaml", "--ranks", str(ranks),
                               *settings], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        expect(code is None or done.returncode == code,
               f"check {' '.join(settings)} on {ranks} ranks ended with {done.returncode}\n{done.stdout}")
        return done.stdout

    def plan(self, ranks, *settings):
        """Bytes of device and host memory of all ranks."""
        text = self.check(ranks, *self.settings(ranks, *settings))
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
            code = exit_code(job, self.shape["patience_s"])
            expect(code == 0, f"'{' '.join(words)}' on {ranks} ranks ended with {code}; in its {group.limit_bytes >> 20} "
                              f"MiB the kernel has killed {group.kills()}\n{job.tail()}")
            return job.output()

    def train_words(self, ranks, *settings):
        return ["train", "llama_tiers.yaml", *self.settings(ranks, *settings)]


def note(what, group, plan=None):
    peak = group.peak_bytes()
    beside = f", plan {plan / MIB:.1f} MiB" if plan else ""
    say(f"{what}: the kernel's peak is {peak / MIB:.1f} MiB of {group.limit_bytes / MIB:.1f} MiB{beside}")
    expect(group.kills() == 0, f"{what}: the kernel killed {group.kills()}")


def in_place(place):
    """Initialisation, steps, a validation and a save; a resume on three ranks; another validation, and a sample."""
    say(f"model states {place.states / MIB:.0f} MiB; budgets {place.device / MIB:.1f} MiB for each device, "
        f"{place.host / MIB:.1f} MiB for the host")
    plan = place.plan(2)
    with MemoryGroup(place.limit(2)) as group:
        place.run(group, 2, *place.train_words(2, "run.resume=never"))
        note("20 steps on two ranks, two validations and a save", group, plan)
    first = trainings.losses(place.folder / "run", 1, 20)
    with MemoryGroup(place.limit(3)) as group:
        place.run(group, 3, *place.train_words(3, "run.resume=must", "train.steps=22", *OTHER_HOMES))
        note("two more on three ranks with other homes, and a save", group, place.plan(3, *OTHER_HOMES))
    losses = trainings.losses(place.folder / "run", 1, 22)
    expect(losses[:20] == first and losses[20] < first[0], f"losses {losses} after a resume of {first}")
    with MemoryGroup(place.limit(2)) as group:
        place.run(group, 2, "eval", "run", "--data", "short.txt")
        note("validation", group)
    with MemoryGroup(place.limit(2)) as group:
        place.run(group, 2, "sample", "run", "--prompt", "In the", "--tokens", "4")
        note("a sample", group)
    return first


def control(place, losses):
    """With everything on the device the bits are the same, and it is refused in the group, of whose limit it learns."""
    on_device = [setting.replace("=nvme", "=device") for setting in STATES] + ["tiers.home.activations=device"]
    words = ["train", "llama_tiers.yaml", "run.dir=control", "checkpoint.every=none", *on_device,
             "sharding.reduce=each_microbatch", "tiers.nvme.paths=[]", f"train.micro_batch={place.shape['micro_batch'][2]}"]
    with MemoryGroup(place.limit(2)) as group:
        with place.job(group, 2, *words) as job:
            code = exit_code(job, place.shape["patience_s"])
            expect(code == NO_RESOURCES and "does not fit" in job.output(),
                   f"everything on the device ended with {code} in {group.limit_bytes >> 20} MiB instead of being refused\n"
                   f"{job.tail()}")
    with MemoryGroup(1 << 40) as group:
        place.run(group, 2, *words, "run.resume=never")
        expect(trainings.losses(place.folder / "control", 1, 20) == losses, "other homes, other losses")
        note("the same on devices alone, which is refused under that limit", group)


class Watch:
    """What ranks hold in the second half of each part of a run, when they have validated: the least private and shared
    memory, which is what they do not give back when a save is over, the usual number of open files (a file of /proc is
    open for a moment) with the fewest of checkpoints and their folder, as a save may last into that half, and the most
    bytes of nameless files."""

    def __init__(self, job, run, every):
        self.job, self.run, self.every = job, run, every
        self.parts = []  # (resident, files, bytes) of each whole part
        self.read = 0  # bytes of metrics.jsonl
        self.thread = threading.Thread(target=self._look)
        self.thread.start()

    def _look(self):
        step, seen, ranks = 0, [], []
        while not self.job.has_ended():
            ranks = ranks if len(ranks) == 2 else self.job.ranks()
            before = step
            try:
                found = [sum(counts) for counts in zip(*map(self._of, ranks))]
            except (OSError, TypeError):  # a file was closed meanwhile, or a rank has ended
                found = []
            step = self._step(before)
            # Validations follow the middle of a part, saves its end: neither is seen between two steps of its second half.
            is_in_half = min(before % self.every, step % self.every) > self.every // 2
            if found and len(ranks) == 2 and is_in_half and step // self.every == before // self.every:
                seen.append(found)
            if step // self.every > before // self.every and seen:
                resident, saved, others, nameless = zip(*seen)
                self.parts.append((min(resident), min(saved) + statistics.median_low(others), max(nameless)))
                seen = []
            time.sleep(0.02)

    def _step(self, known):
        """The last that was told; only what has been added to the file is read."""
        with contextlib.suppress(OSError), open(self.run / "metrics.jsonl", encoding="utf-8") as stream:
            stream.seek(self.read)
            for line in iter(stream.readline, ""):
                if not line.endswith("\n"):
                    break
                self.read += len(line.encode())
                event = json.loads(line)
                known = event["step"] if event["event"] == "step" else known
        return known

    def _of(self, pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        entries = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
        saved = sum(os.readlink(entry).startswith(f"{self.run}/ckpt") for entry in entries)
        files = [os.stat(entry) for entry in entries]
        nameless = {(found.st_dev, found.st_ino): found.st_blocks for found in files if found.st_nlink == 0}
        resident = sum(int(re.search(rf"^{name}:\s+(\d+)", status, re.M)[1]) for name in ("RssAnon", "RssShmem"))
        return resident * 1024, saved, len(files) - saved, sum(nameless.values()) * 512


@contextlib.contextmanager
def no_huge_pages():
    """The kernel joins pages to huge ones at times of its own, and what nobody has touched of these becomes resident:
    jumps of up to 2 MB that are not the program's. What is started here is spared them."""
    libc = ctypes.CDLL(None, use_errno=True)
    expect(libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, f"prctl: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)


def stays_flat(place):
    """Over many steps and saves nothing grows. The first save leaves what is made once, in the heap and as the stack of
    the thread that writes: what is there before it says nothing about those that follow."""
    steps, every = 200, 20
    shape = ["model.layers=4"] if place.shape is SMALL else []
    with MemoryGroup(place.limit(2)) as group:
        words = place.train_words(2, "run.dir=flat", f"train.steps={steps}", f"checkpoint.every={every} steps",
                                  "checkpoint.keep.last=1", f"validate.every={every // 2} steps", *shape)
        with no_huge_pages():
            started = place.job(group, 2, *words)
        with started as job:
            watch = Watch(job, place.folder / "flat", every)
            code = exit_code(job, place.shape["patience_s"])
            watch.thread.join()
            expect(code == 0, f"it ended with {code}\n{job.tail()}")
        note(f"{steps} steps and {steps // every} saves", group)
    parts = watch.parts[1:]
    expect(len(parts) >= 5, f"only {len(watch.parts)} parts of it were seen")
    for number, name in enumerate(("resident memory", "open files", "bytes of the disk")):
        first, *rest = (part[number] for part in parts)
        expect(first > 0 and max(rest) <= 1.01 * first, f"{name} grow over {every} steps each: {watch.parts}")
        say(f"{name}: {first} over the {every} steps after the first save, {min(rest)} to {max(rest)} over later ones")


def main(chosen):
    size = os.environ.get("ZIGGURAT_TIERS", "small")
    if size != "small":
        {"full": in_place, "flat": stays_flat}[size](Place(chosen, size, FULL))
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
