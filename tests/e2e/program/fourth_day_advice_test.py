#!/usr/bin/env python3
"""Advice of the planner holds: remedies are found within seconds, and fit; estimates say how good they are; idle GPUs are named.

Bugs of the past: a search that ended early said that nothing suffices; a space was missing after "fits with"; a lower bound of a
step was called an estimate; parallel.tensor=auto did not know the rate that `check` used.

  fourth_day_advice_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--long]
"""

import json
import os
import pathlib
import random
import re
import resource
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import PATIENCE_S, Place, expect, run_script, say

ROOT = pathlib.Path(__file__).resolve().parents[3]
FITS, DECK, RESOURCES = 0, 2, 3  # exit codes
PROCESSOR_S = 10  # of a check, without the sanitizers
REMEDY = re.compile(r"^  fits with (.*): leaves ", re.M)
LLAMA_70B = ROOT / "decks" / "llama-70b.yaml"
DECK_TEXT = """deck_version: 1
include: [%s/decks/common/llama.yaml]
run: {name: advice}
model: {%s}
data: {seq: %d}
train: {tokens: 1G, global_batch: 64, micro_batch: 1}
sharding: {zero: 3}
schedule: {warmup: 10M tokens}
"""
GEMMA_27B = "preset: gemma-2-9b, layers: 46, hidden: 4608, heads: 32, kv_heads: 16, head_dim: 128, ffn_hidden: 36864"
AUTO_HOMES = [f"tiers.home.{kind}=auto" for kind in ("parameters", "gradients", "optimizer", "activations")]


def start(place, *words, environment=None, seconds=PATIENCE_S):
    done = subprocess.run([place.binary, *map(str, words)], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          env=os.environ | (environment or {}), text=True, timeout=seconds)
    return done.returncode, done.stdout if "--json" in words else done.stdout + done.stderr


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_sanitized(binary):
    return b"__asan_init" in pathlib.Path(binary).read_bytes()


def deck_of(place, model, sequence=512):
    deck = place.folder / "deck.yaml"
    deck.write_text(DECK_TEXT % (ROOT, model, sequence))
    return deck


def machine_like(place, name, **figures):
    """A machine file with other figures than those of decks/machines."""
    text = (ROOT / "decks" / "machines" / f"{name}.yaml").read_text()
    for key, value in figures.items():
        text = re.sub(f"^{key}:.*\n", "", text, flags=re.M) + f"{key}: {value}\n"
    file = place.folder / f"{name}-other.yaml"
    file.write_text(text)
    return file


def remedies_of(said):
    return REMEDY.findall(said)


def with_remedy(words, remedy):
    """The command with a printed remedy, as a user pastes it."""
    more = re.match(r"on (\d+) ranks ?", remedy)
    words = list(words)
    if more:
        words[words.index("--ranks") + 1] = more[1]
        remedy = remedy[more.end():]
    return [*words, *shlex.split(remedy.replace("[DISK]", "[/nvme]"))]


def expect_remedies(place, words, *patterns, most=3):
    """Checks a deck that does not fit: some remedy matches each pattern, and the first `most` fit."""
    before = processor_seconds()
    code, said = start(place, *words)
    used = processor_seconds() - before
    expect(code == RESOURCES and "not sufficient" not in said, f"{words}: {code}\n{said}")
    expect(used < PROCESSOR_S or is_sanitized(place.binary), f"{words}: {used:.1f} s of processor time\n{said}")
    found = remedies_of(said)
    for pattern in patterns:
        expect(any(re.search(pattern, remedy) for remedy in found), f"{words}: no {pattern}\n{said}")
    for remedy in found[:most]:
        code, again = start(place, *with_remedy(words, remedy))
        expect(code == FITS and "  FITS" in again, f"{words}: {remedy}: {code}\n{again}")
    say(f"{len(found)} remedies in {used:.1f} s of processor time")


def a_large_model_has_its_first_remedy(chosen):
    place = Place(chosen, "large")
    expect_remedies(place, ["check", LLAMA_70B, "--machine", dgx(place), "--ranks", 8], r"^tiers\.home\.optimizer=host$", most=1)


def dgx(place, **figures):
    return machine_like(place, "dgx-h100", **figures)


def homes_of_the_planner_are_tried(chosen):
    """The host's memory is too small for all of the optimizer's state."""
    place = Place(chosen, "homes")
    machine = machine_like(place, "rtx-4090", ranks_per_node=2, device_memory="11GiB", host_memory="11GiB")
    expect_remedies(place, ["check", deck_of(place, "preset: llama-1b"), "--machine", machine, "--ranks", 2, "checkpoint.every=none"],
                    r"tiers\.home\.optimizer=auto")


