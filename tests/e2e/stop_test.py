#!/usr/bin/env python3
"""A run ends as it was asked to: USR1 to mpirun, TERM to a lone rank, and a deck that cannot be.

  stop_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
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

PATIENCE_S = 60  # only for a run that hangs


def start(command, folder):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def events(run):
    path = run / "metrics.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def wait_for_steps(job, run):
    """Returns when some steps are done; stops the test when the job ends before."""
    while sum(e["event"] == "step" for e in events(run)) < 3:
        if job.poll() is not None:
            sys.exit(f"ended before it was asked to, with {job.returncode}:\n{job.stdout.read()}")
        time.sleep(0.02)


def expect(what, holds, output):
    if not holds:
        sys.exit(f"FAILED: {what}\n{output}")
    print(f"ok: {what}")


def asked_to_stop(name, launcher, number, chosen):
    folder = pathlib.Path(chosen.work) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
    shutil.copy(pathlib.Path(__file__).parent / "decks" / "gpt2_tiny.yaml", folder / "deck.yaml")
    run = folder / "run"
    job = start([*launcher, chosen.binary, "train", "deck.yaml", f"run.dir={run}", "train.steps=1000000"], folder)
    wait_for_steps(job, run)
    job.send_signal(number)
    output, _ = job.communicate(timeout=PATIENCE_S)
    kinds = [e["event"] for e in events(run)]
    expect(f"{name}: exit code 75, got {job.returncode}", job.returncode == 75, output)
    expect(f"{name}: says which signal", f"received {number.name}" in output, output)
    expect(f"{name}: prints the account", "R U N   T I M E" in output, output)
    expect(f"{name}: metrics end with stop and end", kinds[-2:] == ["stop", "end"], kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    chosen = parser.parse_args()
    asked_to_stop("usr1_to_mpirun", [*shlex.split(chosen.mpiexec), "-n", "2"], signal.SIGUSR1, chosen)
    asked_to_stop("term_to_a_lone_rank", [], signal.SIGTERM, chosen)


if __name__ == "__main__":
    main()
