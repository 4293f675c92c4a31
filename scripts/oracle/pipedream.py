"""Training by a pipeline without a flush between steps, in plain PyTorch: each micro-batch with older weights.

Micro-batches have one number over all steps. Stage k of p runs the forward of a micro-batch p - 1 - k backwards earlier
than its own backward, and uses the same weights for both. There is no pipeline here: only the versions of weights.

Source: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", 2019, section 3.3 (weight
        stashing); Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", 2021, section 3.1 (sums over
        micro-batches)
"""

import torch

import adamw
import models

MODEL = {"family": "llama", "layers": 3, "hidden": 48, "heads": 6, "kv_heads": 2, "ffn_hidden": 80, "vocab": 101,
         "max_seq": 40, "tie_embeddings": False, "norm_epsilon": 1e-5, "rope_theta": 10000.0}
STAGES = 3  # with a layer each; the first has the embedding, the last the head
DRAINS = [4]  # the pipeline is empty before these steps, from 0, and before the first one
MICRO_BATCHES = [1, 3]
NUM_STEPS = 10
SEED = 20191027


def stage_of(name):
    if name.startswith("layers."):
        return int(name.split(".")[1])
    return 0 if name.startswith("embedding.") else STAGES - 1


def version(stage, number, per_step):
    """Updates of the stage's weights before the forward of micro-batch `number`: the stage has then run the backward of
    all micro-batches up to number - ahead, and an update after each `per_step` of them. A drained pipeline begins with
    the current weights."""
    ahead = STAGES - 1 - stage
    drained = max([0] + [step for step in DRAINS if step * per_step <= number])
    return max(drained, (number - ahead) // per_step)


def rows_of(batch, index, count):
    """Micro-batch `index` of `count` equal ones."""
    size = batch["tokens"].shape[0] // count
    return {name: rows[index * size:(index + 1) * size] for name, rows in batch.items()}


def train(initial, batch, per_step, settings, dtype):
    """Losses and norms of the steps, and the weights after them."""
    newest = {name: value.to(dtype).requires_grad_() for name, value in initial.items()}
    optimizer = adamw.make_optimizer(newest, settings)
    history = [{name: w.detach().clone() for name, w in newest.items()}]  # by version; all stages have equally many
    targets = (batch["loss_mask"] != 0).sum()
    losses, norms = [], []
    for step in range(NUM_STEPS):
        loss_sum = 0.0
        total = {name: torch.zeros_like(w) for name, w in newest.items()}
        for i in range(per_step):
            number = step * per_step + i
            used = {name: history[version(stage_of(name), number, per_step)][name].clone().requires_grad_()
                    for name in newest}
            rows = rows_of(batch, i, per_step)
            share = (rows["loss_mask"] != 0).sum() / targets
            loss = models.mean_loss(models.logits(MODEL, used, rows), rows) * share
            loss.backward()
            loss_sum += loss.item()
            for name, w in used.items():
                total[name] += w.grad
        losses.append(loss_sum)
        norms.append(sum(g.square().sum().item() for g in total.values()) ** 0.5)
        for name, w in newest.items():
            w.grad = total[name]
        optimizer.step()
        history.append({name: w.detach().clone() for name, w in newest.items()})
    return torch.tensor(losses, dtype=torch.float64), torch.tensor(norms, dtype=torch.float64), history[-1]


def make(make_batch, settings, bounds, weights_gap):
    """The parts of a deck, and the tensors of tests/oracle/rules/pipedream_tiny.safetensors."""
    generator = torch.Generator().manual_seed(SEED)
    initial, batch = models.initial_weights(MODEL, generator), make_batch(MODEL, generator)
    tensors = {f"initial/{n}": w for n, w in initial.items()} | {f"batch/{n}": t for n, t in batch.items()}
    for per_step in MICRO_BATCHES:
        losses, norms, final = train(initial, batch, per_step, settings, torch.float64)
        plain, _, plain_final = train(initial, batch, per_step, settings, torch.float32)
        gaps = {"losses": ((plain - losses) / losses).abs().max().item(), "weights": weights_gap(plain_final, final)}
        print(f"pipedream_tiny, {per_step} micro-batches: loss {losses[0]:.6f} -> {losses[-1]:.6f}; PyTorch itself is off by "
              + ", ".join(f"{what} {gap:.1e}" for what, gap in gaps.items()))
        assert all(gap < bounds["f32"][what] / 2 for what, gap in gaps.items()), "PyTorch is at the edge of a bound"
        tensors |= {f"{per_step}/losses": losses.float(), f"{per_step}/gradient_norms": norms.float()}
        tensors |= {f"{per_step}/final/{n}": w.float() for n, w in final.items()}
    config = {"model": MODEL, "data": {"seq": batch["tokens"].shape[1]}, "optimizer": settings, "bounds": bounds,
              "pipedream": {"stages": STAGES, "drains": DRAINS, "micro_batches": MICRO_BATCHES, "steps": NUM_STEPS}}
    return config, tensors
