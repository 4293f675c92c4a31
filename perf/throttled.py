#!/usr/bin/env python3
"""Times steps whose state moves between tiers at the ratios of other machines, with fetches at several depths.

  perf/throttled.py [--machines dgx-2 dgx-h200 rtx-4090] [--rounds 3] [--folder build/perf/nvme]

A small Llama on two ranks of one thread (perf/throttled.yaml). What a step computes alone, with all state on the device,
says what this machine's rank is worth; debug.throttle then slows the ways between tiers so that computing, link and disk
of all ranks have the ratios of the machine's (decks/machines). Activations stay on the device: beside what a layer this
narrow computes they weigh a hundred times what they do in a model that needs such a machine. Of each machine, once with all
model state on NVMe and once on the host (of a model twice as wide, whose steps are long enough to tell depths apart),
overlap.prefetch is 0 (fetched when it is asked for), 1 to 4 and auto, in turn, in rounds, each begun by steps that move
nothing. A run's time is the median of its steps but the first; it is set against the others' of its round, since the machine's
speed changes from round to round, and the median is taken over the rounds.

  auto     step at the depth that auto has chosen, over that at the best of 1 to 4
  overlap  what auto gains over 0, as a share of what the floor says: the sum over forward, backward and optimizer of
           max(computing, each way's bytes over its rate), where what leaves and comes while nothing can be computed, at
           the turn of the step, counts with computing
  fetch    time to fetch a layer on four ranks over that on one, at the same rates of each rank

With --activations, it measures fates of activations instead (perf/activations.py).

Results go to build/perf/throttled.jsonl.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import activations
import training

RANKS = 2
DEPTHS = ("0", "1", "2", "3", "4", "auto")
WAYS = ("nvme_read", "nvme_write", "host_to_device", "device_to_host")
OPTIMIZER = ("master", "first_moment", "second_moment")
VOCABULARY = 512
SHAPES = {"nvme": {}, "host": {"model.hidden": 256, "model.ffn_hidden": 768}}
HOMES = {tier: {f"tiers.home.{state}": tier for state in ("parameters", "gradients", "optimizer")} |
         {"tiers.home.activations": "device"} for tier in ("nvme", "host")}


def settings_of(chosen, homes, rates, more):
    tokens = training.token_file(16 * 256 + 1, VOCABULARY)
    made = {"data.train": f"[{{format: llmc, path: {tokens}}}]", "parallel.threads": 1} | homes | more
    if homes:
        made["tiers.nvme.paths"] = f"[{chosen.folder}]"
    return made | {f"debug.throttle.{way}": f"{rate:.0f}B/s" for way, rate in rates.items()}


def words_of(settings):
    return [f"{key}={value}" for key, value in settings.items()]


def train(chosen, settings, steps, name, ranks=RANKS):
    """The run's directory and its steps from the second on."""
    directory = training.RESULTS / "runs" / name
    shutil.rmtree(directory, ignore_errors=True)
    command = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", chosen.binary, "train",
               "perf/throttled.yaml", f"run.dir={directory}", f"train.steps={steps}", *words_of(settings)]
    done = subprocess.run(command, cwd=training.ROOT, env=training.environment(1), capture_output=True, text=True,
                          timeout=900)
    if done.returncode != 0:
        raise training.TrainingFailed(f"'{' '.join(command)}' ended with exit code {done.returncode}:\n"
                                      f"{(done.stdout + done.stderr)[-3000:]}")
    with open(directory / "metrics.jsonl") as lines:
        records = [record for record in map(json.loads, lines) if record["event"] == "step"]
    return directory, [record["step_s"] for record in records[1:]]


def machine_of(name):
    """The numbers of a machine file."""
    text = (training.ROOT / "decks" / "machines" / f"{name}.yaml").read_text()
    scale = {"": 1, "GB/s": 1e9, "T": 1e12}
    return {key: float(number) * scale[unit]
            for key, number, unit in re.findall(r"^(\w+): ([\d.]+)(GB/s|T|)$", text, re.MULTILINE)}


def rates_for(name, flops):
    """Bytes/s of a rank here, so that a unit of the same tokens on each rank takes as long to fetch, all ranks together,
    for the time that it takes to compute, as on that machine."""
    machine = machine_of(name)
    ranks = machine["ranks_per_node"]
    scale = flops / machine["device_flops"] / RANKS
    return {"nvme_read": machine["nvme_read_rate"] * scale, "nvme_write": machine["nvme_write_rate"] * scale,
            "host_to_device": machine["host_to_device_rate"] * ranks * scale,
            "device_to_host": machine["device_to_host_rate"] * ranks * scale}


