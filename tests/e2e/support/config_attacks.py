"""Configurations of small models of each family, and changes to them by chance: one or two keys removed, null, of another type,
negative, zero, huge, fractional, swapped, with unknown names, or lists of another length."""

import copy

TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
USUAL = {"vocab_size": 300, "max_position_embeddings": 64, "initializer_range": 0.02, "use_cache": True, "tie_word_embeddings": False,
         "torch_dtype": "bfloat16", "transformers_version": "4.46.3", **TOKENS}
GATED = USUAL | {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4,
                 "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
                 "attention_dropout": 0.0}
ACTIVATION = {"hidden_activation": "gelu_pytorch_tanh"}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LONGROPE = {"type": "longrope", "short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 3.0, 4.0, 5.0]}
SLIDING, FULL = "sliding_attention", "full_attention"
NO_ACT = {key: value for key, value in GATED.items() if key != "hidden_act"}
GEMMA2 = NO_ACT | ACTIVATION | {"head_dim": 8, "attention_bias": False, "query_pre_attn_scalar": 8, "sliding_window": 16,
                                "tie_word_embeddings": True, "pad_token_id": 0}
GEMMA3_MAPS = {"rope_parameters": {FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                                   SLIDING: {"rope_type": "default", "rope_theta": 10000.0}}}
QWEN = {"use_sliding_window": False, "sliding_window": 32, "max_window_layers": 2}
# Each model as one version of transformers or its publisher writes it.
MODELS = {
    "llama": {"model_type": "llama", **GATED, "attention_bias": False, "mlp_bias": False, "rope_scaling": None, "pretraining_tp": 1},
    "llama 3": {"model_type": "llama", **GATED, "head_dim": 8, "rope_scaling": LLAMA3, "rope_theta": 500000.0},
    "llama of 5": {"model_type": "llama", **{key: value for key, value in GATED.items() if key != "rope_theta"}, "head_dim": 8,
                   "rope_parameters": LLAMA3 | {"rope_theta": 500000.0}},
    "gpt2": {"model_type": "gpt2", **{key: value for key, value in USUAL.items() if key != "max_position_embeddings"},
             "n_layer": 3, "n_embd": 32, "n_head": 4, "n_positions": 64, "n_inner": None, "activation_function": "gelu_new",
             "layer_norm_epsilon": 1e-05, "resid_pdrop": 0.1, "scale_attn_weights": True, "tie_word_embeddings": True},
    "gpt_neox": {"model_type": "gpt_neox", **USUAL, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
                 "intermediate_size": 64, "hidden_act": "gelu", "layer_norm_eps": 1e-05, "rotary_pct": 0.25, "rotary_emb_base": 10000,
                 "use_parallel_residual": True, "attention_bias": True},
    "mistral": {"model_type": "mistral", **GATED, "sliding_window": 16, "head_dim": None},
    "qwen2": {"model_type": "qwen2", **GATED, **QWEN, "rope_scaling": YARN},
    "qwen3": {"model_type": "qwen3", **GATED, **QWEN, "head_dim": 8, "attention_bias": False, "rope_scaling": None},
    "qwen3 of 5": {"model_type": "qwen3", **GATED, **QWEN, "head_dim": 8, "attention_bias": False, "use_sliding_window": True,
                   "layer_types": [SLIDING, FULL, SLIDING, FULL]},
    "phi3": {"model_type": "phi3", **GATED, "sliding_window": 16, "original_max_position_embeddings": 16, "rope_scaling": LONGROPE,
             "resid_pdrop": 0.0, "embd_pdrop": 0.0},
    "gemma": {"model_type": "gemma", **GATED, "hidden_act": "gelu", "hidden_activation": None, "head_dim": 8, "attention_bias": False,
              "tie_word_embeddings": True},
    "gemma2": {"model_type": "gemma2", **GEMMA2, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
    "gemma2 of 5": {"model_type": "gemma2", **GEMMA2, "attn_logit_softcapping": None, "final_logit_softcapping": 30.0,
                    "layer_types": [SLIDING, FULL, SLIDING, FULL]},
    "gemma3": {"model_type": "gemma3_text", **GEMMA2, "rope_local_base_freq": 10000, "sliding_window_pattern": 2,
               "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_theta": 1000000},
    "gemma3 of 5": {"model_type": "gemma3_text", **{key: value for key, value in GEMMA2.items() if key != "rope_theta"},
                    **GEMMA3_MAPS, "layer_types": [SLIDING, SLIDING, SLIDING, FULL]},
    "olmo2": {"model_type": "olmo2", **GATED, "attention_bias": False, "rope_scaling": None},
    "granite": {"model_type": "granite", **GATED, "attention_bias": False, "mlp_bias": False, "embedding_multiplier": 12,
                "residual_multiplier": 0.22, "logits_scaling": 8.0, "attention_multiplier": 0.125},
    "smollm3": {"model_type": "smollm3", **GATED, "no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 4,
                "use_sliding_window": False, "sliding_window": None, "attention_bias": False, "mlp_bias": False,
                "tie_word_embeddings": True, "layer_types": [FULL] * 4},
}
# Keys that no class declares, or that decide nothing here: a version may read anything in them.
FREE = ("torch_dtype", "transformers_version", "model_type")
MAX_LAYERS = 20000  # transformers makes a list with an entry for each layer
TEXTS = ("x", "", "full_attention", "linear", "gelu", "4")


def maps_of(config):
    """Every map of the configuration with its path, the configuration itself first."""
    found = [((), config)]
    for path, each in found:
        found += [((*path, key), value) for key, value in each.items() if isinstance(value, dict)]
    return found


def some_key(config, chance):
    maps = [(path, holder) for path, holder in maps_of(config) if holder]
    path, holder = chance.choice(maps) if chance.random() < 0.35 else ((), config)
    return path, holder, chance.choice([key for key in holder if path or key not in FREE])


def remove(holder, key, chance):
    holder.pop(key)


def null(holder, key, chance):
    holder[key] = None


def other_type(holder, key, chance):
    value = holder[key]
    others = [f"{value}", True, False, [], [value], {}, {"a": 1}, 1, 1.0, 0]
    if isinstance(value, int) and not isinstance(value, bool):
        others += [float(value)] * 4
    if isinstance(value, float) and value == int(value):
        others += [int(value)] * 4
    holder[key] = chance.choice([other for other in others if type(other) is not type(value)])


def other_number(holder, key, chance):
    value = holder[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[key] = chance.choice((-value, -1, 0, 1, 3, value * 3, value + 1, value + 0.5, value / 3, 10 ** 12, 10 ** 25, 1e300, 1e-300))
    else:
        other_type(holder, key, chance)


def other_list(holder, key, chance):
    lists = [name for name, value in holder.items() if isinstance(value, list) and value]
    if not lists:
        holder["layer_types"] = chance.choice(([], [FULL], [SLIDING, FULL] * 2, [FULL] * 4, [SLIDING] * 4, [None] * 4, {}, FULL))
        return
    name = chance.choice(lists)
    value = holder[name]
    holder[name] = chance.choice(([], value[:-1], value * 2, [*value, value[0]], value[::-1], [None, *value[1:]], [*value[1:], "x"],
                                  [*value[:-1], 2], [*value[:-1], True]))


def unknown_name(holder, key, chance):
    texts = [name for name, value in holder.items() if isinstance(value, str) and name not in FREE]
    if texts:
        holder[chance.choice(texts)] = chance.choice(TEXTS)
    else:
        other_type(holder, key, chance)


def swap(holder, key, chance):
    other = chance.choice(sorted(set(holder) - set(FREE)))
    holder[key], holder[other] = holder[other], holder[key]


CHANGES = (remove, null, null, other_type, other_type, other_type, other_number, other_number, other_list, unknown_name, swap)


def changed(chance):
    """A model's name, its changed configuration, and a description of the changes."""
    name = chance.choice(sorted(MODELS))
    config = copy.deepcopy(MODELS[name])
    done = []
    for _ in range(chance.choice((1, 1, 1, 2))):
        path, holder, key = some_key(config, chance)
        change = chance.choice(CHANGES)
        change(holder, key, chance)
        done.append(f"{change.__name__} {'.'.join((*path, key))}")
    for key in ("num_hidden_layers", "n_layer"):
        if isinstance(config.get(key), int) and config[key] > MAX_LAYERS:
            config[key] = MAX_LAYERS
    return name, config, ", ".join(done)
