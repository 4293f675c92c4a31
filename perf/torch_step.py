"""A training step of GPT-2 or Llama in PyTorch as its users write it: the peer that perf/compare_torch.py and, on a
GPU, scripts/gpu_check.sh time.

  scripts/torch_python.sh perf/torch_step.py --model gpt2-124m --precision f32 --mode eager
  python3 perf/torch_step.py --device cuda --model llama-8b-layers --sequences 2 --seq 4096 --micro-batches 8 \\
    --precision bf16 --mode compiled

Fused attention, fused AdamW, one cross-entropy over all targets, gradients clipped to norm 1. Weights are fp32;
`--precision bf16` computes under autocast. Prints one JSON line; the first steps (compilation, allocation) are not
counted.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

SHAPES = {
    "gpt2-124m": {"family": "gpt2", "layers": 12, "hidden": 768, "heads": 12, "kv_heads": 12, "ffn": 3072,
                  "vocab": 50304},
    "gpt2-1558m": {"family": "gpt2", "layers": 48, "hidden": 1600, "heads": 25, "kv_heads": 25, "ffn": 6400,
                   "vocab": 50304},
    "llama-8b-layers": {"family": "llama", "layers": 4, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336,
                        "vocab": 128256},
    "llama-124m": {"family": "llama", "layers": 12, "hidden": 768, "heads": 12, "kv_heads": 4, "ffn": 2048,
                   "vocab": 32000},
    "llama-350m": {"family": "llama", "layers": 22, "hidden": 1024, "heads": 16, "kv_heads": 16, "ffn": 2816,
                   "vocab": 32000},
    "llama-1024": {"family": "llama", "layers": 8, "hidden": 1024, "heads": 16, "kv_heads": 4, "ffn": 2816,
                   "vocab": 32000},
    "tiny": {"family": "gpt2", "layers": 2, "hidden": 64, "heads": 2, "kv_heads": 2, "ffn": 256, "vocab": 512},
    "tiny-llama": {"family": "llama", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 128,
                   "vocab": 512},
}


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden, self.gpt2 = shape["hidden"], shape["family"] == "gpt2"
        self.heads, self.kv_heads, self.head_dim = shape["heads"], shape["kv_heads"], hidden // shape["heads"]
        norm = nn.LayerNorm if self.gpt2 else nn.RMSNorm
        self.attn_norm, self.mlp_norm = norm(hidden, eps=1e-5), norm(hidden, eps=1e-5)
        widths = [self.heads * self.head_dim] + [self.kv_heads * self.head_dim] * 2
        self.widths = widths
        self.qkv = nn.Linear(hidden, sum(widths), bias=self.gpt2)
        self.out = nn.Linear(hidden, hidden, bias=self.gpt2)
        self.up = nn.Linear(hidden, shape["ffn"] * (1 if self.gpt2 else 2), bias=self.gpt2)
        self.down = nn.Linear(shape["ffn"], hidden, bias=self.gpt2)

    def forward(self, x, cosine, sine):
        num_seq, seq, hidden = x.shape
        q, k, v = (part.view(num_seq, seq, -1, self.head_dim).transpose(1, 2)
                   for part in self.qkv(self.attn_norm(x)).split(self.widths, dim=-1))
        if not self.gpt2:
            q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        if self.kv_heads == self.heads:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif q.is_cuda:
            q, k = q.to(v.dtype), k.to(v.dtype)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            k, v = (part.repeat_interleave(self.heads // self.kv_heads, dim=1) for part in (k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(num_seq, seq, hidden))
        inner = self.up(self.mlp_norm(x))
        if self.gpt2:
            inner = F.gelu(inner, approximate="tanh")
        else:
            gate, up = inner.chunk(2, dim=-1)
            inner = F.silu(gate) * up
        return x + self.down(inner)


class Model(nn.Module):
    def __init__(self, shape, seq):
        super().__init__()
        hidden, gpt2 = shape["hidden"], shape["family"] == "gpt2"
        self.token = nn.Embedding(shape["vocab"], hidden)
        self.position = nn.Embedding(seq, hidden) if gpt2 else None
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape["layers"]))
        self.final_norm = (nn.LayerNorm if gpt2 else nn.RMSNorm)(hidden, eps=1e-5)
        self.head = nn.Linear(hidden, shape["vocab"], bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        if gpt2:
            self.head.weight = self.token.weight
        half = hidden // shape["heads"] // 2
        angles = torch.arange(seq)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens, targets):
        x = self.token(tokens)
        if self.position is not None:
            x = x + self.position.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        logits = self.head(self.final_norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=SHAPES, required=True)
    parser.add_argument("--precision", choices=["f32", "bf16"], required=True)
    parser.add_argument("--mode", choices=["eager", "compiled"], required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--sequences", type=int, default=4, help="of one micro-batch")
    parser.add_argument("--micro-batches", type=int, default=1, help="of one step; their gradients are summed")
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--limit-s", type=float, default=float("inf"),
                        help="start no step after so many seconds, if one has been timed")
    chosen = parser.parse_args()
    begin = time.perf_counter()
    on_gpu = chosen.device == "cuda"

    def finish():
        if on_gpu:
            torch.cuda.synchronize()

    torch.set_num_threads(chosen.threads)
    if on_gpu:
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(1234)
    shape = SHAPES[chosen.model]
    with torch.device(chosen.device):
        model = Model(shape, chosen.seq)
        tokens = torch.randint(shape["vocab"], (chosen.micro_batches, chosen.sequences, chosen.seq + 1))
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True)
    loss_of = torch.compile(model) if chosen.mode == "compiled" else model
    inputs, targets = tokens[..., :-1].contiguous(), tokens[..., 1:].contiguous()

    seconds, losses = [], []
    for step in range(chosen.warm_up + chosen.steps):
        if step > chosen.warm_up and time.perf_counter() - begin > chosen.limit_s:
            break
        finish()
        start = time.perf_counter()
        loss_sum = 0
        for micro_batch in range(chosen.micro_batches):
            with torch.autocast(chosen.device, torch.bfloat16, enabled=chosen.precision == "bf16"):
                loss = loss_of(inputs[micro_batch], targets[micro_batch]) / chosen.micro_batches
            loss.backward()
            loss_sum += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss_sum))
        finish()
        seconds.append(time.perf_counter() - start)
    counted = seconds[chosen.warm_up:]
    num_tokens = chosen.micro_batches * chosen.sequences * chosen.seq
    record = {
        "measurement": "torch_step", "model": chosen.model, "precision": chosen.precision, "mode": chosen.mode,
        "sequences": chosen.sequences, "seq": chosen.seq, "threads": chosen.threads, "torch": torch.__version__,
        "device": chosen.device, "micro_batches": chosen.micro_batches, "steps": len(counted),
        "step_seconds": min(counted), "tokens_per_second": num_tokens / min(counted),
        "median_tokens_per_second": num_tokens / statistics.median(counted), "losses": losses,
    }
    if on_gpu:
        record |= {"gpu": torch.cuda.get_device_name(), "first_step_seconds": seconds[0],
                   "peak_bytes": torch.cuda.max_memory_allocated()}
    print(json.dumps(record))


if __name__ == "__main__":
    main()
