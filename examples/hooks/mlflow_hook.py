#!/usr/bin/env python3
"""Sends the curves of a run to MLflow:  run.on_event: "python3 .../examples/hooks/mlflow_hook.py"

MLFLOW_TRACKING_URI says where, as for MLflow itself; MLFLOW_EXPERIMENT_NAME is `ziggurat` if it is not set.
Needs `pip install mlflow-skinny` (or mlflow).
"""

import os

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from new_rows import NewRows, event_from_stdin

BATCH = 1000  # metrics of one request, MLflow's limit
STATUS = {"end": "FINISHED", "failure": "FAILED"}


def main():
    event = event_from_stdin()
    rows = NewRows(event, "mlflow")
    client = MlflowClient()
    run_id = rows.state.get("run_id")
    if run_id is None:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "ziggurat")
        experiment = client.get_experiment_by_name(name)
        run = client.create_run(experiment.experiment_id if experiment else client.create_experiment(name),
                                run_name=os.path.basename(event["run_dir"]))
        run_id = run.info.run_id
        rows.keep(run_id=run_id)
    if event["event"] == "start":
        client.log_batch(run_id, params=[Param(key, str(event[key])) for key in ("parameters", "ranks", "seed")])
        client.update_run(run_id, status="RUNNING")
    metrics = [Metric(curve, value, int(time * 1000), step)
               for step, time, values in rows.curves() for curve, value in values.items()]
    for begin in range(0, len(metrics), BATCH):
        client.log_batch(run_id, metrics=metrics[begin:begin + BATCH])
    if event["event"] in STATUS:
        client.set_terminated(run_id, STATUS[event["event"]])
    rows.keep()


if __name__ == "__main__":
    main()