def copies_for_saves_are_left_out(chosen):
    """The copy of a save needs as much host memory as the state: chosen homes alone cannot fit."""
    place = Place(chosen, "saves")
    machine = machine_like(place, "rtx-4090", ranks_per_node=2, device_memory="11GiB", host_memory="20GiB")
    words = ["check", deck_of(place, "preset: llama-1b"), "--machine", machine, "--ranks", 2]
    expect_remedies(place, words, r"^tiers\.home\.optimizer=host checkpoint\.async=false$", most=1)
    if chosen.long:
        expect_remedies(place, [*words, *AUTO_HOMES], r"^checkpoint\.async=false$", most=1)


def large_models_have_remedies(chosen):
    if not chosen.long:
        return
    place = Place(chosen, "large_models")
    machine = machine_like(place, "rtx-4090", ranks_per_node=8, cores_per_node=64, host_memory="512GiB")
    gemma = ["check", deck_of(place, GEMMA_27B, 4096), "--machine", machine, "--ranks", 8]
    expect_remedies(place, gemma, r"tiers\.home\.optimizer=auto .*checkpoint\.async=false")
    expect_remedies(place, [*gemma, *AUTO_HOMES], r"^checkpoint\.async=false$")
    small = dgx(place, host_memory="1100GiB")
    for homes in ([], AUTO_HOMES):
        expect_remedies(place, ["check", LLAMA_70B, "--machine", small, "--ranks", 8, *homes], r"checkpoint\.async=false")


def layouts_that_do_not_fit_have_remedies(chosen):
    place = Place(chosen, "layouts")
    machine = machine_like(place, "rtx-4090", device_memory="4GiB", host_memory="64GiB")
    code, said = start(place, "plan", ROOT / "decks" / "llama-1b.yaml", "--machine", machine, "--ranks", 1, "--search")
    expect(code == RESOURCES and re.search(r"^  It (fits|needs less, but does not fit,) with [a-z]", said, re.M), f"{code}\n{said}")
    for layout in re.findall(r"^  It fits with (.*)$", said, re.M):
        code, again = start(place, "check", ROOT / "decks" / "llama-1b.yaml", "--machine", machine, "--ranks", 1, *shlex.split(layout))
        expect(code == FITS, f"{layout}: {code}\n{again}")
    say("a search without a result names remedies")


def kept_peaks_are_lower_bounds(chosen):
    place = Place(chosen, "peaks")
    (place.folder / "config").mkdir()
    config = {"XDG_CONFIG_HOME": str(place.folder / "config")}
    with_tensor = ("parallel.tensor=auto", "run.resume=auto")
    code, said = start(place, "check", place.deck, "--ranks", 2, *with_tensor, environment=config)
    expect(code == DECK and "does not give device_flops" in said, f"{code}\n{said}")
    with place.start("measured", 1, "train.steps=1", "schedule.warmup=0 steps", environment=config) as training:
        expect(training.wait() == 0, training.tail())
    peaks = list((place.folder / "config" / "ziggurat").glob("*.peaks.json"))
    kept = json.loads(peaks[0].read_text())
    setup = next(iter(kept["peaks"]))
    for ranks in (1, 2):  # the same cores
        kept["peaks"][re.sub(r"\d+ ranks x \d+ threads", f"{ranks} ranks x 1 threads", setup)] = kept["peaks"][setup]
    peaks[0].write_text(json.dumps(kept))
    one = config | {"OMP_NUM_THREADS": "1"}
    for command in (("check",), ("plan",), ("plan", "--time")):
        code, said = start(place, command[0], place.deck, "--ranks", 1, *command[1:], "run.resume=auto", environment=one)
        expect(code == FITS and re.search(r"^time +estimated: a step takes at least .*, all \d+ steps take at least ", said, re.M) and
               "ziggurat bench all --brief" in said and re.search(r"^speed +at most ", said, re.M), f"{command}: {code}\n{said}")
        code, said = start(place, command[0], place.deck, "--ranks", 1, *command[1:], "--json", "run.resume=auto", environment=one)
        time = json.loads(said)
        expect(time.get("time", time)["is_lower_bound"] is True, f"{command}: {said}")
    code, said = start(place, "check", place.deck, "--ranks", 2, *with_tensor, environment=one)
    expect(code == FITS and "a step takes at least" in said, f"{code}\n{said}")
    code, said = start(place, "check", place.deck, "--ranks", 1, "--machine", "laptop", "run.resume=auto", environment=one)
    expect(code == FITS and "at least" not in said, f"a machine file: {code}\n{said}")
    say("times by kept peaks are lower bounds, and layouts are chosen by them")


