"""Rows of metrics.jsonl that a tracker has not got yet, and what they give it.

The command of run.on_event runs once for each event. It reads on where its last run stopped, so a tracker also gets
the steps between two events. What it remembers is in RUN/NAME.json, which a new training in that folder makes stale:
then it begins anew.
"""

import json
import os
import pathlib
import sys

# Fields of metrics.jsonl that become curves, by event.
CURVES = {
    "step": {"loss": "train/loss", "lr": "train/lr", "grad_norm": "train/grad_norm", "tok_s": "speed/tok_s", "mfu": "speed/mfu",
             "reward_margin": "train/reward_margin", "reward_accuracy": "train/reward_accuracy"},
    "validate": {"loss": "validation/loss", "reward_margin": "validation/reward_margin",
                 "reward_accuracy": "validation/reward_accuracy"},
}


def event_from_stdin():
    """The event that this process was started for."""
    return json.loads(sys.stdin.readline())


class NewRows:
    def __init__(self, event, name):
        run_dir = pathlib.Path(event["run_dir"])
        self.metrics = run_dir / "metrics.jsonl"
        self.memory = run_dir / f"{name}.json"
        with open(self.metrics, "rb") as file:
            self.first = json.loads(file.readline())["time"]  # a resumed run keeps this line
        try:
            self.state = json.loads(self.memory.read_text())
        except (OSError, ValueError):
            self.state = {}
        if self.state.get("first") != self.first:
            self.state = {"first": self.first, "at": 0, "sent": {}}
        if event["event"] == "resume":  # rows after the checkpoint were cut off; their steps are not sent again
            self.state["at"] = 0

    def __iter__(self):
        """The new rows. Only whole lines count."""
        with open(self.metrics, "rb") as file:
            file.seek(self.state["at"])
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self.state["at"] += len(line)
                yield json.loads(line)

    def curves(self):
        """The new points: (step, time in seconds, {curve: value})."""
        for row in self:
            names = CURVES.get(row["event"], {})
            values = {curve: row[field] for field, curve in names.items() if row.get(field) is not None}
            if values and row["step"] > self.state["sent"].get(row["event"], -1):
                self.state["sent"][row["event"]] = row["step"]
                yield row["step"], row["time"], values

    def keep(self, **more):
        """Remembers how far the tracker is, after it has got the rows."""
        self.state.update(more)
        draft = self.memory.with_suffix(".tmp")
        draft.write_text(json.dumps(self.state))
        os.replace(draft, self.memory)
