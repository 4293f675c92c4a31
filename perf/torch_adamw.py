"""AdamW over the parameters of GPT-2 124M in PyTorch: the peer that perf/compare_adamw.py times.

  scripts/torch_python.sh perf/torch_adamw.py --threads 2

One flat tensor, the fused update, alone and with the casts of mixed precision: a bf16 gradient becomes the master's
fp32 one before, the master becomes the bf16 parameter after. Prints one JSON line for each.
"""

import argparse
import json
import statistics
import time

import torch

PARAMETERS = 124_475_904
ROUNDS = 15


def seconds_of(work):
    work()
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)

    master = torch.nn.Parameter(torch.rand(PARAMETERS))
    master.grad = torch.rand(PARAMETERS)
    gradient = torch.rand(PARAMETERS).bfloat16()
    parameters = torch.empty(PARAMETERS, dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW([master], lr=1e-4, weight_decay=0.1, fused=True)

    @torch.no_grad()
    def with_casts():
        master.grad.copy_(gradient)
        optimizer.step()
        parameters.copy_(master)

    for kind, work in (("f32", optimizer.step), ("both casts", with_casts)):
        print(json.dumps({"measurement": "torch_adamw", "type": kind, "threads": chosen.threads,
                          "seconds": seconds_of(work), "version": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
