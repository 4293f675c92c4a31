#!/usr/bin/env python3
"""A run on two hosts: trains as on one, and everybody names the rank, the file or the folder that is to blame, wherever
it is.

  two_hosts_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import PATIENCE_S, Place, environment_of, expect, losses, run_script, say, step_numbers, wait_until
from two_hosts import TwoHosts, enter_namespaces

os.environ.pop("TMPDIR", None)  # it may lie in /dev/shm, over which another is mounted here

RESOURCE = 3
HANGS = "run.hang_timeout=5s"
# The same bits wherever ranks are: so divided among 2, 3 or 4 of them.
SETTINGS = ("sharding.sum_group=flat", "sharding.reduce=each_microbatch", "train.micro_batch=1", "train.global_batch=12",
            "checkpoint.every=none")


class Hosts:
    """Both hosts, and a place to train in that they share."""

    def __init__(self, chosen):
        self.place = Place(chosen, "place")
        os.chdir(self.place.folder)
        os.environ["TMPDIR"] = str(self.place.folder)  # where Open MPI keeps its own
        self.hosts = TwoHosts(self.place.folder.parent / "hosts")
        self.mpiexec = self.place.mpiexec

    def start(self, run, on_a, on_b, *settings):
        self.place.mpiexec = self.hosts.launcher(self.mpiexec, {"zga": on_a, "zgb": on_b})
        return self.place.start(run, on_a + on_b, *SETTINGS, *settings)

    def start_long(self, run, *settings):
        """Two ranks on each, under way."""
        training = self.start(run, 2, 2, "train.steps=1000000", *settings)
        expect(training.wait_until(lambda: len(step_numbers(self.place.folder / run)) > 2, "some steps"), training.tail())
        return training


def rank_of(training, rank):
    """The process of a rank."""
    mine = [pid for pid in training.ranks() if f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in environment_of(pid)]
    expect(len(mine) == 1, f"rank {rank} is {mine}")
    return mine[0]


def expect_named(training, text, by):
    """Each of the ranks `by` comes to say `text` in a line of its own. The launcher, which takes its time to end, is not
    waited for."""
    for rank, host in by.items():
        line = re.compile(rf"rank {rank} of 4 \({host}\)[^\n]*{text}")
        wait_until(lambda: line.search(training.output()), f"rank {rank} on {host} to say '{text}'\n{training.tail()}", PATIENCE_S)


def same_losses(hosts):
    """Also where one has more ranks than the other."""
    with hosts.start("two", 2, 1, "train.steps=6") as training:
        expect(training.wait() == 0, training.tail())
    hosts.place.mpiexec = hosts.mpiexec
    with hosts.place.start("one", 3, *SETTINGS, "train.steps=6") as training:
        expect(training.wait() == 0, training.tail())
    two, one = (losses(hosts.place.folder / run, 1, 6) for run in ("two", "one"))
    expect(two == one, f"losses on two hosts {two}, on one {one}")
    say("same losses on two hosts as on one")


def killed_rank(hosts):
    with hosts.start_long("killed") as training:
        victim = rank_of(training, 3)
        os.kill(victim, signal.SIGKILL)
        expect_named(training, rf"rank 3 \(pid {victim}\) on zgb has died", {0: "zga", 1: "zga", 2: "zgb"})
    say("a killed rank is named on both hosts")


def stopped_rank(hosts):
    with hosts.start_long("stopped", HANGS) as training:
        victim = rank_of(training, 3)
        os.kill(victim, signal.SIGSTOP)
        expect_named(training, rf"rank 3 \(pid {victim}\): state T = stopped", {0: "zga", 1: "zga", 2: "zgb"})
    say("a stopped rank is named on both hosts")


def frozen_host(hosts):
    """With all of its processes; mpirun may wait for it for long, the ranks do not."""
    with hosts.start_long("frozen", HANGS) as training:
        elsewhere = [rank_of(training, 2), rank_of(training, 3)]
        orted = int(open(f"/proc/{elsewhere[0]}/stat").read().rsplit(")", 1)[1].split()[1])
        for pid in (orted, *elsewhere):
            os.kill(pid, signal.SIGSTOP)
        expect_named(training, "zgb does not respond", {0: "zga", 1: "zga"})
    say("a frozen host is named")


@contextlib.contextmanager
def hidden_on_b(hosts, path):
    """zgb sees an empty folder in the place of `path`."""
    hosts.hosts.on("zgb", "mount", "-t", "tmpfs", "x", str(path))
    try:
        yield
    finally:
        hosts.hosts.on("zgb", "umount", str(path))


def node_without(hosts):
    """The data, the same data, or the run's folder."""
    data = hosts.place.folder / "data"
    data.mkdir()
    shutil.copy(hosts.place.folder / "text.txt", data)
    setting = "data.train=[{format: text, path: data/text.txt}]"
    with hidden_on_b(hosts, data):
        with hosts.start("without", 1, 1, setting) as training:
            expect(training.says("rank 1 (zgb): rank 0's deck cannot be run here") and
                   training.says("cannot use 'data/text.txt' as text"), training.tail())
        hosts.hosts.on("zgb", "sh", "-c", "head -c 5000 text.txt > data/text.txt")
        with hosts.start("other", 1, 1, setting) as training:
            expect(training.says("5,000 bytes for rank 1 on zgb"), training.tail())
    runs = hosts.place.folder / "runs"
    runs.mkdir()
    with hidden_on_b(hosts, runs):
        with hosts.start("runs/a", 1, 1, "checkpoint.every=10 steps") as training:
            expect(training.says("run.dir: 'runs/a' is not the same folder on all nodes (seen by rank 1 on zgb: it does "
                                 "not exist)"), training.tail())
            expect(training.wait() == RESOURCE, training.tail())
    say("a node without the data, with other data or without the run's folder is named")


