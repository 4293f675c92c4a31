"""Trainings that other scripts start, watch, kill and compare: a deck in a folder, and what a run leaves there.

A started training carries a tag in its environment, so that all its processes are found whatever became of the
launcher; whoever uses `with` leaves none behind. Every wait has an end.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import equivalence

# A shell that starts tests in the background ignores it, and programs leave that as it is.
signal.signal(signal.SIGINT, signal.default_int_handler)

DECKS = pathlib.Path(__file__).resolve().parents[1] / "decks"
PATIENCE_S = 240  # only for what hangs
TAG = "ZIGGURAT_TEST_JOB"
NO_CHECKPOINT = 4  # exit code
GRID_RANKS = 4
GRID = ["parallel.tensor=2", "parallel.pipeline=2"]  # of as many ranks: each has half of each layer of one stage
STEP_FOLDER = re.compile(r"step-(\d{9,})")


class Failure(Exception):
    """Something did not hold; the text says what."""


def expect(holds, what):
    if not holds:
        raise Failure(what)


def wait_until(holds, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"waited {seconds} s in vain for {what}")
        time.sleep(0.005)


# ---------------------------------------------------------------- processes


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def processes_of(tag):
    """Who runs of the job that carries `tag` in its environment."""
    return [int(process.name) for process in pathlib.Path("/proc").glob("[0-9]*")
            if tag in environment_of(process.name)]


def remove_what_a_killed_mpi_leaves(launcher, environments):
    """Session folders and shared segments of an Open MPI whose mpirun could not tidy up."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"ompi.*/pid.{launcher}"):
        shutil.rmtree(folder, ignore_errors=True)
    for job in {int(found[1]) for found in re.finditer(rb"OMPI_MCA_ess_base_jobid=(\d+)", environments)}:
        for segment in pathlib.Path("/dev/shm").glob(f"vader_segment.*.{job:x}.*"):
            segment.unlink(missing_ok=True)


