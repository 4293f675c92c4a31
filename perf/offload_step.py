"""DeepSpeed ZeRO-3 with its state away from the device, as its users write it: the peer of perf/compare_deepspeed.py.

  scripts/torch_python.sh -m torch.distributed.run --standalone --nproc-per-node 2 perf/offload_step.py \
      --home nvme --folder FOLDER --model llama-350m

The model is that of torch_step.py, made under deepspeed.zero.Init, so that no process ever holds all of it; layers are
checkpointed, or nothing is (--recompute none); gloo and DeepSpeed's own shared memory carry the collectives; DeepSpeedCPUAdam is the optimizer. Prints one
JSON line from rank 0. Bytes of the disk are the kernel's, from /proc/self/io, over the counted steps.
"""

import argparse
import json
import os
import pathlib
import re
import time

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

from sharded_step import BETAS, CLIP_NORM, LEARNING_RATE, WEIGHT_DECAY, groups_of
from torch_step import SHAPES, Layer, Model


def settings_of(chosen):
    """DeepSpeed's configuration. A buffer holds the largest shard; with five of them, its default, a step ends by 'Not
    enough buffers'. Nothing stays gathered longer than it is used, and little is gathered ahead."""
    offload = {"device": chosen.home, "pin_memory": True}
    if chosen.home == "nvme":
        offload |= {"nvme_path": chosen.folder}
    shape, ranks = SHAPES[chosen.model], int(os.environ["WORLD_SIZE"])
    largest = -(-max(shape["vocab"], 2 * shape["ffn"]) * shape["hidden"] // ranks)
    parameters = {"buffer_count": chosen.buffers, "buffer_size": largest, "max_in_cpu": 0} if chosen.home == "nvme" else {}
    return {
        "train_micro_batch_size_per_gpu": chosen.sequences,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": CLIP_NORM,
        "bf16": {"enabled": True},
        "zero_optimization": {
            "stage": 3, "stage3_prefetch_bucket_size": 15_000_000, "stage3_max_live_parameters": 50_000_000,
            "stage3_max_reuse_distance": 0, "sub_group_size": chosen.sub_group, "offload_param": offload | parameters,
            "offload_optimizer": offload | ({"buffer_count": 4} if chosen.home == "nvme" else {})},
        "aio": {"block_size": 1 << 20, "queue_depth": 32, "single_submit": False, "overlap_events": True},
        "optimizer": {"type": "AdamW", "params": {"lr": LEARNING_RATE, "betas": BETAS, "weight_decay": WEIGHT_DECAY}},
    }


class CheckpointedLayer(Layer):
    """Keeps its input for backward and nothing else."""

    def forward(self, *inputs):
        return checkpoint(super().forward, *inputs, use_reentrant=False)


def model_of(chosen, settings):
    import torch_step

    torch_step.Layer = {"full": CheckpointedLayer, "none": Layer}[chosen.recompute]
    with deepspeed.zero.Init(config_dict_or_path=settings):
        model = Model(SHAPES[chosen.model], chosen.seq)
    model.cosine, model.sine = model.cosine.bfloat16(), model.sine.bfloat16()  # as the queries that they turn
    return model


def moved_bytes():
    """Read from disks and written to them so far, of all ranks."""
    text = pathlib.Path("/proc/self/io").read_text()
    own = torch.tensor([int(re.search(rf"^{name}: (\d+)", text, re.M)[1]) for name in ("read_bytes", "write_bytes")])
    dist.all_reduce(own)
    return own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=SHAPES, required=True)
    parser.add_argument("--home", choices=["nvme", "cpu"], required=True)
    parser.add_argument("--folder", required=True, help="on the disk to be used")
    parser.add_argument("--sequences", type=int, default=2, help="per process")
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--recompute", choices=["full", "none"], default="full")
    parser.add_argument("--sub-group", type=int, default=50_000_000, help="elements of an optimizer's buffer")
    parser.add_argument("--buffers", type=int, default=14, help="that parameters from NVMe pass through")
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2)
    chosen = parser.parse_args()

    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    torch.manual_seed(1234)
    settings = settings_of(chosen)
    model = model_of(chosen, settings)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=groups_of(model), config=settings)
    torch.manual_seed(1234 + rank)
    tokens = torch.randint(SHAPES[chosen.model]["vocab"], (chosen.sequences, chosen.seq + 1))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    seconds, losses = [], []
    for number in range(chosen.warm_up + chosen.steps):
        dist.barrier()
        if number == chosen.warm_up:
            before = moved_bytes()
        start = time.perf_counter()
        loss = engine(inputs, targets)
        engine.backward(loss)
        engine.step()
        loss = loss.detach().float()
        dist.barrier()
        seconds.append(time.perf_counter() - start)
        dist.all_reduce(loss)
        losses.append(loss.item() / ranks)
    per_step = ((moved_bytes() - before) / chosen.steps).tolist()
    best = min(seconds[chosen.warm_up:])
    if rank == 0:
        print(json.dumps({
            "measurement": "offload_step", "system": f"deepspeed-{chosen.home}", "model": chosen.model, "ranks": ranks,
            "sequences": chosen.sequences, "seq": chosen.seq, "torch": torch.__version__,
            "deepspeed": deepspeed.__version__, "step_seconds": best,
            "tokens_per_second": ranks * chosen.sequences * chosen.seq / best, "losses": losses,
            "read_bytes": per_step[0], "written_bytes": per_step[1],
        }), flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads, still alive, would end an orderly exit by an abort


if __name__ == "__main__":
    main()
