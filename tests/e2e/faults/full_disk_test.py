#!/usr/bin/env python3
"""A disk that fills up during a save: said clearly, training goes on, the older checkpoint is whole, and later saves work.

  full_disk_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

The checkpoints lie in a memory file system of a few megabytes where this process may mount one (in a name space of
its own); elsewhere only the limit on the size of files is tried.
"""

import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

STEPS = 12
SAVES = 3  # the steps between
ALIKE = ["train.global_batch=60", "precision.compute=fp32", "schedule.kind=constant",
         "schedule.warmup=2 steps"]  # whatever the last step is
INSIDE = "ZIGGURAT_TEST_MAY_MOUNT"
BALLAST = "ballast"


def saving(steps, every=SAVES):
    return [*ALIKE, f"train.steps={steps}", f"checkpoint.every={every} steps"]


# ---------------------------------------------------------------- file systems without room


@contextlib.contextmanager
def small_file_system(folder, options, kind="tmpfs"):
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", kind, "-o", options, kind, folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(root):
    """Takes all room, whatever others take meanwhile."""
    with open(root / BALLAST, "wb", buffering=0) as ballast:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while ballast.write(bytes(size)) == size:
                    pass


def use_up_file_names(root):
    """Room for bytes, none for files: what no look at free space foresees."""
    (root / BALLAST).mkdir(exist_ok=True)
    with contextlib.suppress(OSError):
        for number in range(10000):
            (root / BALLAST / str(number)).touch()


def empty(root):
    ballast = root / BALLAST
    if ballast.is_dir():
        for file in ballast.iterdir():
            file.unlink()
        ballast.rmdir()
    else:
        ballast.unlink()


# ---------------------------------------------------------------- the tests


def saves(run):
    """Step and success of each checkpoint_end."""
    return [(event["step"], event["ok"]) for event in trainings.events(run) if event["event"] == "checkpoint_end"]


def expect_whole(place, run, step):
    """The checkpoint of that step is the newest; nothing of a failed save is left."""
    found = trainings.complete_steps(run)
    expect(found and found[-1] == step and trainings.latest(run) == step,
           f"the newest is step {step}: {found}, LATEST names {trainings.latest(run)}")
    place.expect_whole(run)
    left = sorted(path.name for path in (run / "ckpt").glob("*.tmp"))
    expect(not left, f"left over from failed saves: {left}")


def fails_and_recovers(place, undisturbed, name, options, take_room, words):
    """Two jobs: the disk is full for all saves of the second; then there is room again."""
    run = place.folder / name
    root = run / "ckpt"
    with small_file_system(root, options):
        place.train(name, 2, *saving(SAVES))
        expect_whole(place, run, SAVES)
        take_room(root)
        with place.start(name, 3, *saving(2 * SAVES + 1)) as job:  # a save on its way, one at the end
            code = job.wait()
        console = job.output()
        expect(words in console, f"{name}: the console does not say why\n{job.tail()}")
        expect(code in (0, 3), f"{name}: exit code {code}\n{job.tail()}")
        failed = [step for step, ok in saves(run) if not ok]
        expect(2 * SAVES in failed, f"{name}: failed saves {failed}\n{job.tail()}")
        trainings.losses(run, 1, 2 * SAVES + 1)
        expect_whole(place, run, SAVES)
        empty(root)
        place.train(name, 1, *saving(STEPS))
        expect_whole(place, run, STEPS)
        gap = trainings.expect_same_curve(name, trainings.losses(run, 1, STEPS), undisturbed)
    say(f"{name}: two saves failed, training went to its end (exit code {code}), the older checkpoint is whole; "
        f"with room again it goes on, losses within {gap:.1e}")
    return console


