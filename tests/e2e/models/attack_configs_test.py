#!/usr/bin/env python3
"""Configurations that were changed by chance (config_attacks.py): what transformers 5 refuses is refused, with a key of config.json
and its line; what is accepted is read as transformers 5 reads it.

  attack_configs_test.py --binary ZIGGURAT --work FOLDER [--count N]

ZIGGURAT_SEED in the environment is the seed.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import config_attacks
import today
from trainings import Failure, expect

DECK = """deck_version: 1
run: {name: attacks}
model: {init: {from: hf, path: '0'}}
data: {tokenizer: bytes, seq: 4, train: [{format: text, path: text.txt}]}
train: {steps: 2, global_batch: 1, micro_batch: 1}
optimizer: {lr: 1.0e-2}
"""
NO_WEIGHTS, REFUSED = 4, 2  # exit codes: the folder has a configuration only
# Keys of the deck, and the fields of the classes of which they are the same number.
SAME = {"layers": ("num_hidden_layers", "n_layer"), "hidden": ("hidden_size", "n_embd"), "heads": ("num_attention_heads", "n_head"),
        "kv_heads": ("num_key_value_heads",), "ffn_hidden": ("intermediate_size", "n_inner"), "vocab": ("vocab_size",),
        "max_seq": ("max_position_embeddings", "n_positions"), "tie_embeddings": ("tie_word_embeddings",),
        "norm_epsilon": ("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps"), "softcap.attention": ("attn_logit_softcapping",),
        "softcap.logits": ("final_logit_softcapping",), "multiplier.embedding": ("embedding_multiplier",),
        "multiplier.residual": ("residual_multiplier",), "attention_scale": ("attention_multiplier",), "bias.mlp": ("mlp_bias",),
        "bias.qkv": ("attention_bias",), "bias.output": ("attention_bias",), "head_dim": ("head_dim",)}
SCALING = {"factor": "factor", "low_freq_factor": "low_freq_factor", "high_freq_factor": "high_freq_factor",
           "original_max_seq": "original_max_position_embeddings", "beta_fast": "beta_fast", "beta_slow": "beta_slow",
           "attention_factor": "attention_factor", "short_factors": "short_factor", "long_factors": "long_factor"}


def keys_of(config):
    return set(config).union(*(keys_of(value) for value in config.values() if isinstance(value, dict)))


def model_in(effective):
    """Values of the section `model` of an effective deck, by their paths."""
    values, path = {}, []
    for line in re.search(r"^model:.*\n((?: +.*\n)*)", effective, re.M)[1].splitlines():
        depth, key, text = re.match(r"( +)([\w]+): ?([^#]*)", line).groups()
        path = [*path[:len(depth) // 2 - 1], key]
        values[".".join(path)] = {"none": None}.get(text.strip(), text.strip())
    return {key: as_json(value) for key, value in values.items()}


def as_json(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def windows_in(model):
    window, interval = model.get("window"), model.get("full_attention_interval") or 0
    return [window if window and not (interval and (layer + 1) % interval == 0) else None for layer in range(model["layers"])]


def meant(config):
    """The same values as transformers 5 reads them."""
    values = {key: config[field] for key, fields in SAME.items() for field in fields if field in config}
    if values.get("head_dim", 0) is None:  # the model divides the width
        values["head_dim"] = values["hidden"] // values["heads"]
    if "n_inner" in config and config["n_inner"] is None:
        values["ffn_hidden"] = 4 * config["n_embd"]
    if "logits_scaling" in config:
        values["multiplier.logits"] = 1 / config["logits_scaling"]
    if "query_pre_attn_scalar" in config:
        values["attention_scale"] = config["query_pre_attn_scalar"] ** -0.5
    if "no_rope_layers" in config:
        special = [layer + 1 for layer, number in enumerate(config["no_rope_layers"]) if number == 0]
        values["no_rope_interval"] = special[0] if special else None
    if config.get("rope_parameters"):
        rope = config["rope_parameters"]
        if "sliding_attention" in rope:
            values["window_rope_theta"] = rope["sliding_attention"]["rope_theta"]
        rope = rope.get("full_attention", rope)
        kind = rope["rope_type"]
        values |= {"rope_theta": rope["rope_theta"], "rope_scaling.kind": None if kind == "default" else kind}
        if "partial_rotary_factor" in rope:
            values["rotary_fraction"] = rope["partial_rotary_factor"]
        values |= {f"rope_scaling.{key}": rope[field] for key, field in SCALING.items() if rope.get(field) is not None}
    return values


def windows_meant(config, layers):
    types = config.get("layer_types", ["sliding_attention"] * layers)
    return [config.get("sliding_window") if type == "sliding_attention" else None for type in types]


def is_same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-12)
    return one == other


def expect_same_model(what, effective, config):
    model = model_in(effective)
    fixed = {key for key in ("bias.qkv", "bias.output", "bias.mlp", "head_dim") if key not in model}  # by the family
    for key, value in meant(config).items():
        expect(key in fixed or is_same(model.get(key), value), f"{what}: model.{key} = {model.get(key)}, and transformers 5 reads {value}")
    windows = windows_meant(config, model["layers"])
    expect(windows_in(model) == windows, f"{what}: windows {windows_in(model)}, and transformers 5 reads {windows}")


def expect_named(what, path, refusal, keys):
    """Each error names config.json, a key of it, and the line of a key."""
    errors = [line for line in refusal.splitlines() if " error: " in line]
    expect(errors, f"{what}: no error:\n{refusal}")
    lines = (path / "config.json").read_text().splitlines()
    for error in errors:
        place, message = re.fullmatch(r"ziggurat: error: (\S+?): (.*)", error).groups()
        expect("config.json" in error, f"{what}: no config.json: {error}")
        named = set(re.findall(r"\w+", re.sub(r"\bmodel\.[\w.]+", "", message)))  # without keys of the deck
        expect(named & keys, f"{what}: no key of config.json: {error}")
        at = re.search(r"config\.json:(\d+):(\d+)$", place)
        if at:
            line, column = map(int, at.groups())
            expect(re.match(r'"\w+": ', lines[line - 1][column - 1:]), f"{what}: no key at {place}: {lines[line - 1]}")


def judge(what, path, done, theirs, keys):
    """True if both read the configuration."""
    if done.returncode == NO_WEIGHTS:
        expect("error" not in theirs, f"{what}: it is accepted, and transformers 5 refuses it: {theirs.get('error')}")
        expect_same_model(what, done.stdout, theirs["config"])
        return True
    expect(done.returncode == REFUSED, f"{what}: exit code {done.returncode}\n{done.stderr}")
    expect_named(what, path, done.stderr, keys)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=40)
    chosen = parser.parse_args()
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    print(f"seed {seed}", flush=True)
    work, binary = chosen.work.resolve(), chosen.binary.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "deck.yaml").write_text(DECK)
    (work / "text.txt").write_text("text " * 100)
    chance = random.Random(seed)
    cases = [(name, config, "") for name, config in config_attacks.MODELS.items()]
    cases += [config_attacks.changed(chance) for _ in range(chosen.count)]
    for number, (_, config, _) in enumerate(cases):
        (work / str(number)).mkdir()
        (work / str(number) / "config.json").write_text(json.dumps(config, indent=2))
    theirs = today.read_all(work, [str(number) for number in range(len(cases))], "--only-config")
    failures, read, refused = [], 0, 0
    for number, (name, config, changes) in enumerate(cases):
        what = f"{work / str(number)} ({name}; {changes})"
        done = subprocess.run([binary, "check", "deck.yaml", "--print", f"model.init.path='{number}'"], cwd=work, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        try:
            is_read = judge(what, work / str(number), done, theirs[str(number)], keys_of(config) | keys_of(config_attacks.MODELS[name]))
            expect(is_read or changes, f"{what}: it is refused:\n{done.stderr}")
            read, refused = read + is_read, refused + (not is_read)
        except Failure as failure:
            failures.append(str(failure))
    print(f"{len(cases)} configurations: {read} read, {refused} refused, {len(failures)} wrong")
    expect(not failures, "\n".join(failures[:20]))
    expect(read > len(cases) / 10 and refused > len(cases) / 3, "nearly all are read, or refused: nothing is compared")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"attack_configs: {failure}", file=sys.stderr)
        sys.exit(1)
