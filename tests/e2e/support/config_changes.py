"""Random changes to config.json of a model (folder_changes.py): keys moved, repeated, contradicting, removed, null."""

EMBEDDING = {"llama": "model.embed_tokens.weight", "gpt2": "transformer.wte.weight", "gpt_neox": "gpt_neox.embed_in.weight"}
HEAD = {"llama": "lm_head.weight", "gpt2": "lm_head.weight", "gpt_neox": "embed_out.weight"}
BASE = {"llama": "rope_theta", "gpt_neox": "rotary_emb_base"}
ALIASES = {"n_head": "num_attention_heads", "n_layer": "num_hidden_layers", "n_embd": "hidden_size",
           "n_positions": "max_position_embeddings"}
HEADS = {"llama": "num_attention_heads", "gpt2": "n_head", "gpt_neox": "num_attention_heads"}
EPSILON = {"llama": "rms_norm_eps", "gpt2": "layer_norm_epsilon", "gpt_neox": "layer_norm_eps"}
FACTS = {"llama": {"hidden_act": "gelu", "attention_bias": True, "mlp_bias": True},
         "gpt2": {"activation_function": "relu", "scale_attn_weights": None, "scale_attn_by_inverse_layer_idx": True},
         "gpt_neox": {"hidden_act": "gelu_new", "use_parallel_residual": None, "attention_bias": False}}
MAPS = ("rope_scaling", "rope_parameters")



def positions_of(folder):
    """Base and scaling as they are written now, taken out of the configuration."""
    base = folder.config.pop(BASE[folder.family], 10000.0)
    scaling = folder.config.pop("rope_scaling", None) or {"rope_type": "default"}
    return base, scaling


def has_older_spelling(folder):
    return folder.family in BASE and not any(key in (folder.config.get("rope_scaling") or {}) for key in ("rope_theta", "type")) \
        and "rope_parameters" not in folder.config and "rope_theta" not in (folder.config if folder.family == "gpt_neox" else {})


def move_positions(folder, chance):
    """Base, and perhaps the share of channels, into a map: the spelling of transformers 5."""
    if not has_older_spelling(folder):
        return
    base, scaling = positions_of(folder)
    name = chance.choice(MAPS)
    scaling = scaling | {"rope_theta": base}
    if folder.family == "gpt_neox" and chance.random() < 0.7:
        scaling["partial_rotary_factor"] = folder.config.pop("rotary_pct")
    if chance.random() < 0.3 and "rope_type" in scaling:
        scaling["type"] = scaling.pop("rope_type")
    folder.config[name] = scaling
    folder.concerns("rope_theta", name, BASE[folder.family])


def repeat_positions(folder, chance):
    """The base twice, with the same value or another."""
    if not has_older_spelling(folder):
        return
    key = BASE[folder.family]
    base, scaling = positions_of(folder)
    other = chance.choice((base, base, base * 3, 10000.0))
    repeated = chance.choice((*MAPS, "rope_theta") if folder.family == "gpt_neox" else MAPS)
    folder.config[key] = base
    if scaling != {"rope_type": "default"}:
        folder.config["rope_scaling"] = scaling
    if repeated == "rope_theta":
        folder.config["rope_theta"] = other
    else:
        folder.config[repeated] = dict(folder.config.get(repeated) or scaling, rope_theta=other)
    folder.concerns("rope_theta", key, same=other == base)


