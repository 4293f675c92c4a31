"""Makes tests/oracle/*: results of PyTorch for a tiny model of several families, AdamW with slow moments, and training on
pairs of answers.

  scripts/torch_python.sh scripts/oracle/make_oracles.py            writes the files
  scripts/torch_python.sh scripts/oracle/make_oracles.py --check    makes them anew and compares
  scripts/torch_python.sh scripts/oracle/make_oracles.py NAME       only tests/oracle/NAME.*

Everything is computed in float64 and rounded to float32 at the end. The same in PyTorch's float32, and in its
bfloat16 autocast, must lie well within the bounds that the files state for ours. tests/oracle/README.md says what
is in the files.
"""

import argparse
import json
import pathlib
import sys

import torch

import adamw
import models
import pipedream
import preference
import tensor_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "oracle"
NUM_STEPS = 10
ADAMW = {"kind": "adamw", "lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "clip_norm": 1.0}
# How far a correct program may be off, as tests/oracle/README.md defines it.
BOUNDS = {
    "f32": {"logits": 1e-4, "loss": 1e-5, "gradients": 1e-4, "losses": 1e-5, "weights": 1e-4},
    "bf16": {"logits": 0.05, "loss": 0.003, "gradients": 0.15, "losses": 0.03, "weights": 0.005},
}
BATCH = {"sequences": 3, "seq": 33}
# AdamW alone, where the decays of its moments are close to 1.
SLOW_STEPS, SLOW_WEIGHTS = 20, 500
SLOW_BETAS = [[0.9, 0.999], [0.99, 0.9999]]
RULE_MODEL, DELAYED_AFTER = "llama_tiny", 3
UNIT_NORMS_BOUND = 1e-5
SLOW_BOUNDS = {"first_moment": 2e-6, "second_moment": 2e-6, "weights": 2e-6}
DECKS = {
    "gpt2_tiny": {
        "family": "gpt2", "layers": 2, "hidden": 48, "heads": 3, "kv_heads": 3, "ffn_hidden": 192, "vocab": 97,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-5, "dropout": 0.0,
    },
    "llama_tiny": {
        "family": "llama", "layers": 2, "hidden": 48, "heads": 6, "kv_heads": 2, "ffn_hidden": 80, "vocab": 101,
        "max_seq": 40, "tie_embeddings": False, "norm_epsilon": 1e-5, "rope_theta": 10000.0,
    },
    "gpt_neox_tiny": {
        "family": "gpt_neox", "layers": 2, "hidden": 48, "heads": 3, "kv_heads": 3, "ffn_hidden": 192, "vocab": 103,
        "max_seq": 40, "tie_embeddings": False, "norm_epsilon": 1e-5, "rope_theta": 10000.0, "rotary_fraction": 0.25,
    },
    "llama_biased_tiny": {
        "family": "llama", "layers": 2, "hidden": 36, "heads": 6, "kv_heads": 3, "ffn_hidden": 36, "vocab": 61,
        "max_seq": 40, "tie_embeddings": False, "norm_epsilon": 1e-5, "rope_theta": 10000.0, "head_dim": 8,
        "bias": {"qkv": True, "output": True, "mlp": True},
    },
    "mistral_window_tiny": {
        "family": "mistral", "layers": 2, "hidden": 36, "heads": 6, "kv_heads": 2, "ffn_hidden": 36, "vocab": 73,
        "max_seq": 40, "tie_embeddings": False, "norm_epsilon": 1e-5, "rope_theta": 10000.0, "window": 7,
        "full_attention_interval": 2,
    },
    "qwen2_tiny": {
        "family": "qwen2", "layers": 2, "hidden": 24, "heads": 4, "kv_heads": 2, "ffn_hidden": 36, "vocab": 67,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-6, "rope_theta": 1000000.0,
    },
    "qwen3_tiny": {
        "family": "qwen3", "layers": 2, "hidden": 24, "heads": 4, "kv_heads": 2, "ffn_hidden": 36, "vocab": 73,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-6, "rope_theta": 1000000.0, "head_dim": 10,
    },
    "gemma_tiny": {
        "family": "gemma", "layers": 2, "hidden": 24, "heads": 3, "kv_heads": 1, "ffn_hidden": 44, "vocab": 79,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-6, "rope_theta": 10000.0, "head_dim": 10,
    },
    "smollm3_tiny": {
        "family": "smollm3", "layers": 3, "hidden": 36, "heads": 3, "kv_heads": 1, "ffn_hidden": 36, "vocab": 71,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-6, "rope_theta": 10000.0, "no_rope_interval": 2,
    },
    "granite_tiny": {
        "family": "granite", "layers": 2, "hidden": 40, "heads": 5, "kv_heads": 1, "ffn_hidden": 28, "vocab": 73,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-5, "rope_theta": 10000.0, "attention_scale": 0.2,
        "multiplier": {"embedding": 3.5, "residual": 0.45, "logits": 1.4},
    },
    "gemma2_tiny": {
        "family": "gemma2", "layers": 3, "hidden": 24, "heads": 4, "kv_heads": 2, "ffn_hidden": 44, "vocab": 75,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-6, "rope_theta": 500.0, "head_dim": 10,
        "window": 8, "full_attention_interval": 2, "attention_scale": 0.25,
        "softcap": {"attention": 4.0, "logits": 5.0},
    },
    "gemma3_tiny": {
        "family": "gemma3", "layers": 3, "hidden": 24, "heads": 3, "kv_heads": 1, "ffn_hidden": 44, "vocab": 77,
        "max_seq": 40, "tie_embeddings": True, "norm_epsilon": 1e-6, "rope_theta": 500.0, "head_dim": 10,
        "window": 8, "full_attention_interval": 2, "window_rope_theta": 40.0, "attention_scale": 0.25,
    },
    "olmo2_tiny": {
        "family": "olmo2", "layers": 2, "hidden": 36, "heads": 6, "kv_heads": 2, "ffn_hidden": 44, "vocab": 79,
        "max_seq": 40, "tie_embeddings": False, "norm_epsilon": 1e-6, "rope_theta": 500000.0,
    },
}
SEEDS = {"gpt2_tiny": 20190214, "llama_tiny": 20230227, "gpt_neox_tiny": 20220414, "llama_biased_tiny": 20230200,
         "mistral_window_tiny": 20231010, "qwen2_tiny": 20240701, "qwen3_tiny": 20250515, "smollm3_tiny": 20250724,
         "gemma_tiny": 20240221, "granite_tiny": 20241021, "gemma2_tiny": 20240627, "gemma3_tiny": 20250312,
         "olmo2_tiny": 20241231}


def make_batch(model, generator):
    """Documents of uneven length; about a fifth of the targets does not count."""
    extents = (BATCH["sequences"], BATCH["seq"])
    tokens = torch.randint(model["vocab"], (extents[0], extents[1] + 1), generator=generator)
    starts = torch.zeros(extents, dtype=torch.int32)
    for sequence, firsts in enumerate([(11, 12, 27), (), (32,)]):  # a document of one token, none, one at the end
        for first in firsts:
            starts[sequence, first:] = first
    positions = torch.arange(extents[1], dtype=torch.int32) - starts
    mask = (torch.rand(extents, generator=generator) > 0.2).to(torch.int32)
    return {
        "tokens": tokens[:, :-1].to(torch.int32),
        "targets": tokens[:, 1:].to(torch.int32),
        "loss_mask": mask,
        "document_starts": starts,
        "positions": positions,
    }


def forward(model, weights, batch, autocast):
    """Logits and loss; `autocast`: products in bfloat16."""
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        out = models.logits(model, weights, batch)
    if autocast:
        out = out.float()
    return out, models.mean_loss(out, batch)


def first_step(model, initial, batch, dtype, autocast=False):
    """Logits, loss and gradients at the initial weights."""
    weights = {name: value.to(dtype).requires_grad_() for name, value in initial.items()}
    out, loss = forward(model, weights, batch, autocast)
    loss.backward()
    return {"logits": out.detach(), "loss": loss.detach()}, {n: w.grad for n, w in weights.items()}


def train(model, initial, batch, dtype, autocast=False, clip=adamw.clip_gradients):
    """Ten steps of AdamW on the same batch: losses, gradient norms before clipping, final weights."""
    weights = {name: value.to(dtype).requires_grad_() for name, value in initial.items()}
    optimizer = adamw.make_optimizer(weights, ADAMW)
    losses, norms = [], []
    for _ in range(NUM_STEPS):
        optimizer.zero_grad()
        loss = forward(model, weights, batch, autocast)[1]
        loss.backward()
        norms.append(clip(weights, ADAMW["clip_norm"]))
        optimizer.step()
        losses.append(loss.item())
    return (torch.tensor(losses, dtype=torch.float64), torch.tensor(norms, dtype=torch.float64),
            {name: w.detach() for name, w in weights.items()})


def train_delayed(model, initial, batch, dtype, after):
    """As train(), with delayed updates after `after` ordinary steps: a later step applies the clipped gradient of the
    step before it, after its own forward and backward. The update by the gradient of the last step is pending."""
    weights = {name: value.to(dtype).requires_grad_() for name, value in initial.items()}
    optimizer = adamw.make_optimizer(weights, ADAMW)
    losses, norms, pending = [], [], None
    for step in range(1, NUM_STEPS + 1):
        optimizer.zero_grad()
        loss = forward(model, weights, batch, False)[1]
        loss.backward()
        norms.append(adamw.clip_gradients(weights, ADAMW["clip_norm"]))
        losses.append(loss.item())
        if step <= after:
            optimizer.step()
            continue
        gradients = {name: w.grad.clone() for name, w in weights.items()}
        if pending is not None:
            for name, w in weights.items():
                w.grad = pending[name]
            optimizer.step()
        pending = gradients
    return (torch.tensor(losses, dtype=torch.float64), torch.tensor(norms, dtype=torch.float64),
            {name: w.detach() for name, w in weights.items()})


def make_rule(name, rule, config):
    """Another rule of updates than train()'s, with the model and the batch of RULE_MODEL.

    `rule` has the arguments and results of train() up to `dtype`; `config` is more of the deck's part."""
    model = DECKS[RULE_MODEL]
    generator = torch.Generator().manual_seed(SEEDS[RULE_MODEL])
    initial, batch = models.initial_weights(model, generator), make_batch(model, generator)
    losses, norms, final = rule(model, initial, batch, torch.float64)
    ordinary, _, ordinary_final = train(model, initial, batch, torch.float64)
    plain, _, plain_final = rule(model, initial, batch, torch.float32)
    gaps = {"losses": ((plain - losses) / losses).abs().max().item(), "weights": weights_gap(plain_final, final)}
    apart = weights_gap(ordinary_final, final)
    print(f"{name}: loss {losses[0]:.6f} -> {losses[-1]:.6f}; ordinary {ordinary[-1]:.6f}, with weights off by {apart:.1e}; "
          "PyTorch itself is off by " + ", ".join(f"{what} {gap:.1e}" for what, gap in gaps.items()))
    assert all(gap < BOUNDS["f32"][what] / 2 for what, gap in gaps.items()), "PyTorch is at the edge of a bound"
    assert apart > 5 * BOUNDS["f32"]["weights"], "the ordinary rule is as good"
    tensors = {f"initial/{n}": w for n, w in initial.items()} | {f"batch/{n}": t for n, t in batch.items()}
    tensors |= {"losses": losses.float(), "gradient_norms": norms.float(), "ordinary/losses": ordinary.float()}
    tensors |= {f"final/{n}": w.float() for n, w in final.items()}
    return {"model": model, "data": {"seq": BATCH["seq"]}, "optimizer": ADAMW, "bounds": BOUNDS} | config, tensors


def make_delayed():
    """Delayed updates."""
    def rule(*args):
        return train_delayed(*args, DELAYED_AFTER)
    return make_rule("rules/delayed_tiny", rule, {"delayed_update": {"after": DELAYED_AFTER}})


def make_per_unit():
    """Units clipped by their own norms."""
    def rule(*args):
        return train(*args, clip=adamw.clip_units)
    return make_rule("rules/per_unit_tiny", rule, {})


def train_with_norms(model, initial, batch, dtype):
    """train() with the norms of each unit: [steps, units] of gradients before clipping, of weights after the update and
    of their change by it."""
    weights = {name: value.to(dtype).requires_grad_() for name, value in initial.items()}
    optimizer = adamw.make_optimizer(weights, ADAMW)
    losses, norms, of_units = [], [], {"gradient": [], "weights": [], "update": []}
    for _ in range(NUM_STEPS):
        optimizer.zero_grad()
        loss = forward(model, weights, batch, False)[1]
        loss.backward()
        of_units["gradient"].append(adamw.unit_norms({name: w.grad for name, w in weights.items()}))
        norms.append(adamw.clip_gradients(weights, ADAMW["clip_norm"]))
        before = {name: w.detach().clone() for name, w in weights.items()}
        optimizer.step()
        of_units["weights"].append(adamw.unit_norms(weights))
        of_units["update"].append(adamw.unit_norms({name: w.detach() - before[name] for name, w in weights.items()}))
        losses.append(loss.item())
    return (torch.tensor(losses, dtype=torch.float64), torch.tensor(norms, dtype=torch.float64),
            {name: torch.tensor(rows, dtype=torch.float64) for name, rows in of_units.items()})


def make_unit_norms():
    """Norms by unit of the ordinary training of RULE_MODEL."""
    model = DECKS[RULE_MODEL]
    generator = torch.Generator().manual_seed(SEEDS[RULE_MODEL])
    initial, batch = models.initial_weights(model, generator), make_batch(model, generator)
    losses, norms, of_units = train_with_norms(model, initial, batch, torch.float64)
    _, _, plain = train_with_norms(model, initial, batch, torch.float32)
    gaps = {what: ((plain[what] - rows) / rows).abs().max().item() for what, rows in of_units.items()}
    print("rules/unit_norms_tiny: PyTorch itself is off by " + ", ".join(f"{what} {gap:.1e}" for what, gap in gaps.items()))
    assert all(gap < UNIT_NORMS_BOUND / 2 for gap in gaps.values()), "PyTorch is at the edge of the bound"
    assert ((of_units["gradient"].square().sum(1).sqrt() - norms) / norms).abs().max() < 1e-12
    tensors = {f"initial/{n}": w for n, w in initial.items()} | {f"batch/{n}": t for n, t in batch.items()}
    tensors |= {"losses": losses.float(), "gradient_norms": norms.float()}
    tensors |= {f"norms/{what}": rows.float() for what, rows in of_units.items()}
    return {"model": model, "data": {"seq": BATCH["seq"]}, "optimizer": ADAMW,
            "bounds": {kind: bounds | {"norms": UNIT_NORMS_BOUND} for kind, bounds in BOUNDS.items() if kind == "f32"}}, tensors


def is_key_bias(name):
    """Adding a constant to all scores of a query changes nothing: the true gradient is zero, Adam's step noise."""
    return name.endswith("attention.k.bias")


def norm_of(tensors):
    return sum(t.double().square().sum().item() for t in tensors) ** 0.5


def gradient_gap(ours, oracle, with_key_biases):
    """The largest ratio of |a - b| to max(|b|, 1e-3 |all gradients|) over the tensors, and which it is."""
    floor = 1e-3 * norm_of(oracle.values())
    return max((norm_of([ours[n].double() - b.double()]) / max(norm_of([b]), floor), n)
               for n, b in oracle.items() if with_key_biases or not is_key_bias(n))


def relative(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def weights_gap(ours, oracle):
    """All weights as one vector, without key biases."""
    names = [n for n in oracle if not is_key_bias(n)]
    return norm_of([ours[n].double() - oracle[n].double() for n in names]) / norm_of([oracle[n] for n in names])


def make(name):
    model = DECKS[name]
    generator = torch.Generator().manual_seed(SEEDS[name])
    initial, batch = models.initial_weights(model, generator), make_batch(model, generator)

    outputs, gradients = first_step(model, initial, batch, torch.float64)
    losses, norms, final = train(model, initial, batch, torch.float64)
    assert norms.max() > ADAMW["clip_norm"] and losses[-1] < losses[0], (norms, losses)

    print(f"{name}: {sum(w.numel() for w in initial.values())} parameters, loss {losses[0]:.6f} -> {losses[-1]:.6f}, "
          f"norm {norms[0]:.3f}; PyTorch itself is off by")
    for kind, bounds in BOUNDS.items():
        autocast = kind == "bf16"
        other_outputs, other_gradients = first_step(model, initial, batch, torch.float32, autocast)
        other_losses, _, other_final = train(model, initial, batch, torch.float32, autocast)
        gaps = {
            "logits": relative(other_outputs["logits"], outputs["logits"]),
            "loss": relative(other_outputs["loss"], outputs["loss"]),
            "gradients": gradient_gap(other_gradients, gradients, with_key_biases=not autocast)[0],
            "losses": ((other_losses - losses) / losses).abs().max().item(),
            "weights": weights_gap(other_final, final),
        }
        print(f"  {kind}: " + ", ".join(f"{what} {gap:.1e}" for what, gap in gaps.items()))
        assert all(gaps[what] < bound / 2 for what, bound in bounds.items()), "PyTorch is at the edge of a bound"

    tensors = {f"initial/{n}": w for n, w in initial.items()}
    tensors |= {f"batch/{n}": t for n, t in batch.items()}
    tensors |= {n: t.float() for n, t in outputs.items()}
    tensors |= {f"gradient/{n}": g.float() for n, g in gradients.items()}
    tensors |= {"losses": losses.float(), "gradient_norms": norms.float()}
    tensors |= {f"final/{n}": w.float() for n, w in final.items()}
    return {"model": model, "data": {"seq": BATCH["seq"]}, "optimizer": ADAMW, "bounds": BOUNDS}, tensors


def walk(initial, gradients, betas, dtype):
    """Weights and moments after one update of AdamW by each of `gradients`."""
    weights = initial.clone().to(dtype).requires_grad_()
    optimizer = torch.optim.AdamW([weights], lr=ADAMW["lr"], betas=betas, eps=ADAMW["eps"],
                                  weight_decay=ADAMW["weight_decay"])
    for gradient in gradients:
        weights.grad = gradient.to(dtype)
        optimizer.step()
    state = optimizer.state[weights]
    return {"weights": weights.detach(), "first_moment": state["exp_avg"], "second_moment": state["exp_avg_sq"]}


def make_slow_moments():
    """AdamW alone: PyTorch in float64, for each pair of SLOW_BETAS."""
    generator = torch.Generator().manual_seed(20141222)
    initial = torch.randn(SLOW_WEIGHTS, generator=generator)
    gradients = torch.randn((SLOW_STEPS, SLOW_WEIGHTS), generator=generator)
    tensors = {"initial": initial, "gradients": gradients}
    for case, betas in enumerate(SLOW_BETAS):
        oracle = walk(initial, gradients, betas, torch.float64)
        plain = walk(initial, gradients, betas, torch.float32)
        gaps = {what: relative(plain[what], oracle[what]) for what in SLOW_BOUNDS}
        print(f"slow_moments, betas {betas}: PyTorch itself is off by " +
              ", ".join(f"{what} {gap:.1e}" for what, gap in gaps.items()))
        assert all(gaps[what] < bound / 2 for what, bound in SLOW_BOUNDS.items()), "PyTorch is at the edge of a bound"
        tensors |= {f"{case}/{what}": t.float() for what, t in oracle.items()}
    optimizer = {key: ADAMW[key] for key in ("kind", "lr", "eps", "weight_decay")}
    return {"optimizer": optimizer, "betas": SLOW_BETAS, "bounds": SLOW_BOUNDS}, tensors


def compare(name, config, tensors):
    """Complaints about the committed files, as lines."""
    if json.loads((FOLDER / f"{name}.json").read_text()) != config:
        yield f"{name}.json differs"
    stored = tensor_file.read(FOLDER / f"{name}.safetensors")
    if {n: t.shape for n, t in stored.items()} != {n: t.shape for n, t in tensors.items()}:
        yield f"{name}.safetensors holds other tensors"
        return
    floor = 1e-3 * norm_of(t for n, t in tensors.items() if n.startswith("gradient/"))
    for tensor, fresh in tensors.items():
        old = stored[tensor]
        scale = max(norm_of([fresh]), floor if tensor.startswith("gradient/") else 1e-30)
        gap = norm_of([old.double() - fresh.double()]) / scale
        exact = tensor.startswith(("initial", "batch/", "gradients", *preference.EXACT_PREFIXES))
        if gap > (0 if exact else 1e-6):
            yield f"{name}: {tensor} differs by {gap:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help="files without their endings (default: all)")
    chosen = parser.parse_args()
    check = chosen.check
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # the tensors are small
    problems = []
    makers = {name: lambda name=name: make(name) for name in DECKS} | {
        "slow_moments": make_slow_moments, "rules/delayed_tiny": make_delayed, "rules/per_unit_tiny": make_per_unit,
        "rules/unit_norms_tiny": make_unit_norms,
        "rules/pipedream_tiny": lambda: pipedream.make(make_batch, ADAMW, BOUNDS, weights_gap),
        "preference_tiny": preference.make}
    if unknown := set(chosen.names) - set(makers):
        parser.error(f"no oracle is named {', '.join(sorted(unknown))}")
    for name in chosen.names or makers:
        config, tensors = makers[name]()
        if check:
            problems += compare(name, config, tensors)
        else:
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / f"{name}.json").write_text(json.dumps(config, indent=2) + "\n")
            tensor_file.write(FOLDER / f"{name}.safetensors", tensors)
    print("\n".join(problems) or ("the files are what PyTorch says" if check else f"written to {FOLDER}"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
