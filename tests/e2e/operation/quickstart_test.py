#!/usr/bin/env python3
"""The quickstart: stop it with Ctrl-C, run it again, and it goes on. Under plain mpirun, Ctrl-C loses at most the
steps since the last checkpoint.

  quickstart_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE_S = 240  # only for what hangs
MORE_STEPS = 150  # after a restart, to the end
SMALL = ("model.layers=1", "model.hidden=32", "model.ffn_hidden=64", "model.heads=2", "validate.batches=1",
         "validate.sample.tokens=5")


class Run:
    """Starts of the quickstart's deck, much smaller, in a run directory of its own."""

    def __init__(self, name, chosen, command, *settings):
        self.name, self.command, self.settings = name, command, settings
        folder = pathlib.Path(chosen.work) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 400)
        self.directory = folder / "run"
        self.log = folder / "output"
        self.environment = dict(os.environ, ZIGGURAT=chosen.binary, ZIGGURAT_TEXT=str(folder / "text.txt"),
                                OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def start(self, steps):
        """As from a terminal: a process group of its own, to which Ctrl-C goes as a whole."""
        self.job = subprocess.Popen(
            [*self.command, f"run.dir={self.directory}", f"train.steps={steps}", *SMALL, *self.settings], cwd=ROOT,
            env=self.environment, stdout=open(self.log, "w"), stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def press_control_c(self):
        os.killpg(self.job.pid, signal.SIGINT)

    def wait(self):
        try:
            return self.job.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.fail("it ends")

    def wait_until(self, what, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            if self.job.poll() is not None or time.monotonic() > end:
                self.fail(what)
            time.sleep(0.02)

    def steps(self):
        """The steps that metrics.jsonl tells of, in its order."""
        path = self.directory / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [event["step"] for event in events if event["event"] == "step"]

    def last_checkpoint(self):
        """The step that LATEST names; 0 when there is none."""
        path = self.directory / "ckpt" / "LATEST"
        return int(path.read_text().split()[0].removeprefix("step-")) if path.exists() else 0

    def goes_on_after(self, step):
        """Another start of the same, which has all steps in the end, each once."""
        self.start(step + MORE_STEPS)
        self.expect("the next start is done, exit code 0", self.wait() == 0)
        self.expect(f"goes on after step {step}", f"resumed after step {step} of" in self.log.read_text())
        self.expect("and has every step once", self.steps() == list(range(1, step + MORE_STEPS + 1)))

    def expect(self, what, holds):
        if not holds:
            self.fail(what)
        print(f"ok: {self.name}: {what}")

    def fail(self, what):
        if self.job.poll() is None:  # all of it, whichever process groups its script has made
            for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
                self.job.send_signal(number)
                time.sleep(1)
        sys.exit(f"FAILED: {self.name}: {what}; exit code {self.job.poll()}, steps {self.steps()[-3:]}, "
                 f"last checkpoint {self.last_checkpoint()}\n{self.log.read_text()[-6000:]}")


def quickstart(chosen):
    run = Run("quickstart", chosen, [str(ROOT / "scripts" / "quickstart.sh")])
    run.start(1000000000)
    run.wait_until("some steps are done", lambda: len(run.steps()) >= 5)
    run.press_control_c()
    run.expect("Ctrl-C ends it with 75", run.wait() == 75)
    run.expect("says what to do next", "Run the same command again" in run.log.read_text())
    stopped = run.steps()[-1]
    run.expect(f"has saved step {stopped}", run.last_checkpoint() == stopped)
    run.goes_on_after(stopped)
    said = run.log.read_text()
    run.expect("says what to try next", f"\nThe program is {chosen.binary}. To try next:\n" in said and
               f"{chosen.binary} sample {run.directory} " in said and "cmake --install" in said)


# Stands in for mpirun before it has its ranks: it loses USR1.
LAUNCHER = """#!{python}
import pathlib, signal, subprocess, sys
if "--version" in sys.argv:
    print("mpirun (Open MPI), pretended")
    sys.exit()
signal.signal(signal.SIGUSR1, lambda *_: None)
command = sys.argv[sys.argv.index({program!r}):]
ranks = [subprocess.Popen(command) for _ in range(2)]
(pathlib.Path({folder!r}) / "launched").touch()
codes = [rank.wait() for rank in ranks]
sys.exit(max(code if code >= 0 else 128 - code for code in codes))
"""
# Stands in for a rank: until there is `go`, USR1 kills it; then one that is asked to stop tells the other.
RANK = """#!{python}
import pathlib, signal, sys, time
folder, end = pathlib.Path({folder!r}), time.monotonic() + {patience}
while not (folder / "go").exists():
    time.sleep(0.01)
signal.signal(signal.SIGUSR1, lambda *_: (folder / "asked").touch())
while not (folder / "asked").exists() and time.monotonic() < end:
    time.sleep(0.01)
sys.exit(75 if (folder / "asked").exists() else 1)
"""


def first_second(chosen):
    """Ctrl-C before any rank listens is not lost, and kills nobody."""
    run = Run("first_second", chosen, [str(ROOT / "scripts" / "quickstart.sh")])
    folder = run.log.parent.resolve()
    (folder / "tools").mkdir()
    program = folder / "pretended"
    for path, text in ((folder / "tools" / "mpirun", LAUNCHER), (program, RANK)):
        path.write_text(text.format(python=sys.executable, program=str(program), folder=str(folder),
                                    patience=PATIENCE_S))
        path.chmod(0o755)
    run.environment |= {"PATH": f"{folder / 'tools'}:{os.environ['PATH']}", "ZIGGURAT": str(program)}
    run.start(1000)
    run.wait_until("the ranks are started", (folder / "launched").exists)
    run.press_control_c()
    time.sleep(0.3)  # longer makes the test no better: whenever a rank listens, it is to be told
    (folder / "go").touch()
    run.expect("Ctrl-C before the ranks listen ends it with 75", run.wait() == 75)


def plain_mpirun(chosen):
    run = Run("plain_mpirun", chosen,
              [*shlex.split(chosen.mpiexec), "-n", "2", chosen.binary, "train", "decks/quickstart.yaml"],
              "checkpoint.every=50 steps")
    run.start(1000000000)
    run.wait_until("a second checkpoint is complete", lambda: run.last_checkpoint() >= 100)
    saved = run.last_checkpoint()
    run.press_control_c()
    run.wait()
    said = run.log.read_text()
    promises, warns = "saves, then exits 75" in said, "mpirun, which kills the ranks after" in said
    run.expect("says of Ctrl-C what becomes of the steps", promises != warns)
    saved = max(saved, run.last_checkpoint())
    run.expect("a promise is kept", not promises or saved == run.steps()[-1])
    run.goes_on_after(saved)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    chosen = parser.parse_args()
    first_second(chosen)
    quickstart(chosen)
    plain_mpirun(chosen)


if __name__ == "__main__":
    main()
