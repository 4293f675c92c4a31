#!/usr/bin/env python3
"""No hang, ever: ranks that die, stop or fail are named by all others, which leave by themselves.

  failure_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_KILLS=200 failure_test.py ...     so many kills at random instants, on a machine of one's own;
                                             ZIGGURAT_SEED=N repeats them

mpirun says little of how each rank ended, so every rank runs under a wrapper (this file, --as-rank) that keeps
its messages and its exit code.
"""

import argparse
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import GRID, GRID_RANKS as RANKS, PATIENCE_S, processes_of

LAYOUTS = {"data": [], "grid": GRID}
LEAVING_S = 120  # only for what hangs: from a death to the end of all ranks; they need milliseconds
SHARED_SLACK_KB = 64 * 1024  # what other programs may add meanwhile
TAG = "ZIGGURAT_TEST_JOB"


def as_rank(folder, command):
    """Runs one rank: its stderr and exit code go to files.

    A second process does the keeping, out of the launcher's reach, which may kill this one before all is
    written. What the launcher says to this one is passed on."""
    rank = os.environ["OMPI_COMM_WORLD_RANK"]
    keeper = os.fork()
    if keeper == 0:
        os.setsid()
        os._exit(keep(folder, rank, command))

    def pass_on(number, _):
        text = (folder / f"pid.{rank}").read_text() if (folder / f"pid.{rank}").exists() else ""
        if text and not (folder / f"code.{rank}").exists():
            os.kill(int(text), number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCONT):
        signal.signal(number, pass_on)
    return os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])


def keep(folder, rank, command):
    write(folder / "job", os.environ.get("OMPI_MCA_ess_base_jobid", "0"))
    with open(folder / f"stderr.{rank}", "w") as messages:
        child = subprocess.Popen(command, stderr=messages)
    write(folder / f"pid.{rank}", child.pid)
    code = child.wait()
    code = 128 - code if code < 0 else code
    write(folder / f"code.{rank}", code)
    return code


