#!/usr/bin/env python3
"""What `ziggurat doctor` finds: nothing where all is well, and each fault that is planted here, by its line and with its remedy.

  doctor_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Planted are limits, mounts, launchers, control groups, cores, clocks and programs. What only root can plant is left out for
others, and says so. Everything else that this machine may have is taken for its healthy state.
"""

import contextlib
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import memory_group
import trainings
from trainings import PATIENCE_S, Place, expect, say

os.environ.pop("TMPDIR", None)  # it may lie in /dev/shm, over which another is mounted here

IS_ROOT = os.geteuid() == 0
CORES = sorted(os.sched_getaffinity(0))
LACKS_SOMETHING, WRONG_DECK = 3, 2
# Of the machine that the test runs on, not of what it plants.
GIVEN = {"memory", "shared memory", "locked memory", "devices"}
CLOCK = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


class Doctor:
    """The program in a place, and what it says of it when nothing is planted."""

    def __init__(self, chosen, name):
        self.place = Place(chosen, name)
        self.folder, self.binary = self.place.folder, chosen.binary
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("OMP", "HDF5_", "SLURM_")) and key != "KOKKOS_NUM_THREADS"}
        launcher = shutil.which(self.place.mpiexec[0])
        self.environment["PATH"] = f"{os.path.dirname(launcher)}:{os.environ['PATH']}"
        if IS_ROOT:
            self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(self, command, environment, without, files):
        for key in without:
            environment.pop(key)

        def limits():
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, files or (most, most))

        return subprocess.run(list(map(str, command)), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S, preexec_fn=limits)

    def ask(self, *words, ranks=0, wrapper=(), last=(), program=None, added=None, without=(), files=None, mount=""):
        """The findings and the exit code. `ranks`: 0 asks without MPI; `wrapper` starts each rank, `last` the last one
        alone, `program` stands for the last one; `mount`: a script in a mount namespace, before anything else."""
        own = [self.binary, "doctor", "--json", *words]
        command = [*wrapper, *own]
        if ranks:
            one = [*wrapper, *own, "--mpi"]
            other = [*wrapper, *last, program or self.binary, *one[len(wrapper) + 1:]]
            command = [*self.place.mpiexec, "-n", ranks - 1, *one, ":", "-n", 1, *other]
        if mount:
            command = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", mount + '\nexec "$@"', "sh", *command]
        done = self.run(command, self.environment | (added or {}), without, files)
        try:
            found = json.loads(done.stdout[:done.stdout.rindex("\n}\n") + 2])
        except ValueError:
            raise trainings.Failure(f"{shlex.join(map(str, command))}: no JSON\n{done.stdout}{done.stderr}") from None
        expect(done.returncode == found["exit_code"] == (LACKS_SOMETHING if found["errors"] else 0),
               f"exit code {done.returncode} with {found['errors']} errors\n{done.stdout}")
        for line in found["checks"]:
            expect((line["state"] == "ok") == (line["remedy"] is None), f"a remedy where something is wrong: {line}")
        return found["checks"]

    @staticmethod
    def faults(findings):
        return {(line["check"], line["state"]) for line in findings if line["state"] != "ok"}

    def names(self, what, check, state, found, remedy, *words, **planted):
        """Only this line is added to what is said of the healthy place."""
        ranks = planted.get("ranks", 0)
        findings = self.ask(*words, **planted)
        bad = [line for line in findings if line["check"] == check and line["state"] != "ok"]
        expect(len(bad) == 1 and bad[0]["state"] == state, f"{what}: not one {state} of {check} in\n{json.dumps(findings, indent=1)}")
        expect(re.search(found, bad[0]["found"]), f"{what}: '{found}' is not in '{bad[0]['found']}'")
        expect(re.search(remedy, bad[0]["remedy"]), f"{what}: '{remedy}' is not in '{bad[0]['remedy']}'")
        others = self.faults(findings) - {(check, state)} - {fault for fault in self.faults(findings) if fault[0] in GIVEN}
        expect(not others, f"{what}: others than {check} are told of: {others}")
        say(f"{what}{f' ({ranks} ranks)' if ranks else ''}: {state} of {check}")


