"""Short trainings by `ziggurat train`, for the scripts that measure whole steps over several ranks."""

import array
import json
import os
import pathlib
import random
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "perf"
VOCABULARY = 50257
FIRST_STEPS = 3  # of step_seconds: they touch memory and load code for the first time


class TrainingFailed(Exception):
    """What was started, how it ended and what it printed last."""


def token_file(count, vocabulary=VOCABULARY):
    """A file of `count` random tokens in llm.c's format, written when it is not there."""
    path = RESULTS / f"random_tokens_{count}_{vocabulary}.bin"
    if not path.exists():
        header = array.array("i", [20240520, 1, count] + [0] * 253)
        draw = random.Random(1234)
        tokens = array.array("H", (draw.randrange(vocabulary) for _ in range(count)))
        RESULTS.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(header.tobytes() + tokens.tobytes())
        temporary.rename(path)
    return path


def records_of(command, threads, key, **settings):
    """The JSON lines with `key` that a measurement in a process of its own prints. `settings` go to its environment.
    Raises TrainingFailed with what it printed when it fails or prints none."""
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": str(threads)} | settings,
                          capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    records = [record for record in records if key in record]
    if done.returncode != 0 or not records:
        raise TrainingFailed(f"no measurement from '{' '.join(command)}' (exit code {done.returncode})\n"
                             f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return records


def environment(threads):
    """Of a process under mpirun."""
    return os.environ | {"OMP_NUM_THREADS": str(threads), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command_of(binary, ranks, threads, settings, steps, directory):
    """mpirun's command line. `settings` are the deck's keys, by path.

    Every step trains on the same sequences, so that the loss falls although the tokens mean nothing."""
    chosen = {"run.dir": directory, "parallel.threads": threads, "train.steps": steps, "data.seq": 1024,
              "train.global_batch": 4} | settings
    if "data.train" not in settings:
        tokens = token_file(chosen["train.global_batch"] * chosen["data.seq"] + 1)
        chosen["data.train"] = f"[{{format: llmc, path: {tokens}}}]"
    return ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", str(binary), "train",
            str(ROOT / "perf" / "sharding.yaml"), *(f"{key}={value}" for key, value in chosen.items())]


def train(binary, ranks, threads, settings, steps, name):
    """Trains `steps` steps, at least 3, and gives `step_seconds` (the least, without the first two), `median_seconds`,
    `tokens_per_second`, `losses`, `cpu_seconds` (of all ranks and the launcher, from start to end) and
    `wall_seconds`. Raises TrainingFailed with what was printed when the training fails."""
    directory = RESULTS / "runs" / name
    shutil.rmtree(directory, ignore_errors=True)
    command = command_of(binary, ranks, threads, settings, steps, directory)
    RESULTS.joinpath("runs").mkdir(parents=True, exist_ok=True)
    log = RESULTS / "runs" / f"{name}.log"
    with open(log, "w") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment(threads), stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise TrainingFailed(f"'{' '.join(command)}' ended with exit code {process.returncode}:\n{log.read_text()[-3000:]}")
    with open(directory / "metrics.jsonl") as lines:
        records = [record for record in map(json.loads, lines) if record["event"] == "step"]
    seconds = sorted(record["step_s"] for record in records[2:])  # the first two touch memory for the first time
    best = seconds[0]
    return {"ranks": ranks, "threads": threads, "step_seconds": best, "median_seconds": seconds[len(seconds) // 2],
            "tokens_per_second": records[-1]["tokens"] / len(records) / best,
            "losses": [record["loss"] for record in records],
            "cpu_seconds": usage.ru_utime + usage.ru_stime, "wall_seconds": wall}


def step_seconds(binary, mpiexec, folder, ranks, deck, settings):
    """Trains `deck` in `folder` with `settings` as overrides, and gives the seconds of each step, without the first three.

    The deck's run.dir is `folder`. Raises TrainingFailed with what was printed when the training fails."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.with_suffix(".log")
    command = [*mpiexec.split(), "-n", str(ranks), binary, "train", deck, f"run.dir={folder}", *settings]
    with open(log, "w") as output:
        code = subprocess.run(command, cwd=ROOT, env=environment(1) | {"OMP_WAIT_POLICY": "passive"}, stdout=output,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=600).returncode
    if code != 0:
        raise TrainingFailed(f"'{' '.join(map(str, command))}' ended with exit code {code}:\n{log.read_text()[-3000:]}")
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line["step_s"] for line in lines if line["event"] == "step"][FIRST_STEPS:]
