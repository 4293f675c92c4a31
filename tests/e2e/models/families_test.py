#!/usr/bin/env python3
"""Each family in and out, held against transformers: three small models of a family, of odd sizes and with random numbers
in every tensor.

  families_test.py --binary ZIGGURAT --logits PRINT_LOGITS --work FOLDER --mpiexec COMMAND

Logits agree within 1e-4 on several layouts and after training and export, and an import that is exported has the same
bytes. What a configuration asks for and no family has is refused by name.
"""

import argparse
import json
import pathlib
import shutil
import sys

import hf_test
import torch
import transformers
from trainings import Failure, expect

SIZES = {"num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2,
         "intermediate_size": 44, "vocab_size": 67, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 0,
         "pad_token_id": None}


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
    "mistral_tied": maker("Mistral", sliding_window=4096, num_attention_heads=4, num_key_value_heads=4,
                          tie_word_embeddings=True),
    "qwen2": maker("Qwen2", rope_theta=1e6, rms_norm_eps=3e-6),
    "qwen2_tied": maker("Qwen2", tie_word_embeddings=True, num_attention_heads=3, num_key_value_heads=1),
    "qwen2_unused_window": maker("Qwen2", use_sliding_window=False, sliding_window=8, max_window_layers=1,
                                 num_hidden_layers=3, intermediate_size=52),
    "phi3": maker("Phi3", sliding_window=None),
    "phi3_grouped": maker("Phi3", sliding_window=64, num_attention_heads=4, num_key_value_heads=1, rope_theta=250000.0,
                          num_hidden_layers=3),
    "granite": maker("Granite", attention_multiplier=0.015625, embedding_multiplier=12.0, residual_multiplier=0.22,
                     logits_scaling=8.0, tie_word_embeddings=True),
    "granite_untied": maker("Granite", attention_multiplier=0.2, embedding_multiplier=1.7, residual_multiplier=0.9,
                            logits_scaling=3.7, num_hidden_layers=3, rope_theta=1e6),
    "granite_biases": maker("Granite", attention_bias=True, mlp_bias=True, num_attention_heads=4, num_key_value_heads=4,
                            logits_scaling=0.3),
    "phi3_tied": maker("Phi3", num_attention_heads=3, num_key_value_heads=3, tie_word_embeddings=True),
}
hf_test.MODELS = MODELS
hf_test.SPLIT_MODELS = ["llama_biases", "llama_wide_heads", "mistral_wide_heads", "qwen2", "phi3_grouped", "granite",
                        "granite_untied"]
# Keys whose values come back from an import and an export.
SAME = ("architectures", "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling")

# The transformers of these tests has no SmolLM3: its Llama, in which some layers do not rotate, stands for it.
WITHOUT_ROPE = {
    "smollm3": ({"num_hidden_layers": 5, "num_key_value_heads": 6, "tie_word_embeddings": True}, [1, 1, 1, 0, 1]),
    "smollm3_untied": ({"num_hidden_layers": 4}, [1, 0, 1, 0]),
    "smollm3_all_turned": ({"rope_theta": 5e6, "head_dim": 10}, [1, 1]),
}


def turned_by_nothing(forward):
    """`forward` of a layer's attention, with a rotation by no angle."""
    def call(*args, position_embeddings, **more):
        cosine, sine = position_embeddings
        return forward(*args, position_embeddings=(torch.ones_like(cosine), torch.zeros_like(sine)), **more)
    return call


def without_rope(model, turned):
    """`model`, whose layers with number 0 in `turned` do not rotate."""
    for layer, is_turned in zip(model.model.layers, turned):
        if not is_turned:
            layer.self_attn.forward = turned_by_nothing(layer.self_attn.forward)
    return model.eval()


def change_config(folder, **changes):
    path = folder / "config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(config, indent=2))
    return config