def write(path, value):
    """Whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(str(value))
    temporary.rename(path)


def wait_until(holds, seconds):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def shared_kb():
    return int(re.search(r"Shmem:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1])


def ours_in_shared_memory():
    return [path for path in pathlib.Path("/dev/shm").glob("*ziggurat*") if path.is_file()]  # folders are of tests


def thread_names(pid):
    try:
        return [(task / "comm").read_text().strip() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []


def rank_of(pid):
    return int(re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", pathlib.Path(f"/proc/{pid}/environ").read_bytes())[1])


class Job:
    """One training of four ranks that does not end by itself soon."""

    def __init__(self, name, chosen, launcher_flags=(), settings=(), steps=1000000, wrapper=True):
        self.name = name
        self.folder = pathlib.Path(chosen.work) / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
        shutil.copy(pathlib.Path(__file__).resolve().parents[1] / "decks" / "gpt2_tiny.yaml", self.folder / "deck.yaml")
        self.tag = f"{TAG}={uuid.uuid4()}"
        key, value = self.tag.split("=")
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMP_NUM_THREADS="1", **{key: value})
        wrapped = [sys.executable, __file__, "--as-rank", str(self.folder)] if wrapper else []
        command = [*shlex.split(chosen.mpiexec), *launcher_flags, "-n", str(RANKS), *wrapped, chosen.binary, "train", "deck.yaml", "run.dir=run",
                   f"train.steps={steps}", "train.global_batch=40", "validate.every=5 steps",
                   "data.validation=[{format: text, path: text.txt}]", *settings]
        self.output = open(self.folder / "output", "w+")
        self.launcher = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=self.output,
                                         stderr=subprocess.STDOUT, start_new_session=True)

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def pid(self, rank):
        return int(self.read(f"pid.{rank}") or 0)

    def code(self, rank):
        text = self.read(f"code.{rank}")
        return int(text) if text else None

    def codes(self):
        return [self.code(rank) for rank in range(RANKS)]

    def messages(self, rank):
        return "".join(line for line in self.read(f"stderr.{rank}").splitlines(True) if "ziggurat:" in line)

    def is_watched(self):
        return all(self.pid(rank) and "zg-watch" in thread_names(self.pid(rank)) for rank in range(RANKS))

    def has_trained(self):
        return self.read("run/metrics.jsonl").count('"event":"step"') >= 3 or \
            self.read("run/metrics.jsonl").count('"event": "step"') >= 3

    def wait_until(self, holds, what):
        if not wait_until(lambda: holds() or self.launcher.poll() is not None, PATIENCE_S) or not holds():
            self.fail(f"did not come to {what}")

    def fail(self, what):
        self.end()
        self.output.seek(0)
        messages = "".join(f"--- rank {rank}, exit code {self.code(rank)}\n{self.read(f'stderr.{rank}')}"
                           for rank in range(RANKS))
        sys.exit(f"FAILED: {self.name}: {what}\n{self.output.read()}{messages}")

    def expect(self, what, holds):
        if not holds:
            self.fail(what)

    def expect_all_left(self):
        """All ranks have ended by themselves and nothing of the job is left."""
        begin = time.monotonic()
        self.expect(f"some rank did not leave within {LEAVING_S} s",
                    wait_until(lambda: None not in self.codes(), LEAVING_S))
        self.left_s = time.monotonic() - begin
        self.expect_nothing_left()

    def expect_nothing_left(self):
        self.expect("the launcher did not end", wait_until(lambda: self.launcher.poll() is not None, LEAVING_S))
        self.expect("some process of the job is left", wait_until(lambda: not processes_of(self.tag.encode()), LEAVING_S))
        # Another training on this machine may have its files there for a moment.
        wait_until(lambda: not ours_in_shared_memory(), LEAVING_S)
        left = ours_in_shared_memory()
        self.expect(f"something of ours is left in /dev/shm: {left}", not left)

    def expect_named(self, victim, pid, how):
        for rank in range(RANKS):
            if rank != victim:
                self.expect(f"rank {rank} leaves with 6", self.code(rank) == 6)
                self.expect(f"rank {rank} names the victim",
                            f"rank {victim} (pid {pid})" in self.messages(rank) and how in self.messages(rank))

    def end(self):
        """Whatever has happened, this test leaves nothing behind, nor does an MPI whose mpirun was killed."""
        for pid in processes_of(self.tag.encode()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.launcher.wait()
        job = int(self.read("job") or 0)
        for segment in pathlib.Path("/dev/shm").glob(f"vader_segment.*.{job:x}.*"):
            segment.unlink(missing_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.output.close()


def duration(chosen, steps):
    """Of a run that nobody disturbs, from when it is watched."""
    with Job("undisturbed", chosen, steps=steps) as job:
        job.wait_until(job.is_watched, "watching")
        begin = time.monotonic()
        job.launcher.wait(timeout=PATIENCE_S)
        job.expect("all ranks finish", job.codes() == [0] * RANKS)
        return time.monotonic() - begin


def killed_at(instant, number, chance, chosen, steps):
    """SIGKILL of one rank, `instant` seconds after all are watched; layouts take turns."""
    layout = list(LAYOUTS)[number % len(LAYOUTS)]
    with Job("killed", chosen, steps=steps, settings=LAYOUTS[layout]) as job:
        job.wait_until(job.is_watched, "watching")
        victim = chance.randrange(RANKS)
        time.sleep(instant)
        finished_before = [rank for rank in range(RANKS) if job.code(rank) is not None]
        pid = job.pid(victim)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        job.expect_all_left()
        is_late = "finished:" in job.read("output")
        if job.code(victim) == 137:
            for rank in range(RANKS):
                if rank == victim or (is_late and job.code(rank) == 0):
                    continue  # who has finished has nobody to wait for
                job.expect(f"rank {rank} leaves with 6", job.code(rank) == 6)
                job.expect(f"rank {rank} names rank {victim}",
                           f"rank {victim} (pid {pid}) on" in job.messages(rank) and
                           "has died" in job.messages(rank))
            job.expect("no talk of stopping as asked", "received SIGTERM" not in job.read("output"))
        else:
            job.expect("a rank that was not killed in time finishes", job.code(victim) == 0)
        print(f"ok: kill {number} of rank {victim}, {layout}, at {instant:.2f} s{' (at the end)' if is_late else ''}: "
              f"exit codes {job.codes()}, all left after {job.left_s:.2f} s; finished before: {finished_before}",
              flush=True)


def killed_at_random_instants(chosen):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    kills = int(os.environ.get("ZIGGURAT_KILLS", "6"))
    chance = random.Random(seed)
    steps = 20
    seconds = duration(chosen, steps)
    print(f"{kills} kills, seed {seed}; an undisturbed run takes {seconds:.2f} s", flush=True)
    for number in range(1, kills + 1):
        if number % 6 == 0:
            killed_while_starting(number, chance.uniform(0, 0.5), chosen)
        else:
            killed_at(chance.uniform(0, seconds), number, chance, chosen, steps)


def killed_as_users_run_it(chosen):
    """Without wrappers: what comes through mpirun, and the code that it makes of it."""
    with Job("bare", chosen, wrapper=False) as job:
        job.wait_until(job.has_trained, "training")
        pids = {rank_of(pid): pid for pid in processes_of(job.tag.encode()) if "zg-watch" in thread_names(pid)}
        job.expect("four ranks", sorted(pids) == list(range(RANKS)))
        os.kill(pids[2], signal.SIGKILL)
        job.expect_nothing_left()
        output = job.read("output")
        for rank in (0, 1, 3):
            job.expect(f"rank {rank} names the victim", re.search(
                rf"^ziggurat: error: rank {rank} of 4 .*: rank 2 \(pid {pids[2]}\) on .* has died", output, re.M))
        job.expect("no talk of stopping as asked", "received SIGTERM" not in output)
        left = list((job.folder / "run" / "errors").iterdir())
        job.expect(f"one of the others leaves a file that names the victim, not {left}",
                   len(left) == 1 and left[0].name != "rank00002.log" and
                   f"rank 2 (pid {pids[2]})" in left[0].read_text())
        job.expect("the launcher reports the killed rank", job.launcher.returncode == 137)
        print("ok: what a user sees names the killed rank; mpirun's exit code is 137")


def killed_while_starting(number, instant, chosen):
    """Before all ranks watch each other only the launcher may know of a loss; nobody stays all the same."""
    with Job("killed_while_starting", chosen) as job:
        job.wait_until(lambda: all(job.pid(rank) for rank in range(RANKS)), "the start of all ranks")
        time.sleep(instant)
        os.kill(job.pid(1), signal.SIGKILL)
        job.expect_nothing_left()
        print(f"ok: kill {number} after {instant:.2f} s of starting: all ranks end", flush=True)


def killed_under_a_launcher_that_does_not_kill(chosen):
    with Job("recovery", chosen, launcher_flags=["-enable-recovery"]) as job:
        job.wait_until(job.has_trained, "training")
        pid = job.pid(3)
        os.kill(pid, signal.SIGKILL)
        job.expect_all_left()
        job.expect_named(3, pid, "has died")
        print(f"ok: under a launcher that does not kill, all left after {job.left_s:.2f} s")


def stopped(chosen, layout):
    with Job(f"stopped_{layout}", chosen, settings=["run.hang_timeout=3s", *LAYOUTS[layout]]) as job:
        job.wait_until(job.has_trained, "training")
        pid = job.pid(2)
        os.kill(pid, signal.SIGSTOP)
        begin = time.monotonic()
        job.wait_until(lambda: any("state T" in job.messages(rank) for rank in range(RANKS)), "a verdict")
        named_s = time.monotonic() - begin
        job.expect_all_left()
        job.expect_named(2, pid, "state T = stopped (SIGSTOP)")
        job.expect("the launcher reports 6", job.launcher.returncode == 6)
        print(f"ok: a stopped rank, {layout}, is named after {named_s:.2f} s of a patience of 3 s")


def launcher_killed(chosen):
    with Job("launcher_killed", chosen) as job:
        job.wait_until(job.has_trained, "training")
        job.launcher.kill()
        job.expect_all_left()
        for rank in range(RANKS):
            job.expect(f"rank {rank} leaves with 6", job.code(rank) == 6)
            job.expect(f"rank {rank} says why",
                       f"the launcher (pid {job.launcher.pid}) has ended" in job.messages(rank))
        print(f"ok: without the launcher all left after {job.left_s:.2f} s")


def failed_by_itself(chosen):
    """Rank 0 alone cannot write; the others leave with its code and say so."""
    with Job("failed", chosen, settings=["run.dir=text.txt/run"]) as job:
        job.expect_all_left()
        job.expect("all leave with rank 0's code 3, and so does the launcher",
                   job.codes() == [3] * RANKS and job.launcher.returncode == 3)
        job.expect("rank 0 says why", "ziggurat: error: rank 0" in job.messages(0))
        for rank in range(1, RANKS):
            job.expect(f"rank {rank} says who failed", "rank 0 (pid" in job.messages(rank))
            job.expect(f"rank {rank} says it once", job.messages(rank).count("ziggurat:") == 1)
        print("ok: a rank that fails by itself takes the others with it")


def main():
    if sys.argv[1:2] == ["--as-rank"]:
        sys.exit(as_rank(pathlib.Path(sys.argv[2]), sys.argv[3:]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    chosen = parser.parse_args()
    before = shared_kb()
    failed_by_itself(chosen)
    killed_as_users_run_it(chosen)
    killed_under_a_launcher_that_does_not_kill(chosen)
    for layout in LAYOUTS:
        stopped(chosen, layout)
    launcher_killed(chosen)
    killed_at_random_instants(chosen)
    # Without a name and without a process, shared memory is gone. Counting it needs a machine of one's own.
    if "ZIGGURAT_KILLS" in os.environ and \
            not wait_until(lambda: shared_kb() <= before + SHARED_SLACK_KB, LEAVING_S):
        sys.exit(f"FAILED: shared memory is left: {before} kB before, {shared_kb()} kB after")
    print(f"ok: shared memory: {before} kB before, {shared_kb()} kB after")


if __name__ == "__main__":
    main()
