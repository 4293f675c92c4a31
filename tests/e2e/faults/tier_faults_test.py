#!/usr/bin/env python3
"""Disks of the NVMe tier that are full, slow to agree, damaged or gone: a clear error that names the folder, or the
same losses as without them.

  tier_faults_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

All state is at home on NVMe. File systems of their own kinds are mounted in a name space of mounts; where that may not
be, those cases are left out. What the kernel refuses is played by a library in front of libaio.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from full_disk_test import INSIDE, enter_a_name_space_of_mounts
from trainings import Place, expect, say

os.environ.pop("TMPDIR", None)  # it may lie in /dev/shm, over which another is mounted here

STEPS = 6
RANKS = 2
LEARNING = ["precision.compute=fp32", "sharding.zero=3", "sharding.reduce=each_microbatch", "schedule.kind=constant",
            "schedule.warmup=2 steps"]
RESOURCE = 3  # exit code
FOR_EVER = "train.steps=1000000"
DEPTHS = ["overlap.prefetch=1", "overlap.optimizer_prefetch=2"]  # nothing looks at the disks before the training does
# Other orders in which state moves; they change no bit.
MOVEMENTS = {
    "speculate": ["overlap.optimizer_with_backward=true", "optimizer.clip.policy=speculate"],
    "by_layer": ["train.accumulate=by_layer"],
    "lookup_on_host": ["tiers.operators={embedding: host}"],
}

# Takes the place of functions of libaio in a process: no contexts, few transfers at a time, transfers that fail or do not
# end after a while, or a folder whose transfers come one after the other, each some milliseconds behind the one before,
# more where others are slow as well. Flushing a file may never end, too.
LIBAIO = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int io_setup(int count, io_context_t* context) {
    int (*real)(int, io_context_t*) = (int (*)(int, io_context_t*))dlsym(RTLD_NEXT, "io_setup");
    const char* most = getenv("TEST_MOST_TRANSFERS");
    return getenv("TEST_NO_CONTEXT") != NULL || (most != NULL && count > atoi(most)) ? -EAGAIN : real(count, context);
}

/* A disk that does not answer any more. */
static void hang(void) {
    while (1) {
        pause();
    }
}

int fsync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    const char* which = getenv("TEST_HANGING_FLUSH");
    struct stat status;
    if (which != NULL && fstat(file, &status) == 0 && S_ISDIR(status.st_mode) == (strcmp(which, "folders") == 0)) {
        hang();
    }
    return real(file);
}

typedef int (*GetEvents)(io_context_t, long, long, struct io_event*, struct timespec*);

/* Of one thread, which has one context: what has come from the slow folder and is not told yet. */
static __thread struct { struct io_event event; double due; } held[1024];
static __thread int first_held = 0, num_held = 0;
static __thread double slow_until = 0;
/* What was waited for transfers of other folders. */
static __thread double others_seconds = 0;
static __thread long num_others = 0;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static int is_slow(const struct io_event* event) {
    char link[64], target[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", event->obj->aio_fildes);
    const ssize_t length = readlink(link, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    return strncmp(target, getenv("TEST_SLOW_FOLDER"), strlen(getenv("TEST_SLOW_FOLDER"))) == 0;
}

/* Seconds that a transfer of the slow folder takes: many times those of the others, whatever else the disk does. */
static double slow_seconds(void) {
    const double least = 1e-3 * atof(getenv("TEST_SLOW_MS"));
    const double others = num_others > 0 ? 8 * others_seconds / num_others : 0;
    return others < least ? least : others < 0.25 ? others : 0.25;
}

/* One event, those of the slow folder late. */
static int next_event(GetEvents real, io_context_t context, struct io_event* event) {
    while (1) {
        const double wait = num_held > 0 ? held[first_held].due - now() : 1;
        if (wait <= 0) {
            *event = held[first_held].event;
            first_held = (first_held + 1) % 1024;
            --num_held;
            return 1;
        }
        struct timespec timeout = {(time_t)wait, (long)(1e9 * (wait - (time_t)wait))};
        const double begin = now();
        const int arrived = real(context, 1, 1, event, &timeout);
        if (arrived == 1 && !is_slow(event)) {
            others_seconds += now() - begin;
            ++num_others;
            return 1;
        }
        if (arrived < 0) {
            return arrived;
        }
        if (arrived == 1) {
            const double from = slow_until > now() ? slow_until : now();
            slow_until = from + slow_seconds();
            const int place = (first_held + num_held++) % 1024;
            held[place].event = *event;
            held[place].due = slow_until;
        }
    }
}

int io_getevents(io_context_t context, long least, long most, struct io_event* events, struct timespec* timeout) {
    static long seen = 0;
    GetEvents real = (GetEvents)dlsym(RTLD_NEXT, "io_getevents");
    const int arrived = getenv("TEST_SLOW_FOLDER") != NULL && least == 1 && most == 1 && timeout == NULL
                            ? next_event(real, context, events)
                            : real(context, least, most, events, timeout);
    const char* until = getenv("TEST_HANG_AFTER");
    const char* after = getenv("TEST_EIO_AFTER");
    for (int i = 0; i < arrived; ++i) {
        const long number = __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
        if (until != NULL && number > atol(until)) {
            hang();
        }
        if (after != NULL && number > atol(after)) {
            events[i].res = (unsigned long)-EIO;
        }
    }
    return arrived;
}
"""


