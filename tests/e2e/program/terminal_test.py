#!/usr/bin/env python3
"""What a training shows fits the terminal, whatever its width and when it changes; colours are there only. What it tells in
metrics.jsonl of its utilisation and of its end; and pictures of that.

  terminal_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

The terminal is a pseudo-terminal of this script. Recurring lines (steps, headings, validation, checkpoints, heads of
samples) take at most its columns, so that none wraps; pipes and run.log have all of each line and no escape sequence.
"""

import argparse
import codecs
import contextlib
import csv
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import termios
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import (DECKS, Failure, PATIENCE_S, Training, environment_of, events, expect, step_numbers)

STEPS = 12
FORMULA = "tok/s x FLOP/token / (ranks x peak of a rank)"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
RECURRING = re.compile(r"step |# |validate |checkpoint of|sample after")
# By the width of the terminal: the headings of the columns after step, loss, rate, speed and time left.
MORE = ["mfu", "per step", "stall, % of step", "gradient norm", "per rank", "memory used/budget"]
AT_WIDTH = {80: [], 100: MORE[:2], 120: MORE[:3], 200: MORE, 260: [*MORE[:5], "time of day", MORE[5]]}
TIME = re.compile(r" \| [0-2]\d:[0-5]\d:[0-5]\d UTC \| dev ")
PNG = b"\x89PNG\r\n\x1a\n"


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


class Shown:
    """A command whose output goes to a terminal of so many columns."""

    def __init__(self, command, folder, columns, **environment):
        self.terminal, program = pty.openpty()
        resize(self.terminal, columns)
        known = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "OMP_NUM_THREADS")}
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=program, stderr=program,
                                        start_new_session=True, env=known | {
                                            "OMP_NUM_THREADS": "1", "TERM": "xterm", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | environment)
        os.close(program)
        self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a character

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)

    def read(self):
        """What has come; False at the end."""
        end = time.monotonic() + PATIENCE_S
        while not select.select([self.terminal], [], [], 1)[0]:
            expect(time.monotonic() < end, f"nothing is shown for {PATIENCE_S} s after\n{self.text[-2000:]}")
        with contextlib.suppress(OSError):  # that is how a terminal tells that nobody writes any more
            if got := os.read(self.terminal, 1 << 16):
                self.text += self.decoder.decode(got)
                return True
        return False

    def all(self):
        """The whole of it, once the command has ended well."""
        while self.read():
            pass
        expect(self.process.wait(timeout=PATIENCE_S) == 0, f"exit code {self.process.returncode}\n{self.text}")
        return self.text

    def lines(self, last=1 << 30):
        """Whole lines as they stay on the terminal: what a live line was replaced by, without colours; of so many
        characters at the end, the first line of which is not whole."""
        text = COLOUR.sub("", self.text[-last:])
        return [line.rsplit("\r\x1b[K", 1)[-1].rstrip("\r") for line in text.split("\n")[:-1]]


def command_of(chosen, ranks, words):
    launcher = [*shlex.split(chosen.mpiexec), "-n", str(ranks)] if ranks > 1 else []
    return [*launcher, chosen.binary, "train", "deck.yaml", "logging.every=1 steps", "parallel.threads=1", *words]


def wanted(chosen, name):
    """The words of a training that shows all kinds of lines."""
    prompt = "a prompt that is much too long for the head of a sample on a narrow terminal " * 2
    return [f"run.dir={chosen.work}/{name}", f"train.steps={STEPS}", "train.global_batch=12", "train.micro_batch=3",
            "checkpoint.every=4 steps", "validate.every=6 steps", "validate.batches=1",
            "data.validation=[{format: text, path: text.txt}]",
            f"validate.sample={{prompt: '{prompt}', tokens: 4}}"]


def check_widths(what, lines, columns):
    recurring = [line for line in lines if RECURRING.match(line)]
    for kind, count in (("step ", STEPS), ("validate ", 2), ("checkpoint of ", 3), ("sample after ", 2)):
        found = sum(line.startswith(kind) for line in recurring)
        expect(found == count, f"{what}: {found} lines begin with '{kind}', not {count}\n" + "\n".join(lines))
    for line in recurring:
        expect(len(line) <= columns, f"{what}: a line of {len(line)} columns wraps\n{line}")