def examined(hosts):
    """Findings of both are one line, and the folder that one of them does not see is named."""
    runs = hosts.place.folder / "examined"
    runs.mkdir()
    deck = runs.parent / "examined.yaml"
    deck.write_text((runs.parent / hosts.place.deck).read_text().replace("run: {", "run: {dir: examined/run, "))
    command = [*hosts.hosts.launcher(hosts.mpiexec, {"zga": 2, "zgb": 1}), "-n", "3", hosts.place.binary, "doctor", "--mpi", deck]

    def doctor(code, *patterns):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
        expect(done.returncode == code and all(re.search(pattern, done.stdout, re.M) for pattern in patterns),
               f"{done.returncode}, not {code} and {patterns}\n{done.stdout}{done.stderr}")

    doctor(0, r"^ok +ranks +3 ranks on 2 nodes", r"^ok +HDF5 .*\(on all 2 nodes\)$", r"^ok +folder .*examined/run': .*on all 2 nodes",
           r"^ok +shared folder .*: one on all 2 nodes")
    with hidden_on_b(hosts, runs):
        doctor(RESOURCE, r"^error +shared folder .*on 1 of 2 nodes \(zgb: a different folder of that name")
    hosts.hosts.on("zgb", "mount", "-o", "remount,size=1m", "/dev/shm")
    doctor(0, r"^warning +shared memory .*1\.00 MiB .*\(on 1 of 2 nodes: zgb\)\. Make it larger")
    hosts.hosts.on("zgb", "mount", "-o", "remount,size=50%", "/dev/shm")
    say("what is found on both hosts, and on one of them")


def two_hosts(chosen):
    hosts = Hosts(chosen)
    for part in (examined, same_losses, node_without, killed_rank, stopped_rank, frozen_host):
        begin = time.monotonic()
        part(hosts)
        print(f"    {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    enter_namespaces()
    run_script(__doc__, two_hosts)
