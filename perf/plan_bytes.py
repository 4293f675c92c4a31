#!/usr/bin/env python3
"""Compares the bytes and the memory of trainings with `ziggurat plan --json`, for each rank.

  perf/plan_bytes.py [--binary build/release/bin/ziggurat] [--work build/perf/plan_bytes] [--deck NAME ...]

Trains a few steps of each deck in decks/ that runs on a machine of 2 cores and 24 GiB. Large models have fewer layers, and
all decks have small batches (DECKS). ranks.jsonl of each run is compared with the plan of each rank:

- bytes of collectives and messages by purpose, and of transfers by lane: exactly, for all steps together
- reserved bytes of each tier: exactly
- touched bytes of the device and host tiers (pages with memory, by mincore): at most 3 % below the plan; workspaces may
  stay untouched, because they are reserved for the largest kernels and all threads
- resident peak of the rank: tiers in host memory and private memory of the process (VmHWM), at most 3 % or 8 MiB above the
  plan's largest phase, and 3 % or 16 MiB below it: libraries take less on some processors. A second training resumes from the checkpoint of the first one

Prints a row for each deck, and ends with exit code 1 if a number does not hold. Results are in WORK/plan_bytes.jsonl.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import training

STEPS = 4
RESUMED_STEPS = 2
MAX_UNTOUCHED = 0.03
MAX_RESIDENT_ERROR = 0.03
LIBRARIES_B = 16 << 20  # that libraries and the heap can take less on one processor than on another
SMALL_B = 8 << 20  # error of the resident peak of small runs: libraries, heap and used buffers of a writer vary by that much
MIB = 1 << 20
TIMEOUT_S = 1200  # of a training that hangs
LANES = ("nvme_read", "nvme_write", "host_to_device", "device_to_host")
TIERS = ("device", "host", "nvme")

# Tokens of a short text instead of those of the deck.
TOKENS = ["data.tokenizer=none", "data.validation=[]", "data.seq=128"]
# Decks that run here, with their ranks and the settings that make them small.
DECKS = {
    "quickstart.yaml": (2, []),
    "llama-tiny.yaml": (2, []),
    "sharded.yaml": (4, []),
    "systems/gpipe.yaml": (2, []),
    "systems/megatron-3d.yaml": (8, []),
    "systems/megatron-sp.yaml": (2, []),
    "systems/zero-infinity.yaml": (2, []),
    "systems/zero-offload.yaml": (2, []),
    "gpt2-124m.yaml": (2, [*TOKENS]),
    "gpt2-350m.yaml": (2, [*TOKENS, "model.layers=8"]),
    "gpt2-774m.yaml": (2, [*TOKENS, "model.layers=4"]),
    "gpt2-1558m.yaml": (2, [*TOKENS, "model.layers=3"]),
    "pythia-160m.yaml": (2, [*TOKENS]),
    "llama-1b.yaml": (2, [*TOKENS, "data.reset_at_document=false", "model.layers=2"]),
    "llama-3b-nvme.yaml": (2, [*TOKENS, "data.reset_at_document=false", "model.layers=3"]),
}


def text_file(work):
    """A text of a few thousand lines for decks that train on bytes."""
    path = work / "text.txt"
    path.write_text("".join(f"Line {line} of a text that is long enough for some steps.\n" for line in range(20000)))
    return path


def settings_of(name, work):
    """The overrides of a deck: few steps, and for models of tokens no validation."""
    ranks, own = DECKS[name]
    folder = work / name.replace("/", "-").removesuffix(".yaml")
    settings = [f"run.dir={folder / 'run'}", "parallel.threads=1", "schedule={kind: constant, warmup: 1 steps}"]
    if TOKENS[0] in own:
        settings += ["validate.every=none", f"train={{steps: {STEPS}, global_batch: {2 * ranks}, micro_batch: 1}}"]
        settings.append(f"data.train=[{{format: llmc, path: {training.token_file(20000, 5000)}}}]")
    else:
        settings.append(f"train.steps={STEPS}")
    if name in ("llama-3b-nvme.yaml", "systems/zero-infinity.yaml"):
        settings.append(f"tiers.nvme.paths=[{folder / 'nvme'}]")
        (folder / "nvme").mkdir(parents=True, exist_ok=True)
    return ranks, folder, settings + own


def run(command, environment, log):
    with open(log, "w") as output:
        code = subprocess.run(command, cwd=training.ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S).returncode
    if code != 0:
        raise training.TrainingFailed(f"'{' '.join(map(str, command))}' ended with exit code {code}:\n"
                                      f"{log.read_text()[-3000:]}")


def plan_of(binary, deck, ranks, rank, settings, environment):
    command = [binary, "plan", deck, "--ranks", str(ranks), "--json", "--rank", str(rank), *settings]
    done = subprocess.run(command, cwd=training.ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode not in (0, 3):
        raise training.TrainingFailed(f"'{' '.join(map(str, command))}' ended with exit code {done.returncode}:\n"
                                      f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return json.loads(done.stdout)


def expected_of(program, steps):
    """The fields of ranks.jsonl that a plan of one rank gives, except touched memory.

    Messages within a node are counted by their receiver. All ranks are on one node here."""
    sent = {}
    for row in program["collectives"]:
        key = f"sent_{row['purpose']}_B"
        sent[key] = sent.get(key, 0) + (steps * row["bytes"] if row["kind"] != "send" else 0)
    moved = {f"{row['lane']}_B": steps * row["moved_B"] for row in program["transfers"]}
    reserved = {f"{tier}_B": program["bytes"][f"{tier}_B"] for tier in TIERS}
    return {key: value for key, value in (sent | moved).items() if value > 0} | reserved


def measured_of(line):
    """The same fields as a rank has counted them, with the reads of zeros that its first steps have skipped,
    without updates that were repeated."""
    fields = {key: value for key, value in line.items() if key.startswith("sent_")}
    for lane in LANES:
        moved = line.get(f"{lane}_B", 0) + line.get(f"skipped_{lane}_B", 0) - line.get(f"redone_{lane}_B", 0)
        fields |= {f"{lane}_B": moved} if moved > 0 else {}
    return fields | {f"{tier}_B": line[f"{tier}_B"] for tier in TIERS}


def rank_lines(folder):
    return [json.loads(line) for line in (folder / "run" / "ranks.jsonl").read_text().splitlines()]


def workspaces_of(plan):
    rows = plan["memory"]["consumers"]
    return {tier: sum(row[f"{tier}_B"] for row in rows if row["consumer"] == "workspaces") for tier in TIERS}


def problems_of(rank, plan, line):
    """What differs between a rank's plan and what it has measured, as texts; and its share of untouched memory."""
    program, workspaces = plan["program"], workspaces_of(plan)
    expected, measured = expected_of(program, line["steps"]), measured_of(line)
    problems = [f"rank {rank}: {key} is {measured.get(key, 0)}, planned {expected.get(key, 0)}"
                for key in sorted(expected.keys() | measured.keys()) if measured.get(key, 0) != expected.get(key, 0)]
    untouched = 0
    for tier in ("device", "host"):
        planned = program["bytes"][f"{tier}_B"]
        missing = max(0, planned - workspaces[tier] - line[f"{tier}_resident_B"])
        share = missing / planned if planned > 0 else 0
        untouched = max(untouched, share)
        if share > MAX_UNTOUCHED or line[f"{tier}_resident_B"] > planned:
            problems.append(f"rank {rank}: {line[f'{tier}_resident_B']} bytes of the {tier} tier are touched, {planned} planned")
    return problems, untouched