def two_maps(folder, chance):
    """Both maps, which differ in how they scale."""
    if not has_older_spelling(folder):
        return
    scaling = folder.config.get("rope_scaling") or {"rope_type": "default"}
    other = chance.choice(({"rope_type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 8.0}, {"rope_type": "default"}))
    folder.config |= {"rope_scaling": scaling, "rope_parameters": other}
    folder.concerns("rope_type", "factor", "rope_scaling", "rope_parameters", same=other == scaling)


def other_type(folder, chance):
    scaling = folder.config.get("rope_scaling")
    if not scaling or "type" in scaling or "rope_type" not in scaling:
        return
    other = chance.choice((scaling["rope_type"], "linear", "default", "yarn"))
    scaling["type"] = other
    folder.concerns("type", "rope_type", same=other == scaling["rope_type"])


def scale_positions(folder, chance):
    if not has_older_spelling(folder):
        return
    folder.config["rope_scaling"] = chance.choice((
        {"rope_type": "linear", "factor": 3.0}, {"type": "linear", "factor": 3}, {"rope_type": "default"}, None, {},
        {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
         "original_max_position_embeddings": 8}))
    folder.concerns("rope_scaling", "rope_type")


def share_of_channels(folder, chance):
    key, value = "partial_rotary_factor", chance.choice((1.0, 0.5))
    if folder.family not in BASE or key in folder.config:
        return
    here = folder.config.get("rotary_pct", 0.25) if folder.family == "gpt_neox" else 1.0
    folder.config[key] = value
    folder.concerns(key, "rotary_pct", same=value == here)


def drop_default(folder, chance):
    """A key that has a default, which may be another value; or its null."""
    key = chance.choice((EPSILON[folder.family], BASE.get(folder.family), "tie_word_embeddings", "rotary_pct",
                         "num_key_value_heads", *FACTS[folder.family]))
    if key not in folder.config:
        return
    folder.config.pop(key)
    folder.concerns(key, HEAD[folder.family], "self_attn.k_proj.weight", same=False)


def null(folder, chance):
    key = chance.choice((EPSILON[folder.family], "tie_word_embeddings", "rope_scaling", "n_inner", *FACTS[folder.family]))
    folder.config[key] = None
    folder.concerns(key, HEAD[folder.family], EMBEDDING[folder.family], "self_attn.k_proj.weight", same=False)


def other_heads(folder, chance):
    """Another number of heads: the same shapes, and another meaning, which the file says."""
    key = HEADS[folder.family]
    if key not in folder.config or "head_dim" in folder.config or "num_attention_heads" in folder.config and folder.family == "gpt2":
        return
    folder.config[key] = chance.choice((2, 4, 8))
    if folder.family == "llama":
        folder.config["num_key_value_heads"] = folder.config[key] // 2
    folder.concerns(key, "num_key_value_heads", "self_attn.k_proj.weight", same=False)


def other_epsilon(folder, chance):
    folder.config[EPSILON[folder.family]] = chance.choice((1e-3, 0.1, 1.0))
    folder.concerns(EPSILON[folder.family])


def other_fact(folder, chance):
    key, value = chance.choice(sorted(FACTS[folder.family].items(), key=str))
    folder.config[key] = value if value is not None else False
    folder.concerns(key, "bias", same=False)


def second_name(folder, chance):
    """GPT-2's keys by the names of other families."""
    key = chance.choice(sorted(ALIASES))
    if folder.family != "gpt2" or not isinstance(folder.config.get(key), int):
        return
    value = folder.config.pop(key) if chance.random() < 0.5 else folder.config[key]
    other = value if key not in folder.config or chance.random() < 0.5 else value * 2
    folder.config[ALIASES[key]] = other
    folder.concerns(key, ALIASES[key], same=other == value)


def unknown_key(folder, chance):
    folder.config[chance.choice(("rope_theta_scale", "use_flash", "auto_map", "n_ctx"))] = chance.choice((1, True, {"a": 1}, "x"))


def text_for_number(folder, chance):
    key = chance.choice((EPSILON[folder.family], BASE.get(folder.family, "vocab_size"), "vocab_size"))
    if key in folder.config:
        folder.config[key] = f"{folder.config[key]}"
        folder.concerns(key, same=False)


def tie(folder, chance):
    """tie_word_embeddings says another thing than before."""
    folder.config["tie_word_embeddings"] = chance.choice((True, False))
    folder.concerns("tie_word_embeddings", HEAD[folder.family], EMBEDDING[folder.family], same=False)


CHANGES = (move_positions, move_positions, repeat_positions, repeat_positions, two_maps, other_type, scale_positions,
           share_of_channels, drop_default, null, other_heads, other_epsilon, other_fact, second_name, second_name,
           unknown_key, text_for_number, tie)
