"""AdamW and gradient clipping as a deck's `optimizer` defines them, with PyTorch's own AdamW."""

import torch


def make_optimizer(weights, settings):
    """AdamW for a dict of weights; tensors of one dimension have no weight decay.

    `settings`: lr, betas, eps and weight_decay, as in a deck.
    """
    groups = [
        {"params": [w for w in weights.values() if w.dim() > 1], "weight_decay": settings["weight_decay"]},
        {"params": [w for w in weights.values() if w.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=settings["lr"],
                             betas=settings["betas"], eps=settings["eps"])


def clip_gradients(weights, max_norm):
    """Scales all gradients down to a global norm of `max_norm`; returns their norm before that."""
    norm = torch.stack([w.grad.square().sum() for w in weights.values()]).sum().sqrt()
    for w in weights.values():
        w.grad *= min(1.0, max_norm / norm.item())
    return norm.item()


def by_unit(tensors):
    """The tensors of each unit (embedding, layer, head), in the order of the model."""
    units = {}
    for name, tensor in tensors.items():
        unit = ".".join(name.split(".")[:2]) if name.startswith("layers.") else name.split(".")[0]
        units.setdefault("head" if unit == "final_norm" else unit, {})[name] = tensor
    return units


def clip_units(weights, max_norm):
    """As clip_gradients, but scales the gradients of each unit by their own norm."""
    return sum(clip_gradients(of_unit, max_norm) ** 2 for of_unit in by_unit(weights).values()) ** 0.5


def unit_norms(tensors):
    """The norm of each unit."""
    return [torch.stack([t.detach().double().square().sum() for t in of_unit.values()]).sum().sqrt().item()
            for of_unit in by_unit(tensors).values()]