class Tiers:
    """A place with the losses of a training that nothing disturbs, on the device alone."""

    def __init__(self, chosen):
        self.place = Place(chosen, "gpt2")
        self.place.train("undisturbed", RANKS, *LEARNING, f"train.steps={STEPS}")
        self.losses = trainings.losses(self.place.folder / "undisturbed", 1, STEPS)
        self.library = None

    def folder(self, name):
        folder = self.place.folder / "disks" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def settings(self, *folders):
        homes = [f"tiers.home.{state}=nvme" for state in ("parameters", "gradients", "optimizer")]
        paths = ", ".join(f'"{folder}"' for folder in folders)
        return [*LEARNING, *homes, f"tiers.nvme.paths=[{paths}]", "tiers.nvme.budget=1GiB", "tiers.nvme.block=16KiB"]

    def trains(self, name, *folders, wrapper=(), environment=None, settings=(), ranks=RANKS):
        """A whole training with the right losses; its console."""
        with self.place.start(name, ranks, *self.settings(*folders), f"train.steps={STEPS}", *settings, wrapper=wrapper,
                              environment=environment) as job:
            code = job.wait()
            expect(code == 0, f"{name}: exit code {code}\n{job.tail()}")
        self.expect_losses(name)
        return job.output()

    def expect_losses(self, name):
        found = trainings.losses(self.place.folder / name, 1, STEPS)
        expect(found == self.losses, f"{name}: losses {found} instead of {self.losses}")

    def refuses(self, name, words, *folders, code=RESOURCE, wrapper=(), environment=None, settings=(), ranks=RANKS):
        """Ends with `code` and says `words`."""
        with self.place.start(name, ranks, *self.settings(*folders), FOR_EVER, *settings, wrapper=wrapper,
                              environment=environment) as job:
            found = job.wait()
        for word in words:
            expect(word in job.output(), f"{name}: the console does not say '{word}'\n{job.tail()}")
        expect(found == code, f"{name}: exit code {found}\n{job.tail()}")

    def with_library(self, **variables):
        """An environment in which libaio behaves as told; None without a compiler."""
        if self.library is None:
            source = self.place.folder / "libaio.c"
            source.write_text(LIBAIO)
            library = source.with_suffix(".so")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
            self.library = str(library)
        return {"LD_PRELOAD": self.library, **variables}


def nvme_files(job, folder):
    """The files without names that ranks of a job have open in `folder`, each once per rank, by a way to open them."""
    found = []
    for pid in job.ranks():
        seen = set()
        with contextlib.suppress(OSError):
            for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    target, key = os.readlink(link), os.stat(link).st_ino
                    if target.startswith(str(folder)) and key not in seen:
                        seen.add(key)
                        found.append(link)
    return found


