#!/usr/bin/env python3
"""scripts/slurm/train.sbatch with a pretended program, launcher and scontrol: which ends queue the job again.

slurm_test.py runs it on a real Slurm.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "slurm" / "train.sbatch"
PATIENCE_S = 240  # only for what hangs

# Makes as many steps as the file `steps` says, then ends with what `code` says; `check` prints a deck.
PROGRAM = """#!/bin/bash
if [ "$1" = check ]; then
  printf 'run:\\n  name: "x"   # default\\n  dir: "a run"   # default\\ncheckpoint:\\n  every: %s   # default\\n' "$(cat every)"
  exit
fi
[ "$(cat steps)" = none ] && exit "$(cat code)"
mkdir -p "a run"
echo "{\\"event\\":\\"start\\",\\"time\\":$(date +%s.%N)}" >>"a run/metrics.jsonl"
for step in $(seq "$(cat steps)"); do echo "{\\"event\\":\\"step\\",\\"step\\":$step}" >>"a run/metrics.jsonl"; done
[ -e waits_for ] && until [ -e "$(cat waits_for)" ]; do sleep 0.05; done
exit "$(cat code)"
"""

# Runs one rank as its child, and then does what the file `launcher` says.
MPIRUN = """#!/bin/bash
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
        self.set(every="30min", steps=3, code=0, **files)
        self.starts = 0
        self.requeued = False

    def set(self, **files):
        for file, text in files.items():
            (self.folder / file).write_text(f"{text}\n")
        return self

    def begin(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
        environment |= {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SLURM_NTASKS": "1", "SLURM_JOB_ID": "7",
                        "SLURM_JOB_NAME": "ziggurat", "SLURM_RESTART_COUNT": str(self.starts),
                        "ZIGGURAT": str(self.folder / "bin" / "ziggurat"), "ZIGGURAT_GRACE": "1"}
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
        job.set(steps=1).expect(True, "asks Slurm")
        job.set(steps=steps).expect(True, "asks Slurm")
        job.expect(False, "2 starts in a row made no step: not queued again")
        expect(not list(job.folder.glob("*.idle")), f"{job.name}: what was counted is forgotten")


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
    job = Job(root, "nothing_saved").set(every="none")
    job.expect(False, "checkpoint.every is none")
    expect(job.code == 2, f"{job.code}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (codes, without_a_step, told_to_end, launcher_waits_on, nothing_saved):
            part(pathlib.Path(folder))
            print(f"ok: {part.__name__}", flush=True)


if __name__ == "__main__":
    main()
