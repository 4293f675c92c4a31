#!/usr/bin/env python3
"""Sends the curves of a run to Weights & Biases:  run.on_event: "python3 .../examples/hooks/wandb_hook.py"

WANDB_API_KEY, WANDB_MODE, WANDB_DIR and WANDB_PROJECT work as for wandb itself; the project is `ziggurat` if it is
not set. With WANDB_MODE=offline each event leaves a folder; `wandb sync --append` joins them to one run.
Needs `pip install wandb`.
"""

import os
import uuid

import wandb

from new_rows import NewRows, event_from_stdin


def main():
    event = event_from_stdin()
    rows = NewRows(event, "wandb")
    run_id = rows.state.get("run_id", uuid.uuid4().hex[:12])
    facts = {key: event[key] for key in ("parameters", "ranks", "seed", "version") if key in event}
    run = wandb.init(id=run_id, resume="allow", project=os.environ.get("WANDB_PROJECT", "ziggurat"),
                     name=os.path.basename(event["run_dir"]), config=facts, settings=wandb.Settings(console="off"))
    for step, _, values in rows.curves():
        run.log(values, step=step)
    run.finish(exit_code=1 if event["event"] == "failure" else 0)
    rows.keep(run_id=run_id)


if __name__ == "__main__":
    main()