@contextlib.contextmanager
def mounted(kind, folder, options):
    subprocess.run(["mount", "-t", kind, "-o", options, kind, folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


# ---------------------------------------------------------------- everywhere


def leaves_nothing(tiers):
    """Killed, a job leaves no file and no space taken; another one on the same folder meanwhile is not disturbed."""
    folder = tiers.folder("killed")
    with tiers.place.start("killed", RANKS, *tiers.settings(folder), FOR_EVER) as job:
        expect(job.wait_until(lambda: trainings.step_numbers(tiers.place.folder / "killed"), "a step"), job.tail())
        expect(len(nvme_files(job, folder)) == RANKS, f"killed: open are {nvme_files(job, folder)}\n{job.tail()}")
        tiers.trains("beside", folder)
        expect(not job.has_ended(), f"killed: ended by itself\n{job.tail()}")
        job.kill_all()
    expect(not list(folder.iterdir()), f"killed: left {list(folder.iterdir())}")
    tiers.trains("after", folder)
    say("leaves_nothing: two jobs on one folder do not disturb each other; killed, one leaves no file")


def each_rank_has_its_own_folder(tiers):
    """What the environment says of folders is asked of the environment of each rank, as nodes differ in theirs."""
    folder = tiers.folder("nodes")
    folders = [folder / str(rank) for rank in range(RANKS)]
    for one in folders:
        one.mkdir()
    wrapper = ["sh", "-c", 'DISK="$0/$OMPI_COMM_WORLD_RANK"; export DISK; exec "$@"', str(folder)]
    with tiers.place.start("nodes", RANKS, *tiers.settings("${env:DISK}"), FOR_EVER, wrapper=wrapper) as job:
        expect(job.wait_until(lambda: trainings.step_numbers(tiers.place.folder / "nodes"), "a step"), job.tail())
        found = [len(nvme_files(job, one)) for one in folders]
        expect(found == [1] * RANKS, f"nodes: files in {folders}: {found}\n{job.tail()}")
        job.kill_all()
    folders[1].rmdir()
    tiers.refuses("one_lacks_it", ["ziggurat: error: rank 1", f"cannot use '{folders[1]}'"], "${env:DISK}", code=3,
                  wrapper=wrapper)
    say("each_rank_has_its_own_folder: by its own environment; the rank that lacks its folder says so")


def cut(files):
    for file in files:
        os.truncate(file, 0)


def flip(files):
    draw = random.Random(1)
    for file in files:
        with open(file, "r+b", buffering=0) as stream:
            for offset in range(draw.randrange(4096), os.stat(file).st_size, 4096):
                byte = os.pread(stream.fileno(), 1, offset)
                if byte:
                    os.pwrite(stream.fileno(), bytes([byte[0] ^ 4]), offset)


def damage_is_found(tiers, name, damage, words, settings=()):
    """Damages the files again and again, until the job has ended; it names the place."""
    folder = tiers.folder(name)
    with tiers.place.start(name, RANKS, *tiers.settings(folder), FOR_EVER, *settings) as job:
        run = tiers.place.folder / name
        expect(job.wait_until(lambda: len(trainings.step_numbers(run)) > 1, "two steps"), job.tail())
        while not job.has_ended():  # what is written over before it is read harms nobody
            with contextlib.suppress(OSError):
                damage(nvme_files(job, folder))
            time.sleep(0.05)
        code = job.wait()
    expect(code == RESOURCE, f"{name}: exit code {code}\n{job.tail()}")
    expect(words in job.output() and str(folder) in job.output() and "offset" in job.output(),
           f"{name}: the console does not name the place\n{job.tail()}")
    say(f"damage_is_found: {name}, exit code {code}")


def damages_are_found(tiers):
    """Somebody cuts the files, changes bytes of them, or puts back what they held before."""
    held = {}

    def put_back(files):
        for file in files:
            old = held.setdefault(file, file.read_bytes())
            with open(file, "r+b", buffering=0) as stream:
                os.pwrite(stream.fileno(), old, 0)

    damage_is_found(tiers, "cut", cut, str(tiers.folder("cut")))
    for name, damage in (("flipped", flip), ("put_back", put_back)):
        damage_is_found(tiers, name, damage, "are not what was written there")


def movements_meet_the_same_faults(tiers):
    """Other orders in which state moves: the same losses, and the same ends where a disk fails or is damaged."""
    for name, settings in MOVEMENTS.items():
        folder = tiers.folder(name)
        tiers.trains(name, folder, settings=settings)
        tiers.refuses(f"{name}_failing", ["Input/output error", str(folder), "offset"], folder, settings=[*settings, *DEPTHS],
                      environment=tiers.with_library(TEST_EIO_AFTER="50"))
        damage_is_found(tiers, f"{name}_flipped", flip, "are not what was written there", settings)
    say(f"movements_meet_the_same_faults: {', '.join(MOVEMENTS)}")


def system_refuses(tiers):
    """Transfers fail, or the system grants no asynchronous ones; memory may not be locked."""
    folder = tiers.folder("system")
    tiers.refuses("failing", ["Input/output error", str(folder), "offset"], folder,
                  settings=DEPTHS,
                  environment=tiers.with_library(TEST_EIO_AFTER="50"))
    console = tiers.trains("synchronous", folder, environment=tiers.with_library(TEST_NO_CONTEXT="1"))
    expect("grants no asynchronous transfers" in console, f"synchronous: no warning\n{console[-2000:]}")
    tiers.trains("not_locked", folder, wrapper=["prlimit", "--memlock=65536:65536"])
    say("system_refuses: EIO ends with 3 and names the file; without asynchronous transfers and without locked memory "
        "the losses are the same")


def few_transfers_are_enough(tiers):
    """With room for one transfer at a time, checkpoints whose files need many are verified and resumed."""
    folder, run = tiers.folder("few"), tiers.place.folder / "few"
    settings = [*tiers.settings(folder), "model.hidden=512", "train.global_batch=4", "train.micro_batch=2"]
    few = tiers.with_library(TEST_MOST_TRANSFERS="1")
    tiers.place.train("few", 1, *settings, "train.steps=2", "checkpoint.every=1 steps")
    with tiers.place.start("few", 1, *settings, "train.steps=3", environment=few) as job:
        expect(job.wait() == 0, f"few: did not go on\n{job.tail()}")
    done = subprocess.run([tiers.place.binary, "inspect", "--verify", run], env=os.environ | few, capture_output=True,
                          text=True, timeout=trainings.PATIENCE_S)
    expect(done.returncode == 0, f"few: --verify ended with {done.returncode}\n{done.stdout}{done.stderr}")
    say("few_transfers_are_enough: checkpoints are read with one transfer at a time")


def disks_that_do_not_answer(tiers):
    """Whoever waits for a disk for longer than run.hang_timeout leaves and says so, alone or with others."""
    folder = tiers.folder("hanging")
    stuck = tiers.with_library(TEST_HANG_AFTER="200")
    stuck_files = tiers.with_library(TEST_HANGING_FLUSH="files")
    stuck_folders = tiers.with_library(TEST_HANGING_FLUSH="folders")
    saves = ["run.hang_timeout=2s", "checkpoint.every=2 steps"]
    with concurrent.futures.ThreadPoolExecutor() as beside:  # each of them waits most of its time
        ends = []
        for ranks in (1, RANKS):
            ends += [
                beside.submit(tiers.refuses, f"hanging_{ranks}", ["waited", "Check the disks", "run.hang_timeout"], folder,
                              code=6, ranks=ranks, settings=[*DEPTHS, "run.hang_timeout=2s"], environment=stuck),
                beside.submit(tiers.refuses, f"hanging_save_{ranks}",
                              ["cannot write the checkpoint of step 2", "no bytes have moved", "rank "], folder, ranks=ranks,
                              settings=saves, environment=stuck_files),
                beside.submit(tiers.refuses, f"hanging_folder_{ranks}", ["waited", "the folder of a checkpoint"], folder,
                              code=6, ranks=ranks, settings=saves, environment=stuck_folders)]
    for end in ends:
        end.result()
    say("disks_that_do_not_answer: in a step and in a save, alone and with others, the job ends and names what it "
        "waited for")


def slow_path_is_named(tiers):
    """One of two paths is slow: a warning names it, once, and no bit changes."""
    fast, slow = tiers.folder("fast"), tiers.folder("slow")
    console = tiers.trains("slow_path", fast, slow,
                           environment=tiers.with_library(TEST_SLOW_FOLDER=str(slow), TEST_SLOW_MS="16"))
    warnings = [line for line in console.splitlines() if "is slow" in line]
    expect(len(warnings) == 1 and warnings[0].startswith("ziggurat: warning: ") and f"'{slow}' is slow" in warnings[0]
           and f"those of '{fast}'" in warnings[0], f"slow_path: warnings {warnings}\n{console[-3000:]}")
    account = (tiers.place.folder / "slow_path" / "perf.txt").read_text()
    expect(f"'{slow}'  read" in account and f"'{fast}'  read" in account, f"slow_path: no rates in {account}")
    say(f"slow_path_is_named: {warnings[0]}")


# ---------------------------------------------------------------- where file systems may be mounted


def file_systems(tiers):
    full, small, plain = tiers.folder("full"), tiers.folder("small"), tiers.folder("plain")
    with mounted("tmpfs", full, "size=64k"):
        tiers.refuses("no_room", ["cannot reserve", str(full), "free"], full)
    with mounted("tmpfs", small, "size=256k"):
        console = tiers.trains("one_of_two", small, plain)
        expect("memory, not a disk" in console, f"one_of_two: no warning\n{console[-2000:]}")
    with mounted("tmpfs", small, "size=64m,ro"):
        tiers.refuses("read_only", [str(small), "writable"], small, code=3)
    with mounted("ramfs", small, "mode=700"):
        tiers.trains("no_direct", small)
    with mounted("tmpfs", "/dev/shm", "size=64m"):
        tiers.trains("little_shared_memory", plain)
    say("file_systems: a full one and a read-only one are named; one of two that is small, one without O_DIRECT and a "
        "small /dev/shm give the same losses")


def tier_faults(chosen):
    tiers = Tiers(chosen)
    leaves_nothing(tiers)
    each_rank_has_its_own_folder(tiers)
    damages_are_found(tiers)
    movements_meet_the_same_faults(tiers)
    system_refuses(tiers)
    few_transfers_are_enough(tiers)
    disks_that_do_not_answer(tiers)
    slow_path_is_named(tiers)
    if os.environ.get(INSIDE) == "yes":
        file_systems(tiers)
    else:
        print("no file system may be mounted here: full ones are not tried")


if __name__ == "__main__":
    enter_a_name_space_of_mounts()
    trainings.run_script(__doc__, tier_faults)
