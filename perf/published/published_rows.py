"""Rows of published runs: sizes, layout and measured step time, read from rows/*.csv."""

import csv
import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEARCH_SECTION = "## Layouts that the search finds"  # of docs/published.md, which search.py makes
FITTED_EACH = 3  # of the planned rows of a group, in file order, each third is fitted: the first, the fourth, ...


@dataclasses.dataclass(frozen=True)
class Model:
    """Shape of a model, as the keys of `model` in a deck."""

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    tied: bool
    lora: int = 0  # rank of its adapters; 0: all weights are trained

    @property
    def is_gated(self):
        return self.family != "gpt2"

    @property
    def parameters(self):
        """Trained and frozen parameters of the products and embeddings, without biases and norms."""
        qkv_and_output = 2 * self.hidden**2 * (1 + self.kv_heads / self.heads)
        mlp = (3 if self.is_gated else 2) * self.hidden * self.ffn
        return self.layers * (qkv_and_output + mlp) + self.vocab * self.hidden * (1 if self.tied else 2)


@dataclasses.dataclass(frozen=True)
class Row:
    """One published run."""

    id: str
    source: str
    group: str  # rows of one group are split into fitted and predicted ones
    machine: str
    model: Model
    gpus: int
    tensor: int
    pipeline: int
    chunks: int
    context: int
    zero: int
    span: str  # data ranks over which parameters are sharded: all, or their number
    sequence: bool
    micro: int
    batch: int
    seq: int
    recompute: str
    precision: str
    seconds: float  # of a step; 0: only derived from a claim or a rate (step_seconds)
    rate: float  # tokens per second and GPU; 0: unknown
    claim: float  # utilisation in percent or TFLOP/s, by its convention; 0: unknown
    convention: str
    reason: str  # why a row is not planned; empty: it is planned
    keys: tuple = ()  # further settings of the deck
    is_fitted: bool = False

    @property
    def data(self):
        return self.gpus // (self.tensor * self.pipeline * self.context)

    @property
    def microbatches(self):
        return self.batch / (self.data * self.micro)


def replace_section(path, title, text):
    """Replaces the section of a file that begins with the line `title`; appends it if there is none."""
    known = path.read_text() if path.exists() else ""
    begin = known.find(title)
    if begin < 0:
        path.write_text(known.rstrip("\n") + "\n\n" + text)
        return
    end = known.find("\n## ", begin)
    path.write_text(known[:begin] + text + ("" if end < 0 else known[end:]))


def sections_of_scripts(path):
    """The sections of a table that search.py and zero_infinity.py wrote, with an empty line before them, so that others keep them."""
    text = path.read_text() if path.exists() else ""
    at = text.find(SEARCH_SECTION)
    return "" if at < 0 else "\n" + text[at:]


def read_models():
    with (HERE / "rows" / "models.csv").open() as file:
        return {line["model"]: Model(line["model"], line["family"], *(int(line[key]) for key in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")),
                                     line["tied"] == "yes", int(line["lora"] or 0))
                for line in csv.DictReader(file)}


def read_table(path, models):
    """The rows of a file with one column per field."""
    with path.open() as file:
        for line in csv.DictReader(file):
            numbers = {key: int(line[key]) for key in ("gpus", "tensor", "pipeline", "chunks", "context", "zero", "micro", "batch", "seq")}
            figures = {name: float(line[key] or 0) for name, key in (("seconds", "step_s"), ("rate", "tokens_s_gpu"), ("claim", "claim"))}
            reason = "" if line["planned"] == "yes" else line["planned"].removeprefix("no: ")
            yield Row(id=line["id"], source=line["source"], group=line["machine"], machine=line["machine"], model=models.get(line["model"]),
                      span=line["span"], sequence=line["sequence"] == "yes", recompute=line["recompute"], precision=line["precision"],
                      convention=line["convention"], reason=reason, keys=tuple(line["keys"].split()), **numbers, **figures)


VTRAIN_VOCAB = 50257  # the default of its configurations
# Rows on one node fit into memory without recomputation, and with it the fastest would compute at 192 TFLOP/s; larger models would not fit.
VTRAIN_RECOMPUTE = {"single": "none", "multi": "full"}
# However small a layer is, its forward takes at least this long: PyTorch launches its kernels one by one. Read from fitted rows.
VTRAIN_KEYS = {"single": ("debug.throttle.compute=1100us",), "multi": ("debug.throttle.compute=1100us",)}


def read_vtrain(name):
    """The rows of vTrain's measurements, whose files have fewer columns."""
    with (HERE / "rows" / f"vtrain_{name}.csv").open() as file:
        for number, line in enumerate(csv.DictReader(file)):
            hidden, heads, layers = (int(line[key]) for key in ("hidden", "heads", "layers"))
            model = Model(f"gpt-{hidden}-{layers}", "gpt2", layers, hidden, heads, heads, 4 * hidden, VTRAIN_VOCAB, True)
            yield Row(id=f"vtrain-{name}-{number + 1}", source="VIA-Research/vTrain data/ground_truth_" + name + ".csv", group="vtrain-" + name,
                      machine="dgx-a100", model=model, chunks=1, context=1, zero=0, span="all", sequence=False, recompute=VTRAIN_RECOMPUTE[name],
                      precision="bf16", seconds=float(line["ms"]) / 1000, rate=0, claim=0, convention="", reason="", keys=VTRAIN_KEYS[name],
                      **{key: int(line[key]) for key in ("gpus", "tensor", "pipeline", "micro", "batch", "seq")})


def read_rows():
    """All rows, each marked as fitted or not: of the planned rows of a group, each third one is fitted."""
    models = read_models()
    rows = []
    for path in sorted((HERE / "rows").glob("*.csv")):
        if path.stem.startswith("vtrain_"):
            rows += read_vtrain(path.stem.removeprefix("vtrain_"))
        elif path.stem != "models":
            rows += read_table(path, models)
    counts = {}
    marked = []
    for row in rows:
        count = counts.get(row.group, 0)
        if not row.reason:
            counts[row.group] = count + 1
        marked.append(dataclasses.replace(row, is_fitted=not row.reason and count % FITTED_EACH == 0))
    return marked
