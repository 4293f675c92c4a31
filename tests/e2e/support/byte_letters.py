"""The characters that stand for bytes in byte-level vocabularies."""


def bytes_to_unicode():
    """Byte -> character: itself if it is printable, else one from 256 on. As in transformers 4, tokenization_gpt2.py."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