def layers_without_rope(place, name):
    """As hf_test's two tests, for a model of WITHOUT_ROPE."""
    changes, turned = WITHOUT_ROPE[name]
    hf_test.MODELS = MODELS | {name: maker("Llama", **changes)}
    model = without_rope(hf_test.make_model(place, name), turned)
    published = {"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": turned}
    for folder in (name, f"{name}_bf16"):
        change_config(place.folder / folder, **published)
    deck, tokens = hf_test.write_deck(place, name, model.config.vocab_size)
    theirs = hf_test.logits_there(model, tokens)
    for ranks, *settings in ((1,), (4, "sharding.zero=3"), (2, "parallel.tensor=2"), (2, "parallel.pipeline=2")):
        hf_test.expect_close(f"{name} on {ranks} {settings}",
                             place.logits_here(deck, model.config.vocab_size, ranks, *settings), theirs)
    place.run(*place.mpiexec, "-n", 2, place.binary, "train", deck, "sharding.zero=3")
    place.ziggurat("export", f"runs/{name}", f"{name}_out", "--dtype", "f32")
    written = change_config(place.folder / f"{name}_out", model_type="llama", architectures=["LlamaForCausalLM"])
    expect(written["no_rope_layers"] == turned, f"{name}: exported with {written['no_rope_layers']}")
    tuned, report = transformers.AutoModelForCausalLM.from_pretrained(place.folder / f"{name}_out", output_loading_info=True)
    expect(not any(report.values()), f"{name}: transformers reports {report}")
    back = hf_test.logits_there(without_rope(tuned, turned), tokens)
    ours = place.logits_here(f"runs/{name}/deck.effective.yaml", model.config.vocab_size, 2,
                             "model.init.from=checkpoint", f"model.init.path=runs/{name}", "sharding.zero=3")
    hf_test.expect_close(f"{name} trained and exported", ours, back)
    place.ziggurat("import", f"{name}_bf16", f"runs/{name}_in")
    place.ziggurat("export", f"runs/{name}_in", f"{name}_back", "--dtype", "bf16")
    read = [(place.folder / folder / "model.safetensors").read_bytes() for folder in (f"{name}_back", f"{name}_bf16")]
    expect(read[0] == read[1], f"{name}_back/model.safetensors is not that of {name}_bf16")


def what_no_family_has_is_named(place):
    """Each change of a configuration is refused with the key and its value."""
    for name, change, said_of_it in (
            ("qwen2", {"use_sliding_window": True}, "use_sliding_window = true is not implemented"),
            ("qwen2", {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types = ["),
            ("mistral", {"sliding_window": 8}, "attention within a window shorter than data.seq is not implemented"),
            ("phi3", {"resid_pdrop": 0.1}, "resid_pdrop = 0.1 is not implemented"),
            ("granite", {"logits_scaling": 0.0}, "logits_scaling = 0.0 (a positive number is expected there)"),
            ("granite", {"head_dim": 12}, "head_dim = 12 is not implemented"),
            ("smollm3", {"no_rope_layers": [1, 0, 0, 1, 1]}, "no_rope_layers = [")):
        folder = place.folder / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place.folder / name, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | change, indent=2))
        said = place.ziggurat("check", f"{name}.yaml", "model.init.path=changed", "run.dir=another", code=2)
        expect(said_of_it in said, f"{change}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "logits", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = hf_test.Place(parser.parse_args())
    torch.set_num_threads(1)
    for name in MODELS:
        hf_test.logits_agree_both_ways(place, name)
        hf_test.the_same_bytes_come_back(place, name)
        back = json.loads((place.folder / f"{name}_back" / "config.json").read_text())
        there = json.loads((place.folder / name / "config.json").read_text())
        changed = {key: back.get(key) for key in SAME if key in there and back.get(key) != there[key]}
        expect(not changed, f"{name}: exported with {changed}")
        print(f"  {name}: ok", flush=True)
    for name in WITHOUT_ROPE:
        layers_without_rope(place, name)
        print(f"  {name}: ok", flush=True)
    what_no_family_has_is_named(place)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
