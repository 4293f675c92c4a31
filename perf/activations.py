"""Times fates of activations at three ratios of link to compute; perf/throttled.py --activations runs it.

One rank trains a small Llama without sharding. Its device budget lacks the memory of the largest activation of each layer.
What a step computes alone gives the rank's rate. debug.throttle then makes the link so fast that swapping this activation
out and in takes a quarter of the time to recompute it (cheap), the same time (even) or four times as long (dear).
`recompute: auto` with `tiers.home.activations: auto` chooses fates for the measured rate, by a machine file. Its steps are
set against those of nine runs: mlp.gate_up and qkv each kept, swapped or recomputed, with no regard to the budget.

  auto  the step with the chosen fates over the fastest of the nine that fit the budget, the median of rounds
"""

import itertools
import json
import re
import statistics
import subprocess
import sys

import training

LARGE, OTHER = "mlp.gate_up", "qkv"
RATIOS = {"cheap": 0.25, "even": 1.0, "dear": 4.0}
FATES = ("keep", "host", "recompute")
SHAPE = {"model.hidden": 256, "model.heads": 8, "model.kv_heads": 8, "model.ffn_hidden": 768, "model.layers": 8,
         "sharding.zero": 0, "train.global_batch": 8, "train.micro_batch": 8, "recompute": "none", "overlap.prefetch": 1}
SLACK = 1 << 20


def fates_of(large, other):
    return f"[{{match: {LARGE}, fate: {large}}}, {{match: {OTHER}, fate: {other}}}]"


def check(chosen, settings, *options):
    command = [chosen.binary, "check", "perf/throttled.yaml", "--ranks", "1", *options,
               *(f"{key}={value}" for key, value in settings.items())]
    done = subprocess.run(command, cwd=training.ROOT, env=training.environment(1), capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise training.TrainingFailed(f"'{' '.join(command)}' ended with exit code {done.returncode}:\n"
                                      f"{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def device_bytes(chosen, settings):
    return json.loads(check(chosen, settings, "--json"))["memory"]["needed"]["device_B"]


def work_of(chosen, settings):
    """FLOP of a step, FLOP to recompute the large activation in a step, and its bytes."""
    command = [chosen.binary, "plan", "perf/throttled.yaml", "--ranks", "1", "--program", "--json",
               *(f"{key}={value}" for key, value in settings.items())]
    program = json.loads(subprocess.run(command, cwd=training.ROOT, capture_output=True, text=True, check=True).stdout)
    ops = program["ops"]
    again = sum(op.get("flops", 0) for op in ops if re.match(r"layers\.\d+\.mlp_in forward", op["label"]))
    held = sum(buffer["bytes"] for buffer in program["buffers"]
               if re.fullmatch(rf"layers\.\d+\.{re.escape(LARGE)}", buffer["name"]))
    return sum(op.get("flops", 0) for op in ops), again, held


def write_machine(rate):
    path = training.RESULTS / "activations-machine.yaml"
    path.write_text("machine_version: 1\nname: measured\nhas_device: false\nranks_per_node: 1\ncores_per_node: 1\n"
                    f"host_memory: 16GiB\ndevice_flops: {rate / 1e9:.3f}G\n")
    return path


def measure(chosen, train, settings_of, log):
    base = settings_of(chosen, {}, {}, SHAPE)
    alone = statistics.median(train(chosen, base, 8, "activations-alone", 1)[1])
    all_flops, again, held = work_of(chosen, base)
    machine = write_machine(all_flops / alone)
    budget = device_bytes(chosen, base) - held + SLACK
    seconds_again = again / (all_flops / alone)
    print(f"  alone a step takes {alone:.3f} s; recomputing {LARGE} takes {seconds_again:.3f} s, {held / 1e6:.0f} MB",
          file=sys.stderr, flush=True)
    needed = {pair: device_bytes(chosen, base | {"recompute.fates": fates_of(*pair)})
              for pair in itertools.product(FATES, FATES)}
    fitting = [pair for pair, bytes_ in needed.items() if bytes_ <= budget]
    for name, ratio in RATIOS.items():
        rate = 2 * held / (ratio * seconds_again)
        throttled = base | {f"debug.throttle.{link}": f"{rate:.0f}B/s" for link in ("host_to_device", "device_to_host")}
        asked = throttled | {"tiers.device.budget": f"{budget}B", "recompute": "auto", "tiers.home.activations": "auto"}
        printed = check(chosen, asked, "--print", "--machine", str(machine))
        fates = re.search(r"^  fates: (.*?)\s+# ", printed, re.MULTILINE).group(1)
        kind = re.search(r"^recompute:\n  kind: (\w+)", printed, re.MULTILINE).group(1)
        home = re.search(r"^    activations: (.*?)\s+# ", printed, re.MULTILINE).group(1)
        runs = {"auto": throttled | {"recompute": kind, "recompute.fates": fates, "tiers.home.activations": home}}
        runs |= {" ".join(pair): throttled | {"recompute.fates": fates_of(*pair)} for pair in needed}
        times = {run: [] for run in runs}
        for _ in range(chosen.rounds):
            for run, settings in runs.items():
                times[run].append(statistics.median(train(chosen, settings, chosen.steps, "activations", 1)[1]))
        best = {run: min(found) for run, found in times.items()}
        fastest = min((" ".join(pair) for pair in fitting), key=best.get)
        record = {"measurement": "activations", "link": name, "rate": rate, "fates": fates, "kind": kind, "home": home,
                  "seconds": times, "fastest": fastest, "auto": best["auto"] / best[fastest]}
        log.write(json.dumps(record) + "\n")
        log.flush()
        print(f"  {name}: {fates} takes {best['auto']:.3f} s, the fastest of nine ({fastest}) {best[fastest]:.3f} s",
              file=sys.stderr, flush=True)
