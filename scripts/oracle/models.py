"""GPT-2, GPT-NeoX, Llama and its relatives in plain PyTorch, as functions of a dict of weights under Ziggurat's tensor names.

Written to be read beside the papers, not to be fast: attention is a softmax over a full score matrix.
"""

import dataclasses
import math

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Family:
    """What a family has that others have not."""

    layer_norm: bool = True  # or RMSNorm
    biases: bool = True  # of products, but not of the head; else those of the model's key `bias`
    qkv_bias: bool = False  # of queries, keys and values, whatever the model says
    rotary: bool = True  # or a table of positions
    gate: bool = False  # SwiGLU
    gelu: str = "none"  # PyTorch's word for the form; with a gate: GEGLU instead of SwiGLU
    gain_offset: int = 0  # added to the gains of norms
    scales_embedding: bool = False  # by sqrt(hidden)
    head_norms: bool = False  # of each query and key head, before the rotation
    whole_norms: bool = False  # of all query heads together and of all key heads, before the rotation
    pre_norms: bool = True  # of what each branch reads
    post_norms: bool = False  # of each branch, before it is added
    side_by_side: bool = False  # attention and MLP both read the input of the layer


FAMILIES = {
    "gpt2": Family(rotary=False, gelu="tanh"),
    "llama": Family(layer_norm=False, biases=False, gate=True),
    "gpt_neox": Family(side_by_side=True),
    "mistral": Family(layer_norm=False, biases=False, gate=True),
    "qwen2": Family(layer_norm=False, biases=False, gate=True, qkv_bias=True),
    "qwen3": Family(layer_norm=False, biases=False, gate=True, head_norms=True),
    "gemma": Family(layer_norm=False, biases=False, gate=True, gelu="tanh", gain_offset=1, scales_embedding=True),
    "phi3": Family(layer_norm=False, biases=False, gate=True),
    "smollm3": Family(layer_norm=False, biases=False, gate=True),
    "gemma2": Family(layer_norm=False, biases=False, gate=True, gelu="tanh", gain_offset=1, scales_embedding=True,
                     post_norms=True),
    "gemma3": Family(layer_norm=False, biases=False, gate=True, gelu="tanh", gain_offset=1, scales_embedding=True,
                     head_norms=True, post_norms=True),
    "granite": Family(layer_norm=False, biases=False, gate=True),
    "olmo2": Family(layer_norm=False, biases=False, gate=True, whole_norms=True, pre_norms=False, post_norms=True),
}


# Constant factors of a deck without model.multiplier.
FACTORS = {"embedding": 1.0, "residual": 1.0, "logits": 1.0}


def capped(x, cap):
    """Soft cap of Gemma 2; without one, x itself."""
    return cap * torch.tanh(x / cap) if cap else x


def head_dim_of(model):
    return model.get("head_dim", model["hidden"] // model["heads"])


def shapes(model):
    """Name -> shape of every parameter of `model`, the `model:` part of a deck."""
    hidden, vocab, ffn = model["hidden"], model["vocab"], model["ffn_hidden"]
    q, kv = head_dim_of(model) * model["heads"], head_dim_of(model) * model["kv_heads"]
    family, bias = FAMILIES[model["family"]], model.get("bias", {})
    result = {"embedding.token": (vocab, hidden)}
    if not family.rotary:
        result["embedding.position"] = (model["max_seq"], hidden)

    def norm(name):
        result[f"{name}.gain"] = (hidden,)
        if family.layer_norm:
            result[f"{name}.bias"] = (hidden,)

    def linear(name, outputs, inputs, part):
        result[f"{name}.weight"] = (outputs, inputs)
        if family.biases or bias.get(part) or (part == "qkv" and family.qkv_bias):
            result[f"{name}.bias"] = (outputs,)

    for layer in range(model["layers"]):
        prefix = f"layers.{layer}"
        if family.pre_norms:
            norm(f"{prefix}.attn_norm")
        linear(f"{prefix}.attention.q", q, hidden, "qkv")
        linear(f"{prefix}.attention.k", kv, hidden, "qkv")
        linear(f"{prefix}.attention.v", kv, hidden, "qkv")
        if family.head_norms:
            for part in ("q", "k"):
                result[f"{prefix}.attention.{part}_norm.gain"] = (head_dim_of(model),)
        if family.whole_norms:
            for part, width in (("q", q), ("k", kv)):
                result[f"{prefix}.attention.{part}_norm.gain"] = (width,)
        linear(f"{prefix}.attention.out", hidden, q, "output")
        if family.post_norms:
            norm(f"{prefix}.attn_post_norm")
        if family.pre_norms:
            norm(f"{prefix}.mlp_norm")
        if family.gate:
            linear(f"{prefix}.mlp.gate", ffn, hidden, "mlp")
        linear(f"{prefix}.mlp.up", ffn, hidden, "mlp")
        linear(f"{prefix}.mlp.down", hidden, ffn, "mlp")
        if family.post_norms:
            norm(f"{prefix}.mlp_post_norm")
    norm("final_norm")
    if not model["tie_embeddings"]:
        result["head.weight"] = (vocab, hidden)
    return result


def initial_weights(model, generator):
    """Larger than a training would start from, so that attention is far from uniform; exact in bfloat16."""
    weights = {}
    for name, shape in shapes(model).items():
        draw = torch.randn(shape, generator=generator)
        if name.endswith(".gain"):
            draw = 1 - FAMILIES[model["family"]].gain_offset + 0.2 * draw
        elif len(shape) == 1:
            draw = 0.1 * draw
        elif name.startswith("embedding") or name == "head.weight":
            draw = 0.3 * draw
        else:
            draw = draw * (2.0 if ".q." in name or ".k." in name else 1.0) / shape[1] ** 0.5
        weights[name] = draw.to(torch.bfloat16)
    return weights


def rotate(x, positions, theta, fraction):
    """Rotary embedding of the first channels of a head, halves form: of n, channel i pairs with channel i + n / 2.

    Source: Su et al., "RoFormer", 2021, section 3.2.2, with the pairing of GPT-NeoX and Llama.
    """
    turned = round(x.shape[-1] * fraction)
    x, rest = x[..., :turned], x[..., turned:]
    half = turned // 2
    frequencies = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = positions.to(torch.float64)[..., None] * frequencies  # [batch, seq, half]
    cosine, sine = (part[:, None].to(x.dtype) for part in (angles.cos(), angles.sin()))
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine, rest], dim=-1)


