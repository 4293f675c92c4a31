#!/usr/bin/env python3
"""Weights keep their meaning: those of a checkpoint under another deck, tied embeddings however they are stored, and rotary
positions however they are spelled. Logits are those of transformers, or the start is refused with the name of the key.

  field2_weights_test.py --binary ZIGGURAT --logits PRINT_LOGITS --work FOLDER --mpiexec COMMAND

Runs by a Python with transformers and PyTorch, as hf_test.py does.
"""

import argparse
import json
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "safetensors", "tokenizers", "torch", "transformers")

import numpy
import safetensors.torch
import tokenizers
import torch

import field2_folders_test as folders
from config_changes import EMBEDDING, HEAD
from folder_changes import Folder
from hf_test import Place
from trainings import Failure, expect

LINEAR = {"rope_type": "linear", "factor": 2.0}
PARTS = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA_TIED, LLAMA_LINEAR, LLAMA_PARTS, GPT2, GPT2_UNTIED, NEOX, NEOX_TIED = range(len(folders.MODELS))


def folder_of(number, drop=(), **keys):
    config, tensors = folders.original(number)
    return Folder({key: value for key, value in config.items() if key not in drop} | keys, tensors)


# ---------------------------------------------------------------- tied or not


class SavedOnce(Folder):
    """A tied model as safetensors.torch.save_model leaves it: once, under the name that it chooses."""

    def write(self, folder):
        super().write(folder)
        config_class, model_class = folders.CLASSES[self.family]
        model = model_class(config_class.from_dict(self.config))
        report = model.load_state_dict(self.tensors, strict=False)
        expect(not report.unexpected_keys, f"{folder}: {report}")
        model.tie_weights()
        safetensors.torch.save_model(model, str(folder / "model.safetensors"), metadata={"format": "pt"})
        with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
            expect(set(file.metadata()) & {EMBEDDING[self.family], HEAD[self.family]}, f"{folder}: save_model names no second name")


def tied_cases():
    for number in (LLAMA_TIED, GPT2, NEOX_TIED):
        config, tensors = folders.original(number)
        family, table = config["model_type"], EMBEDDING[config["model_type"]]
        head = HEAD[family]
        if number != NEOX_TIED or not peers.are_new():  # today's class has other names in memory than in files
            yield f"{family} by save_model", SavedOnce(config, tensors), None
            saved = SavedOnce(config, tensors)
            saved.config = dict(config, tie_word_embeddings=True)
            yield f"{family} by save_model, with the key", saved, None
        other = folder_of(number)
        other.tensors[head] = other.tensors.pop(table)
        other.shards, other.absent = 2, [table]
        yield f"{family}: an index lists the embedding, the head is there", other, None
        listed = folder_of(number)
        listed.shards, listed.absent = 3, [head]
        yield f"{family}: an index lists the head, the embedding is there", listed, None
        twice = folder_of(number)
        twice.tensors[head] = twice.tensors[table].clone()
        yield f"{family}: both, the same", twice, None
        own = folder_of(number)
        own.tensors[head] = own.tensors[table].clone()
        own.tensors[head][3, 5] += 0.5
        yield f"{family}: both, one number differs", own, (head, table, "tie_word_embeddings")
        own_in_shards = folder_of(number)
        own_in_shards.tensors[head] = own_in_shards.tensors[table].to(torch.bfloat16)
        own_in_shards.shards = 3
        yield f"{family}: both, one is rounded", own_in_shards, (head, table, "tie_word_embeddings")
        untied = folder_of(number, tie_word_embeddings=False)
        yield f"{family}: not tied, and no head", untied, (head,)
        alias = folder_of(number, tie_word_embeddings=False)
        alias.tensors[head] = alias.tensors.pop(table)
        alias.metadata = {"format": "pt", table: head}
        yield f"{family}: not tied, and the header says so", alias, (table, head, "tie_word_embeddings = false")
        gone = folder_of(number)
        gone.shards, gone.absent = 2, [head, table]
        del gone.tensors[table]
        yield f"{family}: an index lists both, neither is there", gone, (table,)
    own = folder_of(GPT2, drop=("tie_word_embeddings",))
    own.tensors[HEAD["gpt2"]] = torch.randn(own.tensors[EMBEDDING["gpt2"]].shape)
    yield "gpt2: tied by default, another head", own, (HEAD["gpt2"], "tie_word_embeddings")
    yield "gpt2: tied is null", folder_of(GPT2_UNTIED, tie_word_embeddings=None), ("tie_word_embeddings",)
    yield "llama: a head where the key is missing", folder_of(LLAMA_LINEAR, drop=("tie_word_embeddings",)), None


