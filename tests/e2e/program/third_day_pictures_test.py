#!/usr/bin/env python3
"""Pictures of runs: SVGs of nine kinds of runs in Chromium have no text over another; axes, parts, marks, numbers, docs.

  third_day_pictures_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Most metrics are written here in the program's format; one run is trained. Skipped where there is no
chromium-headless-shell.
"""

import csv
import io
import json
import math
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import svg_boxes
import trainings
from pair_folder import PairFolder
from svg_boxes import BROWSER
from trainings import PATIENCE_S, Place, expect, say

SKIPPED = 77
SVG = "{http://www.w3.org/2000/svg}"
LANES = ["data", "collective", "channel", "host_to_device", "device_to_host", "nvme_read", "nvme_write", "host_optimizer"]
BEGIN = 1.76e9
STEP_S, BREAK_S = 0.5, 3600  # of a step, and between two jobs


class Metrics:
    """A metrics.jsonl in the program's format."""

    def __init__(self, folder, lanes=(), name="made up", ranks=2):
        folder.mkdir(parents=True)
        self.path, self.lanes, self.name, self.ranks = folder / "metrics.jsonl", lanes, name, ranks
        self.rows, self.time, self.draw = [], BEGIN, random.Random(7)

    def add(self, event, **fields):
        self.rows.append({"event": event, "time": self.time, **fields})

    def start(self, steps):
        self.add("start", name=self.name, version="test", ranks=self.ranks, threads=1, steps=steps, parameters=124_000_000,
                 tokens_per_step=4096, seed=1, device_budget_B=8 << 30, host_budget_B=0, nvme_budget_B=0)

    def step(self, step, loss=None, **fields):
        self.time += STEP_S
        level = 2 + 8 * math.exp(-step / 400) + self.draw.gauss(0, 0.05)
        stalls = {f"stall_{lane}_s": STEP_S * 0.02 * (1 + self.draw.random()) if lane in self.lanes else 0.0
                  for lane in LANES}
        self.add("step", step=step, tokens=4096 * step, loss=level if loss is None else loss,
                 lr=3e-4 * min(1, step / 100), grad_norm=1 + self.draw.random(), step_s=STEP_S, tok_s=4096 / STEP_S,
                 mfu=0.3 + 0.02 * self.draw.random(), **stalls, device_peak_B=3 << 30, process_peak_B=1 << 20,
                 skipped=0, **fields)

    def steps(self, first, last):
        for step in range(first, last + 1):
            self.step(step)

    def spike(self, step, skipped=True):
        self.add("spike", step=step, loss=9.5, loss_z=12.0, grad_norm=40.0, grad_norm_z=9.0, skipped=skipped)

    def go_on(self, step, steps):
        self.time += BREAK_S
        self.add("resume", step=step)
        self.start(steps)

    def roll_back(self, step, source):
        self.add("resume", step=step)
        self.add("roll_back", step=step, from_step=source, next_sample=100)
        self.start(4000)

    def end(self, step, code=0, reason="finished"):
        self.add("end", step=step, exit_code=code, reason=reason)

    def write(self):
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))


