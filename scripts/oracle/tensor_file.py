"""Tensor files: the safetensors layout, written and read without its package.

An unsigned 64-bit little-endian length; a JSON object of that many bytes that maps each name to
{"dtype", "shape", "data_offsets": [begin, end]}, padded with blanks to a multiple of eight; then the bytes of
all tensors, row-major, little-endian, without gaps. tests/support/tensor_file.hpp reads the same.
"""

import json
import struct

import torch

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "I32": torch.int32}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def write(path, tensors):
    """Writes a dict of CPU tensors whose types are among DTYPES."""
    header, payload = {}, bytearray()
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(payload), len(payload) + len(raw)],
        }
        payload += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + payload)


def read(path):
    """Returns the dict that `write` was given; `__metadata__` of other writers is ignored."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        payload = file.read()
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(bytearray(payload[begin:end]), dtype=torch.uint8)
        tensors[name] = flat.view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
