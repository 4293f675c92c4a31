#!/usr/bin/env python3
"""scripts/slurm/train.sbatch with a pretended program, launcher and scontrol: which ends queue the job again.

slurm_test.py runs it on a real Slurm.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "slurm" / "train.sbatch"
PATIENCE_S = 240  # only for what hangs

# Makes as many steps as the file `steps` says and the checkpoint that `saves` names, then ends with what `code` says;
# `check --json` prints what is of use of its answer, for as many ranks as there are.
PROGRAM = """#!/bin/bash
if [ "$1" = check ]; then
  echo "$*" >>check.calls
  cat answer
  exit
fi
[ "$(cat steps)" = none ] && exit "$(cat code)"
run=./$(cat folder)
mkdir -p "$run/ckpt"
echo "{\\"event\\":\\"start\\",\\"time\\":$(date +%s.%N)}" >>"$run/metrics.jsonl"
for step in $(seq "$(cat steps)"); do echo "{\\"event\\":\\"step\\",\\"step\\":$step}" >>"$run/metrics.jsonl"; done
[ ! -s saves ] || cp saves "$run/ckpt/LATEST"
[ -e waits_for ] && until [ -e "$(cat waits_for)" ]; do sleep 0.05; done
exit "$(cat code)"
"""

# Runs one rank as its child, and then does what the file `launcher` says.
MPIRUN = """#!/bin/bash
echo "$*" >>mpirun.calls
[ "$(cat launcher 2>/dev/null)" = hangs ] && trap '' TERM
while [[ "$1" == -* ]]; do [ "$1" = -n -o "$1" = --bind-to ] && shift; shift; done
"$@" &
rank=$!
trap 'kill -USR1 $rank' USR1
wait $rank
code=$?
case $(cat launcher 2>/dev/null) in
  dies) kill -KILL $$ ;;
  hangs) while :; do sleep 0.2; done ;;
