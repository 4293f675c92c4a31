#!/usr/bin/env python3
"""What people look at while and after a training: `ziggurat report` in Chromium, `ziggurat top` in tmux.

  watch_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

The page has every curve, asks for nothing and complains of nothing; the screen follows the run, leaves it alone, and gives
the terminal back. Skipped where there is no chromium-headless-shell or no tmux.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import uuid
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import PATIENCE_S, Place, expect, say, wait_until

SKIPPED = 77
BROWSER, TERMINALS = "chromium-headless-shell", "tmux"
STEPS = 24
SETTINGS = [f"train.steps={STEPS}", "checkpoint.every=6 steps", "data.validation=[{format: text, path: text.txt}]",
            "validate.every=8 steps"]
SVG = "{http://www.w3.org/2000/svg}"


def ziggurat(place, *words, code=0):
    done = subprocess.run([place.binary, *words], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S)
    expect(done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def browse(place, name):
    """The page as the browser has it, its complaints, and the addresses that it asked for."""
    log = place.folder / "requests.json"
    done = subprocess.run([BROWSER, "--no-sandbox", "--disable-gpu", f"--log-net-log={log}", "--enable-logging=stderr",
                           f"--user-data-dir={place.folder / 'browser'}", "--dump-dom", f"file://{place.folder / name}"],
                          capture_output=True, text=True, timeout=PATIENCE_S)
    expect(done.returncode == 0, f"the browser ended with {done.returncode}\n{done.stderr}")
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, complaints, re.findall(r'"url":"([^"]*)"', log.read_text())


def a_page_without_requests(chosen):
    place = Place(chosen, "page", "llama")
    (place.folder / "nvme").mkdir()
    place.train("one", 1, *SETTINGS)
    place.train("three", 3, *SETTINGS, "sharding.zero=3", "tiers.home.optimizer=nvme", "tiers.nvme.paths=[nvme]")
    # The browser would tell.
    (place.folder / "loud.html").write_text("<script>console.error('loud')</script><img src='http://127.0.0.1:9/x.png'>")
    _, complaints, requests = browse(place, "loud.html")
    expect(len(complaints) == 1 and "http://127.0.0.1:9/x.png" in requests, f"{complaints} {requests}")

    measured = ["loss", "learning rate", "gradient norm", "tokens per second", "model FLOPs", "device", "host", "nvme"]
    for runs, titles in ((["three"], measured), (["one", "three"], [*measured, "waiting"])):
        ziggurat(place, "report", *runs, "--out", "page.html")
        page, complaints, requests = browse(place, "page.html")
        expect(not complaints and not requests, f"{complaints} {requests}")
        drawing = xml.etree.ElementTree.fromstring(re.search(r"<svg.*</svg>", page, re.S)[0])
        headings = [text.text for text in drawing.iter(f"{SVG}text") if text.get("class") == "p"]
        lines = [line.get("points").split() for line in drawing.iter(f"{SVG}polyline")]
        for title in titles:
            expect(any(heading.startswith(title) for heading in headings), f"no panel of {title}: {headings}")
        expect(len(lines) == len(runs) * len(titles), f"{len(lines)} lines of {runs}")
        expect(all(len(line) == STEPS for line in lines), f"{[len(line) for line in lines]} points, not {STEPS}")
        of_a_run = STEPS // 6
        kept = 2
        expect(page.count(">complete<") == kept * len(runs)
               and page.count(">removed since<") == (of_a_run - kept) * len(runs), f"not {of_a_run} checkpoints of each run")
        expect(len([mark for mark in drawing.iter(f"{SVG}path") if mark.get("class", "").endswith(" save")])
               == of_a_run * len(runs) + 1, "a mark for each checkpoint, and one in the legend")
        expect(page.count("ends with 0: finished") == len(runs), "each run's end")
    expect("is not there" in ziggurat(place, "report", "nowhere", code=2), "a run that is not there")
    ziggurat(place, "report", "one")
    expect((place.folder / "one" / "report.html").exists(), "beside the metrics")
    say("pages of one run and of two in Chromium: every curve, no request, no complaint")


class Screen:
    """A terminal of tmux's own."""

    def __init__(self, folder, columns, rows):
        self.name = f"ziggurat-{uuid.uuid4().hex[:8]}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "-c", folder, "bash --norc")

    def tmux(self, *words):
        return subprocess.run([TERMINALS, "-L", self.name, *map(str, words)], check=True, capture_output=True, text=True,
                              timeout=PATIENCE_S).stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def text(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, pattern):
        wait_until(lambda: re.search(pattern, self.text()), f"'{pattern}' on\n{self.text()}")
        return re.search(pattern, self.text())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        subprocess.run([TERMINALS, "-L", self.name, "kill-server"], capture_output=True, timeout=PATIENCE_S)


def a_screen_that_follows(chosen):
    place = Place(chosen, "top")
    run = place.folder / "run"
    many = 1_000_000
    with place.start("run", 2, *SETTINGS, f"train.steps={many}") as training, Screen(place.folder, 90, 40) as screen:
        training.wait_until(lambda: len(trainings.step_numbers(run)) > 2, "the first steps")
        screen.type("echo before", "Enter", f"{place.binary} top run; echo left with $?", "Enter")
        first = int(screen.shows(r"([\d,]+) of 1,000,000, .* left")[1].replace(",", ""))
        screen.shows(r"loss, nats per token")
        screen.shows(r"device .* of ")
        screen.shows(r"start on 2 ranks")
        expect("echo before" not in screen.text(), f"the screen is not its own\n{screen.text()}")
        wait_until(lambda: int(re.search(r"([\d,]+) of 1,000,000", screen.text())[1].replace(",", "")) > first,
                   f"more steps than {first}")
        screen.tmux("resize-window", "-x", 50, "-y", 14)
        wait_until(lambda: "loss, nats" not in screen.text() and re.search(r"of 1,000,000", screen.text()),
                   f"a small screen\n{screen.text()}")
        screen.type("q")
        screen.shows(r"left with 0")
        expect("before" in screen.text(), f"what was there is not back\n{screen.text()}")
        expect(not training.has_ended(), "the run has ended with the screen")
        (run / "STOP").touch()
        expect(training.wait() == 75, training.tail())
        said = ziggurat(place, "top", "run")
        expect("stopped: " in said and "\x1b" not in said, f"not as into a pipe:\n{said}")
    expect("is not there" in ziggurat(place, "top", "nowhere", code=2), "a run that is not there")
    say("a screen in tmux follows the run and leaves as asked")


if __name__ == "__main__":
    for program in (BROWSER, TERMINALS):
        if not shutil.which(program):
            print(f"skipped: there is no {program} (scripts/setup.sh --tests)")
            sys.exit(SKIPPED)
    trainings.run_script(__doc__, a_page_without_requests, a_screen_that_follows)
