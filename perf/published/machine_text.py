"""Figures of machine files as text: reads and replaces values of single keys without touching anything else.

A key with dots, such as node_link.latency, is a member of a map that is written on one line: `node_link: {latency: 6us}`.
"""

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
    match = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", text.removesuffix("B/s"))
    number, unit = float(match[1]), match[2]
    return number * (TIMES[unit] if unit in TIMES else UNITS[unit])


def pattern_of(key):
    """Pattern of a key with the text before its value, and the value."""
    first, *rest = key.split(".")
    inside = "".join(rf".*?\b{re.escape(part)}:" for part in rest)
    return re.compile(rf"^({re.escape(first)}:{inside} *)([^\s,{{}}]+)", re.M)


def figure_of(text, key):
    """Value of a key of a machine file, or None."""
    match = pattern_of(key).search(text)
    return read_figure(match[2]) if match else None


def with_figures(text, figures):
    """The machine file with other values of keys, all of which it must have."""
    for key, value in figures.items():
        text, count = pattern_of(key).subn(lambda match: match[1] + write_figure(key, value), text)
        if count != 1:
            raise KeyError(f"a machine file has {count} values of {key}, not one")
    return text
