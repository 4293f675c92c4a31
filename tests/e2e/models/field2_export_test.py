#!/usr/bin/env python3
"""What makes a model usable travels with it: special tokens, generation settings, templates, tokenizer files, adapters' base.

  field2_export_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--models NAME...] [--settings KIND...]

Models are made and read back by transformers: `generate` gives the same tokens and stops alike before and after an import, a
training and an export. Without the Python that scripts/setup.sh --tests makes in build/peers it leaves with 77.
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "peft", "tokenizers", "torch", "transformers")

import peft
import torch
import transformers

import small_model
import today
from at_once import at_once
from hf_test import MODELS, Place, make_model, write_deck
from trainings import Failure, expect

PROMPT = [3, 1, 4, 1, 5]
NEW_TOKENS = 16
UNCHANGED = ("train.steps=1", "optimizer.lr=0", "optimizer.weight_decay=0")


def load(place, folder):
    return transformers.AutoModelForCausalLM.from_pretrained(place.folder / folder).eval()


def greedy(model, **settings):
    """The new tokens by the model's own settings."""
    prompt = torch.tensor([PROMPT])
    with torch.no_grad():
        made = model.generate(prompt, attention_mask=torch.ones_like(prompt), synced_gpus=False,
                              **{"max_new_tokens": NEW_TOKENS, **settings})
    return made[0, len(PROMPT):].tolist()


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2))


def change_json(path, changes):
    """Sets keys; those whose value is ... are removed."""
    value = json.loads(path.read_text()) | changes
    write_json(path, {key: each for key, each in value.items() if each is not ...})


KINDS = ("config_list", "config_one", "generation", "settings", "older", "defaults")


def settings_of(free):
    """Ways to say how a model is used, by what it generates freely: config.json, and generation_config.json or none."""
    stop = next(token for i, token in enumerate(free) if i >= 1 and token not in free[:i])
    late = next((token for i, token in enumerate(free) if i > free.index(stop) and token not in free[:i]), stop)
    unused = next(token for token in range(50) if token not in free)
    return {
        "config_list": ({"bos_token_id": 1, "eos_token_id": [unused, stop], "pad_token_id": unused}, None),
        "config_one": ({"bos_token_id": ..., "eos_token_id": stop, "pad_token_id": ...}, None),
        "generation": ({"bos_token_id": 0, "eos_token_id": unused},
                       {"eos_token_id": [late, stop], "pad_token_id": 2, "bos_token_id": 7, "do_sample": False, "min_new_tokens": 1}),
        "settings": ({"eos_token_id": None, "bos_token_id": None},
                     {"eos_token_id": stop, "repetition_penalty": 1.7, "suppress_tokens": [free[0]], "no_repeat_ngram_size": 2}),
        "older": ({"eos_token_id": late, "forced_eos_token_id": unused, "repetition_penalty": 1.3, "max_length": 11}, None),
        "defaults": ({"bos_token_id": ..., "eos_token_id": ..., "pad_token_id": ...}, None),
    }


