#!/usr/bin/env python3
"""What may be asked of a run besides signals: touch files and limits of time; what becomes of an earlier run's files,
and of the words of a rank that fails; how a training that breaks down ends.

  requests_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import os
import pathlib
import signal
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import GRID, GRID_RANKS, Place, checkpoint, complete_steps, events, expect, run_script, say, step_numbers

SAVES = ["checkpoint.every=100000 steps"]
FOR_EVER = "train.steps=1000000"
HELD_OUT = ["data.held_out=20%"]
SAMPLED = ["validate.every=100000 steps", "validate.sample.prompt=the tower", "validate.sample.tokens=5"]


def kinds(run):
    return [event["event"] for event in events(run)]


def last(run, event):
    return [e for e in events(run) if e["event"] == event][-1]


def touch(training, path):
    """Makes the file and waits until it was obeyed."""
    path.write_text("")
    expect(training.wait_until(lambda: not path.exists(), f"an answer to {path.name}"),
           f"ended before it looked at {path.name}\n{training.tail()}")


def expect_code(training, code):
    found = training.wait()
    expect(found == code, f"{training.name} ended with {found} instead of {code}\n{training.tail()}")


def files(chosen):
    files_of(chosen, "files", 3)
    files_of(chosen, "files_of_a_grid", GRID_RANKS, GRID)


def files_of(chosen, name, ranks, layout=()):
    """One after another, by whoever may write in the folder; those from before the run are not for it."""
    place = Place(chosen, name)
    run = place.folder / "run"
    run.mkdir()
    (run / "STOP").write_text("")
    # Each rank's own exit code, which launchers do not tell: they end the others when the first has left. So none leaves
    # before all have said theirs, or for two minutes.
    (place.folder / "keeps_code.sh").write_text(
        """trap '' TERM
"$@"; code=$?; echo $code > "code.$OMPI_COMM_WORLD_RANK"
for i in $(seq 1200); do
  [ "$(cat code.* | wc -l)" = "$OMPI_COMM_WORLD_SIZE" ] && break
  sleep 0.1
