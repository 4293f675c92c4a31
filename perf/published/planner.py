"""Calls `ziggurat plan --time --json` for rows, in several processes, and keeps its answers."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import decks
import published_rows

FOLDER = published_rows.ROOT / "build" / "published"
TIMEOUT = 120  # seconds


def machine_path(name):
    """File of a machine: shipped, or of a cluster that is only in published runs."""
    for folder in (published_rows.ROOT / "decks" / "machines", published_rows.HERE / "machines"):
        path = folder / f"{name}.yaml"
        if path.exists():
            return path
    sys.exit(f"no machine file {name}.yaml in decks/machines or perf/published/machines")


class Planner:
    """Step times of rows on machines, with a cache of answers by program, deck and machine file."""

    def __init__(self, program, processes=2):
        self.program = pathlib.Path(program).resolve()
        facts = self.program.stat()
        self.version = f"{facts.st_size}-{facts.st_mtime_ns}"
        self.pool = concurrent.futures.ThreadPoolExecutor(processes)
        self.cache = {}
        (FOLDER / "decks").mkdir(parents=True, exist_ok=True)
        (FOLDER / "machines").mkdir(parents=True, exist_ok=True)
        self.written = set()

    def deck_path(self, row):
        path = FOLDER / "decks" / f"{row.id}.yaml"
        if row.id not in self.written:
            path.write_text(decks.deck_text(row))
            self.written.add(row.id)
        return path

    def answer(self, row, machine_text):
        """The planner's JSON object, or {"error": text}."""
        key = (row.id, machine_text)
        if key not in self.cache:
            self.cache[key] = self.ask(row, machine_text)
        return self.cache[key]

    def ask(self, row, machine_text):
        name = hashlib.sha256(machine_text.encode()).hexdigest()[:16]
        machine = FOLDER / "machines" / f"{name}.yaml"
        if not machine.exists():
            draft = machine.with_suffix(f".{os.getpid()}.{id(row)}")
            draft.write_text(machine_text)
            draft.replace(machine)
        command = [self.program, "plan", self.deck_path(row), "--ranks", str(row.gpus), "--machine", machine, "--time", "--json", *row.keys]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return {"error": f"no answer within {TIMEOUT} s"}
        if done.returncode != 0:
            return {"error": (done.stderr or done.stdout).strip()}
        return json.loads(done.stdout)

    def answers(self, rows, machine_text):
        """Answers for rows that run on one machine, in their order."""
        return list(self.pool.map(lambda row: self.answer(row, machine_text), rows))