def logits(model, weights, batch):
    """[batch, seq, vocab]"""
    family = FAMILIES[model["family"]]
    heads, kv_heads, eps = model["heads"], model["kv_heads"], model["norm_epsilon"]
    head_dim, without_rope = head_dim_of(model), model.get("no_rope_interval", 0)
    scale, factors = model.get("attention_scale"), FACTORS | model.get("multiplier", {})
    window, without_window = model.get("window", 0), model.get("full_attention_interval", 0)
    tokens, positions, starts = batch["tokens"].long(), batch["positions"].long(), batch["document_starts"]
    num_seq, seq = tokens.shape

    # Query t sees keys from the start of its document up to itself; within a window, the last `window` of them.
    index = torch.arange(seq)
    in_document = (index[None, :] <= index[:, None])[None] & (index[None, None, :] >= starts[:, :, None])
    in_window = in_document & (index[:, None] - index[None, :] < window)[None]

    def norm(name, x):
        if family.layer_norm:
            return F.layer_norm(x, x.shape[-1:], weights[f"{name}.gain"], weights[f"{name}.bias"], eps)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (family.gain_offset + weights[f"{name}.gain"])

    def linear(name, x):
        return F.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))

    def branch(product, x, post_norm):
        out = linear(product, x)
        return norm(post_norm, out) if family.post_norms else out

    def split(x, count):
        return x.reshape(num_seq, seq, count, head_dim).transpose(1, 2)

    x = factors["embedding"] * weights["embedding.token"][tokens]
    if family.scales_embedding:
        x = x * torch.tensor(model["hidden"] ** 0.5, dtype=x.dtype)
    if not family.rotary:
        x = x + weights["embedding.position"][positions]
    for layer in range(model["layers"]):
        prefix = f"layers.{layer}"
        has_window = window and not (without_window and (layer + 1) % without_window == 0)
        start = x
        y = norm(f"{prefix}.attn_norm", x) if family.pre_norms else x
        q, k = linear(f"{prefix}.attention.q", y), linear(f"{prefix}.attention.k", y)
        if family.whole_norms:
            q, k = norm(f"{prefix}.attention.q_norm", q), norm(f"{prefix}.attention.k_norm", k)
        q, k = split(q, heads), split(k, kv_heads)
        v = split(linear(f"{prefix}.attention.v", y), kv_heads)
        if family.head_norms:
            q, k = norm(f"{prefix}.attention.q_norm", q), norm(f"{prefix}.attention.k_norm", k)
        if family.rotary and not (without_rope and (layer + 1) % without_rope == 0):
            fraction = model.get("rotary_fraction", 1.0)
            theta = model.get("window_rope_theta", 0) if has_window else 0
            q, k = (rotate(part, positions, theta or model["rope_theta"], fraction) for part in (q, k))
        k, v = (part.repeat_interleave(heads // kv_heads, dim=1) for part in (k, v))
        scores = q @ k.transpose(-1, -2) / (1 / scale if scale else math.sqrt(head_dim))
        scores = capped(scores, model.get("softcap", {}).get("attention"))
        visible = in_window if has_window else in_document
        scores = scores.masked_fill(~visible[:, None], -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(num_seq, seq, -1)
        x = x + factors["residual"] * branch(f"{prefix}.attention.out", mixed, f"{prefix}.attn_post_norm")
        y = start if family.side_by_side else x
        y = norm(f"{prefix}.mlp_norm", y) if family.pre_norms else y
        up = linear(f"{prefix}.mlp.up", y)
        if family.gate:
            gate = linear(f"{prefix}.mlp.gate", y)
            inner = (F.silu(gate) if family.gelu == "none" else F.gelu(gate, approximate=family.gelu)) * up
        else:
            inner = F.gelu(up, approximate=family.gelu)
        x = x + factors["residual"] * branch(f"{prefix}.mlp.down", inner, f"{prefix}.mlp_post_norm")
    x = norm("final_norm", x)
    head = weights["embedding.token"] if model["tie_embeddings"] else weights["head.weight"]
    return capped(factors["logits"] * (x @ head.T), model.get("softcap", {}).get("logits"))


def mean_loss(all_logits, batch):
    """Cross-entropy in nats, averaged over the targets whose mask is one."""
    mask = batch["loss_mask"].reshape(-1) != 0
    flat = all_logits.reshape(-1, all_logits.shape[-1])
    return F.cross_entropy(flat[mask], batch["targets"].reshape(-1)[mask].long())