done
exit $code
""")
    with place.start("run", ranks, FOR_EVER, *SAVES, *HELD_OUT, *SAMPLED, *layout, wrapper=["sh", "keeps_code.sh"]) as training:
        expect(training.wait_until(lambda: len(step_numbers(run)) >= 3, "three steps"), training.tail())
        # What ranks print passes through the launcher, and may arrive after the steps are in metrics.jsonl.
        expect(training.wait_until(lambda: "STOP', made before this run began" in training.output(), "the file from before"),
               "tells of the file from before")
        touch(training, run / "REPORT")
        training.says("found REPORT: prints the report after this step")
        training.says("Performance:")
        expect("Performance:" in (run / "perf.txt").read_text(), "perf.txt has the account too")
        touch(training, run / "VALIDATE")
        expect(training.wait_until(lambda: "validate" in kinds(run), "a validation"), training.tail())
        training.says("sample after step")
        touch(training, run / "CHECKPOINT")
        expect(training.wait_until(lambda: "checkpoint_end" in kinds(run), "a checkpoint"), training.tail())
        expect(complete_steps(run) == [last(run, "checkpoint_end")["step"]], "the checkpoint is there")
        touch(training, run / "STOP")
        expect_code(training, 75)
        training.says("found STOP: stops after step")
    expect(last(run, "stop")["reason"] == "STOP", f"the reason is {last(run, 'stop')['reason']}")
    expect(complete_steps(run)[-1] == last(run, "end")["step"], "the end is saved")
    codes = [(place.folder / f"code.{rank}").read_text().strip() for rank in range(ranks)]
    expect(codes == ["75"] * ranks, f"ranks leave with {codes}")
    expect("WARNING" not in (run / "perf.txt").read_text(), f"the account warns\n{(run / 'perf.txt').read_text()}")
    say(f"{name}: REPORT, VALIDATE, CHECKPOINT and STOP are obeyed and deleted; all {ranks} ranks leave with 75")


def limits(chosen):
    """By the deck, the environment, Slurm's and an older Slurm's, all at the same time."""
    place = Place(chosen, "limits")
    tools = place.folder / "tools"
    tools.mkdir()
    squeue = tools / "squeue"
    begin = time.monotonic()
    place.train("startup", 1, "train.steps=1", "schedule.warmup=0 steps")
    seconds = 4 + 8 * (time.monotonic() - begin)  # all four start at once, and make some steps before their end
    end = time.time() + seconds
    job_end = end + 10  # runs leave the last seconds of a job to its script
    squeue.write_text(f"#!/bin/sh\necho asked \"$@\" >> squeue.log\n"
                      f"date -d @{int(job_end)} +%Y-%m-%dT%H:%M:%S\n")
    squeue.chmod(0o755)
    older = {"SLURM_JOB_ID": "77", "PATH": f"{tools}:{os.environ['PATH']}"}
    cases = {
        "deck": ("run.time_limit", [f"run.time_limit={seconds:.1f}s"], {}),
        "variable": ("ZIGGURAT_STOP_AT", [], {"ZIGGURAT_STOP_AT": f"{end:.1f}"}),
        "slurm": ("the end of Slurm job 77", [], {"SLURM_JOB_ID": "77", "SLURM_JOB_END_TIME": f"{job_end:.0f}"}),
        "older_slurm": ("the end of Slurm job 77", [], older),
    }
    begun = {}
    try:
        for name, (_, settings, environment) in cases.items():
            begun[name] = place.start(name, 1, FOR_EVER, *SAVES, *settings, environment=environment)
        for name, (source, _, _) in cases.items():
            expect_code(begun[name], 75)
            run = place.folder / name
            expect(f"{source} is " in begun[name].output() and "away, a step and a checkpoint may take" in
                   begun[name].output(), f"{name}: says what the limit is\n{begun[name].tail()}")
            expect(last(run, "stop")["reason"] == "time limit", f"{name}: the reason")
            expect(complete_steps(run) == [last(run, "end")["step"]], f"{name}: the end is saved")
    finally:
        for training in begun.values():
            training.kill_all()
    for name in ("slurm", "older_slurm"):
        deck = (place.folder / name / "deck.effective.yaml").read_text()
        expect("# auto: Slurm job 77 ends at 2" in deck, f"{name}: the deck in effect says why")
    asked = (place.folder / "squeue.log").read_text()
    expect(asked == "asked -h -j 77 -o %e\n", f"squeue is asked once: {asked}")
    say("stops before the end that deck, environment or Slurm set")

    over = {"SLURM_JOB_ID": "77", "SLURM_JOB_END_TIME": f"{time.time() - 60:.0f}", "SLURM_NTASKS": "8"}
    with place.start("over", 1, "train.steps=20", "schedule.warmup=0 steps", environment=over) as training:
        expect_code(training, 0)
    say("a shell that outlives its job trains without an end")

    with place.start("wrong", 1, "train.steps=1", environment={"ZIGGURAT_STOP_AT": "soon"}) as training:
        expect_code(training, 2)
        training.says("ZIGGURAT_STOP_AT is 'soon'")
    say("an end that is no time is refused")


def validation_left_off(chosen):
    """Who asks for the end does not wait for a long validation."""
    place = Place(chosen, "validation")
    run = place.folder / "run"
    (place.folder / "long.txt").write_text("much more to validate on than to train on\n" * 500000)
    with place.start("run", 2, FOR_EVER, *SAVES, "data.validation=[{format: text, path: long.txt}]") as training:
        expect(training.wait_until(lambda: len(step_numbers(run)) >= 3, "three steps"), training.tail())
        touch(training, run / "VALIDATE")
        done = len(step_numbers(run))
        training.process.send_signal(signal.SIGUSR1)
        expect_code(training, 75)
    expect("validate" not in kinds(run), "a validation that is left off has no result")
    expect(len(step_numbers(run)) <= done + 1, "trains on instead of validating")
    expect(complete_steps(run) == [last(run, "end")["step"]], "the end is saved")
    say("a validation is left off when the run is to stop")


def earlier_runs(chosen):
    """Nothing of them is overwritten."""
    place = Place(chosen, "earlier")
    run = place.folder / "run"
    place.train("run", 1, "train.steps=6", *SAVES)
    first = (run / "metrics.jsonl").read_text()
    said = place.train("run", 1, "train.steps=6", "run.resume=never", *SAVES, code=2)
    expect("checkpoints up to step-000000006" in said and "--backup" in said, f"says what to do\n{said}")
    expect((run / "metrics.jsonl").read_text() == first and checkpoint(run, 6).is_dir(), "nothing is touched")
    place.train("run", 1, "train.steps=6", "run.resume=never", "--backup", *SAVES)
    expect((run / "#metrics.jsonl.1#").read_text() == first, "the earlier metrics are kept aside")
    expect((run / "#ckpt.1#" / "step-000000006" / "COMPLETE").exists(), "so are the earlier checkpoints")
    expect(step_numbers(run) == list(range(1, 7)) and complete_steps(run) == [6], "and the new run is whole")
    say("beginning afresh beside checkpoints is refused; with --backup they are kept aside")


def errors(chosen):
    """A rank that fails leaves a file; those that leave with it do not."""
    place = Place(chosen, "errors")
    run = place.folder / "run"
    said = place.train("run", 2, "train.steps=200", "optimizer.lr=1000", "optimizer.weight_decay=0.5", "precision.compute=fp32",
                       "schedule.warmup=0 steps", "schedule.kind=constant", code=5)
    expect("updates in a row were skipped" in said, f"says what is wrong\n{said}")
    found = sorted(path.name for path in (run / "errors").iterdir())
    texts = [(run / "errors" / name).read_text() for name in found]
    expect(found and all(name in ("rank00000.log", "rank00001.log") for name in found), f"files are {found}")
    expect(all("error: rank" in text and "updates in a row were skipped" in text for text in texts), f"{texts}")
    place.train("run", 2, "train.steps=6")
    expect(not (run / "errors").exists() and (run / "#errors.1#").is_dir(), "an earlier run's errors are kept aside")
    say(f"a rank that fails leaves {found}")


def breakdown(chosen):
    """A restart does not begin to count anew, what was good stays, and a training that ends so is not done."""
    place = Place(chosen, "breakdown")
    settings = ["optimizer.lr=1000", "optimizer.weight_decay=0.5", "precision.compute=fp32", "schedule.warmup=0 steps",
                "schedule.kind=constant", "checkpoint.every=1 steps"]
    run = place.folder / "run"
    place.train("run", 1, "train.steps=200", *settings, code=5)
    broken = step_numbers(run)[-1]
    good = broken - 21  # steps until the first of those that were skipped
    expect(good in complete_steps(run), f"saves push out step {good}: {complete_steps(run)}")
    expect(complete_steps(run)[-1] > good, f"saves nothing while updates are skipped: {complete_steps(run)}")
    place.train("run", 1, "train.steps=200", *settings, code=5)
    expect(step_numbers(run)[-1] == broken, f"a restart goes on to step {step_numbers(run)[-1]} instead of {broken}")
    expect(good in complete_steps(run), f"a restart pushes out step {good}: {complete_steps(run)}")
    say(f"breaks down at step {broken}, restarts or not, and keeps step {good}")

    for times in range(2):
        said = place.train("short", 1, f"train.steps={good + 3}", *settings, code=5)
        expect(f"the last 3 updates up to step {good + 3} were skipped" in said, f"does not say why\n{said}")
        expect(not (place.folder / "short" / "DONE").exists(), "is not done")
    say("a training whose last step was skipped is not done, however often it is started")


def threads(chosen):
    """More than a rank can have, by the deck and by the environment; and a number that is for another program."""
    place = Place(chosen, "threads")
    said = place.train("run", 1, "parallel.threads=1000", code=3)
    expect("a rank has at most 512 threads, and parallel.threads is 1000" in said, f"names no limit\n{said}")
    with place.start("run", 2, wrapper=["env", "OMP_NUM_THREADS=700"]) as training:
        expect_code(training, 3)
        training.says("a rank has at most 512 threads, and parallel.threads is 700")
    with place.start("run", 1, "train.steps=5", environment={"KOKKOS_NUM_THREADS": "9"}) as training:
        expect_code(training, 0)
    with place.start("run", 1, wrapper=["env", "OMP_NUM_THREADS=2"], environment={"OMP_THREAD_LIMIT": "1"}) as training:
        expect_code(training, 3)
        training.says("a rank needs 2 threads, but OMP_THREAD_LIMIT allows 1")
    say("threads beyond a limit are refused in words, and KOKKOS_NUM_THREADS breaks nothing")


def no_targets(chosen):
    """Documents of one token each, that are cut apart, leave nothing to predict, in the sequences before a longer one."""
    place = Place(chosen, "no_targets")
    documents, longer = 4001, 64
    lengths = [1] * (documents - 1) + [longer]
    tokens = sum(lengths)
    (place.folder / "tokens.bin").write_bytes(struct.pack(f"<{tokens}H", *(i % 250 for i in range(tokens))))
    (place.folder / "tokens.idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, documents, documents + 1) + struct.pack(f"<{documents}i", *lengths) +
        struct.pack(f"<{documents}q", *range(0, 2 * documents, 2)) + struct.pack(f"<{documents + 1}q", *range(documents + 1)))
    said = place.train("run", 2, "train.steps=3", "schedule.warmup=0 steps", "data={tokenizer: none, seq: 32, reset_at_document: true, "
                       "shuffle: false, train: [{format: megatron, path: tokens}]}", "model.vocab=256")
    rows = [event for event in events(place.folder / "run") if event["event"] == "step"]
    expect([row["loss"] for row in rows] == [None] * 3, f"losses are {[row['loss'] for row in rows]}")
    expect(said.count("the batch of step 1 has no target tokens") == 1 and said.count("no target tokens") == 1,
           f"says it once\n{said}")
    expect("loss     n/a" in said, f"the line of a step has none\n{said}")
    say("a batch without targets has no loss, and says so once")


if __name__ == "__main__":
    run_script(__doc__, files, limits, validation_left_off, earlier_runs, errors, breakdown, threads, no_targets)