class AskedSaves:
    """Saves of a running job, asked for by USR2."""

    def __init__(self, name, run, job):
        self.name, self.run, self.job = name, run, job
        expect(job.wait_until(lambda: trainings.step_numbers(run), "a step"), f"{name}: ended\n{job.tail()}")

    def save(self, is_ok):
        """The step that was saved, or could not be."""
        count = len(saves(self.run))
        self.job.process.send_signal(signal.SIGUSR2)
        expect(self.job.wait_until(lambda: len(saves(self.run)) > count, "an end of a save"),
               f"{self.name}: ended\n{self.job.tail()}")
        step, was_ok = saves(self.run)[-1]
        expect(was_ok == is_ok, f"{self.name}: saves {saves(self.run)}\n{self.job.tail()}")
        return step


def recovers_by_itself(place):
    """One job: a save fails, then there is room, and the next save works."""
    run = place.folder / "by_itself"
    root = run / "ckpt"
    with small_file_system(root, "size=16m"):
        with place.start(run.name, 2, *saving(1000000, every=1000000)) as job:
            asked = AskedSaves("by_itself", run, job)
            first = asked.save(is_ok=True)
            fill(root)
            asked.save(is_ok=False)
            expect_whole(place, run, first)
            empty(root)
            expect_whole(place, run, asked.save(is_ok=True))
    say("by_itself: a save fails, the next one with room is complete, in one job")


def gives_up(place):
    """A disk that stays full ends the run after several failures, with 3."""
    run = place.folder / "stays_full"
    root = run / "ckpt"
    with small_file_system(root, "size=16m"):
        place.train(run.name, 2, *saving(2, every=2))
        fill(root)
        with place.start(run.name, 2, *saving(1000000, every=2)) as job:
            code = job.wait()
            expect(code == 3, f"stays_full: exit code {code}\n{job.tail()}")
        failed = [step for step, ok in saves(run) if not ok]
        expect(len(failed) >= 2, f"stays_full: failed saves {failed}\n{job.tail()}")
        expect_whole(place, run, 2)
    say(f"stays_full: {len(failed)} saves failed, then exit code 3; the older checkpoint is whole")


def whole_run_on_a_full_disk(place):
    """Log and metrics cannot be written either: training goes on, saves again when there is room, and ends as asked."""
    run = place.folder / "all_full"
    with small_file_system(run, "size=16m"):
        with place.start(run.name, 2, *saving(1000000, every=1000000)) as job:

            def ask_for_a_save(answer):
                before = job.output().count(answer)
                job.process.send_signal(signal.SIGUSR2)
                heard = job.wait_until(lambda: job.output().count(answer) > before, f"'{answer.strip()}'")
                expect(heard, f"all_full: ended\n{job.tail()}")

            expect(job.says("step       1/"), f"all_full: ended\n{job.tail()}")
            ask_for_a_save("\ncheckpoint of step")
            first = trainings.complete_steps(run)
            fill(run)
            ask_for_a_save("ziggurat: error: checkpoint of step")
            expect_whole(place, run, first[-1])
            empty(run)
            ask_for_a_save("\ncheckpoint of step")
            job.process.send_signal(signal.SIGUSR1)
            expect(job.wait() == 75, f"all_full: exit code {job.wait()}\n{job.tail()}")
        last = trainings.complete_steps(run)[-1]
        expect_whole(place, run, last)
        console = place.train(run.name, 3, *saving(last + 5))
        expect(f"resumed after step {last} " in console, f"all_full: not resumed after step {last}\n{console}")
    say("all_full: with no room for anything a save fails; with room again the next one, the stop and a restart work")