def check_width(chosen, columns):
    what = f"{columns} columns"
    ranks = 2 if columns in (80, 200, 260) else 1  # behind a launcher, or alone
    with Shown(command_of(chosen, ranks, wanted(chosen, f"run_{columns}")), chosen.work, columns) as shown:
        text = shown.all()
    lines = shown.lines()
    check_widths(what, lines, columns)
    steps = [line for line in lines if line.startswith("step ")]
    headings = [part.strip() for line in lines if line.startswith("# step ") for part in line.split(" | ")]
    expect(headings == ["# step", "loss, nats", "rate", "speed", "time left", *AT_WIDTH[columns]],
           f"{what}: the columns are {headings}")
    for line in steps:
        parts = ("loss ", "lr ", "tok/s", "done" if line is steps[-1] else "eta ", *(["dev "] if columns >= 200 else []))
        expect(len(line.split(" | ")) == len(headings) and all(part in line for part in parts),
               f"{what}: not one column for each heading in\n{line}")
        expect("eta 0" not in line, f"{what}: a forecast of nothing\n{line}")
        expect(bool(TIME.search(line)) == (columns == 260), f"{what}: the time of day in\n{line}")
    explained = [line for line in lines if line.startswith("# stall = ")]
    expect(len(explained) == (1 if columns >= 120 else 0), f"{what}: stalls are explained {len(explained)} times")
    expect("\x1b[36mvalidate\x1b[0m" in text and "\x1b[2m# step" in text, f"{what}: no colours\n{text!r}")
    log = (chosen.work / f"run_{columns}" / "run.log").read_text()
    expect("\x1b" not in log and "\r" not in log, f"{what}: escape sequences in run.log")
    logged = [line for line in log.splitlines() if line.startswith("step ")]
    expect(len(logged) == STEPS and all("| norm " in line and "| dev " in line and "UTC" not in line for line in logged),
           f"{what}: run.log has not the whole lines\n{log}")
    expect(log.count("# stall = ") == 1, f"{what}: run.log explains stalls once\n{log}")
    print(f"ok: {what}")


def check_no_colours(chosen):
    """Where nobody wants them, and where there is no terminal."""
    for name, environment in (("NO_COLOR", {"NO_COLOR": "1"}), ("dumb", {"TERM": "dumb"})):
        with Shown(command_of(chosen, 1, wanted(chosen, f"run_{name}")), chosen.work, 100, **environment) as shown:
            text = shown.all()
        expect(not COLOUR.search(text), f"{name}: colours\n{text!r}")
        expect(("\x1b" in text) == (name == "NO_COLOR"), f"{name}: a line is rewritten, or none is\n{text!r}")
        expect("1 rank = tensor 1 " in text, f"{name}: the layout is not told\n{text}")
        check_widths(name, shown.lines(), 100)
    done = subprocess.run(command_of(chosen, 1, wanted(chosen, "run_pipe")), cwd=chosen.work, capture_output=True,
                          text=True, env=dict(os.environ, TERM="xterm"), timeout=PATIENCE_S)
    expect(done.returncode == 0 and "\x1b" not in done.stdout and "\r" not in done.stdout,
           f"a pipe gets escape sequences\n{done.stdout!r}")
    steps = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    expect(len(steps) == STEPS and all("| norm " in line and "| dev " in line for line in steps),
           "a pipe gets one whole line for each report\n" + done.stdout)
    print("ok: colours where they are wanted")


def check_resizing(chosen):
    """From the next line on it is as narrow as the terminal has become."""
    run = chosen.work / "run_resized"
    words = [f"run.dir={run}", "train.steps=100000000", "train.global_batch=12", "train.micro_batch=3"]

    def widths(shown, last=2000):
        return [len(line) for line in shown.lines(last) if line.startswith("step ")]

    with Shown(command_of(chosen, 1, words), chosen.work, 200) as shown:
        while len(widths(shown)) < 3:
            expect(shown.read(), f"it ended\n{shown.text}")
        expect(max(widths(shown)) > 100, f"lines of 200 columns\n{shown.text}")
        resize(shown.terminal, 80)
        while not any(width <= 80 for width in widths(shown)[-3:]):
            expect(shown.read(), f"it ended\n{shown.text[-2000:]}")
        (run / "STOP").touch()
        while shown.read():
            pass
        shown.process.wait(timeout=PATIENCE_S)
        narrow = [width <= 80 for width in widths(shown, 1 << 30)]
    expect(all(narrow[narrow.index(True):]), "a line is wider than the terminal that was made narrow")
    print("ok: resizing")


