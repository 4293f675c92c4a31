"""Constants of machine files that are fitted, with bounds from data sheets."""

import dataclasses

import machine_text


@dataclasses.dataclass(frozen=True)
class Knob:
    """One fitted constant: a key, and keys that are a fixed multiple of it."""

    keys: tuple
    low: float
    high: float
    ratios: tuple = ()

    def start(self, text):
        value = machine_text.figure_of(text, self.keys[0])
        if value is None:
            raise KeyError(f"the machine file has no {self.keys[0]} to start from")
        return value

    def figures(self, value):
        return {key: value * ratio for key, ratio in zip(self.keys, self.ratios or (1,) * len(self.keys))}


@dataclasses.dataclass(frozen=True)
class DataSheet:
    """Bounds of a machine: peak in bf16, memory, and links in each direction, per GPU."""

    peak: float
    memory: float
    node_link: float
    network_link: float


SHEETS = {
    "dgx-2": DataSheet(125e12, 0.9e12, 150e9, 6.25e9),
    "dgx-a100": DataSheet(312e12, 2.039e12, 300e9, 25e9),
    "dgx-h100": DataSheet(989e12, 3.35e12, 450e9, 50e9),
    "dgx-h200": DataSheet(989e12, 4.8e12, 450e9, 50e9),
    "dgx-gb200": DataSheet(2500e12, 8e12, 900e9, 50e9),
    "rtx-4090": DataSheet(165.2e12, 1.008e12, 31.5e9, 12.5e9),
    "rtx-4090-x4": DataSheet(165.2e12, 1.008e12, 31.5e9, 12.5e9),
    "mosaic-h100": DataSheet(989e12, 3.35e12, 450e9, 50e9),
    "mosaic-a100": DataSheet(312e12, 2.039e12, 300e9, 25e9),
    "mosaic-a100-40gb": DataSheet(312e12, 1.555e12, 300e9, 25e9),
    "grand-teton-h100": DataSheet(989e12, 2.4e12, 450e9, 50e9),
    "nanotron-h100": DataSheet(989e12, 3.35e12, 450e9, 50e9),
}


def knobs_of(machine):
    """The fitted constants of a machine. Latencies and halves of rates have bounds of practice: no data sheet has them."""
    sheet = SHEETS[machine]
    knobs = [
        Knob(("products.bf16.flops",), 0.4 * sheet.peak, sheet.peak),
        Knob(("products.bf16.half_m",), 1, 2000),
        Knob(("products.bf16.half_n",), 1, 2000),
        Knob(("products.bf16.half_k",), 1, 2000),
        Knob(("attention.forward_flops", "attention.backward_flops"), 0.02 * sheet.peak, 0.9 * sheet.peak, (1, 0.8)),
        Knob(("device_bandwidth",), 0.3 * sheet.memory, sheet.memory),
        Knob(("op_overhead",), 0.5e-6, 30e-6),
    ]
    if machine != "rtx-4090":
        knobs += [Knob(("node_link.bandwidth",), 0.2 * sheet.node_link, sheet.node_link), Knob(("node_link.latency",), 1e-6, 60e-6)]
    if not machine.startswith("rtx-4090"):
        knobs += [Knob(("network_link.bandwidth",), 0.2 * sheet.network_link, sheet.network_link), Knob(("network_link.latency",), 2e-6, 100e-6)]
    return knobs