esac
exit $code
"""

# Tells the ranks, by a file, that the script has seen them.
PGREP = """#!/bin/bash
found=$(PATH=${PATH#*:} pgrep "$@") || exit
touch ranks_seen
echo "$found"
"""

SCONTROL = """#!/bin/bash
echo "$*" >>scontrol.calls
"""


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


class Job:
    """One job in a folder of its own: each start is a run of the script."""

    def __init__(self, root, name, **files):
        self.name, self.folder = name, root / name
        (self.folder / "bin").mkdir(parents=True)
        for command, text in (("ziggurat", PROGRAM), ("mpirun", MPIRUN), ("pgrep", PGREP),
                              ("scontrol", SCONTROL)):
            path = self.folder / "bin" / command
            path.write_text(text)
            path.chmod(0o755)
        self.set(**({"steps": 3, "code": 0, "folder": "a run"} | files))
        self.answer({"every": "30min"})
        self.starts = 0
        self.requeued = False
        self.tasks = {"SLURM_NTASKS": "1"}

    def answer(self, checkpoint):
        """What `ziggurat check --json` says, laid out as it lays it out."""
        run = {"name": "x", "dir": (self.folder / "folder").read_text().rstrip("\n")}
        text = json.dumps({"schema": "ziggurat.check/1", "deck": '"dir": "no"', "run": run, "machine": "this machine",
                           "layout": {"dir": "nor this"}, "checkpoint": checkpoint}, indent=2)
        (self.folder / "answer").write_text(text + "\n")
        return self

    def calls(self, command):
        return (self.folder / f"{command}.calls").read_text().splitlines()

    def set(self, **files):
        for file, text in files.items():
            (self.folder / file).write_text(f"{text}\n")
        return self

    def begin(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
        environment |= {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
                        "SLURM_JOB_NAME": "ziggurat", "SLURM_RESTART_COUNT": str(self.starts),
                        "ZIGGURAT": str(self.folder / "bin" / "ziggurat"), "ZIGGURAT_GRACE": "1"} | self.tasks
        self.starts += 1
        return subprocess.Popen(["bash", SCRIPT, "deck.yaml"], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def end(self, process):
        """What the script says; the exit code is in `code`, a request to queue again in `requeued`."""
        try:
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        calls = self.folder / "scontrol.calls"
        self.requeued = calls.exists()
        if self.requeued:
            expect(calls.read_text() == "requeue 7\n", f"{self.name}: scontrol was told {calls.read_text()}")
            calls.unlink()
        self.code = process.returncode
        return said

    def start(self):
        return self.end(self.begin())

    def expect(self, queued_again, says):
        said = self.start()
        expect(self.requeued == queued_again and says in said,
               f"{self.name}, start {self.starts}: code {self.code}, queued again: {self.requeued}\n{said}")


def codes(root):
    for code in (0, 1, 2, 3, 4, 5, 70):
        Job(root, f"code_{code}").set(code=code).expect(False, "done" if code == 0 else "not queued again")
    for code in (6, 75, 9, 127, 137, 139, 143, 213, 255):
        Job(root, f"code_{code}").set(code=code).expect(True, f"ended with {code}: asks Slurm")
    Job(root, "dead_launcher", launcher="dies").expect(True, "ended with 137: asks Slurm")


def without_a_step(root):
    """Two starts in a row without a step end it; a step between them does not let it come to that."""
    for steps in ("none", 0):  # not even a start in metrics.jsonl, or one without a step
        job = Job(root, f"idle_{steps}").set(code=137)
        job.expect(True, "asks Slurm")
        job.set(steps=steps).expect(True, "asks Slurm")
        job.set(steps=1, saves="step-000000001").expect(True, "asks Slurm")
        job.set(steps=steps).expect(True, "asks Slurm")
        job.expect(False, "2 starts in a row made no step: not queued again")
        expect(not list(job.folder.glob("*.idle")), f"{job.name}: what was counted is forgotten")


def dies_where_the_last_one_died(root):
    """It is queued again three times; more often where starts between gain a checkpoint, or come further."""
    job = Job(root, "stuck", steps=5, code=139)
    for _ in range(4):
        job.expect(True, "asks Slurm") if job.starts < 3 else job.expect(
            False, "ended with 139, and 4 starts gained no checkpoint and came no further than step 5: not queued again")
    expect(not list(job.folder.glob("*.idle")), f"{job.name}: what was counted is forgotten")
    job = Job(root, "stuck_for_a_while", steps=5, code=139)
    for change in ({}, {}, {"saves": "step-000000004 \n"}, {}, {}, {"steps": 6}, {"steps": 5}, {"steps": 4}):
        job.set(**change).expect(True, "asks Slurm")
    job.expect(False, "came no further than step 6")


def any_name(root):
    """Of a folder, as JSON writes it."""
    for number, name in enumerate(('it\'s "the" run', "back\\slash\\u0041", "50% %s", "h\u00f6he", "\U0001f600\U0001f680 \U0001f600", "- x")):
        job = Job(root, f"name_{number}", folder=name).set(code=137)
        for _ in range(3):  # would be two, were its steps not seen
            job.expect(True, "asks Slurm")


def counts_tasks(root):
    """Slurm does not always say how many tasks a job has."""
    for number, (tasks, ranks) in enumerate((
            ({"SLURM_NTASKS": "6", "SLURM_NTASKS_PER_NODE": "4", "SLURM_NNODES": "2"}, 6),
            ({"SLURM_NTASKS_PER_NODE": "4", "SLURM_NNODES": "2", "SLURM_TASKS_PER_NODE": "4(x2)"}, 8),
            ({"SLURM_NTASKS_PER_NODE": "3"}, 3),
            ({"SLURM_TASKS_PER_NODE": "2(x3),1", "SLURM_NNODES": "4"}, 7),
            ({"SLURM_NTASKS_PER_NODE": "2(x2),1,4(x10)"}, 45))):
        job = Job(root, f"tasks_{number}")
        job.tasks = tasks
        job.expect(False, "done")
        expect(job.calls("mpirun")[0].startswith(f"-n {ranks} --bind-to none "), f"{tasks}: {job.calls('mpirun')}")
        expect(f"--ranks {ranks} --json" in job.calls("check")[0], f"{tasks}: {job.calls('check')}")
    for number, tasks in enumerate(({}, {"SLURM_TASKS_PER_NODE": "2(x"}, {"SLURM_NTASKS_PER_NODE": "some"})):
        job = Job(root, f"no_tasks_{number}")
        job.tasks = tasks
        job.expect(False, "how many tasks there are. Give sbatch --ntasks-per-node")
        expect(job.code == 3 and not (job.folder / "mpirun.calls").exists(), f"{tasks}: {job.code}")


def told_to_end(root):
    job = Job(root, "cancelled", waits_for="told").set(code=143)
    process = job.begin()
    while not (job.folder / "a run" / "metrics.jsonl").exists():
        time.sleep(0.01)
    process.terminate()
    (job.folder / "told").touch()
    said = job.end(process)
    expect(not job.requeued and "after TERM" in said, said)


def launcher_waits_on(root):
    """All ranks have left, and mpirun has not."""
    Job(root, "waits_on", launcher="hangs", waits_for="ranks_seen").set(code=6).expect(True, "ended with 137: asks Slurm")


def nothing_saved(root):
    job = Job(root, "nothing_saved").answer(None)
    job.expect(False, "checkpoint.every is none")
    expect(job.code == 2, f"{job.code}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (codes, without_a_step, dies_where_the_last_one_died, any_name, counts_tasks, told_to_end, launcher_waits_on, nothing_saved):
            part(pathlib.Path(folder))
            print(f"ok: {part.__name__}", flush=True)


if __name__ == "__main__":
    main()
