#!/usr/bin/env python3
"""Each family in and out, held against transformers: three small models of a family, of odd sizes and with random numbers
in every tensor.

  families_test.py --binary ZIGGURAT --logits PRINT_LOGITS --work FOLDER --mpiexec COMMAND [--part K/N]

Logits agree within 1e-4 on several layouts and after training and export, and an import that is exported has the same
bytes. What a configuration asks for and no family has is refused by name.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import hf_test
import numpy
import peers
import safetensors.torch
import today
import tokenizers
import torch
import transformers
from byte_letters import bytes_to_unicode
from trainings import Failure, expect

SIZES = {"num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2,
         "intermediate_size": 44, "vocab_size": 67, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 0,
         "pad_token_id": None}


GEMMA2 = {"hidden_activation": "gelu_pytorch_tanh", "attn_implementation": "eager"}
LONGROPE = {"type": "longrope", "short_factor": [1.0, 1.25, 1.5, 2.5], "long_factor": [1.5, 3.0, 7.0, 20.0]}


def maker(kind, **changes):
    """Makes a model of transformers' class `kind`."""
    config = getattr(transformers, f"{kind}Config")
    return lambda: getattr(transformers, f"{kind}ForCausalLM")(config(**(SIZES | changes)))


MODELS = {
    "llama_biases": maker("Llama", attention_bias=True, mlp_bias=True),
    "llama_attention_biases": maker("Llama", attention_bias=True, num_key_value_heads=3, tie_word_embeddings=True),
    "llama_wide_heads": maker("Llama", head_dim=12, num_key_value_heads=6),
    "mistral": maker("Mistral", sliding_window=None, rope_theta=1e6),
    "mistral_wide_heads": maker("Mistral", sliding_window=16, head_dim=14, num_hidden_layers=3),
    "mistral_window": maker("Mistral", sliding_window=5, num_hidden_layers=3),
    "mistral_window_of_one": maker("Mistral", sliding_window=1),
    "mistral_tied": maker("Mistral", sliding_window=4096, num_attention_heads=4, num_key_value_heads=4,
                          tie_word_embeddings=True),
    "qwen2": maker("Qwen2", rope_theta=1e6, rms_norm_eps=3e-6),
    "qwen2_tied": maker("Qwen2", tie_word_embeddings=True, num_attention_heads=3, num_key_value_heads=1),
    "qwen2_unused_window": maker("Qwen2", use_sliding_window=False, sliding_window=8, max_window_layers=1,
                                 num_hidden_layers=3, intermediate_size=52),
    "gemma": maker("Gemma", head_dim=10, hidden_activation="gelu_pytorch_tanh"),
    "gemma_old": maker("Gemma", head_dim=12, num_key_value_heads=1, hidden_act="gelu", hidden_activation=None),
    "gemma_untied": maker("Gemma", head_dim=8, num_key_value_heads=6, tie_word_embeddings=False, num_hidden_layers=3),
    "qwen2_window": maker("Qwen2", use_sliding_window=True, sliding_window=6, max_window_layers=0),
    "phi3": maker("Phi3", sliding_window=None),
    "phi3_window": maker("Phi3", sliding_window=7, num_attention_heads=4, num_key_value_heads=1),
    "phi3_grouped": maker("Phi3", sliding_window=64, num_attention_heads=4, num_key_value_heads=1, rope_theta=250000.0,
                          num_hidden_layers=3),
    "phi3_tied": maker("Phi3", num_attention_heads=3, num_key_value_heads=3, tie_word_embeddings=True),
    "granite": maker("Granite", attention_multiplier=0.015625, embedding_multiplier=12.0, residual_multiplier=0.22,
                     logits_scaling=8.0, tie_word_embeddings=True),
    "granite_untied": maker("Granite", attention_multiplier=0.2, embedding_multiplier=1.7, residual_multiplier=0.9,
                            logits_scaling=3.7, num_hidden_layers=3, rope_theta=1e6),
    "granite_biases": maker("Granite", attention_bias=True, mlp_bias=True, num_attention_heads=4, num_key_value_heads=4,
                            logits_scaling=0.3),
    "gemma2": maker("Gemma2", head_dim=10, num_hidden_layers=5, sliding_window=6, query_pre_attn_scalar=7,
                    attn_logit_softcapping=2.0, final_logit_softcapping=3.0, **GEMMA2),
    "gemma2_one_cap": maker("Gemma2", head_dim=8, sliding_window=64, num_key_value_heads=1, query_pre_attn_scalar=20,
                            attn_logit_softcapping=None, final_logit_softcapping=1.5, **GEMMA2),
    "gemma2_untied": maker("Gemma2", head_dim=12, num_hidden_layers=4, sliding_window=3, num_key_value_heads=6,
                           attn_logit_softcapping=0.7, final_logit_softcapping=None, tie_word_embeddings=False, **GEMMA2),
    # transformers 4.46 takes the maximum length for yarn's original one, so the configurations have no other.
    "llama_yarn": maker("Llama", rope_theta=100.0, rope_scaling={"rope_type": "yarn", "factor": 4.0}),
    "qwen2_yarn": maker("Qwen2", rope_theta=500.0, rope_scaling={
        "type": "yarn", "factor": 8.0, "attention_factor": 1.25, "beta_fast": 2.0, "beta_slow": 0.5,
        "original_max_position_embeddings": 64}),
    "gpt_neox_yarn": maker("GPTNeoX", rotary_pct=0.5, rotary_emb_base=100, hidden_size=96, rope_scaling={
        "rope_type": "yarn", "factor": 4.0}),
    "llama_dynamic": maker("Llama", rope_scaling={"rope_type": "dynamic", "factor": 2.0}),
    # The sequences of all tests are within the original length, or all of them are longer.
    "phi3_longrope_short": maker("Phi3", original_max_position_embeddings=32, rope_scaling=LONGROPE),
    "phi3_longrope_long": maker("Phi3", original_max_position_embeddings=8, rope_scaling=LONGROPE),
}
hf_test.MODELS = MODELS
hf_test.SPLIT_MODELS = ["llama_biases", "llama_wide_heads", "mistral_wide_heads", "mistral_window", "qwen2", "gemma",
                        "phi3_grouped", "qwen2_yarn", "phi3_longrope_long", "granite", "granite_untied", "gemma2"]
