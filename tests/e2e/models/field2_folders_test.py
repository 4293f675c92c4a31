#!/usr/bin/env python3
"""Folders of models that were changed by chance: the logits are those of transformers, or the folder is refused with the
name of what was changed.

  field2_folders_test.py --logits PRINT_LOGITS --work FOLDER [--count N]

ZIGGURAT_FOLDERS in the environment is the number of folders (default: 200), ZIGGURAT_SEED the seed. Keys of positions are
read as transformers 5 reads them: as_read_by_5() translates them for the version that computes here.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "safetensors", "torch", "transformers")

import numpy
import torch
import transformers

from config_changes import BASE, EMBEDDING, HEAD
from folder_changes import CHANGES, Folder
from trainings import Failure, expect

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity(50)
MAX_APART = 1e-4
SEQ = 8
VOCAB = 19
LLAMA = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 20,
         "vocab_size": VOCAB, "max_position_embeddings": 64}
GPT2 = {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_positions": 16, "vocab_size": VOCAB}
NEOX = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 20, "vocab_size": VOCAB,
        "max_position_embeddings": 32, "rotary_pct": 0.5, "rotary_emb_base": 700}
MODELS = (transformers.LlamaConfig(**LLAMA, rope_theta=500.0, tie_word_embeddings=True),
          transformers.LlamaConfig(**LLAMA, rope_scaling={"rope_type": "linear", "factor": 2.0}),
          transformers.LlamaConfig(**LLAMA, rope_theta=300.0, rope_scaling={
              "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 16}),
          transformers.GPT2Config(**GPT2), transformers.GPT2Config(**GPT2, tie_word_embeddings=False),
          transformers.GPTNeoXConfig(**NEOX), transformers.GPTNeoXConfig(**NEOX, tie_word_embeddings=True))
CLASSES = {"llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
           "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
           "gpt_neox": (transformers.GPTNeoXConfig, transformers.GPTNeoXForCausalLM)}
DECK_KEYS = {"rotary_pct": "model.rotary_fraction", "num_attention_heads": "model.heads", "n_head": "model.heads",
             "vocab_size": "model.vocab"}


def original(number):
    """Configuration and tensors of a model, each number random."""
    config = MODELS[number]
    torch.manual_seed(number)
    model = CLASSES[config.model_type][1](config)
    tensors = {}
    for name, tensor in model.named_parameters():
        is_gain = tensor.dim() == 1 and name.endswith("weight")
        tensors[name] = torch.randn_like(tensor) * 0.2 + (1.0 if is_gain else 0.0)
    if "lm_head.weight" in tensors:  # its name in memory; in files it has the older one
        tensors[HEAD[config.model_type]] = tensors.pop("lm_head.weight")
    written = as_older_versions_write(config.to_dict())
    keep = [key for key in CLASSES[config.model_type][0]().to_dict() if key not in transformers.PretrainedConfig().to_dict()]
    keys = {*keep, "model_type", "tie_word_embeddings"} - {"rope_theta", "partial_rotary_factor", "head_dim"}
    keys |= {"llama": {"rope_theta", "rope_scaling"}, "gpt_neox": {"rotary_emb_base", "rotary_pct", "rope_scaling"}}.get(config.model_type, set())
    return {key: written[key] for key in written if key in keys}, tensors


def as_older_versions_write(config):
    """The keys of positions in the spelling of transformers 4, from which the changes begin."""
    parameters = dict(config.get("rope_parameters") or {})
    if not parameters:
        return config
    base, share = BASE[config["model_type"]], parameters.pop("partial_rotary_factor", None)
    theta, kind = parameters.pop("rope_theta"), parameters["rope_type"]
    older = {base: theta, "rope_scaling": None if kind == "default" else parameters} | ({} if share is None else {"rotary_pct": share})
    return {key: value for key, value in config.items() if key != "rope_parameters"} | older


def as_read_by_5(config):
    """The same positions for version 4.46: convert_rope_params_to_dict of transformers 5, and that of its GPTNeoXConfig."""
    config = dict(config)
    if config["model_type"] == "gpt2" or peers.are_new():
        return config
    is_neox = config["model_type"] == "gpt_neox"
    base, share = ("rotary_emb_base", "rotary_pct") if is_neox else ("rope_theta", "partial_rotary_factor")
    read = dict(config.pop("rope_scaling", None) or config.get("rope_parameters") or {})
    config.pop("rope_parameters", None)
    config[base] = read.pop("rope_theta", config.get(base, 10000.0))
    config[share] = read.pop("partial_rotary_factor", config.get(share, 0.25 if is_neox else 1.0))
    kind = read.pop("type", "default")
    kind = read.pop("rope_type", kind)
    if kind == "llama3":
        read.setdefault("original_max_position_embeddings", config.get("max_position_embeddings"))
    config["rope_scaling"] = None if kind == "default" else {"rope_type": kind, **read}
    return config


def logits_there(folder, path, tokens):
    """Logits of transformers; None where it has none, or weights that it draws."""
    config_class, model_class = CLASSES[folder.family]
    try:
        config = config_class.from_dict(as_read_by_5(folder.config))
        model, report = model_class.from_pretrained(path, config=config, output_loading_info=True, torch_dtype=torch.float32)
        if report["missing_keys"] or report["mismatched_keys"] or not missing_from_index(folder):
            return None
        with torch.no_grad():
            return model.eval()(tokens[None]).logits[0].numpy()
    except Exception:  # whatever it says, it does not read the folder
        return None


def missing_from_index(folder):
    """True if all that an index lists without a file is a second name of a tied embedding: of others transformers draws the
    weights, and does not say so."""
    return all(folder.is_tied() and name in (EMBEDDING[folder.family], HEAD[folder.family]) for name in folder.absent)


def has_own_head(folder):
    """True if a tied model has two tables: transformers 4 reads the second one twice, transformers 5 does not tie them."""
    pair = [folder.tensors.get(name) for name in (EMBEDDING[folder.family], HEAD[folder.family])]
    return folder.is_tied() and all(table is not None for table in pair) and not torch.equal(*pair)


def changed(originals, chance):
    folder = Folder(*chance.choice(originals))
    done = []
    for change in chance.sample(CHANGES, chance.choice((1, 1, 2, 3))):
        change(folder, chance)
        done.append(change.__name__)
    return folder, done


def judge(number, folder, path, done, tokens):
    """True if the folder was read."""
    what = f"folder {number} ({', '.join(done)}; {path})"
    theirs = logits_there(folder, path, tokens)
    if (path / "logits.f32").exists() and not (path / "refusal.txt").exists():
        ours = numpy.fromfile(path / "logits.f32", numpy.float32).reshape(SEQ, -1)
        expect(theirs is not None and not has_own_head(folder), f"{what}: it is read, and transformers cannot")
        expect(ours.shape == theirs.shape, f"{what}: logits of {ours.shape}, not {theirs.shape}")
        apart = numpy.abs(ours - theirs).max()
        expect(apart <= MAX_APART, f"{what}: logits {apart} apart, and not a word")
        return True
    expect((path / "refusal.txt").exists(), f"{what}: neither logits nor a refusal")
    refusal = (path / "refusal.txt").read_text()
    expect(not folder.is_same or theirs is None, f"{what}: transformers reads it, and it is refused:\n{refusal}")
    names = {name for key in folder.names for name in (key, DECK_KEYS.get(key, key))}
    expect(any(name in refusal for name in names), f"{what}: the refusal names none of {sorted(names)}:\n{refusal}")
    return False


def write_inputs(work, chance):
    """Tokens and a deck; returns the tokens."""
    tokens = torch.tensor([chance.randrange(VOCAB) for _ in range(SEQ)])
    tokens.numpy().astype(numpy.int32).tofile(work / "tokens.i32")
    (work / "deck.yaml").write_text(
        "deck_version: 1\nrun: {name: folders}\nmodel: {init: {from: hf, path: 0}}\n"
        f"data: {{tokenizer: none, seq: {SEQ}, train: [{{format: llmc, path: tokens.bin}}]}}\n"
        "train: {steps: 2, global_batch: 1, micro_batch: 1}\noptimizer: {lr: 1.0e-2}\nprecision: {compute: fp32}\n")
    return tokens


def run_each(program, work, count):
    """Logits or a refusal in each of the folders 0 to count - 1."""
    (work / "folders.txt").write_text("".join(f"{number}\n" for number in range(count)))
    ran = subprocess.run([program, "--each", "folders.txt", "deck.yaml", "tokens.i32"], cwd=work, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                         env=dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive"))
    expect(ran.returncode == 0, f"{program}: exit code {ran.returncode}\n{ran.stdout[-3000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("logits", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=int(os.environ.get("ZIGGURAT_FOLDERS", "200")))
    chosen = parser.parse_args()
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    print(f"seed {seed}", flush=True)
    work, program = chosen.work.resolve(), chosen.logits.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    torch.set_num_threads(1)
    chance = random.Random(seed)
    tokens = write_inputs(work, chance)
    originals = [original(number) for number in range(len(MODELS))]
    folders = [changed(originals, chance) for _ in range(chosen.count)]
    for number, (folder, _) in enumerate(folders):
        folder.write(work / str(number))
    run_each(program, work, len(folders))
    failures, read = [], 0
    for number, (folder, done) in enumerate(folders):
        try:
            read += judge(number, folder, work / str(number), done, tokens)
        except Failure as failure:
            failures.append(str(failure))
    print(f"{len(folders)} folders: {read} read, {len(folders) - read - len(failures)} refused, {len(failures)} wrong")
    expect(not failures, "\n".join(failures[:20]))
    expect(0.3 < read / len(folders) < 0.8, "most changes are read, or most are refused: nothing is compared")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"field2_folders: {failure}", file=sys.stderr)
        sys.exit(1)
