#!/usr/bin/env python3
"""survive_test.py itself: holds for a sound program and finds each fault of a broken one."""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent / "support" / "pretended_program.py"

# A fault, and what the test has to say of it.
FAULTS = {
    "loses_newest": "LATEST of",
    "takes_an_older": "but the newest complete step was",
    "repeats_steps": "metrics.jsonl has the steps",
    "keeps_unfinished": "left over from a killed save",
    "another_loss": "apart at loss",
}

KILLS = 3


def outcome(work, fault):
    environment = dict(os.environ, PRETENDED_FAULT=fault, ZIGGURAT_KILLS=str(KILLS), ZIGGURAT_SEED="3",
                       ZIGGURAT_KILLS_IN="saves")
    done = subprocess.run([sys.executable, HERE / "survive_test.py", "--binary", PROGRAM, "--work", work,
                           "--mpiexec", str(PROGRAM)],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    return done.returncode, done.stdout


def main():
    with tempfile.TemporaryDirectory() as work:
        code, text = outcome(work, "")
        if code != 0 or f"{KILLS} kills survived" not in text:
            sys.exit(f"FAILED: a sound program was found wanting ({code}):\n{text}")
        print("ok: a sound program survives")
        for fault, complaint in FAULTS.items():
            code, text = outcome(work, fault)
            if code != 1 or complaint not in text:
                sys.exit(f"FAILED: {fault} was not found ({code}):\n{text}")
            print(f"ok: {fault} is found")


if __name__ == "__main__":
    main()