def made_up_runs(folder):
    """The folders of nine runs: 1 to 8 lanes, 3 to 4,000 steps, resumes, spikes, roll-backs, a crash, strange names, pairs,
    and sources whose weights change."""
    short = Metrics(folder / "short", ["collective"])
    short.start(3)
    short.steps(1, 3)
    short.end(3)

    lanes = Metrics(folder / "eight_lanes", LANES, name="a run with a name that is far too long to be the title of any picture " * 2)
    lanes.start(400)
    lanes.steps(1, 400)
    lanes.end(400)

    restarts = Metrics(folder / "restarts", ["data", "collective", "nvme_read"])
    restarts.start(1000)
    restarts.steps(1, 250)
    restarts.add("validate", step=250, tokens=1, loss=5.5, loss_tokens=10, validate_s=1)
    restarts.add("checkpoint_end", step=250, ok=True, bytes=1 << 30, seconds=2, stood_still_s=0.1, reason=None)
    restarts.end(260, 6, "rank 1 has died, by signal 9")
    restarts.go_on(250, 1000)
    restarts.steps(251, 600)
    restarts.go_on(600, 1000)
    restarts.steps(601, 1000)
    restarts.end(1000)

    spikes = Metrics(folder / "spikes", ["collective", "channel"])
    spikes.start(4000)
    spikes.steps(1, 1200)
    spikes.step(1201, loss=1e4)
    spikes.spike(1201)
    spikes.steps(1202, 2000)
    spikes.spike(2100)
    spikes.roll_back(2000, 2100)
    spikes.steps(2001, 4000)
    spikes.end(4000)

    bad = Metrics(folder / "WWWWWWWWWWWWWWWWWWWWWWWWWWW 日本語日本語 & <b>", [])
    bad.start(20)
    bad.steps(1, 19)
    bad.step(20, loss=math.nan)
    bad.rows[-1] |= {"loss": None, "loss_nonfinite": True}
    bad.end(20, 5, "the loss is not finite")

    pairs = Metrics(folder / "pairs", ["collective"])
    pairs.start(300)
    pairs.rows[-1] |= {"objective": "dpo"}
    for step in range(1, 301):
        share = step / 300
        pairs.step(step, loss=0.7 - 0.4 * share, loss_pairs=8, reward_chosen=share, reward_rejected=-2 * share,
                   reward_margin=3 * share, reward_accuracy=0.5 + 0.5 * share)
    pairs.add("validate", step=300, tokens=1, loss=0.4, loss_pairs=8, reward_chosen=0.5, reward_rejected=-0.5,
              reward_margin=1.0, reward_accuracy=0.75, validate_s=1)
    pairs.end(300)

    # Twelve sources with long names; the weights change at steps 100, 104 and 200.
    blend = Metrics(folder / "blend", ["data"])
    blend.start(300)
    sources = [f"source {i} with a long name & <b>" for i in range(12)]
    for step in range(1, 301):
        weights = [1 + i * ((step > 100) + (step > 104) - 2 * (step > 200)) for i in range(12)]
        blend.step(step, loss_by_source={name: 3 + i / 10 for i, name in enumerate(sources)},
                   share_by_source={name: weight / sum(weights) for name, weight in zip(sources, weights)})
    blend.end(300)

    # Two sources; labels of all changes have room.
    two = Metrics(folder / "two", ["data"])
    two.start(300)
    for step in range(1, 301):
        books = 0.75 if step <= 100 else 0.25
        two.step(step, loss_by_source={"books": 3 - step / 300, "code": 2.5 - step / 200},
                 share_by_source={"books": books, "code": 1 - books})
    two.end(300)

    early = Metrics(folder / "early", ["nvme_read", "host_optimizer"])
    early.start(1500)
    early.steps(1, 1500)
    runs = [short, lanes, restarts, spikes, bad, early, pairs, blend, two]
    for run in runs:
        run.write()
    return [run.path.parent for run in runs]


def runs_of_the_docs(folder):
    """Two runs of a small model, runs/base with a crash and a spike, and runs/wide."""
    for name, steps, lanes, level in (("base", 160, ["collective", "nvme_read", "host_optimizer"], 3.1),
                                      ("wide", 110, ["collective"], 2.8)):
        run = Metrics(folder / "runs" / name, lanes, name=name)
        run.start(steps)
        numbers = [*range(1, 98), *range(81, steps + 1)] if name == "base" else range(1, steps + 1)
        for i, step in enumerate(numbers):
            if name == "base" and i == 97:
                run.end(97, 6, "rank 1 has died, by signal 9")
                run.go_on(80, steps)
            run.step(step, level + 6 * math.exp(-step / 25) + run.draw.gauss(0, 0.08))
            run.rows[-1] |= {"lr": 1e-3 * min(1, step / 20) * (0.55 + 0.45 * math.cos(math.pi * step / steps)),
                             "grad_norm": 0.5 + 2 * math.exp(-step / 20) + abs(run.draw.gauss(0, 0.1)),
                             "tok_s": 4096 / STEP_S * (0.97 + 0.03 * run.draw.random()), "device_peak_B": 0}
            if name == "base" and step == 120:
                run.rows[-1] |= {"loss": 31.0, "grad_norm": 24.0}
                run.spike(step)
            if step % 20 == 0:
                run.add("validate", step=step, tokens=1, loss=level + 0.15 + 6 * math.exp(-step / 25), loss_tokens=10,
                        validate_s=1)
        run.end(steps)
        run.write()


