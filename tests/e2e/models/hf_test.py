#!/usr/bin/env python3
"""Models in and out, held against transformers: logits in both directions on any layout, the same bytes back, and what is
not built refused by its name.

  hf_test.py --binary ZIGGURAT --logits PRINT_LOGITS --work FOLDER --mpiexec COMMAND

Runs by a Python with transformers and PyTorch, which scripts/setup.sh --tests makes in build/peers; without one it says
so and leaves with 77. The models are made here: small, of odd sizes, with random numbers in every tensor.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "tokenizers", "torch", "transformers")

import numpy
import today
import tokenizers
import torch
import transformers
from byte_letters import bytes_to_unicode

from trainings import Failure, expect

transformers.utils.logging.disable_progress_bar()
ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "models.md"
MOST_APART = 1e-4
SEQ = 16
PATIENCE_S = 240
PARTS = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 16}
MODELS = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=2, n_embd=36, n_head=3, n_positions=24, vocab_size=61, layer_norm_epsilon=2e-5, bos_token_id=0,
        eos_token_id=0)),
    "llama_tied": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=48, num_attention_heads=6, num_key_value_heads=2, intermediate_size=44,
        vocab_size=67, max_position_embeddings=64, rope_theta=500.0, rms_norm_eps=3e-6, tie_word_embeddings=True,
        rope_scaling=PARTS)),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=3, hidden_size=40, num_attention_heads=4, num_key_value_heads=4, intermediate_size=52,
        vocab_size=66, max_position_embeddings=64, rope_scaling={"rope_type": "linear", "factor": 2.0})),
    "gpt_neox": lambda: transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
        num_hidden_layers=2, hidden_size=40, num_attention_heads=5, intermediate_size=92, vocab_size=59,
        max_position_embeddings=32, rotary_pct=0.5, rotary_emb_base=3000, layer_norm_eps=2e-5)),
}
SPLIT_MODELS = ["llama_tied"]  # also over tensor and pipeline ranks
SHARDED = {"llama": "70KB"}  # of transformers' files; three of them in f32


class Place:
    def __init__(self, chosen):
        self.binary, self.logits, self.folder = chosen.binary.resolve(), chosen.logits.resolve(), chosen.work.resolve()
        self.mpiexec = shlex.split(chosen.mpiexec)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def run(self, *command, code=0):
        """What the command prints; it leaves with `code`."""
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE_S, errors="replace")
        expect(done.returncode == code, f"{shlex.join(map(str, command))}: exit code {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def ziggurat(self, *words, code=0):
        return self.run(self.binary, *words, code=code)

    def logits_here(self, deck, vocab, ranks, *settings):
        launcher = [*self.mpiexec, "-n", ranks] if ranks > 1 else []
        self.run(*launcher, self.logits, deck, "tokens.i32", "logits.f32", *settings)
        return numpy.fromfile(self.folder / "logits.f32", numpy.float32).reshape(SEQ, vocab)


def save_model(place, name):
    """Saves a model under its name, in f32 and in bf16, each number of it random."""
    torch.manual_seed(len(name))
    model = MODELS[name]().eval()
    with torch.no_grad():
        for tensor_name, tensor in model.named_parameters():
            is_gain = tensor.dim() == 1 and tensor_name.endswith("weight")
            tensor.copy_(torch.randn_like(tensor) * 0.15 + (1.0 if is_gain else 0.0))
    model.save_pretrained(place.folder / name, max_shard_size=SHARDED.get(name, "5GB"))
    model.to(torch.bfloat16).save_pretrained(place.folder / f"{name}_bf16")


def make_model(place, name):
    save_model(place, name)
    return transformers.AutoModelForCausalLM.from_pretrained(place.folder / name).eval()


def logits_there(model, tokens):
    with torch.no_grad():
        return model(torch.tensor(tokens, dtype=torch.long)[None], use_cache=False).logits[0].numpy()


def write_deck(place, name, vocab):
    place.folder.joinpath(f"{name}.yaml").write_text(
        f"deck_version: 1\nrun: {{name: {name}, dir: runs/{name}}}\n"
        f"model: {{init: {{from: hf, path: {name}}}}}\n"
        f"data: {{tokenizer: none, seq: {SEQ}, train: [{{format: llmc, path: tokens.bin}}]}}\n"
        "train: {steps: 2, global_batch: 4, micro_batch: 1}\noptimizer: {lr: 1.0e-2}\n"
        "schedule: {kind: constant}\nprecision: {compute: fp32}\n")
    tokens = numpy.random.default_rng(len(name)).integers(0, vocab, 400).astype(numpy.uint16)
    header = numpy.zeros(256, numpy.int32)
    header[:3] = 20240520, 1, len(tokens)
    (place.folder / "tokens.bin").write_bytes(header.tobytes() + tokens.tobytes())
    tokens[:SEQ].astype(numpy.int32).tofile(place.folder / "tokens.i32")
    return f"{name}.yaml", tokens[:SEQ].astype(numpy.int64)


def expect_close(what, ours, theirs):
    apart = numpy.abs(ours - theirs).max()
    expect(apart <= MOST_APART, f"{what}: logits {apart} apart")
    print(f"    {what}: logits {apart:.1e} apart, of {numpy.abs(theirs).max():.1f} at most")


def logits_agree_both_ways(place, name):
    model = make_model(place, name)
    vocab = model.config.vocab_size
    deck, tokens = write_deck(place, name, vocab)
    theirs = logits_there(model, tokens)
    layouts = [(1,), (4, "sharding.zero=3"), (2, "sharding.zero=0")]
    layouts += [(2, "parallel.tensor=2"), (2, "parallel.pipeline=2")] if name in SPLIT_MODELS else []
    for ranks, *settings in layouts:
        expect_close(f"{name} on {ranks} {settings}", place.logits_here(deck, vocab, ranks, *settings), theirs)

    place.run(*place.mpiexec, "-n", 2, place.binary, "train", deck, "sharding.zero=3")
    place.ziggurat("export", f"runs/{name}", f"{name}_out", "--dtype", "f32", "--shard", "30KB")
    tuned, report = transformers.AutoModelForCausalLM.from_pretrained(place.folder / f"{name}_out", output_loading_info=True)
    expect(not any(report.values()), f"{name}: transformers reports {report}")
    back = logits_there(tuned.eval(), tokens)
    expect(numpy.abs(back - theirs).max() > 100 * MOST_APART, f"{name}: training has changed nothing")
    ours = place.logits_here(f"runs/{name}/deck.effective.yaml", vocab, 2, "model.init.from=checkpoint", f"model.init.path=runs/{name}", "sharding.zero=3")
    expect_close(f"{name} trained and exported", ours, back)


def the_same_bytes_come_back(place, name):
    for source in (f"{name}_bf16", name):
        place.ziggurat("import", source, f"runs/{source}_in")
        place.ziggurat("inspect", f"runs/{source}_in", "--verify")
        place.ziggurat("export", f"runs/{source}_in", f"{source}_back", "--dtype", "bf16" if source != name else "f32")
    model = transformers.AutoModelForCausalLM.from_pretrained(place.folder / name)
    model.save_pretrained(place.folder / f"{name}_one_file")
    for ours, theirs in ((f"{name}_bf16_back", f"{name}_bf16"), (f"{name}_back", f"{name}_one_file")):
        read = [(place.folder / folder / "model.safetensors").read_bytes() for folder in (ours, theirs)]
        expect(read[0] == read[1], f"{ours}/model.safetensors is not that of {theirs}")
    print(f"    {name}: model.safetensors byte by byte, in bf16 and f32")


def the_deck_of_an_import_trains(place):
    place.ziggurat("import", "gpt2", "runs/imported")
    said = place.ziggurat("train", "runs/imported/deck.yaml", "data.train=[{format: llmc, path: tokens.bin}]",
                          "train.steps=1", f"data.seq={SEQ}", "run.dir=runs/imported-tuned")
    expect("begins with the weights of runs/imported/ckpt/step-000000000" in said, said)
    said = place.ziggurat("import", "gpt2", "runs/imported", code=2)
    expect("already holds a run" in said, said)
    said = place.ziggurat("export", "runs/imported", "gpt2", code=2)
    expect("already holds a model" in said, said)


def the_page_says_what_works(place):
    """Each command of docs/models.md, with a model, tokens and tasks where the page has them."""
    shutil.copytree(place.folder / "gpt2_bf16", place.folder / "models" / "mine")
    ids = {letter: byte for byte, letter in bytes_to_unicode().items()}  # digits and spaces are below 61
    bytes_alone = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=ids, merges=[]))
    bytes_alone.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone.decoder = tokenizers.decoders.ByteLevel()
    bytes_alone.save(str(place.folder / "models" / "mine" / "tokenizer.json"))
    (place.folder / "data").mkdir()
    (place.folder / "data" / "tasks.jsonl").write_text('{"ctx": "1 2 3", "endings": ["4", "5 6"], "label": 0}\n')
    shutil.copy(place.folder / "tokens.bin", place.folder / "data" / "train.bin")
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.M | re.S) for line in block.splitlines()]
    expect(len(commands) == 9, f"{PAGE} has {len(commands)} commands")
    for command in commands:
        program, *words = shlex.split(command)
        expect(program == "build/release/bin/ziggurat", command)
        place.ziggurat(*words)
    expect(len((place.folder / "data" / "choices.jsonl").read_text().splitlines()) == 1, "no line of choices")
    for name in ("mine-tuned", "mine-again", "mine-merged"):
        transformers.AutoModelForCausalLM.from_pretrained(place.folder / "models" / name)


def conflicts_name_both_values(place):
    is_written = "tie_word_embeddings" in (place.folder / "gpt2" / "config.json").read_text()  # newer versions write defaults
    tied = "tie_word_embeddings = true" if is_written else "leaves it at true"
    for setting, ours, theirs in (("model.layers=3", "model.layers = 3", "n_layer = 2 in line"),
                                  ("model.norm_epsilon=1e-5", "model.norm_epsilon = 1e-5", "layer_norm_epsilon = 2.0e-05"),
                                  ("model.tie_embeddings=false", "model.tie_embeddings = false", tied),
                                  ("model.max_seq=20", "model.max_seq = 20", "n_positions = 24"),
                                  ("model.family=llama", "model.family = llama", "model_type = gpt2")):
        said = place.ziggurat("check", "gpt2.yaml", setting, "run.dir=another", code=2)
        expect(ours in said and theirs in said and "gpt2/config.json" in said and "command line" in said, said)
    said = place.ziggurat("check", "llama_tied.yaml", "model.max_seq=32")
    expect("note" in said and "max_position_embeddings = 64" in said, said)
    place.ziggurat("check", "gpt2.yaml", "model.layers=2", "model.kv_heads=auto")
    said = place.ziggurat("check", "gpt2.yaml", "model.init.path=gone", "run.dir=another", code=2)
    expect("gone/config.json" in said and "there is no such file" in said, said)


def older_and_newer(config):
    """The configuration as transformers 4 and as transformers 5 write it: both can be read."""
    turning = ("rope_theta", "rope_scaling", "rope_parameters")
    rest = {key: value for key, value in config.items() if key not in turning}
    parameters = config.get("rope_parameters") or (config.get("rope_scaling") or {"rope_type": "default"}) | {"rope_theta": config["rope_theta"]}
    scaling = {key: value for key, value in parameters.items() if key not in ("rope_theta", "partial_rotary_factor")}
    older = rest | {"rope_theta": parameters["rope_theta"], "rope_scaling": scaling if scaling.get("rope_type") != "default" else None}
    return older, rest | {"rope_parameters": parameters}


def what_is_not_built_is_named(place):
    config, _ = older_and_newer(json.loads((place.folder / "llama_tied" / "config.json").read_text()))
    folder = place.folder / "changed"
    for change, said_of_it in (({"rope_scaling": {"rope_type": "proportional"}}, 'rope type "proportional" is not implemented'),
                               ({"sliding_window": 4096}, "sliding_window = 4096 is not implemented"),
                               ({"num_local_experts": 8}, "num_local_experts = 8 is not implemented"),
                               ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config = {"),
                               ({"hidden_act": "gelu"}, 'hidden_act = "gelu" is not implemented'),
                               ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
                               ({"model_type": "mixtral"}, 'model_type "mixtral" is not implemented'),
                               ({"hidden_size": None}, "hidden_size = null (a whole number is expected there)"),
                               ({"vocab_size": -1}, "model.vocab is vocab_size")):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place.folder / "llama_tied", folder)
        (folder / "config.json").write_text(json.dumps(config | change, indent=2))
        for words in (("import", "changed", "runs/changed"), ("check", "llama_tied.yaml", "model.init.path=changed", "run.dir=another")):
            said = place.ziggurat(*words, code=2)
            expect(said_of_it in said and "changed/config.json" in said, f"{change}: {said}")
    expect(not (place.folder / "runs" / "changed").exists(), "an import that was refused has left something")
    # Newer files keep what turns positions in one map.
    said = []
    for spelling in older_and_newer(config):
        (folder / "config.json").write_text(json.dumps(spelling, indent=2))
        said.append(place.ziggurat("check", "llama_tied.yaml", "--print", "model.init.path=changed", "run.dir=another"))
    models = [[line.split("#")[0] for line in text.splitlines() if "rope" in line or "factor" in line] for text in said]
    expect(models[0] == models[1] and len(models[0]) >= 5, f"{models}")


def broken_files_are_refused_on_all_ranks(place):
    folder = place.folder / "broken"
    shutil.copytree(place.folder / "gpt2", folder, dirs_exist_ok=True)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    for words in (("import", "broken", "runs/broken"), ("train", "gpt2.yaml", "model.init.path=broken", "run.dir=runs/broken2")):
        said = place.ziggurat(*words, code=4)
        expect("broken/model.safetensors" in said and "beyond the file" in said, said)
    said = place.run(*place.mpiexec, "-n", 2, place.binary, "train", "gpt2.yaml", "model.init.path=broken",
                     "run.dir=runs/broken3", code=4)
    expect("beyond the file" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "logits", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    torch.set_num_threads(1)
    for name in MODELS:
        logits_agree_both_ways(place, name)
        the_same_bytes_come_back(place, name)
    write_deck(place, "gpt2", 61)
    for test in (the_deck_of_an_import_trains, the_page_says_what_works, conflicts_name_both_values, what_is_not_built_is_named,
                 broken_files_are_refused_on_all_ranks):
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok", flush=True)
    today.exports_are_read(place.folder)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