# ---------------------------------------------------------------- positions


def position_cases():
    old = ("rope_theta", "rope_scaling")
    yield "rope_theta beside a factor", folder_of(LLAMA_LINEAR, drop=old, rope_scaling=LINEAR | {"rope_theta": 77.0}), None
    yield "rope_parameters alone", folder_of(LLAMA_LINEAR, drop=old, rope_parameters=PARTS | {
        "rope_theta": 99.0, "original_max_position_embeddings": 16}), None
    yield "the first length is the longest", folder_of(LLAMA_LINEAR, drop=old, rope_parameters=PARTS), None
    yield "an empty rope_scaling", folder_of(LLAMA_LINEAR, drop=old, rope_scaling={}, rope_parameters={"rope_theta": 55}), None
    yield "twice, the same", folder_of(LLAMA_LINEAR, rope_parameters=LINEAR | {"rope_theta": 10000}), None
    yield "type is the older rope_type", folder_of(LLAMA_LINEAR, rope_scaling={"type": "linear", "factor": 2}), None
    yield "another base outside", folder_of(LLAMA_LINEAR, rope_parameters={"rope_theta": 55.0}, drop=("rope_scaling",)), ("rope_theta",)
    yield "another base in the map that is not read", folder_of(
        LLAMA_LINEAR, drop=("rope_theta",), rope_parameters=LINEAR | {"rope_theta": 55.0}), ("rope_parameters.rope_theta = 55",)
    yield "another factor in the other map", folder_of(LLAMA_LINEAR, rope_parameters=LINEAR | {"factor": 4.0}), ("factor = 4",)
    yield "another type in the other map", folder_of(
        LLAMA_PARTS, rope_parameters={"rope_type": "default", "rope_theta": 300.0}), ("rope_parameters.rope_type",)
    yield "two types", folder_of(LLAMA_LINEAR, rope_scaling=LINEAR | {"type": "default"}), ("rope_scaling.type",)
    yield "a factor without a type", folder_of(LLAMA_LINEAR, rope_scaling={"factor": 2.0}), ("rope_scaling.factor",)
    yield "another first length outside", folder_of(LLAMA_PARTS, original_max_position_embeddings=32), (
        "original_max_position_embeddings = 32",)
    yield "a share of channels", folder_of(LLAMA_TIED, partial_rotary_factor=0.5), ("partial_rotary_factor = 0.5",)
    yield "a base for each kind of layer", folder_of(LLAMA_TIED, drop=old, rope_parameters={
        "full_attention": {"rope_type": "default", "rope_theta": 55.0}}), ("full_attention",)
    yield "no map", folder_of(LLAMA_TIED, rope_scaling="linear"), ("rope_scaling",)

    own = ("rotary_pct", "rotary_emb_base", "rope_scaling")
    newer = {"rope_type": "default", "rope_theta": 123.0, "partial_rotary_factor": 1.0}
    yield "gpt_neox: rope_parameters alone", folder_of(NEOX, drop=own, rope_parameters=newer), None
    yield "gpt_neox: linear in rope_scaling", folder_of(NEOX, drop=own, rope_scaling=LINEAR | {"partial_rotary_factor": 0.5}), None
    yield "gpt_neox: the share outside", folder_of(NEOX, drop=("rope_scaling", "rotary_emb_base"), rope_parameters={
        "rope_theta": 123.0}), None
    yield "gpt_neox: as older versions repeat them", folder_of(NEOX, rope_theta=700.0, partial_rotary_factor=0.5), None
    yield "gpt_neox: another share outside", folder_of(NEOX, drop=("rotary_emb_base",), rope_parameters=newer), ("rotary_pct = 0.5",)
    yield "gpt_neox: another base outside", folder_of(NEOX, drop=("rotary_pct",), rope_parameters=newer), ("rotary_emb_base = 700",)
    yield "gpt_neox: rope_theta alone, which nobody reads", folder_of(NEOX, drop=own, rope_theta=123.0), ("rope_theta = 123",)
    yield "gpt_neox: partial_rotary_factor alone", folder_of(NEOX, drop=own, partial_rotary_factor=0.5), (
        "partial_rotary_factor = 0.5", "rotary_pct")
    yield "gpt2: heads by another name", folder_of(GPT2, drop=("n_head",), num_attention_heads=8), None
    yield "gpt2: heads by two names", folder_of(GPT2, num_attention_heads=8), ("num_attention_heads = 8", "n_head = 4")
    yield "gpt2: scale_attn_weights is null", folder_of(GPT2, scale_attn_weights=None), ("scale_attn_weights",)


