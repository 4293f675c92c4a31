#!/usr/bin/env python3
"""A rank that is stopped while a run starts: the run ends within run.hang_timeout and names it, or says that MPI has not
come up.

  hostile_starts_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  hostile_starts_test.py --long ...      40 stops instead of 3; ZIGGURAT_SEED=N repeats them
"""

import os
import pathlib
import random
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

RANKS, HANG_S, LATEST_STOP_S, SLACK_S = 3, 5, 2.0, 2
MPI_INIT_S = 0.15
MPI_S = 30 + SLACK_S  # after which a start of MPI that hangs is reported
SETTINGS = ["train.steps=1000000", f"run.hang_timeout={HANG_S}s", "parallel.threads=1", "logging.every=1000 steps"]


def is_program(pid, binary):
    try:
        return os.readlink(f"/proc/{pid}/exe") == binary
    except OSError:
        return False


def rank_of(pid):
    found = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", trainings.environment_of(pid))
    return int(found[1]) if found else None


def one_stop(place, number, chance):
    victim = chance.randrange(RANKS)
    after = chance.uniform(0, MPI_INIT_S if number % 3 == 1 else LATEST_STOP_S)  # some within MPI_Init
    with place.start(f"stop{number}", RANKS, *SETTINGS) as training:
        pids = {}

        def is_born():
            pids.update({rank_of(pid): pid for pid in training.ranks() if is_program(pid, place.binary)})
            return victim in pids

        expect(training.wait_until(is_born, f"rank {victim}"), training.tail())
        time.sleep(after)
        os.kill(pids[victim], signal.SIGSTOP)
        stopped = time.monotonic()

        def names_it():
            return f"rank {victim} (pid {pids[victim]}): state T = stopped" in training.output()

        def is_reported():
            return names_it() or "MPI has not come up" in training.output()

        training.wait_until(lambda: training.has_ended() or is_reported(), "a report", MPI_S)
        reported = time.monotonic() - stopped
        expect(is_reported(), f"stop {number} of rank {victim} after {after:.2f} s: no report\n{training.tail()}")
        if names_it():
            expect(training.wait(HANG_S + SLACK_S) == 6, training.tail())
        ended = time.monotonic() - stopped
        expect(not names_it() or ended < HANG_S + SLACK_S, f"it took {ended:.1f} s\n{training.tail()}")
        where = "MPI_Init" if "MPI has not come up" in training.output() else "later"
        say(f"stop {number} of rank {victim} after {after:.2f} s: reported after {reported:.1f} s, ended after {ended:.1f} s ({where})")


def starts(chosen):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    chance = random.Random(seed)
    place = Place(chosen, "starts")
    for number in range(40 if chosen.long else 3):
        one_stop(place, number, chance)


def never_starts(chosen):
    """A rank that never comes to MPI_Init, and is not stopped: nobody can name it."""
    if not chosen.long:
        return
    place = Place(chosen, "never_starts")
    wrapper = ["sh", "-c", 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec sleep 1000; fi; exec "$0" "$@"']
    begin = time.monotonic()
    with place.start("run", RANKS, *SETTINGS, wrapper=wrapper) as training:
        expect(training.wait(MPI_S) == 6 and "MPI has not come up within 30 s" in training.output(), training.tail())
    say(f"a rank that never starts ends the run after {time.monotonic() - begin:.1f} s")
    with place.start("patient", RANKS, *SETTINGS, "run.hang_timeout=100s", wrapper=wrapper) as training:
        expect(training.says("warning: rank 0 (", MPI_S) and "MPI has not come up after 30 s" in training.output(), training.tail())
        expect(not training.has_ended(), training.tail())
    say("before a longer limit, it is reported after 30 s")


if __name__ == "__main__":
    trainings.run_script(__doc__, starts, never_starts)