def check_breakdown(chosen):
    """A run that breaks down says in its metrics that and why it ended, also where another rank is the reason."""
    run = chosen.work / "run_broken"
    words = [f"run.dir={run}", "train.global_batch=12", "train.micro_batch=3", "precision.compute=fp32",
             "schedule.warmup=0 steps", "schedule.kind=constant"]
    job = Training(command_of(chosen, 2, [*words, "train.steps=200", "optimizer.lr=1000", "optimizer.weight_decay=0.5"]),
                   chosen.work, "broken")
    expect(job.wait() == 5, job.tail())
    check_end(run, 5, "updates in a row were skipped")
    run = chosen.work / "run_killed"
    words[0] = f"run.dir={run}"
    command = command_of(chosen, 2, [*words, "train.steps=100000000"])
    command[1:1] = ["--mca", "odls_base_sigkill_timeout", "5"]  # seconds that the launcher leaves those that are left
    with Training(command, chosen.work, "killed") as job:
        expect(job.wait_until(lambda: len(step_numbers(run)) > 2, "steps"), job.tail())
        other = next(pid for pid in job.ranks() if b"OMPI_COMM_WORLD_RANK=1\0" in environment_of(pid))
        job.kill(other)
        job.wait()
        check_end(run, 6, "has died")
    print("ok: a breakdown is told")


def check_end(run, exit_code, reason):
    found = events(run)
    steps = [event["step"] for event in found if event["event"] == "step"]
    expect(found[-1]["event"] == "end" and found[-1]["exit_code"] == exit_code and found[-1]["step"] == steps[-1]
           and reason in found[-1]["reason"], f"the last event of {run} is {found[-1]}")
    expect(all("time" in event for event in found), "an event has no time")


def settings_file(chosen, name, file):
    return chosen.work / f"config_{name}" / "ziggurat" / f"machine-{socket.gethostname()}.{file}"


def train_with_settings(chosen, name, file, text):
    """The run folder of a short training on one rank whose user has a file of settings about this machine."""
    run, path = chosen.work / f"run_{name}", settings_file(chosen, name, file)
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    job = Training(command_of(chosen, 1, [f"run.dir={run}", "train.steps=6", "train.global_batch=12",
                                          "train.micro_batch=3", "precision.compute=bf16"]),
                   chosen.work, name, {"XDG_CONFIG_HOME": str(folder.parent)})
    expect(job.wait() == 0, job.tail())
    return run


