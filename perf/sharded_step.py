"""A training step sharded over the processes of one machine, as users of PyTorch's FSDP2 or of DeepSpeed's ZeRO-3
write it: the peers that perf/compare_sharded.py times.

  scripts/torch_python.sh -m torch.distributed.run --standalone --nproc-per-node 2 perf/sharded_step.py \
      --system fsdp2 --model gpt2-124m --precision bf16

Model, optimizer and clipping are those of torch_step.py; gloo carries the collectives. FSDP2 shards each layer
and the rest, computes in `--precision` and sums gradients in fp32; DeepSpeed takes its own AdamW. Prints one
JSON line from rank 0; the first steps (compilation, tracing of the model's order, allocation) are not counted.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn

from torch_step import SHAPES, Model

LEARNING_RATE, BETAS, WEIGHT_DECAY, CLIP_NORM = 3e-4, (0.9, 0.95), 0.1, 1.0


def groups_of(model):
    return [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": WEIGHT_DECAY},
            {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]


def fsdp2_step(model, chosen):
    """A function of (inputs, targets) that does one step and returns the loss."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    compute = torch.bfloat16 if chosen.precision == "bf16" else torch.float32
    policy = MixedPrecisionPolicy(param_dtype=compute, reduce_dtype=torch.float32)
    for layer in model.layers:
        if chosen.mode == "compiled":
            layer.compile()
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(groups_of(model), lr=LEARNING_RATE, betas=BETAS, fused=True)

    def step(inputs, targets):
        loss = model(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def deepspeed_step(model, chosen):
    """As fsdp2_step."""
    import deepspeed

    if chosen.mode == "compiled":
        model.compile()
    settings = {
        "train_micro_batch_size_per_gpu": chosen.sequences,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": CLIP_NORM,
        "bf16": {"enabled": chosen.precision == "bf16"},
        "zero_optimization": {"stage": 3},
        "optimizer": {"type": "AdamW", "params": {"lr": LEARNING_RATE, "betas": BETAS, "weight_decay": WEIGHT_DECAY}},
    }
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=groups_of(model), config=settings)

    def step(inputs, targets):
        loss = engine(inputs, targets)
        engine.backward(loss)
        engine.step()
        return loss

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=["fsdp2", "deepspeed"], required=True)
    parser.add_argument("--model", choices=SHAPES, required=True)
    parser.add_argument("--precision", choices=["f32", "bf16"], required=True)
    parser.add_argument("--mode", choices=["eager", "compiled"], default="eager")
    parser.add_argument("--sequences", type=int, default=2, help="per process")
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1, help="per process")
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2)
    chosen = parser.parse_args()

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(1234)
    shape = SHAPES[chosen.model]
    model = Model(shape, chosen.seq)
    step = {"fsdp2": fsdp2_step, "deepspeed": deepspeed_step}[chosen.system](model, chosen)
    torch.manual_seed(1234 + rank)
    tokens = torch.randint(shape["vocab"], (chosen.sequences, chosen.seq + 1))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    seconds, losses = [], []
    for _ in range(chosen.warm_up + chosen.steps):
        dist.barrier()
        start = time.perf_counter()
        loss = step(inputs, targets).detach().float()
        dist.barrier()
        seconds.append(time.perf_counter() - start)
        dist.all_reduce(loss)
        losses.append(loss.item() / ranks)
    best = min(seconds[chosen.warm_up:])
    if rank == 0:
        print(json.dumps({
            "measurement": "sharded_step", "system": chosen.system, "model": chosen.model,
            "precision": chosen.precision, "mode": chosen.mode, "ranks": ranks, "sequences": chosen.sequences,
            "seq": chosen.seq, "threads": chosen.threads, "torch": torch.__version__, "step_seconds": best,
            "tokens_per_second": ranks * chosen.sequences * chosen.seq / best, "losses": losses,
        }), flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads, still alive, would end an orderly exit by an abort


if __name__ == "__main__":
    main()
