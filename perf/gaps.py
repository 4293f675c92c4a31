#!/usr/bin/env python3
"""Trains the quickstart with each setting that changes results (class C), and prints its gap from the ordinary training.

  perf/gaps.py --binary build/release/bin/ziggurat [--steps 300] [--text build/data/bible.txt]

Two ranks train decks/quickstart.yaml on its text: the same weights, batches and learning rates for all settings. scripts/quickstart.sh
writes the text; --text names another.

  loss   on the held-out part of the text after the last step, in nats per token
  gap    its difference from that of the global norm

Prints a table and JSON lines. There is no bar: the figures say what a setting costs.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import training

IN_BACKWARD = {"overlap.optimizer_with_backward": "true"}
SETTINGS = {
    "global": {},
    "previous_norm": IN_BACKWARD | {"optimizer.clip.policy": "previous_norm"},
    "per_unit": IN_BACKWARD | {"optimizer.clip.policy": "per_unit"},
    "off": IN_BACKWARD | {"optimizer.clip.policy": "off"},
    "delayed_update": {"overlap.delayed_update": "{enabled: true, after: 40 steps}"},
}


def loss_after(binary, mpiexec, steps, text, name, settings):
    """Validation loss after the last step. Raises TrainingFailed with what was printed when the training fails."""
    folder = training.RESULTS / "runs" / f"gaps-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    chosen = {"run.dir": folder, "data.train": f"[{{format: text, path: {text}}}]", "train.steps": steps,
              "schedule.warmup": f"{steps // 10} steps", "validate.every": f"{steps} steps", "validate.sample.tokens": 1,
              "checkpoint.every": "none"} | settings
    command = [*mpiexec.split(), "-n", "2", binary, "train", "decks/quickstart.yaml", *(f"{k}={v}" for k, v in chosen.items())]
    done = subprocess.run(command, cwd=training.ROOT, env=training.environment(1), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise training.TrainingFailed(f"'{' '.join(map(str, command))}' ended with exit code {done.returncode}:\n"
                                      f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["event"] == "validate"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--mpiexec", default="mpirun -q --oversubscribe --bind-to none")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--text", type=pathlib.Path, default=training.ROOT / "build" / "data" / "bible.txt")
    args = parser.parse_args()
    if not args.text.exists():
        print(f"gaps: there is no text {args.text}. Run scripts/quickstart.sh, which writes it, or name another with --text.",
              file=sys.stderr)
        return 1
    losses = {}
    for name, settings in SETTINGS.items():
        losses[name] = loss_after(args.binary, args.mpiexec, args.steps, args.text.resolve(), name, settings)
        record = {"measurement": "gaps", "setting": name, "steps": args.steps, "loss": losses[name],
                  "gap": losses[name] - losses["global"]}
        print(f"  {name:16} loss {losses[name]:.4f}  gap {record['gap']:+.4f}")
        print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