# Keys whose values come back from an import and an export.
SAME = ("architectures", "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling",
        "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping")

# The transformers of these tests has no SmolLM3, Qwen3, Gemma 3 and OLMo 2: its Llama and Gemma 2, changed as they are,
# stand for them.
NO_CAPS = {"attn_logit_softcapping": None, "final_logit_softcapping": None, **GEMMA2}
STAND_INS = {
    "smollm3": ("SmolLM3", {"num_hidden_layers": 5, "num_key_value_heads": 6, "tie_word_embeddings": True},
                {"no_rope_layers": [1, 1, 1, 0, 1]}),
    "smollm3_untied": ("SmolLM3", {"num_hidden_layers": 4}, {"no_rope_layers": [1, 0, 1, 0]}),
    "smollm3_all_turned": ("SmolLM3", {"rope_theta": 5e6, "head_dim": 10}, {"no_rope_layers": [1, 1]}),
    "qwen3": ("Qwen3", {"head_dim": 10, "rms_norm_eps": 3e-6}, {}),
    "qwen3_tied": ("Qwen3", {"tie_word_embeddings": True, "num_key_value_heads": 1, "head_dim": 8, "rope_theta": 1e6}, {}),
    "qwen3_unused_window": ("Qwen3", {"num_hidden_layers": 3, "num_attention_heads": 4, "head_dim": 6},
                            {"use_sliding_window": False, "sliding_window": None, "max_window_layers": 3}),
    "gemma3": ("Gemma3", {"head_dim": 10, "num_hidden_layers": 5, "sliding_window": 6, "query_pre_attn_scalar": 7,
                          "rope_theta": 500.0, **NO_CAPS},
               {"sliding_window_pattern": 2, "rope_local_base_freq": 40.0}),
    "gemma3_types": ("Gemma3", {"head_dim": 8, "num_hidden_layers": 4, "sliding_window": 5, "query_pre_attn_scalar": 8,
                                "num_key_value_heads": 1, **NO_CAPS},
                     {"layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
                      "rope_theta": None, "rope_parameters": {
                          "full_attention": {"rope_type": "default", "rope_theta": 10000.0},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}),
    "gemma3_full": ("Gemma3", {"head_dim": 12, "sliding_window": 64, "query_pre_attn_scalar": 12,
                               "tie_word_embeddings": False, **NO_CAPS},
                    {"layer_types": ["full_attention", "full_attention"]}),
    "olmo2": ("Olmo2", {"rope_theta": 5e5, "rms_norm_eps": 3e-6}, {}),
    "olmo2_all_heads": ("Olmo2", {"num_key_value_heads": 6, "num_hidden_layers": 3}, {"attention_bias": False}),
    "olmo2_one_key_head": ("Olmo2", {"num_attention_heads": 4, "num_key_value_heads": 1, "tie_word_embeddings": True,
                                     "rope_theta": 200.0}, {}),
}
MODEL_TYPES = {"Gemma3": "gemma3_text"}  # where it is not the name of the class


def turned_by_nothing(forward):
    """`forward` of a layer's attention, with a rotation by no angle."""
    def call(*args, position_embeddings, **more):
        cosine, sine = position_embeddings
        return forward(*args, position_embeddings=(torch.ones_like(cosine), torch.zeros_like(sine)), **more)
    return call


def with_norms(attention, config, norm_class, widths):
    """Normalizes queries and keys behind their products, as many channels together as their width says."""
    for part, width in zip(("q", "k"), widths):
        norm = norm_class(width, config.rms_norm_eps)
        attention.add_module(f"{part}_norm", norm)
        attention.get_submodule(f"{part}_proj").register_forward_hook(
            lambda _, __, out, norm=norm: norm(out.unflatten(-1, (-1, norm.weight.numel()))).flatten(-2))


def with_head_norms(attention, config, norm_class):
    """Normalizes each head of queries and keys."""
    with_norms(attention, config, norm_class, [attention.head_dim] * 2)


def as_olmo2(layer, config):
    """Changes a layer of Llama: norms of all heads together, and of branches instead of what they read."""
    norm_class = transformers.models.llama.modeling_llama.LlamaRMSNorm
    heads = (config.num_attention_heads, config.num_key_value_heads)
    with_norms(layer.self_attn, config, norm_class, [each * layer.self_attn.head_dim for each in heads])
    del layer.input_layernorm
    layer.post_feedforward_layernorm = norm_class(config.hidden_size, config.rms_norm_eps)

    def forward(hidden_states, **more):
        attended, *_ = layer.self_attn(hidden_states=hidden_states, **more)
        hidden_states = hidden_states + layer.post_attention_layernorm(attended)
        return (hidden_states + layer.post_feedforward_layernorm(layer.mlp(hidden_states)),)

    layer.forward = forward


def as_gemma3(layer, number, config, published):
    """Changes a layer of Gemma 2: a norm of each head, and windows with a theta of their own in the layers of Gemma 3."""
    gemma2 = transformers.models.gemma2.modeling_gemma2
    with_head_norms(layer.self_attn, config, gemma2.Gemma2RMSNorm)
    if "layer_types" in published:
        has_window = published["layer_types"][number] == "sliding_attention"
        theta = published.get("rope_parameters", {}).get("sliding_attention", {}).get("rope_theta")
    else:
        has_window = (number + 1) % published["sliding_window_pattern"] != 0
        theta = published["rope_local_base_freq"]
    layer.is_sliding = has_window
    layer.self_attn.sliding_window = config.sliding_window if has_window else None
    if has_window:
        layer.self_attn.rotary_emb = gemma2.Gemma2RotaryEmbedding(
            config.head_dim, max_position_embeddings=config.max_position_embeddings, base=theta)


def stand_in(kind, changes, published):
    """A Llama, or a Gemma 2, that computes as a model of class `kind`."""
    model = maker("Gemma2" if kind == "Gemma3" else "Llama", **changes)()
    model.config.use_cache = False
    for number, layer in enumerate(model.model.layers):
        if kind == "Gemma3":
            as_gemma3(layer, number, model.config, published)
        elif kind == "Olmo2":
            as_olmo2(layer, model.config)
        elif kind == "Qwen3":
            with_head_norms(layer.self_attn, model.config, transformers.models.llama.modeling_llama.LlamaRMSNorm)
        elif published["no_rope_layers"][number] == 0:
            layer.self_attn.forward = turned_by_nothing(layer.self_attn.forward)
    return model.eval()


def with_weights_of(model, folder):
    """`model` with the weights in `folder`, which has exactly its tensors."""
    weights = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights |= safetensors.torch.load_file(file)
    lacking, unknown = model.load_state_dict(weights, strict=False)
    tied = ["lm_head.weight"] if model.config.tie_word_embeddings else []
    expect(list(lacking) == tied and not unknown, f"{folder}: without {lacking}, with {unknown}")
    model.tie_weights()
    return model


def change_config(folder, **changes):
    path = folder / "config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(config, indent=2))
    return config


def as_the_stand_in(place, name):
    """As hf_test's two tests, for a model of STAND_INS."""
    kind, changes, published = STAND_INS[name]
    make = lambda: stand_in(kind, changes, published)
    hf_test.MODELS = MODELS | {name: make}
    hf_test.save_model(place, name)
    model = with_weights_of(make(), place.folder / name)
    written_by_them = {"model_type": MODEL_TYPES.get(kind, kind.lower()), "architectures": [f"{kind}ForCausalLM"], **published}
    for folder in (name, f"{name}_bf16"):
        change_config(place.folder / folder, **written_by_them)
    deck, tokens = hf_test.write_deck(place, name, model.config.vocab_size)
    theirs = hf_test.logits_there(model, tokens)
    for ranks, *settings in ((1,), (4, "sharding.zero=3"), (2, "parallel.tensor=2"), (2, "parallel.pipeline=2")):
        hf_test.expect_close(f"{name} on {ranks} {settings}",
                             place.logits_here(deck, model.config.vocab_size, ranks, *settings), theirs)
    place.run(*place.mpiexec, "-n", 2, place.binary, "train", deck, "sharding.zero=3")
    place.ziggurat("export", f"runs/{name}", f"{name}_out", "--dtype", "f32")
    written = json.loads((place.folder / f"{name}_out" / "config.json").read_text())
    for key in ("architectures", *published.keys() & {"no_rope_layers", "layer_types", "rope_local_base_freq"}):
        expect(written[key] == written_by_them[key], f"{name}: exported with {key} = {written[key]}")
    back = hf_test.logits_there(with_weights_of(make(), place.folder / f"{name}_out"), tokens)
    ours = place.logits_here(f"runs/{name}/deck.effective.yaml", model.config.vocab_size, 2,
                             "model.init.from=checkpoint", f"model.init.path=runs/{name}", "sharding.zero=3")
    hf_test.expect_close(f"{name} trained and exported", ours, back)
    place.ziggurat("import", name, f"runs/{name}_f32")
    the_most_likely_tokens_are_the_same(place, name, with_weights_of(make(), place.folder / name), f"runs/{name}_f32")
    place.ziggurat("import", f"{name}_bf16", f"runs/{name}_in")
    place.ziggurat("export", f"runs/{name}_in", f"{name}_back", "--dtype", "bf16")
    read = [(place.folder / folder / "model.safetensors").read_bytes() for folder in (f"{name}_back", f"{name}_bf16")]
    expect(read[0] == read[1], f"{name}_back/model.safetensors is not that of {name}_bf16")


def real_maker(name):
    """Makes a model of the class that a stand-in stands for, with the defaults of the stand-in."""
    kind, changes, published = STAND_INS[name]
    usual = {"tie_word_embeddings": kind == "Gemma3", "rope_theta": 10000.0, "rms_norm_eps": 1e-6}
    config = getattr(transformers, "Gemma3TextConfig" if kind == "Gemma3" else f"{kind}Config")
    return lambda: getattr(transformers, f"{kind}ForCausalLM")(config(**(SIZES | usual | changes | published)))


def the_stand_in_computes_the_same(place, name):
    """The stand-in of the older transformers has the logits of the real class, with the same weights."""
    model = transformers.AutoModelForCausalLM.from_pretrained(place.folder / name).eval()
    tokens = numpy.fromfile(place.folder / "tokens.i32", numpy.int32).astype(numpy.int64)
    environment = {key: value for key, value in os.environ.items() if key not in (peers.CHOICE, peers.TRIED)}
    subprocess.run([peers.PEERS / "bin" / "python3", __file__, "--stand-in", name, "--work", place.folder], check=True, env=environment)
    older = numpy.fromfile(place.folder / "stand_in.f32", numpy.float32).reshape(hf_test.SEQ, -1)
    hf_test.expect_close(f"the stand-in of {name}", older, hf_test.logits_there(model, tokens))


def write_logits_of_stand_in(name, folder):
    kind, changes, published = STAND_INS[name]
    model = with_weights_of(stand_in(kind, changes, published), folder / name)
    tokens = numpy.fromfile(folder / "tokens.i32", numpy.int32).astype(numpy.int64)
    hf_test.logits_there(model, tokens).astype(numpy.float32).tofile(folder / "stand_in.f32")


def save_tokenizer(place):
    """A tokenizer in which token i is the i-th byte from '!' on, so all tokens of these models are letters of ASCII."""
    letters = bytes_to_unicode()
    model = tokenizers.models.BPE(vocab={letters[(ord("!") + i) % 256]: i for i in range(256)}, merges=[])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.save(str(place.folder / "tokenizer.json"))


def the_most_likely_tokens_are_the_same(place, name, model, folder):
    """32 tokens that `ziggurat sample` generates from an import of `folder`, each of them the most likely one."""
    prompt = "A1B2"
    ids = [ord(letter) - ord("!") for letter in prompt]
    for _ in range(32):
        ids.append(int(hf_test.logits_there(model, ids)[-1].argmax()))
    theirs = "".join(chr(ord("!") + token) for token in ids)
    said = place.ziggurat("sample", folder, "--prompt", prompt, "--tokens", 32, "--temperature", 0,
                          "--compute", "fp32", "--tokenizer", "tokenizer.json")
    expect(theirs in said.splitlines(), f"{name}: transformers continues {theirs}, ziggurat {said}")
    print(f"    {name}: {theirs}")


def the_text_part_of_a_larger_model_is_read(place, name):
    """A model of text and images gives the weights and the deck of its text part alone."""
    folder = place.folder / "with_images"
    shutil.copytree(place.folder / f"{name}_bf16", folder)
    config = json.loads((folder / "config.json").read_text())
    weights = {f"language_model.{key}": value for key, value in safetensors.torch.load_file(folder / "model.safetensors").items()}
    (folder / "config.json").write_text(json.dumps(
        {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "text_config": config}))
    weights["language_model.lm_head.weight"] = weights["language_model.model.embed_tokens.weight"].clone()  # tied
    images = {"vision_tower.embeddings.weight": torch.ones(3, 5), "multi_modal_projector.weight": torch.ones(2)}
    safetensors.torch.save_file(weights | images, folder / "model.safetensors")
    place.ziggurat("import", "with_images", "runs/with_images")
    place.ziggurat("export", "runs/with_images", "without_images", "--dtype", "bf16")
    read = [(place.folder / each / "model.safetensors").read_bytes() for each in ("without_images", f"{name}_bf16")]
    expect(read[0] == read[1], "without_images/model.safetensors is not that of the text part")
    safetensors.torch.save_file(weights | images | {"audio_tower.weight": torch.ones(2)}, folder / "model.safetensors")
    said = place.ziggurat("import", "with_images", "runs/another", code=2)
    expect("audio_tower.weight" in said, said)


def older_names_of_longrope_are_read(place):
    """Files with the types of older versions describe the model of the newer file."""
    name = "phi3_longrope_long"
    config, _ = hf_test.older_and_newer(json.loads((place.folder / name / "config.json").read_text()))
    folder = place.folder / "older"
    shutil.copytree(place.folder / name, folder)
    decks = []
    for kind in ("longrope", "su", "yarn"):
        (folder / "config.json").write_text(json.dumps(config | {"rope_scaling": config["rope_scaling"] | {"type": kind}}))
        said = place.ziggurat("check", f"{name}.yaml", "--print", "model.init.path=older", "run.dir=another")
        decks.append([line.split("#")[0] for line in said.splitlines() if "factor" in line or "kind: longrope" in line])
    expect(len(decks[0]) >= 5 and decks[0] == decks[1] == decks[2], f"{decks}")


def what_no_family_has_is_named(place, part):
    """Each change of a configuration of `part` is refused with the key and its value."""
    for name, change, said_of_it in (
            ("qwen2", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
             "max_window_layers = 1 is not implemented"),
            ("qwen2", {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
            ("mistral_window", {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}, "layer_types"),
            ("phi3", {"resid_pdrop": 0.1}, "resid_pdrop = 0.1 is not implemented"),
            ("phi3", {"rope_scaling": {"type": "linear", "factor": 2.0}}, 'rope type "linear" is not implemented'),
            ("qwen2", {"rope_scaling": {"type": "yarn", "factor": 2.0, "mscale": 0.7}}, "rope_scaling.mscale = 0.7 is not used"),
            ("gemma2", {"final_logit_softcapping": "high"}, "final_logit_softcapping = \"high\""),
            ("granite", {"logits_scaling": 0.0}, "logits_scaling = 0.0 (a positive number is expected there)"),
            ("granite", {"head_dim": 12}, "head_dim = 12 is not implemented"),
            ("olmo2", {"attention_bias": True}, "attention_bias = true is not implemented"),
            ("olmo2", {"sliding_window": 8}, "sliding_window = 8 is not implemented"),
            ("smollm3", {"no_rope_layers": [1, 0, 0, 1, 1]}, "no_rope_layers")):
        if name not in part:
            continue
        folder = place.folder / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place.folder / name, folder)
        config, _ = hf_test.older_and_newer(json.loads((folder / "config.json").read_text()))
        config.pop("layer_types", None)  # newer versions write it beside the keys from which older ones derive it
        (folder / "config.json").write_text(json.dumps(config | change, indent=2))
        said = place.ziggurat("check", f"{name}.yaml", "model.init.path=changed", "run.dir=another", code=2)
        expect(said_of_it in said, f"{change}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "logits"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec")
    parser.add_argument("--part", default="1/1", help="of the models: every N-th, from the K-th on")
    parser.add_argument("--stand-in", help="only write the logits of this stand-in, with the weights in the folder")
    chosen = parser.parse_args()
    if chosen.stand_in:
        write_logits_of_stand_in(chosen.stand_in, chosen.work)
        return
    place = hf_test.Place(chosen)
    torch.set_num_threads(1)
    first, step = map(int, chosen.part.split("/"))
    save_tokenizer(place)
    part = [*MODELS, *STAND_INS][first - 1::step]
    for name in part:
        if name in STAND_INS and not peers.are_new():
            as_the_stand_in(place, name)
            print(f"  {name}: ok", flush=True)
            continue
        if name in STAND_INS:
            hf_test.MODELS = MODELS | {name: real_maker(name)}
        hf_test.logits_agree_both_ways(place, name)
        hf_test.the_same_bytes_come_back(place, name)
        model = transformers.AutoModelForCausalLM.from_pretrained(place.folder / name).eval()
        if "longrope" not in name:  # transformers changes its factors while a text grows, and a run does not
            the_most_likely_tokens_are_the_same(place, name, model, f"runs/{name}_in")
        back = json.loads((place.folder / f"{name}_back" / "config.json").read_text())
        there = json.loads((place.folder / name / "config.json").read_text())
        changed = {key: back.get(key) for key in SAME if key in there and back.get(key) != there[key]}
        expect(not changed, f"{name}: exported with {changed}")
        if name in STAND_INS:
            the_stand_in_computes_the_same(place, name)
        print(f"  {name}: ok", flush=True)
    if "gemma3" in part:
        the_text_part_of_a_larger_model_is_read(place, "gemma3")
    if "phi3_longrope_long" in part:
        older_names_of_longrope_are_read(place)
    what_no_family_has_is_named(place, part)
    today.exports_are_read(place.folder)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