def healthy(chosen):
    doctor = Doctor(chosen, "healthy")
    (doctor.folder / "nvme").mkdir()
    deck = doctor.folder / doctor.place.deck
    deck.write_text(deck.read_text().replace("checkpoint: {every: none}", "checkpoint: {every: 10 steps}\ntiers: {nvme: {paths: [nvme]}}"))
    for ranks in (0, 2):
        findings = doctor.ask(deck.name, "given", ranks=ranks)
        bad = [line for line in findings if line["state"] != "ok" and line["check"] not in GIVEN]
        crowded = ranks > len(CORES) and [line for line in bad if line["check"] == "cores"]
        expect(not bad or crowded == bad, f"{ranks} ranks: {bad}")
        checks = [line["check"] for line in findings]
        for check in ("cores", "build", "open files", "locked memory", "memory", "shared memory", "MPI", "HDF5", "deck",
                      *(("ranks", "clocks") if ranks else ("launcher", "two ranks"))):
            expect(checks.count(check) == 1, f"{ranks} ranks: {check} in {checks}")
        expect(checks.count("folder") == 3 and checks.count("HDF5 locks") == 2, f"{ranks} ranks: run.dir, nvme and one more: {checks}")
        expect(not (doctor.folder / "given").exists() and not any((doctor.folder / "nvme").iterdir()), "something is left behind")
    plain = doctor.run([doctor.binary, "doctor"], dict(doctor.environment), (), None)
    expect(re.search(r"^ok +launcher +\S", plain.stdout, re.M) and not plain.stderr, f"lines:\n{plain.stdout}{plain.stderr}")
    say("a healthy place, without MPI and on two ranks")


def limits(chosen):
    doctor = Doctor(chosen, "limits")
    doctor.names("64 open files", "open files", "warning", "^64 may be open", "ulimit|limits.conf", files=(64, 64))
    doctor.names("64 that may be raised", "open files", "warning", "^64 may be open", "^Run 'ulimit -n 1024'", files=(64, 2048))
    few = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
    doctor.names("64 open files of one", "open files", "warning", r"\(on rank 1 of 2, ", "limits.conf", ranks=2, last=few)
    doctor.names("64 open files of all", "open files", "warning", r"\(on all 2 ranks\)$", "limits.conf", ranks=2, wrapper=few)
    if not IS_ROOT:
        return say("left out: a network card and a small /dev/shm, which only root can plant")
    card = "mount -t tmpfs x /sys/class; mkdir -p /sys/class/infiniband/mlx5_0; ulimit -l 64"
    doctor.names("little locked memory", "locked memory", "warning", r"^64.00 KiB .*mlx5_0", "memlock|ulimit -l", mount=card)
    small = "mount -t tmpfs -o size=1m x /dev/shm"
    doctor.names("a small /dev/shm", "shared memory", "warning", "^1.00 MiB of 1.00 MiB are free", "shm-size", mount=small)
    doctor.names("a small /dev/shm", "shared memory", "warning", "messages of 2 ranks", "shm-size", mount=small, ranks=2)
    none = "mount -t tmpfs -o size=1m,ro x /dev/shm"
    doctor.names("a /dev/shm that is read only", "shared memory", "error", "Read-only file system", "mount -t tmpfs", mount=none)


def memory(chosen):
    doctor = Doctor(chosen, "memory")
    with contextlib.ExitStack() as kept:
        try:
            group = kept.enter_context(memory_group.MemoryGroup(128 << 20))
        except memory_group.NoGroups as reason:
            return say(f"left out: a control group ({reason})")
        doctor.names("a control group", "memory", "warning", r"grants 128\.\d+ MiB of the machine's .* for \d+ of \d+ cores",
                     "--mem", wrapper=group.joined([]))


def folders(chosen):
    doctor = Doctor(chosen, "folders")
    for name in ("closed", "fast"):
        (doctor.folder / name).mkdir()
    if IS_ROOT:
        closed = "mount --bind closed closed; mount -o remount,ro,bind closed"
        doctor.names("a folder in memory", "folder", "warning", "'fast': ramfs, .* memory, not a disk", "a disk", "fast",
                     mount="mount -t ramfs x fast")
        doctor.names("a full disk", "folder", "error", "'fast' cannot be written .No space left", "a disk with room", "fast",
                     mount="mount -t tmpfs -o size=1m x fast; head -c 1M /dev/zero > fast/zeros")
        doctor.names("a disk that is nearly full", "folder", "warning", "'fast': tmpfs, .* free, where 256.* may be needed",
                     "^Free some space", "fast", mount="mount -t tmpfs -o size=2m x fast; head -c 1M /dev/zero > fast/zeros")
        doctor.names("a folder to come, read only", "folder", "error", "to be made in '.*closed', cannot be written",
                     "where you may write", "closed/run", mount=closed)
    else:
        closed = ""
        (doctor.folder / "closed").chmod(stat.S_IRUSR | stat.S_IXUSR)
    for ranks in (0, 2):
        doctor.names("a folder that is read only", "folder", "error", r"'closed' cannot be written \((Read-only|Permission)",
                     "where you may write", "closed", mount=closed, ranks=ranks)
    doctor.names("a file for a folder", "folder", "error", "'text.txt/run'.*Not a directory", "where you may write", "text.txt/run")
    doctor.names("a word that HDF5 does not know", "HDF5 locks", "warning", "HDF5_USE_FILE_LOCKING is NO", "BEST_EFFORT", ".",
                 added={"HDF5_USE_FILE_LOCKING": "NO"})