class Training:
    """A training under way; its console goes to a file."""

    def __init__(self, command, folder, name, added=None):
        self.name = name
        self.tag = f"{TAG}={uuid.uuid4()}".encode()
        key, value = self.tag.decode().split("=")
        environment = dict(os.environ, OMP_NUM_THREADS="1", **{key: value}, **(added or {}))
        if os.geteuid() == 0:
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.console = folder / f"{name}.console"
        with open(self.console, "w") as console:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=console, stderr=subprocess.STDOUT, start_new_session=True)

    def output(self):
        return self.console.read_text(errors="replace")

    def has_ended(self):
        return self.process.poll() is not None

    def says(self, text, seconds=PATIENCE_S):
        """Whether the console comes to hold `text`; it may follow what is in files."""
        return self.wait_until(lambda: text in self.output(), f"'{text}' from", seconds)

    def wait(self, seconds=PATIENCE_S):
        """The exit code."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not end within {seconds} s\n{self.tail()}") from None

    def wait_until(self, holds, what, seconds=PATIENCE_S):
        """False when the training ends before `holds` does."""
        wait_until(lambda: holds() or self.has_ended(), f"{what} of {self.name}\n{self.tail()}", seconds)
        return holds()

    def ranks(self):
        """Process ids of those who train."""
        return [pid for pid in processes_of(self.tag) if b"OMPI_COMM_WORLD_RANK=" in environment_of(pid)]

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def kill_all(self):
        """SIGKILL of the launcher and all ranks at once: all are stopped first, so that nobody sees another die."""
        environments = b""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGSTOP)
        while alive := processes_of(self.tag):
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in alive:
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)
                if number == signal.SIGSTOP:
                    environments += b"".join(map(environment_of, alive))
            time.sleep(0.005)
        self.process.wait(timeout=PATIENCE_S)
        remove_what_a_killed_mpi_leaves(self.process.pid, environments)

    def tail(self):
        return f"--- the last of {self.console}:\n{self.output()[-3000:]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_all()


# ---------------------------------------------------------------- a place to train in


class ProgramFolder:
    """An emptied folder, and the program that is called there."""

    decoding = "strict"  # of output that is not UTF-8

    def __init__(self, chosen, name="."):
        self.binary, self.mpiexec = str(pathlib.Path(chosen.binary).resolve()), shlex.split(chosen.mpiexec)
        self.folder = pathlib.Path(chosen.work).resolve() / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def call(self, *words, ranks=1, code=0):
        """Standard output and standard error of a call that ends with `code`; several ranks have a launcher."""
        launcher = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run([*launcher, self.binary, *map(str, words)], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors=self.decoding,
                              timeout=PATIENCE_S)
        expect(done.returncode == code, f"{shlex.join(map(str, words))} on {ranks} ranks: exit code {done.returncode}, not "
                                        f"{code}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr


class Place(ProgramFolder):
    """A folder with a deck and its text, and the program that trains there."""

    def __init__(self, chosen, name, family="gpt2"):
        super().__init__(chosen, name)
        self.deck = f"{family}_tiny.yaml"
        shutil.copy(DECKS / self.deck, self.folder)
        equivalence.write_text(self.folder / "text.txt")
        self.started = 0

    def start(self, run, ranks, *settings, wrapper=(), environment=None):
        """`run`: the name of the run's folder. One rank is started as a user does, without a launcher. `wrapper`:
        a command that starts each rank; `environment`: what is added to it."""
        self.started += 1
        launcher = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        command = [*launcher, *wrapper, self.binary, "train", self.deck, f"run.dir={run}", "run.resume=auto",
                   "logging.every=1 steps", *settings]
        return Training(command, self.folder, f"{run}.{self.started}", environment)

    def train(self, run, ranks, *settings, code=0):
        """Trains to the end, which must come with `code`; returns the console."""
        with self.start(run, ranks, *settings) as training:
            found = training.wait()
            if found != code:
                raise Failure(f"{training.name} ({ranks} ranks, {' '.join(settings)}) ended with {found} "
                              f"instead of {code}\n{training.tail()}")
            return training.output()

    def inspect(self, *words, code=0):
        """What `ziggurat inspect` prints."""
        done = subprocess.run([self.binary, "inspect", *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=PATIENCE_S)
        if done.returncode != code:
            raise Failure(f"inspect {' '.join(map(str, words))} ended with {done.returncode} instead of {code}\n"
                          f"{done.stdout[-3000:]}")
        return done.stdout

    def expect_whole(self, run):
        """Every byte of every complete checkpoint is as it was written, and LATEST names one of them: the newest, or,
        where a job died between its rename and that of LATEST, the one before, which --verify notes."""
        complete, named = complete_steps(run), latest(run)
        if not complete:
            expect(named is None, f"LATEST of {run} names step {named}, which is not there")
            return
        expect(named in complete or (named is None and len(complete) == 1),
               f"LATEST of {run} names step {named}, there are {complete}")
        notes = [line for line in self.inspect("--verify", run).splitlines()
                 if line.startswith("note:") and "LATEST" in line]
        expect(bool(notes) or named == complete[-1], f"{run}: LATEST names {named}, there are {complete}, and no note")


# ---------------------------------------------------------------- what a run leaves


def events(run):
    """The objects of metrics.jsonl, numbers as written. A last line that is still being written does not count."""
    path = run / "metrics.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line, parse_float=str, parse_int=int) for line in text[:text.rfind("\n") + 1].splitlines()]


def step_numbers(run):
    return [event["step"] for event in events(run) if event["event"] == "step"]


@dataclasses.dataclass
class Begin:
    """Where a job came to training."""

    time: str
    step: int  # after which it went on; 0: afresh
    row: int  # of its `start` in metrics.jsonl


def latest_begin(run):
    """Of the latest job that came so far."""
    rows = events(run)
    starts = [number for number, row in enumerate(rows) if row["event"] == "start"]
    if not starts:
        return None
    before = rows[starts[-1] - 1] if starts[-1] > 0 else {"event": ""}
    return Begin(rows[starts[-1]]["time"], before["step"] if before["event"] == "resume" else 0, starts[-1])


def losses(run, first, last):
    """Of the steps first..last, which metrics.jsonl must have once each, in order, and no others."""
    numbers = step_numbers(run)
    expect(numbers == list(range(first, last + 1)),
           f"{run / 'metrics.jsonl'} has the steps {numbers} instead of {first}..{last} once each")
    return [float(event["loss"]) for event in events(run) if event["event"] == "step"]


def expect_same_curve(what, ours, other, bound=1e-5):
    """Losses within a relative bound; returns the largest difference."""
    expect(len(ours) == len(other), f"{what}: {len(ours)} losses and {len(other)}")
    gaps = [abs(a - b) / abs(b) for a, b in zip(ours, other)]
    worst = max(gaps)
    expect(worst <= bound, f"{what}: {worst:.2e} apart at loss {gaps.index(worst) + 1} of {len(gaps)}, "
                           f"bound {bound:.0e}: {ours[gaps.index(worst)]} and {other[gaps.index(worst)]}")
    return worst


def complete_steps(run):
    """Steps of the complete checkpoints, ascending: by the rename that makes them so."""
    root = run / "ckpt"
    folders = [STEP_FOLDER.fullmatch(path.name) for path in root.iterdir()] if root.is_dir() else []
    return sorted(int(found[1]) for found in folders if found)


def checkpoint(run, step):
    return run / "ckpt" / f"step-{step:09d}"


def latest(run):
    """What LATEST names; nothing without one."""
    path = run / "ckpt" / "LATEST"
    found = STEP_FOLDER.search(path.read_text()) if path.exists() else None
    return int(found[1]) if found else None


def manifest(folder):
    """What COMPLETE says."""
    return json.loads((folder / "COMPLETE").read_text())


# ---------------------------------------------------------------- scripts


def run_script(doc, *parts):
    """Parses the arguments that all scripts share and runs the parts; a failure ends with 1."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="emptied, then a folder for each part")
    parser.add_argument("--mpiexec", required=True, help="launcher with its flags, without -n")
    parser.add_argument("--long", action="store_true", help="all cases, not those of the gate alone")
    parser.add_argument("--part", choices=[part.__name__ for part in parts], help="this one alone")
    chosen = parser.parse_args()
    chosen.binary = str(pathlib.Path(chosen.binary).resolve())
    try:
        for part in parts:
            if chosen.part in (None, part.__name__):
                part(chosen)
    except Failure as failure:
        sys.exit(f"FAILED {failure}")


def say(text):
    print(f"ok: {text}", flush=True)
