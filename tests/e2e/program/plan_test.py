#!/usr/bin/env python3
"""What `ziggurat plan` says of a run in short, also of one that cannot be trained yet, and how large a job is that
`plan` and `check` are not told the ranks of.

  plan_test.py --binary ZIGGURAT [--without-gpus]
"""

import argparse
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PATIENCE_S = 240  # only for what hangs
MACHINES = pathlib.Path(__file__).resolve().parents[3] / "decks" / "machines"
DECK = pathlib.Path(__file__).resolve().parents[1] / "decks" / "gpt2_tiny.yaml"
MACHINE = """machine_version: 1
name: four
has_device: false
ranks_per_node: 4
cores_per_node: 8
host_memory: 16GiB
device_flops: 1T
"""


def expect(holds, what, output=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{output}")


class Place:
    """A folder with a deck, a text and a described machine."""

    def __init__(self, binary, lacks_gpus, folder):
        self.binary, self.lacks_gpus, self.folder = binary.resolve(), lacks_gpus, folder
        (folder / "deck.yaml").write_text(DECK.read_text().replace("global_batch: 30, micro_batch: 5",
                                                                   "global_batch: 24, micro_batch: 1"))
        (folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
        (folder / "four.yaml").write_text(MACHINE)

    def says(self, code, *words):
        environment = dict(os.environ, OMP_NUM_THREADS="1", HOME=str(self.folder))
        environment.pop("XDG_CONFIG_HOME", None)
        done = subprocess.run([self.binary, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        expect(done.returncode == code, f"{' '.join(words)} ends with {code}, not {done.returncode}", done.stdout)
        return done.stdout

    def layout(self, *words):
        """Ranks, and ranks on a node, alike by `check` and by `plan`."""
        said = self.says(0, "check", "deck.yaml", "--json", *words)
        checked = json.loads(said[said.index("{"):])["layout"]  # after warnings
        planned = re.search(r"^layout +ranks (\d+) = .*; (\d+) a node", self.says(0, "plan", "deck.yaml", *words), re.M)
        found = (checked["ranks"], checked["ranks_per_node"])
        expect(found == (int(planned[1]), int(planned[2])), f"check and plan differ with {words}", (found, planned[0]))
        return found


def says_all_in_short(place):
    said = place.says(0, "plan", "deck.yaml", "--machine", "./four.yaml")
    for line in (r"machine +four: 1 node with 4 ranks", r"model +gpt2, 2 layers", r"size +\d", r"layout +ranks 4 =",
                 r"time +estimated: a step takes .* at the rates of four, all 20 steps take .*",
                 r"  FITS, free: ", r"program +rank 0 executes [\d,]+ ops per step", r"more +--program: "):
        expect(re.search("^" + line, said, re.M), f"a plan in short has '{line}'", said)
    ops = int(re.search(r"rank 0 executes ([\d,]+) ops", said)[1].replace(",", ""))
    listed = place.says(0, "plan", "deck.yaml", "--machine", "./four.yaml", "--program", "--all")
    expect(f"{ops} of {ops} ops\n" in listed, f"--program lists the {ops} ops that the summary counts", listed[-200:])
    expect("training" not in said, "nothing is said of what can be trained", said)
    large = place.says(3, "plan", "deck.yaml", "--machine", "./four.yaml", "tiers.device=16KiB")
    expect("DOES NOT FIT: device" in large and "FITS, " not in large, "what does not fit ends with 3", large)


def says_epochs_and_what_it_is_not_built_for(place):
    tokens, text = 20 * 24 * 32, (place.folder / "text.txt").stat().st_size
    for command in ("check", "plan"):
        said = place.says(0, command, "deck.yaml")
        expect(f"tokens in 20 steps, {tokens / text:.3g} epochs\n" in said, f"{command} says epochs", said)
        said = place.says(0, command, "deck.yaml", "--ranks", "8", "--machine", str(MACHINES / "dgx-h100.yaml"))
        told = re.search("^  FITS, free: .*; but this program trains on no GPU", said, re.M)
        expect(bool(told) == place.lacks_gpus, f"{command} says that it fits, and whether it trains there", said)
        expect("trains on no GPU" not in place.says(0, command, "deck.yaml", "--machine", "./four.yaml"),
               "nothing is said of GPUs where there are none")


def knows_how_large_the_job_is(place):
    four = ["--machine", "./four.yaml"]
    for words, ranks, per_node in ((four, 4, 4),
                                   ([*four, "--nodes", "2"], 8, 4),
                                   ([*four, "--ranks", "2"], 2, 2),
                                   ([*four, "--nodes", "2", "--ranks", "4"], 4, 2),
                                   ([*four, "parallel.tensor=2", "parallel.data=3"], 6, 3),  # degrees beyond a node
                                   ([*four, "parallel.data=2"], 2, 2),  # degrees of less than a node
                                   (["--nodes", "3", "parallel.data=3"], 3, 1),
                                   (["--ranks", "3"], 3, 3)):
        found = place.layout(*words)
        expect(found == (ranks, per_node), f"{words}: {ranks} ranks, {per_node} a node", found)
    for command in ("check", "plan"):
        said = place.says(2, command, "deck.yaml", "--ranks", "7", "--nodes", "2")
        expect("--ranks 7 is not a multiple of --nodes 2" in said, "ranks and nodes", said)
        said = place.says(2, command, "deck.yaml", "--nodes", "1000000", *four)
        expect("exceed 1000000 ranks. Ask for fewer." in said, "too many", said)


def searches_for_layouts(place):
    words = ["plan", "deck.yaml", "--machine", "./four.yaml"]
    said = place.says(0, *words, "--search", "--write", "fast.yaml")
    counts = re.search(r"^search +([\d,]+) layouts: ([\d,]+) too large and ([\d,]+) too slow by bounds, ([\d,]+) timed",
                       said, re.M)
    every, *parts = (int(count.replace(",", "")) for count in counts.groups())
    expect(every == sum(parts) and every > 100, "every layout is counted once", said)
    rows = re.findall(r"^ +(\d+) +([\d.]+ \w+) +[\d.]*%? +[\d.]+ \w+  tensor \d, stages", said, re.M)
    expect([int(place_of) for place_of, _ in rows] == list(range(1, 11)), "ten layouts, in order", said)
    timed = json.loads(place.says(0, "plan", "fast.yaml", "--machine", "./four.yaml", "--time", "--json").splitlines()[-1])
    own = json.loads(place.says(0, *words, "--time", "--json").splitlines()[-1])
    expect(timed["step_s"] <= own["step_s"], "the written deck is planned no slower than the first one", (timed, own))
    ratio = float(re.search(r"\(([\d.]+) times the fastest\)", said)[1])
    expect(abs(ratio - own["step_s"] / timed["step_s"]) < 0.01, "the written deck is the fastest one", said)
    place.says(0, "check", "fast.yaml", "--machine", "./four.yaml")

    said = place.says(0, *words, "--search", "--objective", "memory")
    sizes = [float(size) * {"K": 1, "M": 1024}[unit] for size, unit in
             re.findall(r"^ +\d+ +[\d.]+ \w+ +[\d.]*[%-] +([\d.]+) ([KM])iB  tensor", said, re.M)]
    expect(len(sizes) == 10 and sizes == sorted(sizes), "ten layouts, the smallest first", said)

    said = place.says(0, *words, "--search", "--nodes", "2", "parallel.tensor=auto", "parallel.data=auto", "sharding=auto")
    expect(said.count("search  ") == 1 and "this deck leaves its layout to the planner" in said, "one search", said)
    expect(re.search(r"data \d+, spans \d/\d/\d", said) and "spans P/G/O" in said, "spans of a node", said)

    said = place.says(3, *words, "--search", "tiers.device=16KiB")
    expect("no layout fits: the one with the smallest shortfall lacks" in said, "what is missing", said)
    said = place.says(2, *words, "--search", "--time")
    expect("exclude each other" in said, "one of both", said)


def names_of(json_value, name=""):
    """Names of all values, in the form of decks/PLAN.md: `bandwidths[].kind`."""
    if isinstance(json_value, dict):
        return set().union(*(names_of(value, f"{name}.{key}" if name else key) for key, value in json_value.items()))
    if isinstance(json_value, list):
        return set().union(*(names_of(value, name + "[]") for value in json_value))
    return {name}


def documented(page):
    lines = (MACHINES.parent / page).read_text().splitlines()
    return {match[1] for match in (re.match(r"\| `([^`]+)` \|", line) for line in lines) if match}


def gives_as_json_all_that_it_prints(place):
    words = ["plan", "deck.yaml", "--machine", "./four.yaml"]
    planned = json.loads(place.says(0, *words, "--json"))
    printed = place.says(0, *words)
    timed = json.loads(place.says(0, *words, "--time", "--json").splitlines()[-1])
    expect(timed.items() <= planned["time"].items(), "the time is that of --time", (timed, planned["time"]))
    expect(f"bound by  {planned['time']['bound_by']}\n" in printed, "what bounds a step", printed)
    expect(planned["memory"]["verdict"] in printed and planned["memory"]["fits"], "the verdict", printed)
    expect(f"rank 0 executes {planned['program']['ops']:,} ops" in printed, "the ops of rank 0", printed)

    keys = ["sharding.zero=3", "tiers.home.optimizer=nvme", "tiers.home.gradients=host", "tiers.nvme.paths=[nvme]",
            "tiers.nvme.endurance=1TB"]
    (place.folder / "nvme").mkdir()
    here = ["plan", "deck.yaml", "--ranks", "4", "--json"]
    ranks = [json.loads(place.says(0, *here, "--rank", str(rank), *keys)) for rank in range(4)]
    expect([plan["program"]["rank"] for plan in ranks] == [0, 1, 2, 3], "--rank chooses the rank")
    listed = place.says(0, *here, "--program", "--rank", "3", *keys)
    ops, _ = json.JSONDecoder().raw_decode(listed[listed.index('{"schema"'):])  # warnings are next to it
    expect(ranks[3]["program"]["ops"] == len(ops["ops"]), "its program is that of --program", ranks[3]["program"])
    wear = ranks[0]["wear"]["path_B_per_step"]
    written = [transfer["moved_B"] for plan in ranks for transfer in plan["program"]["transfers"]
               if transfer["lane"] == "nvme_write"]
    expect(len(written) == 4 and abs(sum(written) / wear - 1) < 0.05, "the wear is what all ranks write", (written, wear))
    needed = max(plan["program"]["bytes"]["device_B"] for plan in ranks)
    expect(ranks[0]["memory"]["needed"]["device_B"] == needed, "a rank needs what the fullest rank reserves", needed)

    short = json.loads(place.says(3, *words, "--json", "tiers.device=16KiB"))
    expect(not short["memory"]["fits"] and short["exit_code"] == 3 and short["memory"]["shortfall"]["device_B"] > 0
           and "DOES NOT FIT: device" in short["memory"]["verdict"], "what does not fit", short["memory"])
    wrong = json.loads(place.says(2, *words, "--json", "model.layers=0"))
    expect(wrong["errors"] == 1 and "memory" not in wrong, "a deck with errors has only problems", wrong)

    pages = documented("CHECK.md") | documented("PLAN.md")
    names = names_of(planned) | names_of(ranks[0]) | names_of(short) | names_of(wrong)
    maps = ("time.stages[].lanes", "time.stages[].path", "time.mfu_by_convention")
    names = {next((of for of in maps if name.startswith(of + ".")), name) for name in names}
    expect(names <= pages, "decks/PLAN.md or CHECK.md has every field", names - pages)
    expect(documented("PLAN.md") <= names | {"time", "wear", "working_memory", "program", "time.stages[].backward_weight_s[]"}, "decks/PLAN.md has no other field",
           documented("PLAN.md") - names)


def compares_recomputation(place):
    words = ["plan", "deck.yaml", "--machine", "./four.yaml", "--ranks", "1", "--recompute"]
    said = place.says(3, *words, "tiers.device=16KiB") if shutil.which("cbc") else ""
    expect(not said or "no choice of recomputation fits" in said, "a budget that nothing fits", said)
    if shutil.which("cbc"):
        said = place.says(0, *words)
        rows = re.findall(r"^  (none|selective|full|greedy|exact) .* (fits|lacks .*)$", said, re.M)
        expect([name for name, _ in rows] == ["none", "selective", "full", "greedy", "exact"], "the choices", said)
        expect("exact recomputes nothing" in said, "a device that holds all", said)
    said = place.says(2, *words, "--time")
    expect("--recompute and --time exclude each other" in said, "one of both", said)
    os.environ["PATH"], path = "/nonexistent", os.environ["PATH"]
    said = place.says(3, *words)
    os.environ["PATH"] = path
    expect("Install COIN-OR CBC (Debian: apt-get install coinor-cbc)" in said, "the package that is missing", said)


def compares_energy(place):
    four = (place.folder / "four.yaml").read_text()
    words = ["plan", "deck.yaml", "--nodes", "1", "--objective", "energy", "--machines"]
    said = place.says(2, *words, "./four.yaml")
    expect("four gives no power. Add it, or idle_power and energy" in said, "what energy needs", said)
    (place.folder / "power.yaml").write_text(re.sub(r"(?m)^name: .*$", "name: power", four) + "\npower: 500\n")
    (place.folder / "work.yaml").write_text(re.sub(r"(?m)^name: .*$", "name: work", four) +
                                            "\nidle_power: 100\nenergy: {bf16_flop: 1.0e-11, device_byte: 1.0e-10}\n")
    (place.folder / "half.yaml").write_text(re.sub(r"(?m)^name: .*$", "name: half", four) +
                                            "\nidle_power: 100\nenergy: {fp32_flop: 1.0e-11}\n")
    said = place.says(0, *words, "./power.yaml,./work.yaml")
    expect("energy of work: idle_power x time, and the energy of FLOP and bytes" in said, "the basis of one machine", said)
    expect("energy of power: power x time" in said, "the basis of the other machine", said)
    said = place.says(2, *words, "./half.yaml")
    expect("half gives idle_power, but not energy.bf16_flop" in said, "the energy of another type", said)


def compares_machines(place):
    four = (place.folder / "four.yaml").read_text()
    (place.folder / "slow.yaml").write_text(re.sub(r"(?m)^name: .*$", "name: slow", four).replace("flops: 1T", "flops: 500G"))
    words = ["plan", "deck.yaml", "--nodes", "2"]
    said = place.says(0, *words, "--machines", "./four.yaml:8,./slow.yaml:1", "--tokens", "1B")
    rows = [line.split() for line in said.splitlines() if line.startswith(("four", "slow"))]
    expect(len(rows) == 4 and {(row[0], row[1]) for row in rows} == {(name, nodes) for name in ("four", "slow")
                                                                     for nodes in "12"}, "jobs on one and two nodes", said)
    prices = [float(re.search(r"(\d+\.\d\d) +(-|[0-9.]+ kWh)", " ".join(row))[1]) for row in rows]
    expect(prices == sorted(prices), "the cheapest first", said)
    said = place.says(0, *words, "--machines", "./four.yaml", "--objective", "time")
    expect("the lowest time first" in said, "machines without prices are compared by time", said)
    said = place.says(2, *words, "--machines", "./four.yaml")
    expect("four gives no price_per_hour. Write four:PRICE" in said, "a price is needed", said)
    said = place.says(3, *words, "--machines", "./four.yaml:8", "tiers.device=16KiB")
    expect("none of the 2 jobs fits" in said, "a budget that nothing fits", said)
    expect(len(re.findall(r"^four +[12] +[48]  it does not fit: it lacks ", said, re.M)) == 2, "why not", said)
    said = place.says(0, *words, "--machines", "./four.yaml:8", "parallel.data=4", "parallel.tensor=1",
                      "parallel.pipeline=1")
    expect(re.search(r"^four +1 +4 ", said, re.M) and re.search(r"^four +2 +8  sharding.zero is auto \(8 ranks", said, re.M),
           "a deck that only four ranks can train", said)
    said = place.says(2, *words, "--machines", "./four.yaml:8", "model.layers=0")
    expect("model.layers = '0' is out of range" in said, "a wrong deck", said)
    said = place.says(2, *words, "--machines", "./five.yaml:8")
    expect("five.yaml" in said, "a machine that is not there", said)
    said = place.says(2, *words, "--tokens", "1B")
    expect("Add --machines." in said, "what --tokens needs", said)


def plans_the_step_of_a_run(place):
    lines = [json.loads(line) for line in (place.folder / "runs/traced/metrics.jsonl").read_text().splitlines()]
    start, *steps = (line for line in lines if line["event"] in ("start", "step"))
    expect(0 < start["plan_bound_s"] <= start["plan_step_s"], "the planned step and its bound", start)
    for step in steps:
        expect(abs(step["plan_bound_share"] * step["step_s"] / start["plan_bound_s"] - 1) < 1e-6, "shares of the bound", step)
    table = (place.folder / "runs/traced/perf.txt").read_text()
    expect(re.search(r"^ Planned: a step of .*; measured .*, [\d.]+ times the plan; busiest lane", table, re.M), "the account", table)


class Page(html.parser.HTMLParser):
    """A page: its headings and texts, the classes of its bars, and what it loads."""

    EMPTY = ("meta", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.texts, self.bars, self.loads = [], [], [], [], []
        self.feed(text)
        expect(not self.open, "every element is closed", self.open)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.loads += [value for name, value in attributes if name in ("src", "href", "xlink:href") and value != "data:,"]
        if tag == "rect":
            self.bars.append(values["class"])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1] == tag, f"</{tag}> closes the last element", self.open)
        self.open.pop()

    def handle_data(self, text):
        if self.open and self.open[-1] == "h2":
            self.headings.append(text)
        elif self.open and self.open[-1] in ("text", "td", "th"):
            self.texts.append(text)


def draws_the_planned_step(place):
    words = ["runs/traced", "--machine", "./four.yaml", "--ranks", "1", "--time"]
    said = place.says(0, "plan", *words, "--html", "plan.html")
    expect(re.search(r"^page +plan.html$", said, re.M), "the file is named", said)
    page = Page((place.folder / "plan.html").read_text())
    expect(page.headings[:2] == ["plan of rank 0", "rank 0"], "plan and run side by side", page.headings)
    expect(page.texts.count("compute") == 2 and len(page.bars) > 20 and set(page.bars) <= {"work", "wait"}, "lanes", page.texts)
    expect(not page.loads and "script" not in (place.folder / "plan.html").read_text(), "nothing from elsewhere", page.loads)
    expect(any(text.startswith("planned ") for text in page.texts) and any(text.startswith("measured ") for text in page.texts),
           "memory of plan and run", page.texts)

    place.says(0, "inspect", "runs/traced", "--html", "inspect.html")
    expect(Page((place.folder / "inspect.html").read_text()).headings == page.headings, "inspect draws the same", page.headings)
    place.says(0, "plan", "deck.yaml", "--machine", "./four.yaml", "--time", "--html", "alone.html")
    alone = Page((place.folder / "alone.html").read_text())
    expect("rank 0" not in alone.headings and not any(text.startswith("measured ") for text in alone.texts), "a deck has no run",
           alone.headings)
    said = place.says(2, "inspect", "runs", "--html", "inspect.html")
    expect("metrics.jsonl" in said, "a folder without a run is refused", said)


def traces_the_planned_step(place):
    (place.folder / ".config").mkdir()  # the measured peak is kept in it
    place.says(0, "train", "deck.yaml", "run.dir=runs/traced", "run.trace=true", "train.steps=6")
    plans_the_step_of_a_run(place)
    measured = json.loads((place.folder / "runs/traced/trace.rank0000.json").read_text())["traceEvents"]
    said = place.says(0, "plan", "runs/traced", "--machine", "./four.yaml", "--ranks", "1", "--time", "--trace", "both.json")
    expect(re.search(r"^trace +both.json$", said, re.M), "the file is named, and nothing is left out", said)
    events = json.loads((place.folder / "both.json").read_text())["traceEvents"]
    expect([event for event in events if event["pid"] == 0] == measured, "the measured steps are all there")

    def of(pid, kind):
        return [event for event in events if event["pid"] == pid and event["name" if kind == "thread_name" else "ph"] == kind]

    planned = 1_000_000
    lanes = {event["tid"]: event["args"]["name"] for event in of(planned, "thread_name")}
    own = {event["tid"]: event["args"]["name"] for event in of(0, "thread_name")}
    expect(lanes and all(own.get(number) == lane for number, lane in lanes.items() if number < 1000), "lanes have one name",
           (lanes, own))

    last_step = max(event["args"]["step"] for event in of(0, "X"))

    def work(pid):
        return [event for event in of(pid, "X") if event["cat"] == "work" and event["args"]["step"] == last_step]

    names, own_names = (sorted(event["name"] for event in work(pid)) for pid in (planned, 0))
    expect(len(names) > 100 and names == own_names, "plan and run have the same ops", (len(names), len(own_names)))
    begins = [min(event["ts"] for event in work(pid)) for pid in (planned, 0)]
    time = json.loads(place.says(0, "plan", "runs/traced", "--machine", "./four.yaml", "--ranks", "1", "--time",
                                 "--json").splitlines()[-1])["step_s"]
    expect(abs(begins[0] - begins[1]) < 1e6 * time, "the planned step begins with the measured one", begins)
    last = max(event["ts"] + event["dur"] for event in work(planned) if lanes[event["tid"]] == "compute")
    expect(abs(last - begins[0] - 1e6 * time) < 0.05 * 1e6 * time, "it takes the planned time", (last - begins[0], time))

    place.says(0, "plan", "deck.yaml", "--machine", "./four.yaml", "--time", "--json", "--trace", "alone.json")
    alone = json.loads((place.folder / "alone.json").read_text())["traceEvents"]
    expect({event["pid"] for event in alone} == {planned}, "a deck has no measured steps")
    said = place.says(2, "plan", "deck.yaml", "--machine", "./four.yaml", "--trace", "alone.json")
    expect("Add --time." in said, "what --trace needs", said)
    trace = place.folder / "runs/traced/trace.rank0000.json"
    whole = trace.read_text()
    trace.write_text("{")
    said = place.says(3, "plan", "runs/traced", "--machine", "./four.yaml", "--ranks", "1", "--time", "--trace", "both.json")
    expect("the file has no trace" in said, "a damaged trace is named", said)
    trace.write_text(whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--without-gpus", action="store_true", help="as the program was built")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ziggurat-plan-") as folder:
        place = Place(chosen.binary, chosen.without_gpus, pathlib.Path(folder))
        says_all_in_short(place)
        says_epochs_and_what_it_is_not_built_for(place)
        knows_how_large_the_job_is(place)
        searches_for_layouts(place)
        gives_as_json_all_that_it_prints(place)
        compares_machines(place)
        compares_recomputation(place)
        compares_energy(place)
        traces_the_planned_step(place)
        draws_the_planned_step(place)
    print("ok: plans in short and as JSON, of what cannot be trained, and of jobs of any size")


main()