def check_utilisation(chosen):
    """Against the peak that was measured, now or at an earlier start, or that the machine file gives."""
    given = train_with_settings(
        chosen, "given", "yaml", "machine_version: 1\nname: given\nhas_device: false\nranks_per_node: 1\n"
        "cores_per_node: 1\nhost_memory: 1GiB\ndevice_flops: 2T\n")
    # A peak without the program and the processors that it was measured with is not used, but measured again.
    setup = "bf16 on host, 1 ranks x 1 threads a node"
    old = train_with_settings(chosen, "old", "peaks.json", json.dumps(
        {"schema": "ziggurat.peaks/1", "peaks": {setup: 3e12}}))
    kept = json.loads(settings_file(chosen, "old", "peaks.json").read_text())
    expect(kept["schema"] == "ziggurat.peaks/2" and 1e8 < kept["peaks"][setup]["flops"] < 3e12, f"kept peaks: {kept}")
    kept["peaks"][setup]["flops"] = 3e12
    known = train_with_settings(chosen, "known", "peaks.json", json.dumps(kept))
    kept["peaks"][setup]["measured_with"] += ", another"
    other = train_with_settings(chosen, "other", "peaks.json", json.dumps(kept))
    for run, ranks, source, wanted_peak in ((given, 1, "given by the machine file", 2e12),
                                            (old, 1, "measured at the start", None),
                                            (known, 1, "measured at an earlier start", 3e12),
                                            (other, 1, "measured at the start", None),
                                            (chosen.work / "run_80", 2, "measured at the start", None)):
        start, *rest = [event for event in events(run) if event["event"] in ("start", "peak", "step")]
        peak = float(start["peak_flops_rank"])
        expect(start["peak_source"].startswith(source) and (peak == wanted_peak if wanted_peak else peak > 1e8)
               and start["mfu_formula"] == FORMULA, f"{run}: {start}")
        for event in rest:
            if event["event"] == "peak":  # a step has reached more
                peak = float(event["peak_flops_rank"])
                continue
            speed, mfu = float(event["tok_s"]), float(event["mfu"])
            wanted_mfu = speed * float(start["flops_per_token"]) / (ranks * peak)
            expect(mfu <= 1 and abs(mfu - wanted_mfu) < 1e-9 * wanted_mfu, f"{run}: mfu {mfu} instead of {wanted_mfu}")
            expect(abs(float(event["tok_s_rank"]) * ranks - speed) < 1e-9 * speed, f"{run}: tok_s_rank of {event}")
        for name in ("run.log", "env.txt"):
            text = (run / name).read_text()
            expect(source in text and FORMULA in text, f"{run}/{name} does not tell the peak\n{text}")
    print("ok: utilisation")


