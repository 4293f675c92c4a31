#!/usr/bin/env python3
"""What a run says that it has sent, and moved between tiers, is what the plan says, to the byte, for every ZeRO
stage; waits have names.

  account_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

PURPOSES = ["parameters", "secondary", "gradients", "publication", "tensor", "context", "pipeline"]
STEPS = 6
CASES = {
    "zero_0": (["sharding.zero=0"], {"gradients"}),
    "zero_1": (["sharding.zero=1"], {"gradients", "publication"}),
    "zero_2": (["sharding.zero=2"], {"gradients", "publication"}),
    "zero_3": (["sharding.zero=3"], {"parameters", "gradients"}),
    "zero_3_with_micro_batches": (["sharding.zero=3", "train.global_batch=36"], {"parameters", "gradients"}),
    "zero_3_bf16": (["sharding.zero=3", "precision.compute=bf16"], {"parameters", "gradients"}),
    "bf16_gradients": (["sharding.zero=2", "sharding.reduce=at_end", "precision.gradient=bf16", "debug.nodes=2"],
                       {"gradients", "publication"}),
    "second_copy": (["sharding.zero=3", "sharding.secondary=node", "debug.nodes=2"],
                    {"parameters", "secondary", "gradients"}),
    "spans": (["sharding.parameters=2", "sharding.gradients=2", "sharding.optimizer=all", "debug.nodes=2"],
              {"parameters", "gradients", "publication"}),
    # What a stage sends differs from what the others do: rows tell of all ranks.
    "model_axes": (["parallel.tensor=2", "parallel.pipeline.stages=2"], {"tensor", "pipeline"}),
}

LINKS = ["nvme_read", "nvme_written", "host_to_device", "device_to_host"]
TIERS = {
    "optimizer_on_host": (["sharding.zero=3", "tiers.home.optimizer=host", "tiers.home.gradients=host"],
                          {"host_to_device", "device_to_host"}),
    "all_on_nvme": (["sharding.zero=3", "tiers.home.optimizer=nvme", "tiers.home.parameters=nvme",
                     "tiers.home.gradients=nvme", "train.global_batch=24", "tiers.nvme.endurance=600TB"],
                    {"nvme_read", "nvme_written", "host_to_device", "device_to_host"}),
    "shares": (["sharding.zero=1", "tiers.chunk=2048",
                "tiers.home.optimizer={device: 20%, host: 30%, nvme: rest}"],
               {"nvme_read", "nvme_written", "host_to_device", "device_to_host"}),
}


def expect(what, holds, found):
    if not holds:
        sys.exit(f"FAILED: {what}\n{found}")
    print(f"ok: {what}")


def train(name, overrides, chosen):
    """The events and the table of one run on four ranks."""
    folder = pathlib.Path(chosen.work) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
    shutil.copy(pathlib.Path(__file__).resolve().parents[1] / "decks" / "llama_tiny.yaml", folder / "deck.yaml")
    command = [*shlex.split(chosen.mpiexec), "-n", "4", chosen.binary, "train", "deck.yaml", f"run.dir={folder}/run",
               f"train.steps={STEPS}", "train.global_batch=12", "train.micro_batch=3", "precision.compute=fp32",
               *overrides]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600)
    expect(f"{name}: runs", done.returncode == 0, done.stdout)
    events = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return events, (folder / "run" / "perf.txt").read_text()


def check(name, events, table, wanted):
    """Returns the bytes that all ranks have sent in the run, by purpose."""
    end = events[-1]
    sent = {purpose: end[f"sent_{purpose}_B"] for purpose in PURPOSES}
    plan = {purpose: end[f"plan_{purpose}_B"] for purpose in PURPOSES}
    expect(f"{name}: counted bytes are the planned ones", sent == plan, (sent, plan))
    expect(f"{name}: they travel for {', '.join(sorted(wanted))}",
           {purpose for purpose in PURPOSES if sent[purpose] > 0} == wanted, sent)
    steps = [event for event in events if event["event"] == "step"]
    for purpose in PURPOSES:
        is_told = [f"sent_{purpose}_B" in event and f"plan_{purpose}_B" in event for event in steps]
        if is_told != [purpose in wanted] * STEPS:
            expect(f"{name}: steps tell of what travels in this run, and of nothing else", False, (purpose, steps))
        rows = sum(event.get(f"sent_{purpose}_B", 0) for event in steps)
        step_plan = steps[0].get(f"plan_{purpose}_B", 0)
        if not step_plan * (STEPS - 1) <= rows <= step_plan * STEPS or step_plan * STEPS != plan[purpose]:
            expect(f"{name}: rows add up to the plan but for what ends behind the last", False, (purpose, steps))
    expect(f"{name}: waits have names", all(event["stall_collective_cause"] for event in steps), steps)
    expect(f"{name}: the table has counted bytes and no warning",
           "counted B/step" in table and "WARNING" not in table, table)
    return sent


def check_tiers(name, events, table, wanted):
    """Bytes between tiers, peaks and budgets of a run."""
    end = events[-1]
    moved = {link: end[f"{link}_B"] for link in LINKS}
    plan = {link: end[f"plan_{link}_B"] for link in LINKS}
    expect(f"{name}: bytes between tiers are the planned ones", moved == plan, (moved, plan))
    expect(f"{name}: they move over {', '.join(sorted(wanted))}",
           {link for link in LINKS if moved[link] > 0} == wanted, moved)
    start = next(event for event in events if event["event"] == "start")
    steps = [event for event in events if event["event"] == "step"]
    has_disk = "nvme_read" in wanted
    for step in steps:
        expect(f"{name}: step {step['step']} tells what each tier holds, within its budget",
               0 < step["device_peak_B"] <= start["device_budget_B"] and step["host_peak_B"] > 0
               and ("nvme_B" in step) == has_disk and step.get("nvme_B", 0) <= start["nvme_budget_B"], (start, step))
        expect(f"{name}: it tells of the links that are used, and of no others",
               {link for link in LINKS if f"{link}_B" in step} == wanted and
               ("stall_nvme_read_s" in step) == has_disk, step)
    expect(f"{name}: the table has counted bytes, no warning, and names what limits",
           "Between tiers" in table and "WARNING" not in table
           and ("Suggestions: " in table or "Compute-bound: " in table), table)
    expect(f"{name}: it tells the wear of disks where there are any", ("NVMe wear: " in table) == has_disk, table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--binary", "--work", "--mpiexec"):
        parser.add_argument(option, required=True)
    chosen = parser.parse_args()

    total = {}
    for name, (overrides, wanted) in CASES.items():
        events, table = train(name, overrides, chosen)
        total[name] = sum(check(name, events, table, wanted).values())
    for name, (overrides, wanted) in TIERS.items():
        folder = pathlib.Path(chosen.work) / f"{name}.nvme"
        folder.mkdir(parents=True, exist_ok=True)
        if "nvme_read" in wanted:
            overrides = [*overrides, f"tiers.nvme.paths=[{folder}]"]
        check_tiers(name, *train(name, overrides, chosen), wanted)
    # Rajbhandari et al., "ZeRO", 2020, section 7, in fp32 with one micro-batch: 2 Psi (d-1)/d, at most half more.
    expect("stages 0 to 2 send the same", total["zero_0"] == total["zero_1"] == total["zero_2"], total)
    expect("stage 3 sends more, but at most half more",
           total["zero_0"] < total["zero_3"] <= 1.5 * total["zero_0"], total)


if __name__ == "__main__":
    main()