def limit_on_files(place):
    """The system refuses to let files grow (ulimit -f); this needs no file system of its own. Only the shards of
    a larger model reach the limit."""
    run = place.folder / "limited"
    large = ["model.hidden=256", "train.global_batch=4", "train.micro_batch=2", "precision.compute=fp32"]
    with place.start(run.name, 2, *large, "train.steps=1000000", "checkpoint.every=1000000 steps") as job:

        def limit_is(size):
            for pid in trainings.processes_of(job.tag):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        asked = AskedSaves("limited", run, job)
        first = asked.save(is_ok=True)
        shard = max(path.stat().st_size for path in trainings.checkpoint(run, first).glob("shard-*.h5"))
        limit_is(shard // 2)
        asked.save(is_ok=False)
        expect(job.says("File too large"), f"limited: the console does not say why\n{job.tail()}")
        expect_whole(place, run, first)
        limit_is(resource.RLIM_INFINITY)
        expect_whole(place, run, asked.save(is_ok=True))
    say(f"limited: with files that may not grow to {shard} bytes a save fails, the older checkpoint is whole, "
        "the next save is complete")


def limit_on_the_log(place):
    """Log and metrics meet the limit before there was any save: training goes on and says what is not written."""
    run = place.folder / "limited_log"
    with place.start(run.name, 2, *saving(1000000, every=1000000)) as job:
        expect(job.wait_until(lambda: len(trainings.step_numbers(run)) > 2, "steps"), f"limited_log: ended\n{job.tail()}")
        size = (run / "metrics.jsonl").stat().st_size
        ranks = [pid for pid in trainings.processes_of(job.tag) if pid != job.process.pid]  # not the launcher
        expect(len(ranks) == 2, f"limited_log: ranks {ranks}")
        for pid in ranks:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        expect(job.says("and written later. Raise the limit on the size of files"), f"limited_log: ended\n{job.tail()}")
        for pid in ranks:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        expect(job.says("metrics.jsonl' can be written again"), f"limited_log: ended\n{job.tail()}")
        job.process.send_signal(signal.SIGUSR2)
        expect(job.says("\ncheckpoint of step"), f"limited_log: ended\n{job.tail()}")
        saved = trainings.complete_steps(run)[-1]
        expect_whole(place, run, saved)
        job.process.send_signal(signal.SIGUSR1)
        expect(job.wait() == 75, f"limited_log: exit code {job.wait()}\n{job.tail()}")
        steps = trainings.step_numbers(run)
        expect(steps == list(range(1, steps[-1] + 1)), f"limited_log: metrics.jsonl has not each step once: {steps[:50]}")
        expect(trainings.events(run)[-1]["event"] == "end", f"limited_log: {trainings.events(run)[-1]}")
        log = (run / "run.log").read_text()
        expect(f"checkpoint of step {saved}" in log and "stopped after step" in log.splitlines()[-1], f"limited_log: {log[-1000:]}")
    say(f"limited_log: with a log that may not grow training goes on, saves step {saved}, and ends as asked")


def without_a_size(place):
    """A file system that does not say how much it holds takes checkpoints."""
    run = place.folder / "without_a_size"
    with small_file_system(run, "mode=755", kind="ramfs"):
        place.train(run.name, 2, *saving(SAVES))
        expect_whole(place, run, SAVES)
    say("without_a_size: saved on a file system that tells no size")


def full_disk(chosen):
    place = Place(chosen, "gpt2")
    place.train("undisturbed", 1, *ALIKE, f"train.steps={STEPS}")
    undisturbed = trainings.losses(place.folder / "undisturbed", 1, STEPS)
    limit_on_files(place)
    limit_on_the_log(place)
    if os.environ.get(INSIDE) != "yes":
        print("no file system may be mounted here: full disks are not tried")
        return
    fails_and_recovers(place, undisturbed, "no_room", "size=16m", fill, " free)")
    fails_and_recovers(place, undisturbed, "no_names", "size=16m,nr_inodes=100", use_up_file_names,
                       "No space left on device")
    without_a_size(place)
    recovers_by_itself(place)
    gives_up(place)
    whole_run_on_a_full_disk(place)


def enter_a_name_space_of_mounts():
    """Starts this script again where it may mount; returns where it may not."""
    if INSIDE in os.environ:
        return
    command = ["unshare", "--map-root-user", "--mount"]
    os.environ[INSIDE] = "no"
    with contextlib.suppress(OSError):
        probe = [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.environ[INSIDE] = "yes"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])


if __name__ == "__main__":
    enter_a_name_space_of_mounts()
    trainings.run_script(__doc__, full_disk)