def idle_gpus_are_named(chosen):
    place = Place(chosen, "idle")
    settings = ("run.resume=auto", "checkpoint.every=10min", "train.global_batch=2", "train.micro_batch=1")
    words = ["slurm", place.deck, "--nodes", 2, "--machine", "dgx-h100", *settings]
    code, said = start(place, *words)
    warned = re.search(r"warning: the deck uses 2 of 16 devices .*Use all of them with (train\.micro_batch=\d+ train\.global_batch=\d+)\.", said)
    expect(code == 0 and warned, f"{code}\n{said}")
    code, said = start(place, *words, *warned[1].split())
    expect(code == 0 and "warning: the deck uses" not in said and re.search(r"--gpus-per-node=8|--gres=gpu:8", said), f"{code}\n{said}")
    say("a batch script names the numbers that use all GPUs")


MACHINES = ("cpu-64", "dgx-2", "dgx-a100", "dgx-h100", "laptop", "rtx-4090", "rtx-4090-ssds", "v100-32gb")
PRESETS = ("gpt2-774m", "gpt2-1558m", "llama-1b", "llama-8b", "pythia-1b", "pythia-2.8b", "qwen3-0.6b", "gemma-2b", "gemma-2-2b",
           "phi-4", "granite-3.3-2b", "olmo-2-7b")


def random_command(place, number, dice):
    """A random deck for a random machine, most of which are too small."""
    micro = dice.choice((1, 2, 4, 8))
    accumulation = dice.choice((1, 2, 4))
    ranks = dice.choice((1, 2, 4, 8, 16))
    deck = place.folder / f"deck-{number}.yaml"
    deck.write_text(f"deck_version: 1\nrun: {{name: random}}\nmodel: {{preset: {dice.choice(PRESETS)}}}\n"
                    "data: {tokenizer: none, seq: %d, train: [{format: megatron, path: data/none}]}\n"
                    % dice.choice((512, 1024))
                    + f"train: {{steps: 100, global_batch: {micro * accumulation * ranks}, micro_batch: {micro}}}\n")
    settings = [dice.choice(("sharding.zero=0", "sharding.zero=1", "sharding.zero=3")),
                dice.choice(("recompute.kind=none", "recompute.kind=full")),
                dice.choice(("checkpoint.every=30min", "checkpoint.every=none"))]
    for key, values in (("tiers.home.optimizer", ("host", "auto")), ("tiers.home.parameters", ("host", "auto")),
                        ("tiers.host.budget", ("20%", "60%")), ("tiers.device.budget", ("30%", "60%")),
                        ("tiers.chunk", ("4Mi",)), ("train.accumulate", ("by_layer", "auto")), ("optimizer.clip.policy", ("speculate",))):
        if dice.random() < 0.25:
            settings.append(f"{key}={dice.choice(values)}")
    return ["check", deck, "--machine", dice.choice(MACHINES), "--ranks", ranks, *settings]


def remedies_of_random_decks(chosen):
    if not chosen.long:
        return
    place = Place(chosen, "random")
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    wanted = int(os.environ.get("ZIGGURAT_DECKS", "200"))
    dice = random.Random(seed)
    short, tried, without, failures, unfinished = 0, 0, 0, [], 0
    for number in range(40 * wanted):
        if short == wanted:
            break
        words = random_command(place, number, dice)
        before = processor_seconds()
        code, said = start(place, *words)
        used = processor_seconds() - before
        what = f"seed {seed}: {shlex.join(map(str, words))}"
        if code != RESOURCES:
            expect(code in (FITS, DECK), f"{what}: {code}\n{said}")
            continue
        short += 1
        if used > PROCESSOR_S and not is_sanitized(place.binary):
            failures.append(f"{what}: {used:.1f} s of processor time")
        unfinished += "was not finished" in said
        if "was not finished" in said and "not sufficient" in said:
            failures.append(f"{what}: an unfinished search finds nothing sufficient\n{said}")
        found = remedies_of(said)
        without += not found
        for remedy in found:
            tried += 1
            command = with_remedy(words, remedy)
            code, again = start(place, *command)
            if code != FITS or "  FITS" not in again:
                failures.append(f"{what}: {remedy}: {code}\n{again[-1500:]}")
    expect(short == wanted, f"only {short} decks do not fit")
    expect(not failures, f"{len(failures)} failures\n" + "\n".join(failures))
    expect(without < wanted // 2, f"{without} of {short} decks have no remedy")
    say(f"{tried} remedies of {short} random decks fit; {without} decks have none, {unfinished} searches were not finished")


if __name__ == "__main__":
    run_script(__doc__, a_large_model_has_its_first_remedy, homes_of_the_planner_are_tried, copies_for_saves_are_left_out,
               layouts_that_do_not_fit_have_remedies, kept_peaks_are_lower_bounds, idle_gpus_are_named, large_models_have_remedies,
               remedies_of_random_decks)
