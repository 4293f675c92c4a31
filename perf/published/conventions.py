"""FLOP per token by the conventions of the sources, and the step times that follow from a utilisation.

Conventions differ in three ways: whether attention counts the keys that a causal mask excludes, whether recomputation
counts, and whether the embedding counts next to the head.
"""

PEAKS = {"dgx-a100": 312e12, "dgx-h100": 989e12, "dgx-h200": 989e12, "dgx-gb200": 2450e12, "mosaic-h100": 989e12,
         "mosaic-a100": 312e12, "mosaic-a100-40gb": 312e12, "grand-teton-h100": 989e12, "nanotron-h100": 989e12, "rtx-4090": 165.2e12, "rtx-4090-x4": 165.2e12}


def model_flops(model, seq, keys, groups):
    """FLOP of forward and backward per token, with `keys` keys per query and `groups` as the share of key and value heads."""
    attention = 12 * model.layers * model.hidden**2 * (1 + groups + keys / model.hidden)
    mlp = (18 if model.is_gated else 12) * model.layers * model.ffn * model.hidden
    return attention + mlp + 6 * model.vocab * model.hidden


def with_all_keys(row):
    """NVIDIA's dgxc-benchmarking (K) and the MFU of Korthikanti et al. (C2): a causal mask saves nothing."""
    return model_flops(row.model, row.seq, row.seq, row.model.kv_heads / row.model.heads)


def with_all_heads(row):
    """Release 25.04 of dgxc-benchmarking for Nemotron 4: as K, with as many key heads as query heads."""
    return model_flops(row.model, row.seq, row.seq, 1)


def causal(row):
    """Half of the keys, as in Megatron-LM today."""
    return model_flops(row.model, row.seq, row.seq / 2, row.model.kv_heads / row.model.heads)


def with_recomputation(row):
    """Narayanan et al., 2021, equation 3 (C1): 96 B s l h^2 (1 + s / 6h + V / 16lh)."""
    model = row.model
    return 96 * model.layers * model.hidden**2 * (1 + row.seq / (6 * model.hidden) + model.vocab / (16 * model.layers * model.hidden))


def of_parameters(row):
    """llm-foundry: 6 per parameter, including positions, and 12 l h s for attention; LayerNorms have gains without biases.

    Its models have no biases; the table of positions, which its counts include, has seq rows.
    """
    model = row.model
    parameters = model.parameters + model.hidden * (2 * model.layers + 1) + row.seq * model.hidden
    return 6 * parameters + 12 * model.layers * model.hidden * row.seq


# Name: FLOP per token, and True if a claim is in TFLOP/s per GPU instead of percent of the peak.
CONVENTIONS = {"K": (with_all_keys, False), "C2": (with_all_keys, False), "K-all-heads": (with_all_heads, False), "C1": (with_recomputation, True),
               "causal": (causal, True), "MPT": (of_parameters, False)}


def flops_per_second(row):
    """FLOP/s of a GPU that the row claims; the peak in fp8 is twice that in bf16."""
    _, is_rate = CONVENTIONS[row.convention]
    peak = PEAKS[row.machine] * (2 if row.precision == "fp8" else 1)
    return row.claim * 1e12 if is_rate else row.claim / 100 * peak


def seconds_of_claim(row):
    flops, _ = CONVENTIONS[row.convention]
    return flops(row) * row.batch * row.seq / (flops_per_second(row) * row.gpus)


def seconds_of_rate(row):
    return row.batch * row.seq / (row.rate * row.gpus)


def step_seconds(row):
    """Measured seconds of a step: as published, else from tokens/s, else from a claim."""
    if row.seconds:
        return row.seconds
    return seconds_of_rate(row) if row.rate else seconds_of_claim(row)
