#!/usr/bin/env python3
"""Exported folders work in the transformers of today, and chat models that were tuned end their answers.

  field3_export_test.py --binary ZIGGURAT --logits PRINT_LOGITS --work FOLDER --mpiexec COMMAND [--all]

Each family is exported from scratch, from an import, merged with adapters, and after training on pairs of answers.
transformers 5 reads its configuration, generation settings and tokenizer; with the peers of scripts/setup.sh --new-peers it also
computes the logits. --all: each origin of each family instead of one of three.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "tokenizers", "torch", "transformers")

import numpy
import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as token_models

import hf_test
from at_once import at_once
from today import READER, expect_usable, read_all
from trainings import Failure, expect

GROUPED = {"kv_heads": 2}
# Family -> keys of `model` beyond those of all. A scale of 1 / sqrt(24) is a whole number in config.json.
FAMILIES = {
    "gpt2": {}, "gpt_neox": {}, "llama": GROUPED, "mistral": GROUPED | {"window": 8}, "qwen2": GROUPED,
    "qwen3": GROUPED | {"head_dim": 12}, "gemma": GROUPED, "gemma2": GROUPED | {"window": 8, "attention_scale": 1 / math.sqrt(24)},
    "gemma3": GROUPED | {"window": 8}, "gemma3-full": GROUPED, "phi3": GROUPED, "smollm3": GROUPED,
    "granite": GROUPED | {"attention_scale": 0.125, "multiplier": {"logits": 0.25}}, "olmo2": {},
}
SIZES = {"layers": 2, "hidden": 32, "heads": 4, "ffn_hidden": 48, "max_seq": 32}
VOCAB = 256
STEP = ("train.steps=1", "precision.compute=fp32")


class Place(hf_test.Place):
    def write_deck(self, name, **parts):
        """JSON is YAML too."""
        deck = {"deck_version": 1, "run": {"name": name, "dir": f"runs/{name}"},
                "data": {"tokenizer": "bytes", "seq": 32, "train": [{"format": "text", "path": "text.txt"}]},
                "train": {"steps": 1, "global_batch": 2, "micro_batch": 1}, "optimizer": {"lr": 1e-2},
                "schedule": {"kind": "constant"}, "precision": {"compute": "fp32"}}
        (self.folder / f"{name}.yaml").write_text(json.dumps(deck | parts))
        return f"{name}.yaml"

    def write_lines(self, name, records):
        (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return name


def logits_agree(place, folder, deck, *settings):
    """The exported model computes what ziggurat computes from the checkpoint."""
    tokens = numpy.random.default_rng(7).integers(0, VOCAB, hf_test.SEQ)
    tokens.astype(numpy.int32).tofile(place.folder / "tokens.i32")
    model, report = transformers.AutoModelForCausalLM.from_pretrained(place.folder / folder, output_loading_info=True,
                                                                      dtype=torch.float32)
    expect(not any(report.values()), f"{folder}: transformers reports {report}")
    theirs = hf_test.logits_there(model.eval(), tokens)
    hf_test.expect_close(folder, place.logits_here(deck, VOCAB, 1, f"data.seq={hf_test.SEQ}", *settings), theirs)
    made = model.generate(torch.tensor(tokens[None]), max_new_tokens=4, do_sample=False)
    expect(made.shape[1] > len(tokens), f"{folder}: nothing is generated")


def write_pairs(place):
    """A sample file of pairs of bytes, as decks/DATA.md describes it."""
    samples = [(list(b"1 2 3"), list(answer)) for _ in range(4) for answer in (b"good", b"bad, bad")]
    words = [token | counts << 31 for prompt, answer in samples for counts, part in enumerate((prompt, answer)) for token in part]
    begins = numpy.cumsum([0, *(len(prompt) + len(answer) for prompt, answer in samples)])
    header = struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", 2, 0, len(samples), len(words), sum(word >> 31 for word in words), 0, 0, 0)
    (place.folder / "pairs.samples").write_bytes(header + struct.pack(f"<{len(words)}I", *words) + begins.astype("<i8").tobytes())


def families_are_read(place, has_all):
    (place.folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 40)
    write_pairs(place)
    scratch = {name: place.write_deck(name, model=SIZES | {"family": name.partition("-")[0]} | more) for name, more in FAMILIES.items()}
    at_once(place, *(("train", deck) for deck in scratch.values()))
    at_once(place, *(("export", f"runs/{name}", name, "--dtype", "f32") for name in FAMILIES))
    later = []  # name of the folder, command that makes the run
    for number, name in enumerate(FAMILIES):
        deck = place.write_deck(f"{name}_next", model={"init": {"from": "hf", "path": name}})
        pairs = ("data={tokenizer: none, seq: 32, train: [{format: chat, path: pairs.samples}]}", "train.objective={kind: dpo}")
        origins = [("import", ("import", name, f"runs/{name}_import")),
                   ("merge", ("train", deck, f"run.dir=runs/{name}_merge", "train.lora={rank: 2}")),
                   ("dpo", ("train", deck, f"run.dir=runs/{name}_dpo", *pairs))]
        later += [(f"{name}_{origin}", command) for at, (origin, command) in enumerate(origins)
                  if has_all or at == number % len(origins)]
    at_once(place, *(command for _, command in later))
    at_once(place, *(("export", f"runs/{name}", name, "--dtype", "f32", *(["--merge"] if name.endswith("_merge") else []))
                     for name, _ in later))
    folders = [*FAMILIES, *(name for name, _ in later)]
    for folder, read in read_all(place.folder, folders).items():
        expect_usable(place.folder, folder, read)
    if peers.are_new():
        for name in folders:
            family = name if name in FAMILIES else name.rpartition("_")[0]
            lora = ("train.lora={rank: 2}",) if name.endswith("_merge") else ()
            logits_agree(place, name, f"{family}.yaml", "model.init.from=checkpoint", f"model.init.path=runs/{name}",
                         f"run.dir=runs/{name}_logits", *lora)
    print(f"  {len(folders)} folders of {len(FAMILIES)} families are read")


def scales_that_no_class_has_are_refused(place):
    deck = place.write_deck("odd", model=SIZES | {"family": "gemma3", "attention_scale": 0.3})
    place.ziggurat("train", deck)
    said = place.ziggurat("export", "runs/odd", "odd", code=2)
    expect("model.attention_scale = 0.3" in said and "query_pre_attn_scalar" in said and "0.30151" in said, said)


# ---------------------------------------------------------------- ends of answers

END, TURN, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
OTHER_CHAT = CHAT.replace("<|im_end|>", "<|eot|>")  # of a file beside the tokenizer
SAYS_END = CHAT.replace("{% if add", "{% if false %}{{ eos_token }}{% endif %}{% if add")
ANSWER = "Good morning to you."


def save_tokenizer(place, name, template=CHAT):
    tokenizer = Tokenizer(token_models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([ANSWER, "user assistant Hello"] * 9, trainers.BpeTrainer(
        vocab_size=280, show_progress=False, special_tokens=[END, TURN, TURN_END, "<|eot|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    saved = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)
    saved.chat_template = template
    saved.save_pretrained(place.folder / name)
    return saved


def greedy(place, folder, tokenizer, template=None):
    """The tokens that transformers generates as an answer to Hello, at most 60."""
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "Hello"}], chat_template=template,
                                           add_generation_prompt=True, tokenize=False)
    ids = torch.tensor([tokenizer(prompt, add_special_tokens=False)["input_ids"]])
    model = transformers.AutoModelForCausalLM.from_pretrained(place.folder / folder).eval()
    with torch.no_grad():
        made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=60, do_sample=False, synced_gpus=False)
    return made[0, ids.shape[1]:].tolist()


def ends_of(place, folder):
    ids = transformers.GenerationConfig.from_pretrained(place.folder / folder).eos_token_id
    return sorted(ids) if isinstance(ids, list) else [ids]


def answers_end(place):
    """A base whose texts end with token 0 learns to end turns with another token."""
    tokenizer = save_tokenizer(place, "tuned_tokenizer")
    turn_end, eot = tokenizer.convert_tokens_to_ids([TURN_END, "<|eot|>"])
    base = place.write_deck("base", model=SIZES | {"family": "llama", "max_seq": 64, "vocab": len(tokenizer), "tie_embeddings": True},
                            data={"tokenizer": {"kind": "hf", "path": "tuned_tokenizer"}, "seq": 32,
                                  "train": [{"format": "llmc", "path": "base.bin"}]})
    place.ziggurat("tokenize", "text.txt", "--tokenizer", "tuned_tokenizer", "--out", "base", "--format", "llmc")
    place.ziggurat("train", base)
    place.ziggurat("export", "runs/base", "base", "--dtype", "f32")
    expect(not (place.folder / "base" / "generation_config.json").exists(), "a base that was trained on texts ends answers")
    talk = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": ANSWER}]
    place.write_lines("talks.jsonl", [{"messages": talk}] * 32)
    place.write_lines("talk_pairs.jsonl", [{"prompt": talk[:1], "chosen": talk[1:], "rejected": [{"role": "assistant", "content": "No."}]}])
    (place.folder / "eot.jinja").write_text(OTHER_CHAT)
    shutil.copytree(place.folder / "base", place.folder / "listed")
    (place.folder / "listed" / "generation_config.json").write_text('{"eos_token_id": [5, 0], "top_k": 7}')
    shutil.copytree(place.folder / "base", place.folder / "other_end")
    (place.folder / "other_end" / "generation_config.json").write_text('{"eos_token_id": 5}')
    place.write_lines("plain.jsonl", [{"prompt": "Hello", "completion": f" {ANSWER}"}] * 8)
    shutil.copytree(place.folder / "base", place.folder / "says_end")
    save_tokenizer(place, "says_end", SAYS_END)
    place.ziggurat("tokenize", "talks.jsonl", "--chat", "--tokenizer", "base", "--template", "eot.jinja", "--out", "eot")

    def tune(name, model, source, *more):
        deck = place.write_deck(name, model={"init": {"from": "hf", "path": model}},
                                data={"tokenizer": {"kind": "hf", "path": model}, "seq": 64, "train": [{"format": "chat", **source}]})
        return ("train", deck, *more)

    talks, eot_talks = {"path": "talks.jsonl"}, {"path": "talks.jsonl", "template": "./eot.jinja"}
    runs = {"tuned": ("base", talks, ("train.steps=40", "train.global_batch=8")), "template": ("base", eot_talks, ()),
            "samples": ("base", {"path": "eot.samples"}, ()), "listed_tuned": ("listed", talks, ()),
            "pairs": ("base", {"path": "talk_pairs.jsonl"}, ("train.objective={kind: dpo}", "train.global_batch=1")),
            "adapted": ("base", talks, ("train.lora={rank: 2}",)), "says": ("says_end", talks, ()),
            "plain": ("other_end", {"path": "plain.jsonl"}, ())}
    at_once(place, *(tune(name, model, source, *more) for name, (model, source, more) in runs.items()))
    notes = dict(zip(runs, at_once(place, *(
        ("export", f"runs/{name}", f"{name}_out", "--dtype", "f32", *(["--merge"] if name == "adapted" else [])) for name in runs))))
    # Ends of generation, end of a turn, eos_token of the tokenizer.
    usual, with_eot = ([0, turn_end], TURN_END, TURN_END), ([0, eot], "<|eot|>", "<|eot|>")
    wanted = {"tuned": usual, "template": with_eot, "samples": with_eot, "listed_tuned": (sorted([0, 5, turn_end]), TURN_END, TURN_END),
              "pairs": usual, "adapted": usual, "says": (usual[0], TURN_END, END), "plain": ([0, 5], END, END)}
    read = read_all(place.folder, [f"{name}_out" for name in runs])
    for name, (ends, end_of_turn, eos) in wanted.items():
        folder = f"{name}_out"
        expect_usable(place.folder, folder, read[folder])
        expect(ends_of(place, folder) == ends, f"{name}: generation ends at {ends_of(place, folder)}, not {ends}\n{notes[name]}")
        expect(read[folder]["tokenizer"]["eos_token"] == eos, f"{name}: {read[folder]['tokenizer']}, not {eos}")
        expect(f"end turns with '{end_of_turn}'" in notes[name], notes[name])
        raw = Tokenizer.from_file(str(place.folder / "base" / "tokenizer.json"))
        expect(read[folder]["tokenizer"]["ids"] == raw.encode(read_text()).ids, f"{name}: other tokens than those of tokenizer.json")
    expect("eos_token of the tokenizer is" not in notes["says"], notes["says"])
    expect(json.loads((place.folder / "listed_tuned_out" / "generation_config.json").read_text())["top_k"] == 7, "top_k is lost")
    expect("<|eot|>" in read["template_out"]["tokenizer"]["talk"], f"another template: {read['template_out']}")

    answer = tokenizer(ANSWER + TURN_END, add_special_tokens=False)["input_ids"]
    made = greedy(place, "tuned_out", transformers.AutoTokenizer.from_pretrained(place.folder / "tuned_out"))
    expect(made == answer, f"the tuned model answers {made}, not {answer}")
    said = place.ziggurat("sample", "runs/tuned", "--chat", "--prompt", "Hello", "--temperature", 0, "--tokens", 60)
    expect(f"\n{ANSWER}\n" in said and f"{len(answer)} tokens" in said, said)
    print(f"  a tuned model answers in {len(made)} tokens; ends of {len(wanted)} runs are right")


def read_text():
    """The text whose ids the reader prints."""
    return next(eval(line.split(" = ")[1]) for line in READER.read_text().splitlines() if line.startswith("TEXT = "))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "logits", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--all", action="store_true", help="each origin of each family")
    chosen = parser.parse_args()
    place = Place(chosen)
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    families_are_read(place, chosen.all or peers.are_new())
    scales_that_no_class_has_are_refused(place)
    answers_end(place)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