def tokens_and_ends_are_equal(place, name, kinds):
    make_model(place, name)
    shutil.rmtree(place.folder / f"{name}_bf16")
    model = place.folder / name
    config = (model / "config.json").read_text()
    original = load(place, name)
    free = greedy(original, eos_token_id=None)
    deck, _ = write_deck(place, name, original.config.vocab_size)
    stopped = 0
    for kind, (keys, generation) in settings_of(free).items():
        if kind not in kinds:
            continue
        (model / "config.json").write_text(config)
        change_json(model / "config.json", keys)
        (model / "generation_config.json").unlink(missing_ok=True)
        if generation is not None:
            write_json(model / "generation_config.json", generation | {"transformers_version": "4.46.3"})
        run = f"runs/{name}_{kind}"
        trained = kind in ("config_list", "generation")
        if trained:
            place.ziggurat("train", deck, f"run.dir={run}", *UNCHANGED)
        else:
            place.ziggurat("import", name, run)
        wanted_model = load(place, name)
        moved = place.folder / "moved"
        model.rename(moved)  # what travels does not need the original any more
        try:
            if kind == "generation":  # from run to run
                place.ziggurat("train", f"{run}/deck.effective.yaml", "model.init.from=checkpoint", f"model.init.path={run}",
                               f"run.dir={run}_next", *UNCHANGED)
                run += "_next"
            place.ziggurat("export", run, f"{name}_{kind}_out", "--dtype", "f32")
        finally:
            moved.rename(model)
        exported = load(place, f"{name}_{kind}_out")
        for settings in ({}, {"min_length": 9}, {"max_new_tokens": None, "max_length": 14} if kind != "older" else {"max_new_tokens": None}):
            wanted, found = greedy(wanted_model, **settings), greedy(exported, **settings)
            expect(wanted == found, f"{name} {kind} {settings}: {found}, not {wanted}")
            stopped += len(wanted) < NEW_TOKENS
        for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
            expect(getattr(wanted_model.config, key) == getattr(exported.config, key), f"{name} {kind}: {key}")
            expect(getattr(wanted_model.generation_config, key) == getattr(exported.generation_config, key), f"{name} {kind}: {key}")
        expect(wanted_model.generation_config.to_diff_dict() == exported.generation_config.to_diff_dict(),
               f"{name} {kind}: {exported.generation_config}, not {wanted_model.generation_config}")
    expect(stopped >= 8 * len(kinds) // len(KINDS), f"{name}: {stopped} texts ended early")


TEMPLATE = "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}{% endfor %}"
FILES = {"chat_template.jinja": TEMPLATE, "chat_template.json": json.dumps({"chat_template": TEMPLATE}),
         "additional_chat_templates/tool.jinja": "tools", "additional_chat_templates/rag.jinja": "documents",
         "added_tokens.json": "{}", "vocab.json": "{}", "merges.txt": "#version: 0.2\n", "tokenizer.model.v3": "\0\1", "tekken.json": "{}",
         "tokenization_mine.py": "pass\n", "mine.tiktoken": "YQ== 0\n", "generation_config.json": '{"eos_token_id": [0, 3], "top_k": 7}'}
OTHERS = {"README.md": "# mine\n", "training_args.bin": "x", "pytorch_model.bin.index.json": "{}", "optimizer.pt": "x"}


def every_file_of_a_tokenizer_travels(place):
    """Templates as one text and as a list of named ones."""
    mine = place.folder / "mine"
    small_model.save_tokenizer(mine, [" ".join(str(i * i) for i in range(3000))])
    small_model.save_model(mine)
    for path, text in (FILES | OTHERS).items():
        (mine / path).parent.mkdir(exist_ok=True)
        (mine / path).write_text(text)
    templates = {"one": TEMPLATE, "named": [{"name": "default", "template": TEMPLATE}, {"name": "short", "template": "short"}]}
    blob = place.folder / "blob"  # links, as in a cache of the hub
    if not (mine / "special_tokens_map.json").exists():  # newer versions write none
        write_json(mine / "special_tokens_map.json", {"eos_token": small_model.END})
    (mine / "special_tokens_map.json").rename(blob)
    (mine / "special_tokens_map.json").symlink_to(blob)
    for kind, template in templates.items():
        change_json(mine / "tokenizer_config.json", {"chat_template": template})
        before = {path: (mine / path).read_bytes() for path in (*FILES, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")}
        wanted = transformers.AutoTokenizer.from_pretrained(mine)
        place.ziggurat("import", "mine", f"runs/mine_{kind}")
        mine.rename(place.folder / "gone")
        said = place.ziggurat("export", f"runs/mine_{kind}", f"mine_{kind}_out")
        (place.folder / "gone").rename(mine)
        out = place.folder / f"mine_{kind}_out"
        for path, data in before.items():
            expect((out / path).is_file() and (out / path).read_bytes() == data, f"{kind}: {path} is not that of the model\n{said}")
        expect(not any((out / path).exists() for path in OTHERS), f"too much: {sorted(out.iterdir())}")
        found = transformers.AutoTokenizer.from_pretrained(out)
        for name in ({"one": (None,), "named": (None, "short")}[kind]):
            texts = [each.get_chat_template(name) for each in (wanted, found)]
            expect(texts[0] == texts[1] and texts[0], f"{kind}: {texts}")
        expect((found.eos_token_id, found.special_tokens_map) == (wanted.eos_token_id, wanted.special_tokens_map), "special tokens")
    # A model that was trained from nothing stops where its tokenizer's documents end, not at a default of its family.
    place.folder.joinpath("own.yaml").write_text(
        "deck_version: 1\nrun: {name: own, dir: runs/own}\nmodel: {family: llama, layers: 1, hidden: 32, heads: 2, vocab: 500}\n"
        "data: {tokenizer: {kind: hf, path: own/tokenizer.json}, seq: 16, train: [{format: llmc, path: tokens.bin}]}\n"
        "train: {steps: 1, global_batch: 1, micro_batch: 1}\noptimizer: {lr: 1.0e-3}\n")
    (place.folder / "own").mkdir()
    shutil.copy(mine / "tokenizer.json", place.folder / "own")
    place.ziggurat("train", "own.yaml")
    place.ziggurat("export", "runs/own", "own_out")
    config = load(place, "own_out").config
    end = wanted.convert_tokens_to_ids(small_model.END)
    expect((config.eos_token_id, config.bos_token_id) == (end, end), f"{config}")
    place.ziggurat("train", "own.yaml", "data.tokenizer=none", "run.dir=runs/none")
    place.ziggurat("export", "runs/none", "none_out")
    config = load(place, "none_out").config
    expect((config.eos_token_id, config.bos_token_id) == (None, None), f"{config}")


def adapters_name_their_base(place):
    """Of adapters beside a model, beside an import of it, and beside adapters that were trained on; none of one that changed."""
    shutil.rmtree(place.folder / "llama" / "generation_config.json", ignore_errors=True)
    lora = ("train.lora.rank=2", "train.lora.alpha=4", "train.steps=1")
    at_once(place, ("import", "llama", "runs/base_in"), ("train", "llama.yaml", "run.dir=runs/on_model", *lora),
            ("train", "llama.yaml", "run.dir=runs/full", "train.steps=1"))

    def on(run, before):
        return ("train", "runs/on_model/deck.effective.yaml", f"run.dir=runs/{run}", "model.init.from=checkpoint",
                f"model.init.path=runs/{before}")

    at_once(place, on("on_import", "base_in"), on("on_full", "full"))
    place.ziggurat(*on("on_adapters", "on_import"))
    os.chdir(place.folder)  # bases are named as the user did
    bases = {"on_model": "llama", "on_import": "llama", "on_adapters": "llama", "on_full": None}
    at_once(place, *(("export", f"runs/{run}", f"{run}_out") for run in bases))
    for run, base in bases.items():
        config = json.loads((place.folder / f"{run}_out" / "adapter_config.json").read_text())
        expect(config["base_model_name_or_path"] == base, f"{run}: {config}")
        if base:
            model = peft.AutoPeftModelForCausalLM.from_pretrained(place.folder / f"{run}_out").eval()
            expect(model.active_peft_config.base_model_name_or_path == base and len(greedy(model)) > 0, run)


def tasks_may_be_packed_and_labels_decimal(place):
    tasks = [{"ctx": f"{i} {i + 1}", "endings": [str(i + 2), "7 7"], "label": i % 2} for i in range(12)]
    for name, change in (("whole", lambda task: task), ("decimal", lambda task: task | {"label": float(task["label"])}),
                         ("text", lambda task: task | {"label": f"{task['label']}.0"})):
        (place.folder / f"{name}.jsonl").write_text("".join(json.dumps(change(task)) + "\n" for task in tasks))
    (place.folder / "packed.json.gz").write_bytes(gzip.compress((place.folder / "decimal.jsonl").read_bytes()))
    said = {}
    names = ("whole.jsonl", "decimal.jsonl", "text.jsonl", "packed.json.gz")
    printed = at_once(place, *(("eval", "runs/mine_one", "--task", name, "--json") for name in names))
    for name, each in zip(names, printed):
        found = json.loads(each)
        said[name] = {key: value for key, value in found.items() if key not in ("task", "seconds")}
    expect(all(each == said["whole.jsonl"] for each in said.values()) and "labelled" in str(said), said)
    said = place.ziggurat("eval", "runs/mine_one", "--task", "whole.jsonl", "--tokenizer", "bytes", code=2)
    expect("--tokenizer bytes does not fit the model" in said, said)


def errors_of_an_import_come_first(place):
    """A tokenizer that is not built would be a note, were there no error."""
    wrong = place.folder / "wrong"
    shutil.copytree(place.folder / "mine", wrong)
    (wrong / "tokenizer.json").write_text('{"version": "1.0", "model": {"type": "Unigram", "vocab": []}}')
    whole = (wrong / "model.safetensors").read_bytes()
    config = (wrong / "config.json").read_text()
    for change, code in (((lambda: (wrong / "model.safetensors").write_bytes(whole[:-4])), 4),
                         ((lambda: (wrong / "model.safetensors").unlink()), 4),
                         ((lambda: change_json(wrong / "config.json", {"hidden_act": "gelu"})), 2),
                         ((lambda: change_json(wrong / "config.json", {"num_attention_heads": 5})), 2)):
        change()
        said = place.ziggurat("import", "wrong", "runs/wrong", code=code)
        expect(said.startswith("ziggurat: error: "), said)
        expect("note" not in said and "train.bin" not in said and "is not here" not in said, said)
        (wrong / "model.safetensors").write_bytes(whole)
        (wrong / "config.json").write_text(config)
    said = place.ziggurat("import", "wrong", "runs/wrong")
    expect("note: the deck has no tokenizer" in said and "train.bin" not in said, said)
    shutil.copytree(place.folder / "mine", place.folder / "bytes")  # also the name of a kind of tokenizer
    place.ziggurat("import", "bytes", "runs/bytes")
    expect('kind: hf, path: "bytes"}' in (place.folder / "runs/bytes/deck.yaml").read_text(), "its own tokenizer is not used")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, help="those that generate (default: all)")
    parser.add_argument("--settings", nargs="+", default=list(KINDS), choices=KINDS, help="of generation (default: all)")
    chosen = parser.parse_args()
    chosen.logits = chosen.binary  # of hf_test's Place; not called here
    place = Place(chosen)
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    for name in chosen.models:
        begin = time.monotonic()
        tokens_and_ends_are_equal(place, name, chosen.settings)
        print(f"  {name}: the same tokens and ends, {time.monotonic() - begin:.1f} s", flush=True)
    for test in (every_file_of_a_tokenizer_travels, adapters_name_their_base, tasks_may_be_packed_and_labels_decimal,
                 errors_of_an_import_come_first):
        begin = time.monotonic()
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok, {time.monotonic() - begin:.1f} s", flush=True)
    today.exports_are_read(place.folder)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