def planned_resident(program, phases):
    """The resident bytes in the largest of the phases, as a process counts them: without pages that ranks share."""
    process = program["process"]
    shared = sum(row["step_B"] for row in process["rows"] if row["part"] in ("code", "segments"))
    return max(process["resident"][f"{phase}_B"] for phase in phases) - shared


def measured_resident(line):
    return line["device_resident_B"] + line["host_resident_B"] + line["process_peak_B"]


def resident_of(rank, plan, line, phases):
    """What is wrong with the plan of a rank's resident peak, as texts; planned and measured bytes."""
    rows = plan["program"]["process"]["rows"]
    values = [row[f"{phase}_B"] for row in rows for phase in ("start", "step", "save", "resume")]
    expected = {"libraries", "code", "programs", "writer", "shard layout", "manifest", "reader"}
    problems = [f"rank {rank}: the plan has no line {name}" for name in expected - {row["part"] for row in rows}]
    problems += [f"rank {rank}: a line of the process is negative"] if min(values) < 0 else []
    planned, measured = planned_resident(plan["program"], phases), measured_resident(line)
    if not -LIBRARIES_B <= measured - planned <= SMALL_B and abs(measured - planned) > MAX_RESIDENT_ERROR * planned:
        problems.append(f"rank {rank}: {measured / MIB:.1f} MiB resident, {planned / MIB:.1f} planned ({'/'.join(phases)})")
    return problems, {"planned_B": planned, "measured_B": measured}


