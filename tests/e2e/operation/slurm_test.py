#!/usr/bin/env python3
"""scripts/slurm/train.sbatch on a real Slurm: warned before its time is over, a job saves, queues again and
goes on; a job that is told to end, or that cannot go on, does not come back. The same of a script that `ziggurat slurm`
prints, on two nodes.

  slurm_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from slurm_cluster import SlurmCluster
from trainings import environment_of, processes_of

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "slurm" / "train.sbatch"
MORE_STEPS = 20  # after a restart, to the end
PATIENCE_S = 300  # only for what hangs: Slurm's warning comes within 30 s, the rest takes seconds
ENDS = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")

# Stands for the program where only its exit code matters.
PRETENDED = """#!/bin/bash
echo "pretends: $*"
exit "$(cat code)"
"""


class Job:
    """One submission of the script that is shipped, in a folder of its own."""

    def __init__(self, name, cluster, chosen, launch, flags=(), settings=(), pretended_code=None):
        self.called = "ziggurat"  # by Slurm
        self.prepare(name, cluster, chosen)
        program = chosen.binary
        if pretended_code is not None:
            (self.folder / "code").write_text(str(pretended_code))
            program = self.folder / "pretended"
            program.write_text(PRETENDED)
            program.chmod(0o755)
        self.number = cluster.submit(self.folder, SCRIPT, "deck.yaml", "run.dir=run", *settings, flags=flags,
                                     exports={"ZIGGURAT": program, "ZIGGURAT_LAUNCH": launch, "OMP_NUM_THREADS": 1})

    def prepare(self, name, cluster, chosen):
        self.name, self.cluster = name, cluster
        self.folder = pathlib.Path(chosen.work) / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
        self.write_deck(1000000000)

    def write_deck(self, steps):
        tiny = (pathlib.Path(__file__).resolve().parents[1] / "decks" / "gpt2_tiny.yaml").read_text()
        (self.folder / "deck.yaml").write_text(tiny.replace("resume: never", "resume: auto")
                                               .replace("steps: 20,", f"steps: {steps},")
                                               .replace("every: none", "every: 10min"))

    def log(self):
        path = self.folder / f"{self.called}-{self.number}.out"
        return path.read_text() if path.exists() else ""

    def events(self, kind):
        """What metrics.jsonl tells of, in its order."""
        path = self.folder / "run" / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [event for event in events if event["event"] == kind]

    def steps(self):
        return [event["step"] for event in self.events("step")]

    def state(self):
        """How Slurm sees it: its state, and how often it was queued again."""
        known = self.cluster.job(self.number)
        return known.get("JobState"), int(known.get("Restarts", 0))

    def wait_for(self, what, holds):
        try:
            self.cluster.wait_until(holds, f"{self.name}: {what}", PATIENCE_S)
        except SystemExit:
            print(f"{self.state()}, steps {self.steps()[-3:]}\n{self.log()}", file=sys.stderr)
            raise

    def wait_for_steps(self):
        self.wait_for("some steps are done", lambda: len(self.steps()) >= 5)

    def wait_for_end(self, *expected):
        """Until it is over, with the state and the restarts that are expected."""
        self.wait_for("it is over", lambda: self.state()[0] in ENDS)
        self.expect(f"{expected[0]} after {expected[1]} restarts", self.state() == expected)

    def wait_for_requeue(self, reason):
        """Until it is queued again, after a start that was told to stop by `reason`."""
        self.wait_for("it is queued again or over", lambda: self.state() == ("PENDING", 1) or self.state()[0] in ENDS)
        self.expect("is queued again", self.state()[1] == 1)
        self.expect(f"was stopped by {reason}", [event["reason"] for event in self.events("stop")] == [reason])

    def ask_to_save(self):
        self.cluster.tell("scancel", "--batch", "--signal=USR1", self.number)

    def expect(self, what, holds):
        if not holds:
            sys.exit(f"FAILED: {self.name}: {what}; {self.state()}, steps {self.steps()[-3:]}\n{self.log()}")
        print(f"ok: {self.name}: {what}")

    def goes_on_and_finishes(self):
        """What follows a requeue: no step is lost or done twice, and the job is done."""
        saved = self.steps()[-1]
        self.write_deck(saved + MORE_STEPS)
        self.cluster.start_now(self.number, "TimeLimit=10")
        self.wait_for_end("COMPLETED", 1)
        self.expect(f"goes on after step {saved}", self.steps() == list(range(1, saved + MORE_STEPS + 1)))


class PrintedJob(Job):
    """One submission of what `ziggurat slurm` prints for two nodes with two ranks each."""

    def __init__(self, name, cluster, chosen):
        self.called = f'{name} "of" # \'two\''  # what Slurm and shells have a meaning for
        self.prepare(name, cluster, chosen)
        printed = subprocess.run(
            [chosen.binary, "slurm", "deck.yaml", "--nodes", "2", "--ntasks-per-node", "2", "--time", "10:00", "run.dir=run",
             "train.micro_batch=1", "train.global_batch=32", "run.name=" + json.dumps(self.called)], cwd=self.folder,
            env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.PIPE, text=True, check=True)
        script = self.folder / "job.sbatch"
        script.write_text(printed.stdout)
        self.number = cluster.submit(self.folder, script, exports={"OMP_NUM_THREADS": 1})


def two_nodes(chosen):
    """What is printed for two nodes starts ranks on both, is queued again once, and is done."""
    with SlurmCluster(nodes=2) as cluster:
        # Open MPI names its shared memory for the host, which both nodes are.
        cluster.environment |= {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
        job = PrintedJob("printed", cluster, chosen)
        job.wait_for_steps()
        job.expect("is on two nodes", cluster.job(job.number)["NumNodes"] == "2")
        job.expect("has four ranks", [event["ranks"] for event in job.events("start")] == [4])
        job.ask_to_save()
        job.wait_for_requeue("SIGUSR1")
        job.goes_on_and_finishes()
        job.expect("says that it is done", "done after 1 restarts" in job.log())


def exit_codes(cluster, chosen):
    """Which ends queue a job again: a stop as asked (75), a failure of MPI or of a node (6), a death by a signal (137);
    not a second time in a row without a step."""
    again = {75, 6, 137}
    jobs = {code: Job(f"code_{code}", cluster, chosen, "env", pretended_code=code)
            for code in (0, 2, 3, 4, 5, 6, 70, 75, 137)}
    for code, job in jobs.items():
        if code in again:
            job.wait_for("it is queued again", lambda: job.state() == ("PENDING", 1))
            print(f"ok: {job.name}: queued again")
            if code != 137:
                cluster.tell("scancel", job.number)
                continue
            cluster.start_now(job.number)
            job.wait_for_end("FAILED", 1)
            job.expect("says why it ends", "2 starts in a row made no step: not queued again" in job.log())
        else:
            job.wait_for_end("FAILED" if code else "COMPLETED", 0)


def warned(cluster, chosen, launch):
    """Slurm itself warns a job whose time runs out; it saves, and its second start goes on."""
    job = Job("warned", cluster, chosen, launch, flags=["--time=1", "--signal=B:USR1@30"])
    job.wait_for_requeue("SIGUSR1")
    job.goes_on_and_finishes()
    job.expect("says that it is done", "done after 1 restarts" in job.log())


def by_srun(cluster, chosen):
    """The same where srun starts the ranks; here somebody asks for it."""
    job = Job("by_srun", cluster, chosen, "srun --mpi=pmix")
    job.wait_for_steps()
    job.ask_to_save()
    job.wait_for_requeue("SIGUSR1")
    job.goes_on_and_finishes()


def killed(cluster, chosen, launch):
    """A rank that is killed ends mpirun with 137, or 6 where another rank was faster; the job comes back, and goes on
    from its last checkpoint."""
    job = Job("killed", cluster, chosen, launch, settings=["checkpoint.every=2 steps"])
    job.wait_for_steps()
    ranks = [pid for pid in processes_of(cluster.tag.encode())
             if b"OMPI_COMM_WORLD_RANK=1\0" in environment_of(pid) and str(job.folder).encode() in environment_of(pid)]
    os.kill(ranks[-1], signal.SIGKILL)
    job.wait_for("it is queued again or over", lambda: job.state() == ("PENDING", 1) or job.state()[0] in ENDS)
    job.expect("is queued again", job.state()[1] == 1)
    job.goes_on_and_finishes()


def nothing_saved(cluster, chosen, launch):
    """A deck without checkpoints is refused: each of its starts would begin anew."""
    job = Job("nothing_saved", cluster, chosen, launch, settings=["checkpoint.every=none"])
    job.wait_for_end("FAILED", 0)
    job.expect("is told so", "checkpoint.every is none" in job.log())


def stopped_for_good(cluster, chosen, launch):
    """Saved, and not queued again, as the script's header says; another submission goes on."""
    job = Job("stopped", cluster, chosen, launch)
    job.wait_for_steps()
    cluster.tell("scontrol", "update", f"JobId={job.number}", "Requeue=0")
    job.ask_to_save()
    job.wait_for_end("FAILED", 0)
    job.expect("says 75", "ended with 75" in job.log())


def cancelled(cluster, chosen, launch):
    """scancel ends it, and it does not come back."""
    job = Job("cancelled", cluster, chosen, launch)
    job.wait_for_steps()
    cluster.tell("scancel", job.number)
    job.wait_for_end("CANCELLED", 0)
    job.wait_for("its script has ended", lambda: "not queued again" in job.log())
    job.expect("is not queued again", job.state() == ("CANCELLED", 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    chosen = parser.parse_args()
    launch = f"{chosen.mpiexec} -n 2"
    with SlurmCluster() as cluster:
        # Nobody warns this one: it asks Slurm for its end and stops in time. It has a minute, and the others theirs.
        unwarned = Job("unwarned", cluster, chosen, launch, flags=["--time=1", "--signal=B:URG@1"])
        exit_codes(cluster, chosen)
        warned(cluster, chosen, launch)
        by_srun(cluster, chosen)
        killed(cluster, chosen, launch)
        nothing_saved(cluster, chosen, launch)
        stopped_for_good(cluster, chosen, launch)
        cancelled(cluster, chosen, launch)
        unwarned.wait_for_requeue("time limit")
    two_nodes(chosen)


if __name__ == "__main__":
    main()