def decks(chosen):
    doctor = Doctor(chosen, "decks")
    deck = doctor.folder / doctor.place.deck
    deck.write_text(deck.read_text() + "tiers: {nvme: {paths: [not_there]}}\n")
    for ranks in (0, 2):
        findings = doctor.ask(deck.name, "tiers.nvme.paths=[.]", ranks=ranks)
        expect(not [line for line in findings if line["check"] == "deck" and line["state"] != "ok"], f"an override: {findings}")
        doctor.names("a disk that is not there", "deck", "error", r"gpt2_tiny\.yaml:\d+:\d+: cannot use 'not_there'", "Mount a disk",
                     deck.name, ranks=ranks)
        (doctor.folder / "text.txt").rename(doctor.folder / "text.kept")
        launcher = [*doctor.place.mpiexec, "-n", "2"] if ranks else []
        done = doctor.run([*launcher, doctor.binary, "doctor", deck.name, *(["--mpi"] if ranks else [])],
                          dict(doctor.environment), (), None)
        expect(done.returncode == WRONG_DECK and "cannot use 'text.txt'" in done.stderr and not done.stdout.startswith("ok"),
               f"data that is not there: {done.returncode}\n{done.stdout}{done.stderr}")
        (doctor.folder / "text.kept").rename(doctor.folder / "text.txt")
    say("a deck without its data")


def launches(chosen):
    doctor = Doctor(chosen, "launches")
    other = doctor.folder / "bin"
    other.mkdir()
    for version, found in (("mpirun (Open MPI) 1.10.7", "is Open MPI 1.10.7"), ("HYDRA build details:\n    Version: 9.9", "is MPICH 9.9.0")):
        (other / "mpirun").write_text(f"#!/bin/sh\necho '{version}'\n")
        (other / "mpirun").chmod(0o755)
        doctor.names("another mpirun", "launcher", "error", found, "first in PATH",
                     added={"PATH": f"{other}:{doctor.environment['PATH']}"})
    doctor.names("no mpirun", "launcher", "warning", "no mpirun on the PATH", "first in PATH", added={"PATH": str(doctor.folder)})
    if IS_ROOT:
        doctor.names("root", "root", "error", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM is not set", "export OMPI_ALLOW_RUN_AS_ROOT=1",
                     without=["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"])
    doctor.names("a transport that is not there", "two ranks", "error", "two ranks started by mpirun failed: '.+'",
                 "without OMPI_MCA_pml=not_there", added={"OMPI_MCA_pml": "not_there"})
    settings = [line["found"] for line in doctor.ask(added={"OMPI_MCA_pml": "ob1"}) if line["check"] == "MPI settings"]
    expect(len(settings) == 1 and "OMPI_MCA_pml=ob1" in settings[0], f"settings of MPI: {settings}")
    many = 2 * os.cpu_count()
    doctor.names("too many threads", "cores", "warning", f"^{many} threads of 1 rank have {len(CORES)} core", "OMP_NUM_THREADS",
                 added={"OMP_NUM_THREADS": str(many)})
    done = doctor.run([doctor.binary, "doctor", "--mpi"], doctor.environment | {"SLURM_STEP_NUM_TASKS": "2"}, (), None)
    expect(done.returncode == LACKS_SOMETHING and "srun --mpi=pmix" in done.stderr, f"a launcher of another MPI:\n{done.stderr}")
    say("a launcher of another MPI")


def ranks_apart(chosen):
    doctor = Doctor(chosen, "ranks_apart")
    if len(CORES) > 1:
        doctor.names("two ranks on one core", "cores", "warning", r"^ranks 0 and 1 are bound to one core, and \d+ of \d+ cores are idle",
                     "--bind-to core --map-by", ranks=2, wrapper=["taskset", "-c", CORES[0]])
        copy = doctor.folder / "another"
        shutil.copy(doctor.binary, copy)
        with open(copy, "ab") as end:
            end.write(b"\n")
        doctor.names("another build", "build", "error", r"rank 0 on \S+ has .*; rank 1 on \S+ has", "one build on all nodes", ranks=2,
                     program=copy)
    if not CLOCK or len(CORES) < 2:
        return say("left out: another clock (Debian's faketime), or all of it on one core")
    doctor.names("another clock", "clocks", "warning", r"rank 1 on \S+ is (89|90|91)\.\d s behind", "NTP", ranks=2,
                 last=["env", f"LD_PRELOAD={CLOCK}", "FAKETIME=-90", "FAKETIME_DONT_FAKE_MONOTONIC=1"])


if __name__ == "__main__":
    trainings.run_script(__doc__, healthy, limits, memory, folders, decks, launches, ranks_apart)
