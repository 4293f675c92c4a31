"""Trainings in a memory cgroup whose disk traffic is watched: what the kernel counts, whatever a program says itself."""

import json
import pathlib
import re
import shutil
import sys
import time

import training

sys.path.insert(0, str(training.ROOT / "tests" / "e2e" / "support"))
import memory_group  # noqa: E402
import trainings  # noqa: E402

RANKS = 2
GIB = 1 << 30
PROBLEMS = (training.TrainingFailed, trainings.Failure, memory_group.NoGroups)


def moved_bytes(pids):
    """Read from disks and written to them so far, of all these processes; nothing when one has gone."""
    sums = [0, 0]
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/io").read_text()
        except OSError:
            return None
        for i, name in enumerate(("read_bytes", "write_bytes")):
            sums[i] += int(re.search(rf"^{name}: (\d+)", text, re.M)[1])
    return sums


def train(binary, deck, name, words, limit_bytes):
    """Trains `deck` with `words` on two ranks in a group: `steps`, the records of its steps; `per_step`, the bytes (read,
    written) in one of them, all ranks together; `peak`, the kernel's; `end`, the last record."""
    folder = training.RESULTS / "runs"
    directory = folder / name
    shutil.rmtree(directory, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    moved = {}
    with memory_group.MemoryGroup(limit_bytes) as group:
        command = group.joined(["mpirun", "-n", str(RANKS), "--oversubscribe", "--bind-to", "none", binary, "train",
                                str(training.ROOT / deck), f"run.dir={directory}", *words])
        with trainings.Training(command, folder, name) as job:
            ranks = []
            while not job.has_ended():
                ranks = ranks if len(ranks) == RANKS else job.ranks()
                found = moved_bytes(ranks)
                if found and len(ranks) == RANKS:
                    moved[len(trainings.step_numbers(directory))] = found  # the latest while so many had ended
                time.sleep(0.02)
            if job.wait() != 0:
                raise training.TrainingFailed(f"{name} ended with {job.wait()}; the kernel killed {group.kills()} in "
                                              f"{limit_bytes} bytes\n{job.tail()}")
        peak = group.peak_bytes()
    events = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    steps = [event for event in events if event["event"] == "step"]
    seen = [number for number in sorted(moved) if 1 <= number < len(steps)]
    if len(seen) < 2:
        raise training.TrainingFailed(f"{name}: its steps were too short to be watched ({sorted(moved)})")
    # What was counted just before the ends of two steps lies whole steps apart.
    first, last = seen[0], seen[-1]
    per_step = [(b - a) / (last - first) for a, b in zip(moved[first], moved[last])]
    return {"steps": steps, "per_step": per_step, "peak": peak, "end": events[-1]}