def folders_say_what_they_hold(place):
    cases = [*tied_cases(), *position_cases()]
    tokens = folders.write_inputs(place.folder, random.Random(2))
    for number, (_, folder, _) in enumerate(cases):
        folder.write(place.folder / str(number))
    folders.run_each(place.logits, place.folder, len(cases))
    for number, (what, folder, refusal) in enumerate(cases):
        path = place.folder / str(number)
        said = (path / "refusal.txt").read_text() if (path / "refusal.txt").exists() else ""
        if refusal is None:
            theirs = folders.logits_there(folder, path, tokens)
            expect(theirs is not None, f"{what}: transformers does not read it ({path})")
            expect(not said, f"{what}: it is refused: {said}")
            apart = numpy.abs(numpy.fromfile(path / "logits.f32", numpy.float32).reshape(theirs.shape) - theirs).max()
            expect(apart <= folders.MAX_APART, f"{what}: logits {apart} apart")
        else:
            expect(said, f"{what}: it is read")
            for name in refusal:
                expect(name in said, f"{what}: {name!r} is not in\n{said}")
    print(f"    {len(cases)} folders")


# ---------------------------------------------------------------- weights of a checkpoint


BYTES = 256


def write_tokenizer(folder, rotation):
    """A byte-level tokenizer with a token for each byte; `rotation` numbers them in another way."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocab={letter: (number + rotation) % BYTES for number, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))


def with_bytes(number, **keys):
    """The model with a token for each byte."""
    folder = folder_of(number, vocab_size=BYTES, **keys)
    torch.manual_seed(number)
    for name in (EMBEDDING[folder.family], HEAD[folder.family]):
        if name in folder.tensors:
            folder.tensors[name] = torch.randn(BYTES, folder.tensors[name].shape[1]) * 0.2
    return folder


TOKENS = "data.train=[{format: llmc, path: tokens.bin}]"


def judge(place, name, settings, code=0, says=(), lacks=()):
    said = place.ziggurat("check", f"runs/{name}/deck.yaml", f"data.seq={folders.SEQ}", f"run.dir=runs/{name}-on",
                          *(() if any(text.startswith("data.train=") for text in settings) else (TOKENS,)), *settings, code=code)
    for words in says:
        expect(words in said, f"{name} {settings}: {words!r} is not in\n{said}")
    for words in lacks:
        expect(words not in said, f"{name} {settings}: {words!r} is in\n{said}")
    return said


def weights_keep_their_meaning(place):
    tokens = numpy.random.default_rng(1).integers(0, folders.VOCAB, 400).astype(numpy.uint16)
    header = numpy.zeros(256, numpy.int32)
    header[:3] = 20240520, 1, len(tokens)
    (place.folder / "tokens.bin").write_bytes(header.tobytes() + tokens.tobytes())
    names = {"llama": LLAMA_LINEAR, "parts": LLAMA_PARTS, "gpt2": GPT2, "gpt_neox": NEOX}
    for name, number in names.items():
        with_bytes(number).write(place.folder / name)
        write_tokenizer(place.folder / name, 0)
        place.ziggurat("import", name, f"runs/{name}")
        judge(place, name, [], says=["with the weights of"], lacks=["warning"])
    (place.folder / "other").mkdir()
    write_tokenizer(place.folder / "other", 1)

    for name, settings, key in (
            ("gpt2", ["model.heads=8"], "model.heads"), ("gpt_neox", ["model.heads=2"], "model.heads"),
            ("llama", ["model.kv_heads=1"], "model.kv_heads"), ("gpt2", ["model.tie_embeddings=false"], "model.tie_embeddings"),
            ("gpt2", ["model.max_seq=12"], "model.max_seq"), ("llama", ["model.vocab=257"], "model.vocab"),
            ("gpt2", ["data.tokenizer.path=other"], "data.tokenizer.hash"),
            ("parts", ["data.tokenizer.path=other"], "data.tokenizer.hash"),
            ("parts", ["data.tokenizer=bytes", "data.train=[{format: text, path: parts/config.json}]"], "data.tokenizer.kind")):
        for more in ([], ["model.init.accept_change=[model.rope_theta]"]):
            if not more or name != "gpt2":
                judge(place, name, settings + more, 2, ["the checkpoint is of another model", f"{key} is ", "now"])
    for name, settings, key, accepted in (
            ("gpt_neox", ["model.rotary_fraction=1"], "model.rotary_fraction", "model.rotary_fraction"),
            ("gpt_neox", ["model.rope_theta=701"], "model.rope_theta", "model.rope_theta"),
            ("llama", ["model.rope_scaling=none"], "model.rope_scaling.kind", "model.rope_scaling"),
            ("llama", ["model.rope_scaling.factor=4"], "model.rope_scaling.factor", "rope_scaling"),
            ("parts", ["model.rope_scaling.low_freq_factor=2"], "model.rope_scaling.low_freq_factor", "model.rope_scaling"),
            ("parts", ["model.rope_scaling.original_max_seq=32"], "model.rope_scaling.original_max_seq",
             "model.rope_scaling.original_max_seq"),
            ("gpt2", ["model.norm_epsilon=1.1e-5"], "model.norm_epsilon", "model.norm_epsilon")):
        judge(place, name, settings, 2, [f"{key} is ", f"model.init.accept_change: [{key}]"])
        judge(place, name, [*settings, f"model.init.accept_change=[{accepted}]"],
              says=["warning", f"{key} is ", "model.init.accept_change accepts it"])
    accept = "model.init.accept_change="
    judge(place, "llama", [accept + "[model.norm_epsilon]"], says=["'model.norm_epsilon' has no effect"])
    judge(place, "llama", [accept + "[model.heads]"], 2, ["'model.heads' cannot be accepted", "model.rope_theta"])
    judge(place, "llama", [accept + "[model.rope_thata]"], 2, ["'model.rope_thata' cannot be accepted", "no such key"])
    judge(place, "llama", ["model.init={from: random, accept_change: [model.rope_theta]}"],
          says=["model.init.accept_change has no effect"])
    judge(place, "llama", ["data.tokenizer=none"], says=["note", "data.tokenizer.kind is hf"])


def accepted_changes_are_those_of_transformers(place):
    """Accepted changes train from the weights as transformers computes with them; train refuses what check refuses."""
    common = [f"data.seq={folders.SEQ}", TOKENS, "train.steps=1", "train.micro_batch=1"]
    said = place.ziggurat("train", "runs/llama/deck.yaml", *common, "run.dir=runs/refused", "model.rope_theta=123", code=2)
    expect("model.rope_theta is 1" in said and "accept_change" in said, said)
    tokens = folders.write_inputs(place.folder, random.Random(3))
    for settings, keys in ((["model.rope_theta=123", "model.rope_scaling.factor=3"],
                            {"rope_theta": 123.0, "rope_scaling": LINEAR | {"factor": 3.0}}),
                           (["model.norm_epsilon=0.01"], {"rms_norm_eps": 0.01})):
        accept = "model.init.accept_change=[model.rope_theta, model.rope_scaling, model.norm_epsilon]"
        folder = with_bytes(LLAMA_LINEAR, **keys)
        theirs = folders.logits_there(folder, place.folder / "llama", tokens)
        for deck, init in (("runs/llama/deck.yaml", []), ("deck.yaml", ["model.init.path=llama"])):
            place.run(place.logits, deck, "tokens.i32", "logits.f32", *common[:2], *init, *settings, accept, "precision.compute=fp32")
            ours = numpy.fromfile(place.folder / "logits.f32", numpy.float32).reshape(theirs.shape)
            expect(numpy.abs(ours - theirs).max() <= folders.MAX_APART, f"{deck} {settings}: other logits")
        said = place.ziggurat("check", "deck.yaml", "model.init.path=llama", *settings, code=2)
        expect("model.init.accept_change: [model." in said and "llama/config.json" in said, said)
        said = place.ziggurat("train", "runs/llama/deck.yaml", *common, *settings, accept, f"run.dir=runs/{settings[0]}")
        expect("model.init.accept_change accepts it" in said and "begins with the weights" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "logits", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    torch.set_num_threads(1)
    for test in (folders_say_what_they_hold, weights_keep_their_meaning, accepted_changes_are_those_of_transformers):
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"field2_weights: {failure}", file=sys.stderr)
        sys.exit(1)
