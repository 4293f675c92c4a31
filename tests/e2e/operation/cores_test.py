#!/usr/bin/env python3
"""Cores that a run has: those that its launcher gives, whatever the environment tells OpenMP; and a word where they are few.

  cores_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import PATIENCE_S, Place, expect, run_script, say

CORES = sorted(os.sched_getaffinity(0))
ASIDE = "ignored: OpenMP would bind"
FEW = re.compile(r"note: \S+: (\d+ ranks?) uses? (\d+) of (\d+) cores, (.*)")


def trained(place, name, ranks, settings=(), **more):
    with place.start(name, ranks, "train.steps=1", "schedule.warmup=0 steps", *settings, **more) as training:
        code = training.wait()
        expect(code == 0, f"{name} ended with {code}\n{training.tail()}")
        log = (place.folder / name / "run.log").read_text()
        expect(all(training.output().count(line) == log.count(line) for line in (ASIDE, " cores, ")), "run.log has what is said")
        return log


def expect_all_cores(log, what):
    found = re.search(r"^ranks +\S+: \d ranks? with .* on (\d+) cores?$", log, re.M)
    expect(found and int(found[1]) == len(CORES), f"{what}: not on {len(CORES)} cores\n{log}")


def bound_by_openmp(chosen):
    """What would bind all of a rank to one core before main. The program starts itself anew for other reasons."""
    place = Place(chosen, "bound_by_openmp")
    for number, added in enumerate(({"OMP_PROC_BIND": "true"}, {"OMP_PROC_BIND": "close"}, {"OMP_PROC_BIND": "spread"},
                                    {"OMP_PLACES": "cores"}, {"GOMP_CPU_AFFINITY": str(CORES[-1])},
                                    {"OMP_PROC_BIND": "close", "OMP_PLACES": "{%d}" % CORES[0], "OMP_WAIT_POLICY": "passive"})):
        log = trained(place, f"run{number}", 2, environment=added)
        expect_all_cores(log, added)
        names = [f"{key}={value}" for key, value in added.items() if key != "OMP_WAIT_POLICY"]
        expect(log.count(ASIDE) == 1 and all(name in log for name in names), f"{added}: not said once\n{log}")
        expect(len(CORES) < 2 or "oversubscribed" not in log, f"{added}: two ranks on one core\n{log}")
        say(f"{' '.join(names)}: all {len(CORES)} cores")
    log = trained(place, "false", 2, environment={"OMP_PROC_BIND": "false", "OMP_PLACES": "cores"})
    expect_all_cores(log, "false")
    expect(ASIDE not in log, f"what binds nothing is not set aside\n{log}")
    for words in (["eval", "false2", "--data", "text.txt"], ["sample", "false2", "--tokens", "1", "--prompt", "a"]):
        if words[0] == "eval":
            trained(place, "false2", 1, ["checkpoint.every=1 steps"])
        done = subprocess.run([place.binary, *words], cwd=place.folder, env={**os.environ, "OMP_PROC_BIND": "true"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        expect(done.returncode == 0 and done.stderr.count(ASIDE) == 1, f"{words}: {done.returncode}\n{done.stderr}")
    say("eval and sample say it, too")


def few(chosen):
    """A launcher that binds a rank to one core of several, as mpirun -n 1 and srun do."""
    place = Place(chosen, "few")
    one = ["taskset", "-c", str(CORES[0])]
    given = {"SLURM_JOB_CPUS_PER_NODE": "640(x2),1280"}
    found = FEW.search(trained(place, "slurm", 1, wrapper=one, environment=given))
    expect(found and found[1] == "1 rank" and found[2] == "1" and int(found[3]) > 1, f"one core of what Slurm gave: {found}")
    expect("--bind-to none" in found[4] and "--cpu-bind=none" in found[4], f"what to do: {found[0]}")
    log = trained(place, "asked", 1, ["parallel.threads=1"], wrapper=one, environment=given)
    expect(not FEW.search(log), f"the deck asks for it\n{log}")
    if len(CORES) > 1:
        found = FEW.search(trained(place, "bound", 1, wrapper=one))
        expect(found and found[2] == "1", f"one core of {len(CORES)}: {found}")
        found = FEW.search(trained(place, "environment", 1))  # OMP_NUM_THREADS=1
        expect(found and "OMP_NUM_THREADS" in found[4], f"few threads: {found}")
    log = trained(place, "all", 1, wrapper=["env", f"OMP_NUM_THREADS={len(CORES)}"])
    expect(not FEW.search(log), f"all are used\n{log}")
    say("few cores of many are told of, unless the deck asks for them")


def doctor(chosen):
    place = Place(chosen, "doctor")

    def checks(*wrapper, **added):
        done = subprocess.run([*wrapper, place.binary, "doctor", "--json"], cwd=place.folder, env={**os.environ, **added},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        return {line["check"]: line for line in json.loads(done.stdout)["checks"]}

    found = checks(OMP_PROC_BIND="close", OMP_NUM_THREADS="1")
    expect("OMP_PROC_BIND=close is ignored" in found["binding"]["found"] and found["binding"]["state"] == "ok", f"{found}")
    expect(found["cores"]["state"] == "ok", f"all cores in spite of it: {found['cores']}")
    expect("binding" not in checks(OMP_NUM_THREADS="1"), "nothing is set aside")
    if len(CORES) > 1:
        bound = checks("taskset", "-c", str(CORES[0]), OMP_NUM_THREADS="1")["cores"]
        expect(bound["state"] == "warning" and "1 rank is bound to 1 of" in bound["found"] and "--bind-to none" in bound["remedy"],
               f"one core: {bound}")
    say("doctor says the same")


if __name__ == "__main__":
    run_script(__doc__, bound_by_openmp, few, doctor)