def ziggurat(place, *words, code=0):
    done = subprocess.run([place.binary, *map(str, words)], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S)
    expect(done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stdout + done.stderr


def picture(place, name, *words):
    """Draws name.svg and returns its text."""
    ziggurat(place, "plot", *words, "--out", f"{name}.svg")
    return (place.folder / f"{name}.svg").read_text()


def titles(svg):
    return [text.text for text in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}text") if text.get("class") == "p"]


def texts(svg):
    return [text.text for text in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg):
    return [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
            for line in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}polyline")]


def no_text_over_another(chosen):
    place = Place(chosen, "overlaps")
    runs = made_up_runs(place.folder)
    pictures = {run.name: picture(place, f"one{i}", run) for i, run in enumerate(runs)}
    pictures["three"] = picture(place, "three", runs[0], runs[2], runs[3])
    pictures["all"] = picture(place, "all", *runs, "--axis", "tokens", "--log")
    pictures["a part"] = picture(place, "part", runs[3], "--from", 1190, "--to", 1210, "--axis", "steps", "--log")
    pictures["by time"] = picture(place, "time", runs[2], "--axis", "time", "--smooth", 20)
    for name, words in {"page of one": [runs[1]], "page of two": [runs[2], runs[3]]}.items():
        ziggurat(place, "report", *words, "--out", "page.html")
        pictures[name] = re.search(r"<svg.*</svg>", (place.folder / "page.html").read_text(), re.S)[0]
    planted = {"lies over '3 runs'": '<text x="74" y="28">planted</text>', "is outside": '<text x="930" y="300">planted</text>',
               "lies over a path": '<text x="80" y="52">planted</text>', "lies over a frame": '<text x="300" y="300">planted</text>'}
    broken = [pictures["three"].replace("</svg>", text + "</svg>") for text in planted.values()]
    found = svg_boxes.measure(place.folder, [*pictures.values(), *broken])
    for problem, one in zip(planted, found[len(pictures):]):
        expect(any(text.startswith(f"'planted' {problem}") for text in svg_boxes.overlaps(one)),
               f"a text that {problem} is not found")
    for name, one in zip(pictures, found):
        expect(len(one.texts) > 20 and len(one.frames) > 4 and one.symbols, f"{name}: {one}")
        problems = svg_boxes.overlaps(one)
        expect(not problems, f"{name}: " + "; ".join(problems[:5]))
    expect([note[0] for note in found[list(pictures).index(runs[4].name)].notes] == ["no waits"], "a run without waits")
    for lane in LANES:
        expect(lane.replace("_", " ") in texts(pictures["eight_lanes"]), f"no name of {lane}")
    absent = [lane for lane in LANES if lane != "collective" and lane.replace("_", " ") in texts(pictures["short"])]
    expect(not absent, f"lanes that are zero are named: {absent}")
    say(f"{len(pictures)} pictures in Chromium: {sum(len(one.texts) for one in found)} texts, none over another")


def panels_and_marks(chosen):
    place = Place(chosen, "marks")
    _, _, restarts, spikes, bad, *_ = made_up_runs(place.folder)
    first = picture(place, "restarts", restarts)
    for title in ("loss", "learning rate", "gradient norm", "tokens per second", "model FLOPs", "waiting"):
        expect(any(one.startswith(title) for one in titles(first)), f"no panel of {title}: {titles(first)}")
    for name, svg, wanted, others in (
            ("restarts", first, ["resume", "crash", "validation"], ["spike", "roll-back"]),
            ("spikes", picture(place, "spikes", spikes), ["spike", "roll-back"], ["resume", "crash"]),
            ("bad", picture(place, "bad", bad), ["crash", "loss is not finite"], ["resume"])):
        expect(all(word in texts(svg) for word in wanted), f"{name}: not all of {wanted} in {texts(svg)}")
        expect(not any(word in texts(svg) for word in others), f"{name}: one of {others} in {texts(svg)}")
    expect("shading: range of single steps" in texts(first), "the shading is not explained")

    rows = list(csv.DictReader(io.StringIO(ziggurat(place, "plot", spikes, "--csv", "-"))))
    marked = {(kind, int(row["step"])): int(row[kind]) for kind in ("resumes", "roll_backs", "spikes", "crashes") for row in rows
              if int(row[kind])}
    expect(marked == {("spikes", 1201): 1, ("spikes", 2100): 1, ("roll_backs", 2000): 1}, f"{marked}")
    row = rows[49]
    expect(row["step"] == "50" and abs(float(row["learning_rate"]) - 1.5e-4) < 1e-9 and 1 <= float(row["gradient_norm"]) <= 2
           and 30 <= float(row["mfu_percent"]) <= 32 and abs(float(row["seconds_in_training"]) - 25) < 1e-3, f"{row}")

    drawn = ziggurat(place, "plot", spikes, "--terminal")
    expect("roll-back" in drawn and "^ spike" in drawn and "learning rate" in drawn, drawn)
    page = place.folder / "page.html"
    ziggurat(place, "report", restarts, spikes, "--out", page)
    for words in ("2 resumes, 1 crash", "1 roll-back, 2 spikes", "ends with 6: rank 1 has died, by signal 9",
                  "spike: loss 9.5", "learning rate", "gradient norm", "model FLOPs utilisation"):
        expect(words in page.read_text(), f"no '{words}' in the page")
    expect("2 resumes, 1 crash" in ziggurat(place, "top", restarts, "--once"), "no marks on the screen")
    say("learning rate, gradient norm, utilisation; resumes, roll-backs, spikes and crashes in each form")


def axes_and_parts(chosen):
    place = Place(chosen, "axes")
    short, lanes, restarts, spikes, *_ = made_up_runs(place.folder)
    by_steps, by_tokens = picture(place, "steps", restarts), picture(place, "tokens", restarts, "--axis", "tokens")
    by_time = picture(place, "time", restarts, "--axis", "time")
    expect(["step" in texts(by_steps), "tokens" in texts(by_tokens), "minutes in training" in texts(by_time)] == [True] * 3,
           "names of the axis")
    # The hours between two jobs are no time in training: each step is as long as another.
    points = lines(by_time)[0]
    gaps = [b[0] - a[0] for a, b in zip(points, points[1:])]
    expect(max(gaps) < 2.5 * min(gaps), f"points are {min(gaps)} to {max(gaps)} apart")

    part = list(csv.DictReader(io.StringIO(ziggurat(place, "plot", spikes, "--from", "1.2k", "--to", 1300, "--csv", "-"))))
    expect([int(row["step"]) for row in part] == list(range(1200, 1301)), f"{[row['step'] for row in part]}")
    part = list(csv.DictReader(io.StringIO(ziggurat(place, "plot", restarts, "--axis", "time", "--to", "1min", "--csv", "-"))))
    expect(len(part) == 120, f"a minute has {len(part)} steps")
    zoomed = picture(place, "zoomed", spikes, "--from", 1150, "--to", 1250)
    expect(len(lines(zoomed)[0]) == 101 and "spike" in texts(zoomed) and "roll-back" not in texts(zoomed), "a part of the run")

    peaks = picture(place, "peaks", spikes)
    expect("peak above the axis" in texts(peaks) and titles(peaks)[0].endswith(", peaks up to 10.00k cut off"), titles(peaks))
    levels = [y for _, y in lines(peaks)[0]]
    expect(statistics.median(levels[:60]) < statistics.median(levels[-60:]) - 100, "a spike presses the curve down")
    rough, smooth = picture(place, "rough", lanes), picture(place, "smooth", lanes, "--smooth", 30)
    noise = [sum(abs(b[1] - a[1]) for a, b in zip(line, line[1:])) for line in (lines(rough)[2], lines(smooth)[2])]
    expect("gradient norm, mean of 30 steps" in titles(smooth) and noise[1] < noise[0] / 5, f"{noise} {titles(smooth)}")
    logarithmic = titles(picture(place, "log", lanes, "--log"))
    expect(all(any(one.startswith(title) and one.endswith("(logarithmic)") for one in logarithmic)
               for title in ("loss", "learning rate", "gradient norm")), f"{logarithmic}")

    together = lines(picture(place, "together", short, spikes))
    expect(len(together[0]) == 3 and len(together[1]) > 300 and together[0][-1][0] < together[1][-1][0], "each as long as it is")
    table = ziggurat(place, "plot", short, spikes, "--table")
    expect("loss at step 3" in table and "2 spikes" in table, table)

    for words, said in ((["--from", "5x"], "is not a position on the axis"), (["--from", "2h"], "times need --axis time"),
                        (["--from", "9", "--to", "3"], "is after --to"), (["--from", "1M"], "The runs have steps 1 to 3"),
                        (["--smooth", "3", "--csv", "-"], "prints plain numbers"), (["--axis", "epochs"], "--axis")):
        expect(said in ziggurat(place, "plot", short, *words, code=2), f"{words} does not say '{said}'")
    say("axes of steps, tokens and time; parts, means, logarithms; runs of different length")


def words_and_numbers(svg):
    found = re.split(r"(?<![\d.])(-?\d+\.\d)(?!\d)", svg)
    return found[::2], [float(number) for number in found[1::2]]


def pictures_of_the_docs(chosen):
    place = Place(chosen, "docs")
    runs_of_the_docs(place.folder)
    kept = pathlib.Path(__file__).resolve().parents[3] / "docs" / "pictures"
    drawn = {"run": ["runs/base"], "runs": ["runs/base", "runs/wide", "--smooth", 10, "--axis", "tokens"],
             "spike": ["runs/base", "--from", 110, "--to", 130, "--log"]}
    pictures = {name: picture(place, name, *words) for name, words in drawn.items()}
    for (name, svg), found in zip(pictures.items(), svg_boxes.measure(place.folder, pictures.values())):
        expect(len(svg) < 60_000 and not svg_boxes.overlaps(found), f"{name}: {len(svg)} bytes, {svg_boxes.overlaps(found)}")
        old = kept / f"{name}.svg"
        words, numbers = words_and_numbers(svg)
        old_words, old_numbers = words_and_numbers(old.read_text() if old.exists() else "")
        # Another processor may round differently.
        is_same = words == old_words and all(abs(a - b) < 0.15 for a, b in zip(numbers, old_numbers))
        expect(is_same, f"{old} is not what the program draws: cp {place.folder / old.name} {old}")
    # Those of trained runs, by scripts/training_pictures.py.
    trained = {name: (kept / f"{name}.svg").read_text() for name in ("preference", "blend")}
    for (name, svg), found in zip(trained.items(), svg_boxes.measure(place.folder, trained.values())):
        expect(len(svg) < 120_000 and not svg_boxes.overlaps(found), f"{name}: {len(svg)} bytes, {svg_boxes.overlaps(found)}")
    expect({"chosen", "rejected", "margin"} <= set(texts(trained["preference"])) and "nats" not in trained["preference"]
           and "weight change" in texts(trained["blend"]), "rewards and a change of weights in the pictures of docs/")
    say("pictures of docs/ are what the program draws")


def a_real_run(chosen):
    place = Place(chosen, "real")
    place.train("run", 2, "train.steps=8", "checkpoint.every=4 steps")
    place.train("run", 2, "train.steps=12", "checkpoint.every=4 steps")
    svg = picture(place, "real", "run")
    expect(len(lines(svg)[0]) == 12 and "resume" in texts(svg), texts(svg))
    rows = list(csv.DictReader(io.StringIO(ziggurat(place, "plot", "run", "--csv", "-"))))
    expect([int(row["step"]) for row in rows if row["resumes"] == "1"] == [8], "the seam")
    measured = [float(row["seconds_in_training"]) for row in rows]
    expect(0 < measured[0] and measured == sorted(measured), f"{measured}")
    expect(not svg_boxes.overlaps(svg_boxes.measure(place.folder, [svg])[0]), "texts over each other")
    say("a run that was trained")


def pairs_and_blends(chosen):
    """Rewards, losses by source and changes of weights of trained runs, in each form; losses of pairs have an axis of their own."""
    place = PairFolder(chosen, "pairs_and_blends")
    place.train("pairs", place.oracle["objectives"]["dpo"], "train.steps=6", "train.micro_batch=1",
                "data.validation=[{format: chat, path: pairs.samples}]", "validate={every: 3 steps, batches: 2}")
    tiny = Place(chosen, "blended", "llama")
    (tiny.folder / "other.txt").write_text("a rose is a rose is a rose. " * 300)
    tiny.train("blend", 1, "train.steps=12", "data.train=[{format: text, path: text.txt, weight: [[0, 3], [8, 1]]}, "
               "{format: text, path: other.txt, weight: [[0, 1], [8, 3]]}]")
    runs = [place.folder / "pairs", tiny.folder / "blend"]
    rows = {run: [row for row in trainings.events(run) if row["event"] == "step"] for run in runs}
    expect([next(row for row in trainings.events(run) if row["event"] == "start")["objective"] for run in runs]
           == ["dpo", "next_token"], "objectives of the starts")

    one, two, both = picture(place, "one", runs[0]), picture(place, "two", runs[1]), picture(place, "both", *runs)
    expect(titles(one)[:3] == ["DPO loss per pair", "rewards: beta x log-ratio to the reference", "reward accuracy, % of pairs"]
           and {"chosen", "rejected", "margin"} <= set(texts(one)) and "nats" not in one, texts(one))
    expect(titles(two)[:2] == ["loss, nats per token", "loss by source, nats per token"]
           and {"text", "other", "weight change", "other 75 %, text 25 %"} <= set(texts(two)), texts(two))
    expect([len(line) for line in lines(two)[:3]] == [12, 12, 12], "a line for each source")
    expect(titles(both)[:2] == ["DPO loss per pair", "loss, nats per token"], titles(both))
    expect([len(line) for line in lines(both)[:2]] == [6, 12], "each loss has a panel of its own")
    for name, found in zip(("one", "two", "both"), svg_boxes.measure(place.folder, [one, two, both])):
        expect(not svg_boxes.overlaps(found), f"{name}: {svg_boxes.overlaps(found)}")

    cells = list(csv.DictReader(io.StringIO(ziggurat(place, "plot", runs[0], "--csv", "-"))))
    for cell, row in zip(cells, rows[runs[0]], strict=True):
        for key in ("reward_chosen", "reward_rejected", "reward_margin"):
            expect(float(cell[key]) == float(row[key]), f"{key} of step {row['step']}: {cell[key]} instead of {row[key]}")
    expect(cells[2]["validation_reward_margin"] and not cells[1]["validation_reward_margin"], f"validations: {cells}")
    cells = list(csv.DictReader(io.StringIO(ziggurat(place, "plot", runs[1], "--csv", "-"))))
    expect([int(cell["step"]) for cell in cells if cell["weight_changes"] == "1"] == [8], f"the change: {cells}")
    expect(all(float(cell["loss other"]) == float(row["loss_by_source"]["other"])
               for cell, row in zip(cells, rows[runs[1]], strict=True)), "losses of a source")

    for run, wanted in ((runs[0], ("per pair", "margin", "accuracy")), (runs[1], ("nats per token", "weight change", "other 75 %"))):
        drawn = ziggurat(place, "plot", run, "--terminal")
        ziggurat(place, "report", run, "--out", "page.html")
        shown = ziggurat(place, "top", run, "--once")
        for form, text in (("terminal", drawn), ("report", (place.folder / "page.html").read_text()), ("top", shown)):
            # A screen of 24 rows has the numbers instead of the curves.
            missing = [word for word in wanted if word not in text and (form != "top" or word not in ("nats per token", "other 75 %"))]
            expect(not missing, f"{form} of {run.name} has no {missing}\n{text}")
            expect(run is not runs[0] or "nats" not in text, f"{form} of {run.name} has nats\n{text}")
    expect(re.search(r"last loss +\S+ per pair +\S+\n", ziggurat(place, "plot", *runs, "--table")), "the unit in the table")
    say("rewards, sources and changes of weights of trained runs in each form")


if __name__ == "__main__":
    if not shutil.which(BROWSER):
        print(f"skipped: there is no {BROWSER} (scripts/setup.sh --tests)")
        sys.exit(SKIPPED)
    trainings.run_script(__doc__, no_text_over_another, panels_and_marks, axes_and_parts, pictures_of_the_docs, a_real_run,
                         pairs_and_blends)
