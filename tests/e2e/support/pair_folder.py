"""A folder with the models and the pairs of answers of tests/oracle/preference_tiny, and trainings on them."""

import concurrent.futures
import json
import pathlib
import struct

from trainings import ProgramFolder, expect

ORACLE = pathlib.Path(__file__).resolve().parents[2] / "oracle" / "preference_tiny.json"
FORMATS = {"F32": "f", "I32": "i"}
MAX_COMMANDS = 3  # most of their time they wait for MPI to start
# Key of a step record -> name of the oracle's curve.
CURVES = {"loss": "losses", "reward_chosen": "reward_chosen", "reward_rejected": "reward_rejected",
          "grad_norm": "gradient_norms"}
PUBLISHED = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "attention_bias": False,
             "mlp_bias": False, "torch_dtype": "bfloat16"}
PUBLISHED_KEYS = {"layers": "num_hidden_layers", "hidden": "hidden_size", "heads": "num_attention_heads",
                  "kv_heads": "num_key_value_heads", "ffn_hidden": "intermediate_size", "vocab": "vocab_size",
                  "max_seq": "max_position_embeddings", "norm_epsilon": "rms_norm_eps", "rope_theta": "rope_theta",
                  "tie_embeddings": "tie_word_embeddings"}


class Tensors:
    """A safetensors file, read without its package."""

    def __init__(self, path):
        content = path.read_bytes()
        length, = struct.unpack_from("<Q", content)
        self.header = json.loads(content[8:8 + length])
        self.payload = content[8 + length:]

    def values(self, name):
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        return list(struct.unpack(f"<{(end - begin) // 4}{FORMATS[entry['dtype']]}", self.payload[begin:end]))

    def write_part(self, prefix, path):
        """Writes the tensors whose names begin with `prefix`, without it."""
        header, payload = {"__metadata__": {"format": "pt"}}, b""
        for name, entry in self.header.items():
            if name.startswith(prefix):
                begin, end = entry["data_offsets"]
                header[name.removeprefix(prefix)] = {**entry, "data_offsets": [len(payload), len(payload) + end - begin]}
                payload += self.payload[begin:end]
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + payload)


class PairFolder(ProgramFolder):
    """deck.yaml trains models/policy on pairs.samples, one pair per sequence, in the order of the file."""

    def __init__(self, chosen, name):
        super().__init__(chosen, name)
        self.oracle, self.tensors = json.loads(ORACLE.read_text()), Tensors(ORACLE.with_suffix(".safetensors"))
        for model in ("policy", "reference"):
            folder = self.folder / "models" / model
            folder.mkdir(parents=True)
            self.tensors.write_part(f"{model}/", folder / "model.safetensors")
            sizes = {published: self.oracle["model"][key] for key, published in PUBLISHED_KEYS.items()}
            (folder / "config.json").write_text(json.dumps(PUBLISHED | sizes))
        self.write_samples()
        (self.folder / "nvme").mkdir()
        # JSON is YAML too.
        (self.folder / "deck.yaml").write_text(json.dumps({
            "deck_version": 1, "run": {"name": "preference", "resume": "never"},
            "model": {**self.oracle["model"], "init": {"from": "hf", "path": "models/policy"}},
            "data": {"tokenizer": "none", "seq": self.oracle["data"]["seq"], "shuffle": False, "packing": "none",
                     "train": [{"format": "chat", "path": "pairs.samples"}]},
            "train": {**self.oracle["train"], "micro_batch": 2}, "optimizer": self.oracle["optimizer"],
            "schedule": {"kind": "constant"}, "precision": {"compute": "fp32"}, "checkpoint": {"every": "none"},
            "logging": {"every": "1 steps"}}, indent=1))

    def write_samples(self):
        """A sample file of pairs, as decks/DATA.md describes it."""
        tokens, counts, begins = (self.tensors.values(f"samples/{part}") for part in ("tokens", "counts", "begins"))
        words = [token | count << 31 for token, count in zip(tokens, counts)]
        header = struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", 2, 0, len(begins) - 1, len(tokens), sum(counts), 0, 0, 0)
        (self.folder / "pairs.samples").write_bytes(
            header + struct.pack(f"<{len(words)}I", *words) + struct.pack(f"<{len(begins)}q", *begins))

    def train(self, run, objective, *settings, ranks=1):
        """The step records of a training with `objective`, a part of the oracle's JSON, to its end."""
        keys = {key: value for key, value in objective.items() if value != 0}  # ipo has no label_smoothing
        self.call("train", "deck.yaml", f"run.dir={run}", f"train.objective={json.dumps(keys)}", *settings, ranks=ranks)
        return self.steps(run)

    def steps(self, run):
        rows = map(json.loads, (self.folder / run / "metrics.jsonl").read_text().splitlines())
        return [row for row in rows if row["event"] == "step"]

    def expect_oracle(self, what, steps, name):
        """Step records have the values that are stored under `name`."""
        curves = {curve: self.tensors.values(f"{name}/{curve}")
                  for curve in (*CURVES.values(), "reward_accuracy", "smallest_margin")}
        expect_curves(what, steps, curves, self.oracle["bound"])


def expect_curves(what, steps, curves, bound):
    """Step records have the values of `curves`, with differences up to `bound`, relative to at least 1.

    Accuracies are compared for steps in which no pair's margin is near zero, where rounding decides.
    """
    expected = len(curves["losses"])
    expect([step["step"] for step in steps] == list(range(1, expected + 1)), f"{what}: not {expected} steps: {steps}")
    for key, curve in CURVES.items():
        gaps = [abs(step[key] - value) / max(1.0, abs(value)) for step, value in zip(steps, curves[curve])]
        worst = max(range(expected), key=gaps.__getitem__)
        expect(gaps[worst] <= bound, f"{what}: {key} of step {worst + 1} is {steps[worst][key]}, PyTorch computes "
                                     f"{curves[curve][worst]}")
    for step, accuracy, margin in zip(steps, curves["reward_accuracy"], curves["smallest_margin"]):
        expect(margin <= 5 * bound or abs(step["reward_accuracy"] - accuracy) <= 1e-6,
               f"{what}: reward_accuracy of step {step['step']} is {step['reward_accuracy']}, PyTorch computes {accuracy}")
        expect(abs(step["reward_margin"] - (step["reward_chosen"] - step["reward_rejected"])) <= bound,
               f"{what}: reward_margin is not the difference of the rewards: {step}")


def concurrently(*calls):
    """The results of functions without arguments, in their order."""
    with concurrent.futures.ThreadPoolExecutor(MAX_COMMANDS) as threads:
        return [result.result() for result in [threads.submit(call) for call in calls]]