def compare(binary, mpiexec, name, work):
    ranks, folder, settings = settings_of(name, work)
    shutil.rmtree(folder / "run", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    environment = training.environment(1) | {"ZIGGURAT_TEXT": str(text_file(work)), "OMP_WAIT_POLICY": "passive"}
    deck = training.ROOT / "decks" / name
    uses_disks = (folder / "nvme").exists()
    train = [*mpiexec.split(), "-n", str(ranks), binary, "train", deck, *settings]

    def train_and_plan(log, own):
        run([*train, *own], environment, folder / log)
        # Depths of transfers follow the rate of the disks, which the start measures: the plan is of the deck with them.
        return rank_lines(folder), [plan_of(binary, folder / "run", ranks, rank, [], environment) if uses_disks else
                                    plan_of(binary, deck, ranks, rank, settings, environment) for rank in range(ranks)]

    lines, plans = train_and_plan("train.log", [])
    resumed, plans_of_resumed = train_and_plan("resumed.log", [f"train.steps={STEPS + RESUMED_STEPS}"])
    problems, untouched, resident = [], 0, []
    for rank, (line, plan) in enumerate(zip(lines, plans)):
        found, share = problems_of(rank, plan, line)
        problems += found
        untouched = max(untouched, share)
        for of, its_plan, phases in ((line, plan, ("start", "step", "save")),
                                     (resumed[rank], plans_of_resumed[rank], ("resume", "step", "save"))):
            found, bytes_of_rank = resident_of(rank, its_plan, of, phases)
            problems += found
            resident.append(bytes_of_rank | {"rank": rank, "phases": phases})
    if len(lines) != ranks:
        problems.append(f"{len(lines)} ranks in ranks.jsonl, {ranks} started")
    for large in (folder / "nvme", folder / "run" / "ckpt"):
        shutil.rmtree(large, ignore_errors=True)
    return {"deck": name, "ranks": ranks, "steps": lines[0]["steps"], "untouched": untouched, "problems": problems,
            "lines": lines, "resumed": resumed, "resident": resident}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=training.ROOT / "build/release/bin/ziggurat")
    parser.add_argument("--mpiexec", default="mpirun -q --oversubscribe --bind-to none")
    parser.add_argument("--work", type=pathlib.Path, default=training.RESULTS / "plan_bytes")
    parser.add_argument("--deck", action="append", choices=list(DECKS), help="only this deck; may be given several times")
    chosen = parser.parse_args()
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.environ.pop("ZIGGURAT_TRAIN_TOKENS", None)
    holds = True
    with open(work / "plan_bytes.jsonl", "w") as results:
        for name in chosen.deck or DECKS:
            found = compare(chosen.binary.resolve(), chosen.mpiexec, name, work)
            results.write(json.dumps(found) + "\n")
            holds = holds and not found["problems"]
            worst = max(found["resident"], key=lambda of: abs(of["measured_B"] - of["planned_B"]))
            error = worst["measured_B"] - worst["planned_B"]
            print(f"{name:<28} {found['ranks']} ranks, {found['steps']} steps: "
                  f"{'all bytes as planned' if not found['problems'] else 'DIFFERS'}; untouched {found['untouched']:.2%}, "
                  f"resident {worst['measured_B'] / MIB:.1f} MiB, planned {worst['planned_B'] / MIB:.1f} "
                  f"({error / MIB:+.1f} MiB, {error / worst['planned_B']:+.2%})", flush=True)
            for problem in found["problems"]:
                print(f"  {problem}")
    return 0 if holds else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except training.TrainingFailed as failure:
        sys.exit(f"FAILED: {failure}")