def check_plots(chosen):
    """Pictures of the trainings above: a file of XML, or characters as wide as the terminal; in words what cannot be drawn."""
    runs = [str(chosen.work / f"run_{columns}") for columns in AT_WIDTH]

    def plot(*words, code=0, **environment):
        done = subprocess.run([chosen.binary, "plot", *words], cwd=chosen.work, capture_output=True, text=True,
                              timeout=PATIENCE_S, env=dict(os.environ, LC_ALL="C.UTF-8") | environment)
        expect(done.returncode == code, f"plot {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    plot(runs[0])
    plot(*runs, "--out", "all.svg")
    for path, count, lines in ((pathlib.Path(runs[0]) / "plot.svg", 1, 5), (chosen.work / "all.svg", len(runs), 6 * len(runs))):
        root = xml.etree.ElementTree.parse(path).getroot()
        found = [element for element in root.iter() if element.tag.endswith("}polyline")]
        expect(len(found) == lines, f"{path} has {len(found)} lines")
        expect(all(len(line.get("points").split()) == STEPS for line in found), f"{path}: not {STEPS} steps")
        dots = [element for element in root.iter() if element.get("class", "").startswith("v ")]
        expect(len(dots) == 2 * count, f"{path} has {len(dots)} validations")
    for columns in (60, 80, 200):
        with Shown([chosen.binary, "plot", runs[0], "--terminal"], chosen.work, columns, LC_ALL="C.UTF-8") as shown:
            text = shown.all()
        widths = [len(line) for line in shown.lines()]
        expect(max(widths) <= columns and max(widths) > columns - 12, f"{max(widths)} of {columns} columns\n{text}")
        expect(COLOUR.search(text) and any("\u2800" < c < "\u2900" for c in text), f"no colours, no dots\n{text}")
    plain = plot(*runs[:2], "--terminal", LC_ALL="C").stdout
    expect(plain.isascii() and "\x1b" not in plain, f"not ASCII alone\n{plain}")

    torn = chosen.work / "torn.jsonl"
    torn.write_text((pathlib.Path(runs[0]) / "metrics.jsonl").read_text() + "what is this\n" + '{"event":"step","st')
    said = plot(str(torn), "--out", "torn.svg").stderr
    expect("warning: 1 line" in said and "note: the last line" in said, said)
    said = plot("nowhere", code=2).stderr
    expect(said.startswith("ziggurat: error: ") and "'nowhere' is not there" in said, said)
    said = plot(runs[0], "--out", "/dev/null/a.svg", code=3).stderr
    expect(said.startswith("ziggurat: error: ") and "/dev/null/a.svg" in said, said)
    print("ok: plots")


def converter(folder, name, script):
    """A program of that name which stands for one that draws SVG files."""
    folder.mkdir()
    (folder / name).write_text("#!/bin/sh\n" + script)
    (folder / name).chmod(0o755)
    return str(folder.resolve())


def check_forms(chosen):
    """The numbers of a drawing as a table, runs side by side, and pixels by a program on the PATH."""
    first, second = (str(chosen.work / f"run_{columns}") for columns in (80, 100))

    def plot(*words, code=0, **environment):
        done = subprocess.run([chosen.binary, "plot", *words], cwd=chosen.work, capture_output=True, text=True,
                              timeout=PATIENCE_S, env=dict(os.environ) | environment)
        expect(done.returncode == code, f"plot {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    rows = list(csv.DictReader(plot(first, "--csv", "-").stdout.splitlines()))
    told = [event for event in events(pathlib.Path(first)) if event["event"] == "step"]
    expect([(int(row["step"]), int(row["tokens"]), float(row["loss"])) for row in rows]
           == [(event["step"], event["tokens"], float(event["loss"])) for event in told], f"not the run's numbers: {rows}")
    plot(first, second, "--csv", "both.csv")
    with open(chosen.work / "both.csv") as file:
        rows = list(csv.DictReader(file))
    expect(len(rows) == STEPS and all(row[f"{name} {run}"] for row in rows for run in (first, second)
                                      for name in ("tokens", "time", "loss", "tokens_per_second", "waiting_percent")),
           f"a cell is missing: {rows}")

    changed = chosen.work / "run_changed"
    changed.mkdir()
    shutil.copy(f"{first}/metrics.jsonl", changed)
    deck = pathlib.Path(first, "deck.effective.yaml").read_text()
    (changed / "deck.effective.yaml").write_text(re.sub(r"(?m)^  lr: \S+ ", "  lr: 0.5 ", deck, count=1))
    table = plot(first, str(changed), "--table").stdout
    expect(re.search(r"^steps +12 of 12 +12 of 12$", table, re.M) and re.search(r"^  optimizer.lr +\S+ +0\.5$", table, re.M)
           and len(table.split("decks differ in\n")[1].splitlines()) == 1, f"one key differs\n{table}")
    (changed / "deck.effective.yaml").unlink()
    done = plot(first, str(changed), "--table")
    expect("note: '" in done.stderr and "decks differ" not in done.stdout, f"a deck is not there\n{done.stdout}{done.stderr}")

    good = converter(chosen.work / "good", "rsvg-convert", "printf '\\211PNG\\r\\n\\032\\n' >\"$2\"\ncat \"$3\" >>\"$2\"\n")
    plot(first, "--png", "a.png", PATH=good + ":/bin:/usr/bin")
    drawn = (chosen.work / "a.png").read_bytes()
    expect(drawn.startswith(PNG + b"<svg ") and b"@media" not in drawn, f"not what the program drew: {drawn[:200]}")
    bad = converter(chosen.work / "bad", "cairosvg", "echo nonsense >\"$3\"\n")
    for path, says in ((bad, "cairosvg wrote no PNG file"), ("/nowhere", "nor cairosvg is on the PATH")):
        said = plot(first, "--png", "b.png", code=3, PATH=path).stderr
        expect(says in said and "with --out" in said, said)
    left = [name for name in os.listdir(chosen.work) if re.search(r"\.(in\.svg|out\.png|tmp)$|^b\.png$", name)]
    expect(not left, f"{left} is left")
    print("ok: forms of plots")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--binary", "--work", "--mpiexec"):
        parser.add_argument(option, required=True)
    chosen = parser.parse_args()
    chosen.work = pathlib.Path(chosen.work)
    shutil.rmtree(chosen.work, ignore_errors=True)
    chosen.work.mkdir(parents=True)
    (chosen.work / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
    shutil.copy(DECKS / "llama_tiny.yaml", chosen.work / "deck.yaml")
    try:
        for columns in AT_WIDTH:
            check_width(chosen, columns)
        check_utilisation(chosen)
        check_plots(chosen)
        check_forms(chosen)
        check_no_colours(chosen)
        check_resizing(chosen)
        check_breakdown(chosen)
    except Failure as failure:
        raise SystemExit(f"FAILED: {failure}") from None


if __name__ == "__main__":
    main()
