"""Figures of machine files as text: reading, replacing and writing single keys without touching comments."""

import re

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def write_figure(key, value):
    """Text of a value of `key`: FLOP/s in G, rates in MB/s, times in ns, extents as whole numbers."""
    if key.endswith("flops"):
        return f"{round(value / 1e9)}G"
    if key.endswith("bandwidth"):
        return f"{round(value / 1e6)}MB/s"
    if key.endswith(("latency", "overhead")):
        return f"{round(value * 1e9)}ns"
    return str(round(value))


def read_figure(text):
    """Value of such a text."""
    text = text.removesuffix("B/s")
    match = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", text)
    number, unit = float(match[1]), match[2]
    return number * (TIMES[unit] if unit in TIMES else UNITS[unit])


def line_pattern(key):
    return re.compile(rf"^{re.escape(key)}:[ ]*(\S+)", re.M)


def figure_of(text, key):
    """Value of a key of a machine file, or None."""
    match = line_pattern(key).search(text)
    return read_figure(match[1]) if match else None


def with_figures(text, figures):
    """The machine file with other values of keys, which are appended if they are new."""
    for key, value in figures.items():
        line = f"{key}: {write_figure(key, value)}"
        pattern = line_pattern(key)
        text = pattern.sub(line, text) if pattern.search(text) else text.rstrip("\n") + f"\n{line}\n"
    return text
