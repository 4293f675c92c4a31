#!/usr/bin/env python3
"""A model of 3 GB goes in and out with 512 MiB of memory, page cache counted, and comes back byte by byte.

  hf_memory_test.py --binary ZIGGURAT --work FOLDER

In a memory cgroup; leaves with 77 where none can be made. The model is a Llama with random weights in bf16, in shards as
they are published.
"""

import argparse
import hashlib
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from memory_group import MemoryGroup, NoGroups
from trainings import Failure, expect, say

SKIPPED = 77
MOST_BYTES = 512 << 20
PATIENCE_S = 1200
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, VOCAB = 31, 2048, 5632, 16, 4, 32000
FILES = 3
PIECE = 1 << 22


def shapes():
    """Names and shapes of the model's tensors, sorted by name."""
    kv = HIDDEN // HEADS * KV_HEADS
    found = {"model.embed_tokens.weight": [VOCAB, HIDDEN], "model.norm.weight": [HIDDEN], "lm_head.weight": [VOCAB, HIDDEN]}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        for name, shape in (("self_attn.q_proj", [HIDDEN, HIDDEN]), ("self_attn.k_proj", [kv, HIDDEN]), ("self_attn.v_proj", [kv, HIDDEN]),
                            ("self_attn.o_proj", [HIDDEN, HIDDEN]), ("mlp.gate_proj", [FFN, HIDDEN]), ("mlp.up_proj", [FFN, HIDDEN]),
                            ("mlp.down_proj", [HIDDEN, FFN]), ("input_layernorm", [HIDDEN]), ("post_attention_layernorm", [HIDDEN])):
            found[at + name + ".weight"] = shape
    return dict(sorted(found.items()))


def bytes_of(shape):
    return 2 * (shape[0] * shape[1] if len(shape) == 2 else shape[0])


def content(name, size):
    """Pieces of a tensor: finite numbers, not the same in any two places or tensors."""
    draw = random.Random(name)
    mask = int.from_bytes(b"\xff\x3f" * (PIECE // 2), "little")  # bf16 below 2
    while size > 0:
        count = min(PIECE, size)
        yield (int.from_bytes(draw.randbytes(PIECE), "little") & mask).to_bytes(PIECE, "little")[:count]
        size -= count


def write_model(folder):
    """The hash of each tensor, and how many bytes there are."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": HIDDEN,
        "intermediate_size": FFN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
        "vocab_size": VOCAB, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16"}))
    all_shapes = list(shapes().items())
    hashes, weight_map = {}, {}
    for number in range(FILES):
        name = f"model-{number + 1:05d}-of-{FILES:05d}.safetensors"
        part = all_shapes[number * len(all_shapes) // FILES:(number + 1) * len(all_shapes) // FILES]
        header, end = {}, 0
        for tensor, shape in part:
            header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + bytes_of(shape)]}
            end += bytes_of(shape)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with (folder / name).open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor, shape in part:
                hashes[tensor] = hashlib.blake2b()
                for piece in content(tensor, bytes_of(shape)):
                    file.write(piece)
                    hashes[tensor].update(piece)
                weight_map[tensor] = name
    total = sum(bytes_of(shape) for _, shape in all_shapes)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))
    return {name: found.hexdigest() for name, found in hashes.items()}, total


def read_model(folder):
    """The hash of each tensor."""
    hashes = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
            for name, said in header.items():
                if name == "__metadata__":
                    continue
                begin, end = said["data_offsets"]
                file.seek(8 + size + begin)
                found = hashlib.blake2b()
                while begin < end:
                    piece = file.read(min(PIECE, end - begin))
                    found.update(piece)
                    begin += len(piece)
                hashes[name] = found.hexdigest()
    return hashes


def run(binary, folder, *words):
    with MemoryGroup(MOST_BYTES) as group:
        done = subprocess.run(group.joined([binary, *words]), cwd=folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S, errors="replace")
        expect(done.returncode == 0 and group.kills() == 0,
               f"{' '.join(words)} in 512 MiB: exit code {done.returncode}, {group.kills()} killed\n{done.stdout}")
        say(f"{words[0]}: {done.stdout.splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    chosen = parser.parse_args()
    try:
        with MemoryGroup(MOST_BYTES):
            pass
    except NoGroups as reason:
        print(f"skipped: no memory group can be made ({reason})")
        sys.exit(SKIPPED)
    folder = chosen.work.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        hashes, total = write_model(folder / "published")
        expect(total > 2_900_000_000, f"the model has {total} bytes")
        run(chosen.binary.resolve(), folder, "import", "published", "runs/in")
        run(chosen.binary.resolve(), folder, "export", "runs/in", "again")
        expect(read_model(folder / "again") == hashes, "other tensors came back")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("ok: every byte came back")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
