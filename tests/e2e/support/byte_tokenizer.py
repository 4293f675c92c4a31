"""A tokenizer.json without merges: a token per byte, and the added tokens <a> and <b>."""

import json


def write_byte_tokenizer(folder, end="<a>"):
    """`end`: the token that ends a document. The vocabulary has 258 tokens."""
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spelled = {byte: chr(byte) for byte in letters}
    spelled |= {byte: chr(256 + i) for i, byte in enumerate(b for b in range(256) if b not in spelled)}
    added = [{"id": 256 + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, text in enumerate(("<a>", "<b>"))]
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {spelled[byte]: byte for byte in range(256)}, "merges": []}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": end}))