def program_of(chosen, settings):
    command = [chosen.binary, "plan", "perf/throttled.yaml", "--ranks", str(RANKS), "--program", "--json",
               *words_of(settings)]
    done = subprocess.run(command, cwd=training.ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def floor_of(program, rates, compute_seconds):
    """Seconds that no overlap goes below, and what the turn of the step adds to them.

    Forward, backward and optimizer wait for each other, so each takes at least what its computing or one of its ways takes.
    The optimizer's traffic is what follows the norm, and its state whenever it is read. All updates wait for the norm of all
    gradients: nothing is computed while the gradients behind the last product leave the device and the parameters for the
    first one come back."""
    lanes = [lane["engine"] if "engine" in lane else lane["name"] for lane in program["lanes"]]
    ops = program["ops"]
    backward = next(i for i, op in enumerate(ops) if op.get("direction") == "backward" and lanes[op["lane"]] == "compute")
    end = next(i for i, op in enumerate(ops) if op["kind"] == "step_end")
    products = [i for i, op in enumerate(ops) if op.get("flops", 0) > 0]
    first_units = {op.get("unit") for op in ops[:products[0] + 1] if lanes[op["lane"]] == "compute"}
    flops = [sum(op.get("flops", 0) for op in ops[:backward]), sum(op.get("flops", 0) for op in ops[backward:])]
    least = [collections.Counter(compute=compute_seconds * part / sum(flops)) for part in flops] + [collections.Counter()]
    turn = [0, 0]
    for index, op in enumerate(ops):
        way = lanes[op["lane"]]
        if way in WAYS and op.get("purpose") != "control":
            seconds = sum(run[1] for operand in op["writes"] for run in operand["runs"]) / rates[way]
            states = {program["buffers"][operand["buffer"]]["state"] for operand in op["reads"]}
            is_of_optimizer = index > end or not states.isdisjoint(OPTIMIZER)
            least[2 if is_of_optimizer else index > backward][way] += seconds
            if way == "host_to_device" and index < products[0] and op["unit"] in first_units:
                turn[0] += seconds
            elif way == "device_to_host" and products[-1] < index < end:
                turn[1] += seconds
    without_turn = sum(max(of_pass.values(), default=0) for of_pass in least)
    for of_pass, seconds in zip(least, turn):
        of_pass["compute"] += seconds
    floor = sum(max(of_pass.values(), default=0) for of_pass in least)
    return floor, floor - without_turn


def still_settings(chosen, home):
    """Of a step that moves nothing."""
    return settings_of(chosen, {}, {}, SHAPES[home] | {"overlap.prefetch": 1})


def measure_compute(chosen, home):
    """A rank's FLOP/s in a step that moves nothing."""
    seconds = statistics.median(train(chosen, still_settings(chosen, home), 8, "throttled-alone")[1])
    rate = sum(op.get("flops", 0) for op in program_of(chosen, still_settings(chosen, home))["ops"]) / seconds
    print(f"  state on {home}: alone a step computes {seconds:.3f} s, {rate / 1e9:.1f} GFLOP/s a rank", file=sys.stderr,
          flush=True)
    return rate


def chosen_depth(directory):
    text = (directory / "deck.effective.yaml").read_text()
    return re.search(r"prefetch: (\d+)", text).group(1)


def over_rounds(rounds):
    """Of each setting the median of its times over the rounds, each round brought to the same speed of the machine."""
    speed = [statistics.geometric_mean(times.values()) for times in rounds]
    usual = statistics.median(speed)
    return {name: statistics.median(times[name] / of_round * usual for times, of_round in zip(rounds, speed))
            for name in rounds[0]}


def measure_machine(chosen, name, home, flops, log):
    rates = rates_for(name, flops)
    rounds = []
    for _ in range(chosen.rounds):
        times = {"alone": statistics.median(train(chosen, still_settings(chosen, home), chosen.steps, "throttled-alone")[1])}
        for prefetch in DEPTHS:
            settings = settings_of(chosen, SHAPES[home] | HOMES[home], rates, {"overlap.prefetch": prefetch})
            directory, of_steps = train(chosen, settings, chosen.steps, f"throttled-{prefetch}")
            times[prefetch] = statistics.median(of_steps)
        rounds.append(times)
    depth = chosen_depth(directory)
    seconds = over_rounds(rounds)
    auto = (seconds["auto"] + seconds[depth]) / 2
    program = program_of(chosen, settings_of(chosen, SHAPES[home] | HOMES[home], rates, {"overlap.prefetch": depth}))
    floor, turn = floor_of(program, rates, seconds["alone"])
    record = {"measurement": "throttled", "machine": name, "state": home, "depth": int(depth), "seconds": seconds,
              "rounds": rounds, "floor_seconds": floor, "turn_seconds": turn, "rates": rates,
              "auto": auto / min(seconds[of] for of in "1234"), "overlap": (seconds["0"] - auto) / (seconds["0"] - floor)}
    log.write(json.dumps(record) + "\n")
    log.flush()
    shown = ", ".join(f"{prefetch}: {seconds[prefetch]:.3f}" for prefetch in DEPTHS)
    print(f"  {name}, state on {home}: seconds at {shown} (chose {depth}), floor {floor:.3f} "
          f"({turn:.3f} of it the turn); auto over best "
          f"{record['auto']:.3f}, gain {record['overlap']:.2f} of the floor's", file=sys.stderr, flush=True)


def fetch_seconds(directory):
    """Of a layer's parameters on rank 0: read and copy, when nothing else uses their lanes."""
    events = json.loads((directory / "trace.rank0000.json").read_text())["traceEvents"]
    lanes = {event["tid"]: event["args"]["name"].removesuffix(" (concurrent)") for event in events
             if event.get("ph") == "M" and event["name"] == "thread_name"}
    spans = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and re.match(r"layer.*\.parameters.* fetched$", event["name"]) and \
                event.get("args", {}).get("bytes", 0) > 0:
            spans[lanes[event["tid"]]].append(event["dur"] * 1e-6)
    if len(spans) < 2:
        raise training.TrainingFailed(f"{directory} has no trace of reads and copies")
    return sum(statistics.median(of_lane) for of_lane in spans.values())


def measure_fetch(chosen, flops, log):
    rates = rates_for(chosen.machines[0], flops)
    fetched = {1: [], 4: []}
    for _ in range(chosen.rounds):
        for ranks in fetched:
            more = {"overlap.prefetch": 0, "run.trace": "true", "train.global_batch": 4, "train.micro_batch": 4 // ranks}
            settings = settings_of(chosen, HOMES["nvme"], rates, more)
            fetched[ranks].append(fetch_seconds(train(chosen, settings, 4, f"throttled-fetch-{ranks}", ranks)[0]))
    one, four = statistics.median(fetched[1]), statistics.median(fetched[4])
    log.write(json.dumps({"measurement": "throttled", "seconds_1": one, "seconds_4": four, "fetch": four / one}) + "\n")
    print(f"  a layer is fetched in {one:.3f} s on one rank, {four:.3f} s on four: {four / one:.3f}", file=sys.stderr,
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--machines", nargs="+", default=["dgx-2", "dgx-h200", "rtx-4090"])
    parser.add_argument("--homes", nargs="+", default=list(HOMES), choices=list(HOMES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--activations", action="store_true", help="measure fates of activations")
    parser.add_argument("--folder", type=pathlib.Path, default=training.RESULTS / "nvme")
    chosen = parser.parse_args()
    chosen.binary = str(pathlib.Path(chosen.binary).resolve())
    chosen.folder = chosen.folder.resolve()
    chosen.folder.mkdir(parents=True, exist_ok=True)

    if chosen.activations:
        with open(training.RESULTS / "activations.jsonl", "w") as log:
            activations.measure(chosen, train, settings_of, log)
        return
    with open(training.RESULTS / "throttled.jsonl", "w") as log:
        flops = {home: measure_compute(chosen, home) for home in dict.fromkeys(["nvme", *chosen.homes])}
        measure_fetch(chosen, flops["nvme"], log)
        for name in chosen.machines:
            for home in chosen.homes:
                measure_machine(chosen, name, home, flops[home], log)
    print((training.RESULTS / "throttled.jsonl").read_text(), end="")


if __name__ == "__main__":
    main()
