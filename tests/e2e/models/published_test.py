#!/usr/bin/env python3
"""Published models by their config.json: `import --dry-run` gives the family and the number of parameters, or says why not.

  published_test.py --binary ZIGGURAT --work FOLDER

Sizes: litgpt 0.5.13, litgpt/config.py, and the config.json of each model. Numbers of parameters: those that the Hugging Face
Hub shows for the safetensors files.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from trainings import Failure, expect

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
          "rope_type": "llama3"}
SMALL_LLAMA3 = LLAMA3 | {"factor": 32.0}
# Class, common keys.
CLASSES = {
    "llama": ("LlamaForCausalLM", {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "pretraining_tp": 1}),
    "mistral": ("MistralForCausalLM", {"hidden_act": "silu", "attention_dropout": 0.0}),
    "qwen2": ("Qwen2ForCausalLM", {"hidden_act": "silu", "attention_dropout": 0.0, "use_sliding_window": False,
                                   "sliding_window": 131072, "max_window_layers": 28}),
    "qwen3": ("Qwen3ForCausalLM", {"hidden_act": "silu", "attention_bias": False, "head_dim": 128, "sliding_window": None,
                                   "use_sliding_window": False, "max_window_layers": 36, "rope_scaling": None}),
    "gemma": ("GemmaForCausalLM", {"hidden_act": "gelu", "head_dim": 256, "attention_bias": False}),
    "gemma2": ("Gemma2ForCausalLM", {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
                                     "head_dim": 256, "attention_bias": False, "attn_logit_softcapping": 50.0,
                                     "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 256, "sliding_window": 4096,
                                     "cache_implementation": "hybrid"}),
    "gemma3": ("Gemma3ForCausalLM", {"hidden_activation": "gelu_pytorch_tanh", "head_dim": 256, "attention_bias": False,
                                     "attn_logit_softcapping": None, "final_logit_softcapping": None, "rope_scaling": None,
                                     "query_pre_attn_scalar": 256, "sliding_window": 512, "rope_local_base_freq": 10000}),
    "olmo2": ("Olmo2ForCausalLM", {"hidden_act": "silu", "attention_bias": False, "attention_dropout": 0.0, "rope_scaling": None}),
    "phi3": ("Phi3ForCausalLM", {"hidden_act": "silu", "attention_dropout": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}),
    "smollm3": ("SmolLM3ForCausalLM", {"hidden_act": "silu", "attention_bias": False, "use_sliding_window": False}),
    "granite": ("GraniteForCausalLM", {"hidden_act": "silu", "attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False,
                                       "rope_scaling": None, "embedding_multiplier": 12.0, "residual_multiplier": 0.22}),
    "gpt_neox": ("GPTNeoXForCausalLM", {"hidden_act": "gelu", "use_parallel_residual": True, "rotary_pct": 0.25}),
}
# Name, type, parameters, layers, hidden, heads, key heads, ffn, vocab, length, epsilon, theta, tied; other keys.
MODELS = [
    ("Llama-2-7b", "llama", 6738415616, 32, 4096, 32, 32, 11008, 32000, 4096, 1e-5, 1e4, False, {}),
    ("Llama-2-13b", "llama", 13015864320, 40, 5120, 40, 40, 13824, 32000, 4096, 1e-5, 1e4, False, {}),
    ("Llama-2-70b", "llama", 68976648192, 80, 8192, 64, 8, 28672, 32000, 4096, 1e-5, 1e4, False, {}),
    ("Llama-3.1-8B", "llama", 8030261248, 32, 4096, 32, 8, 14336, 128256, 131072, 1e-5, 5e5, False, {"rope_scaling": LLAMA3}),
    ("Llama-3.2-1B", "llama", 1235814400, 16, 2048, 32, 8, 8192, 128256, 131072, 1e-5, 5e5, True,
     {"rope_scaling": SMALL_LLAMA3, "head_dim": 64}),
    ("Llama-3.2-3B", "llama", 3212749824, 28, 3072, 24, 8, 8192, 128256, 131072, 1e-5, 5e5, True,
     {"rope_scaling": SMALL_LLAMA3, "head_dim": 128}),
    ("Llama-3.3-70B", "llama", 70553706496, 80, 8192, 64, 8, 28672, 128256, 131072, 1e-5, 5e5, False, {"rope_scaling": LLAMA3}),
    ("CodeLlama-34b", "llama", 33743970304, 48, 8192, 64, 8, 22016, 32000, 16384, 1e-5, 1e6, False, {}),
    ("DeepSeek-R1-Distill-Llama-8B", "llama", 8030261248, 32, 4096, 32, 8, 14336, 128256, 131072, 1e-5, 5e5, False,
     {"rope_scaling": LLAMA3}),
    ("SmolLM2-135M", "llama", 134515008, 30, 576, 9, 3, 1536, 49152, 8192, 1e-5, 1e5, True, {"rope_interleaved": False}),
    ("SmolLM2-360M", "llama", 361821120, 32, 960, 15, 5, 2560, 49152, 8192, 1e-5, 1e5, True, {"rope_interleaved": False}),
    ("SmolLM2-1.7B", "llama", 1711376384, 24, 2048, 32, 32, 8192, 49152, 8192, 1e-5, 1.3e5, True, {}),
    ("Mistral-7B-v0.1", "mistral", 7241732096, 32, 4096, 32, 8, 14336, 32000, 32768, 1e-5, 1e4, False, {"sliding_window": 4096}),
    ("Mistral-7B-v0.3", "mistral", 7248023552, 32, 4096, 32, 8, 14336, 32768, 32768, 1e-5, 1e6, False, {"sliding_window": None}),
    ("Mistral-Nemo", "mistral", 12247782400, 40, 5120, 32, 8, 14336, 131072, 131072, 1e-5, 1e6, False,
     {"sliding_window": None, "head_dim": 128}),
    ("Mistral-Large-2411", "mistral", 122610069504, 88, 12288, 96, 8, 28672, 32768, 131072, 1e-5, 1e6, False,
     {"sliding_window": None, "head_dim": 128}),
    ("Qwen2.5-0.5B", "qwen2", 494032768, 24, 896, 14, 2, 4864, 151936, 32768, 1e-6, 1e6, True, {}),
    ("Qwen2.5-1.5B", "qwen2", 1543714304, 28, 1536, 12, 2, 8960, 151936, 131072, 1e-6, 1e6, True, {}),
    ("Qwen2.5-3B", "qwen2", 3085938688, 36, 2048, 16, 2, 11008, 151936, 32768, 1e-6, 1e6, True, {}),
    ("Qwen2.5-7B", "qwen2", 7615616512, 28, 3584, 28, 4, 18944, 152064, 131072, 1e-6, 1e6, False, {}),
    ("Qwen2.5-7B with yarn", "qwen2", 7615616512, 28, 3584, 28, 4, 18944, 152064, 131072, 1e-6, 1e6, False,
     {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}),
    ("Qwen2.5-14B", "qwen2", 14770033664, 48, 5120, 40, 8, 13824, 152064, 131072, 1e-5, 1e6, False, {}),
    ("Qwen2.5-32B", "qwen2", 32763876352, 64, 5120, 40, 8, 27648, 152064, 131072, 1e-5, 1e6, False, {}),
    ("Qwen2.5-72B", "qwen2", 72706203648, 80, 8192, 64, 8, 29568, 152064, 131072, 1e-5, 1e6, False, {}),
    ("Qwen3-0.6B", "qwen3", 596049920, 28, 1024, 16, 8, 3072, 151936, 40960, 1e-6, 1e6, True, {}),
    ("Qwen3-1.7B", "qwen3", 1720574976, 28, 2048, 16, 8, 6144, 151936, 40960, 1e-6, 1e6, True, {}),
    ("Qwen3-4B", "qwen3", 4022468096, 36, 2560, 32, 8, 9728, 151936, 40960, 1e-6, 1e6, True, {}),
    ("Qwen3-8B", "qwen3", 8190735360, 36, 4096, 32, 8, 12288, 151936, 40960, 1e-6, 1e6, False, {}),
    ("Qwen3-14B", "qwen3", 14768307200, 40, 5120, 40, 8, 17408, 151936, 40960, 1e-6, 1e6, False, {}),
    ("Qwen3-32B", "qwen3", 32762123264, 64, 5120, 64, 8, 25600, 151936, 40960, 1e-6, 1e6, False, {}),
    ("gemma-2b", "gemma", 2506172416, 18, 2048, 8, 1, 16384, 256000, 8192, 1e-6, 1e4, True, {}),
    ("gemma-7b", "gemma", 8537680896, 28, 3072, 16, 16, 24576, 256000, 8192, 1e-6, 1e4, True, {"hidden_activation": None}),
    ("gemma-2-2b", "gemma2", 2614341888, 26, 2304, 8, 4, 9216, 256000, 8192, 1e-6, 1e4, True, {}),
    ("gemma-2-9b", "gemma2", 9241705984, 42, 3584, 16, 8, 14336, 256000, 8192, 1e-6, 1e4, True, {}),
    ("gemma-2-27b", "gemma2", 27227128320, 46, 4608, 32, 16, 36864, 256000, 8192, 1e-6, 1e4, True,
     {"head_dim": 128, "query_pre_attn_scalar": 144}),
    ("gemma-3-270m", "gemma3", 268098176, 18, 640, 4, 1, 2048, 262144, 32768, 1e-6, 1e6, True,
     {"layer_types": ["full_attention" if (layer + 1) % 6 == 0 else "sliding_attention" for layer in range(18)],
      "_sliding_window_pattern": 6, "use_bidirectional_attention": False}),
    ("gemma-3-1b", "gemma3", 999885952, 26, 1152, 4, 1, 6912, 262144, 32768, 1e-6, 1e6, True, {"sliding_window_pattern": 6}),
    ("OLMo-2-1B", "olmo2", 1484916736, 16, 2048, 16, 16, 8192, 100352, 4096, 1e-6, 5e5, False, {}),
    ("OLMo-2-7B", "olmo2", 7298617344, 32, 4096, 32, 32, 11008, 100352, 4096, 1e-6, 5e5, False, {}),
    ("OLMo-2-13B", "olmo2", 13716198400, 40, 5120, 40, 40, 13824, 100352, 4096, 1e-6, 5e5, False, {}),
    ("OLMo-2-32B", "olmo2", 32234279936, 64, 5120, 40, 8, 27648, 100352, 4096, 1e-6, 5e5, False, {}),
    ("Phi-3-mini-4k", "phi3", 3821079552, 32, 3072, 32, 32, 8192, 32064, 4096, 1e-5, 1e4, False,
     {"sliding_window": 2047, "rope_scaling": None, "original_max_position_embeddings": 4096}),
    # The factors are not the published ones, which do not change the count.
    ("Phi-3-mini-128k", "phi3", 3821079552, 32, 3072, 32, 32, 8192, 32064, 131072, 1e-5, 1e4, False,
     {"sliding_window": 262144, "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [2.0] * 48}}),
    ("phi-4", "phi3", 14659507200, 40, 5120, 40, 10, 17920, 100352, 16384, 1e-5, 2.5e5, False,
     {"sliding_window": None, "rope_scaling": None, "original_max_position_embeddings": 16384}),
    ("Phi-4-mini", "phi3", 3836021760, 32, 3072, 24, 8, 8192, 200064, 131072, 1e-5, 1e4, True,
     {"sliding_window": 262144, "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75, "attention_bias": False,
      "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [2.0] * 48}}),
    ("SmolLM3-3B", "smollm3", 3075098624, 36, 2048, 16, 4, 11008, 128256, 65536, 1e-6, 5e6, True,
     {"no_rope_layers": [int((layer + 1) % 4 != 0) for layer in range(36)], "no_rope_layer_interval": 4,
      "layer_types": ["full_attention"] * 36, "sliding_window": None, "rope_scaling": None}),
    ("granite-3.3-2b", "granite", 2533539840, 40, 2048, 32, 8, 8192, 49159, 131072, 1e-5, 1e7, True,
     {"attention_multiplier": 0.015625, "logits_scaling": 8.0}),
    ("granite-3.3-8b", "granite", 8170864640, 40, 4096, 32, 8, 12800, 49159, 131072, 1e-5, 1e7, True,
     {"attention_multiplier": 0.0078125, "logits_scaling": 16.0}),
    ("pythia-1b", "gpt_neox", 1011781632, 16, 2048, 8, 8, 8192, 50304, 2048, 1e-5, 1e4, False, {}),
    ("pythia-12b", "gpt_neox", 11846072320, 36, 5120, 40, 40, 20480, 50688, 2048, 1e-5, 1e4, False, {}),
]
LINEAR = {"factor": 8.0, "rope_type": "linear"}
# Models of text and images, whose text part is read. Their files leave out what the class assumes.
# Name, parameters of the text part, layers, keys of text_config.
WRAPPED = [
    ("gemma-3-4b", 3880263168, 34, {"hidden_size": 2560, "intermediate_size": 10240, "sliding_window": 1024}),
    ("gemma-3-12b", 11766034176, 48, {"hidden_size": 3840, "intermediate_size": 15360, "num_attention_heads": 16,
                                      "num_key_value_heads": 8, "sliding_window": 1024}),
    ("gemma-3-27b", 27009346304, 62, {"hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32,
                                      "num_key_value_heads": 16, "head_dim": 128, "query_pre_attn_scalar": 168,
                                      "sliding_window": 1024}),
]
MODEL_TYPES = {"gemma3": "gemma3_text"}  # where it is not the name of our family
# Published models that are refused: the changes of a model above, and what is said.
REFUSED = [
    ("Qwen3-8B", {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"]}, 'model_type "qwen3_moe" is not implemented'),
    ("gemma-2-9b", {"attn_logit_softcapping": -1.0}, "model.softcap.attention = '-1.0' is out of range"),
    ("gemma-3-1b", {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]},
     "text_config is not that of a model of type gemma3_text"),
    ("gemma-3-1b", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping = 50.0 is not implemented"),
    ("gemma-3-1b", {"layer_types": ["full_attention"] * 3 + ["sliding_attention"] * 23}, "layer_types = ["),
    ("gemma-3-1b", {"rope_parameters": {"full_attention": {"rope_theta": 1e6, "rope_type": "default"},
                                        "sliding_attention": {"rope_theta": 2e4, "rope_type": "default"}}},
     "rope_local_base_freq = 10000 contradicts rope_parameters.sliding_attention.rope_theta = 20000"),
    ("gemma-3-1b", {"rope_parameters": {"full_attention": {"rope_theta": 1e6, "rope_type": "default"},
                                        "sliding_attention": {"rope_theta": 1e4, "rope_type": "linear", "factor": 8.0}}},
     "rope_parameters.sliding_attention.rope_type = \"linear\" is not implemented"),
    ("OLMo-2-7B", {"attention_bias": True}, "attention_bias = true is not implemented"),
    ("OLMo-2-7B", {"model_type": "olmo3", "architectures": ["Olmo3ForCausalLM"]}, 'model_type "olmo3" is not implemented'),
    ("Llama-3.1-8B", {"num_local_experts": 8}, "num_local_experts = 8 is not implemented"),
    ("Qwen2.5-7B", {"quantization_config": {"bits": 4}}, "quantization_config = {"),
    ("Llama-2-7b", {"hidden_act": "relu2"}, 'hidden_act = "relu2" is not implemented'),
]


def config_of(kind, layers, hidden, heads, key_heads, ffn, vocab, length, epsilon, theta, tied, others):
    architecture, common = CLASSES[kind]
    config = {"model_type": MODEL_TYPES.get(kind, kind), "architectures": [architecture], "num_hidden_layers": layers, "hidden_size": hidden,
              "num_attention_heads": heads, "intermediate_size": ffn, "vocab_size": vocab, "max_position_embeddings": length,
              "tie_word_embeddings": tied, "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.02, "use_cache": True,
              "torch_dtype": "bfloat16", "transformers_version": "4.46.3"}
    if kind == "gpt_neox":
        return config | {"layer_norm_eps": epsilon, "rotary_emb_base": int(theta)} | common | others
    return config | {"num_key_value_heads": key_heads, "rms_norm_eps": epsilon, "rope_theta": theta} | common | others


def dry_run(binary, folder, config, code):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    done = subprocess.run([binary, "import", folder, "--dry-run"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    expect(done.returncode == code, f"{config}: exit code {done.returncode}, not {code}\n{done.stdout}")
    expect([path.name for path in folder.iterdir()] == ["config.json"], f"{folder}: a dry run has written a file")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    chosen = parser.parse_args()
    binary, folder = chosen.binary.resolve(), chosen.work.resolve() / "model"
    configs = {}
    for name, kind, parameters, *sizes in MODELS:
        configs[name] = config_of(kind, *sizes)
        said = dry_run(binary, folder, configs[name], 0)
        expect(f" ({parameters}) parameters, {sizes[0]} layers" in said and said.startswith(f"{kind} "), f"{name}: {said}")
    for name, parameters, layers, text in WRAPPED:
        text = {"model_type": "gemma3_text", "num_hidden_layers": layers, "rope_scaling": LINEAR, **text}
        said = dry_run(binary, folder, {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
                                        "mm_tokens_per_image": 256, "text_config": text, "torch_dtype": "bfloat16",
                                        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}}, 0)
        expect(f" ({parameters}) parameters, {layers} layers" in said, f"{name}: {said}")
    for name, changes, why in REFUSED:
        said = dry_run(binary, folder, configs[name] | changes, 2)
        expect(why in said, f"{name} with {changes}: {said}")
    print(f"{len(MODELS) + len(WRAPPED)} published models, {len(REFUSED)} refused")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
