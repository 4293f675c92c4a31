#!/usr/bin/env python3
"""What a run begins with: `check` says of each start what `train` then does, with the same exit code, and a run that has
lost checkpoints does not train over it without a word.

  starts_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import PATIENCE_S, Place, checkpoint, complete_steps, events, expect, run_script, say, step_numbers

DECK, RESOURCE, CHECKPOINT = 2, 3, 4
SAVES = ["checkpoint.every=2 steps", "checkpoint.keep=9", "schedule.warmup=0 steps"]


def check(place, run, *settings):
    """The console of `check`, and its code."""
    done = subprocess.run([place.binary, "check", place.deck, f"run.dir={run}", "run.resume=auto", *SAVES, *settings],
                          cwd=place.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PATIENCE_S)
    return done.stdout, done.returncode


def both(what, place, run, *settings, code=0, says=(), start="", ranks=1):
    """`check`, which changes nothing, then `train`: one code, the same words."""
    before = sorted(place.folder.rglob("*"))
    said, found = check(place, run, *settings)
    expect(found == code, f"{what}: check ends with {found} instead of {code}\n{said}")
    expect(sorted(place.folder.rglob("*")) == before, f"{what}: check leaves files")
    line = [line.split(None, 1)[1] for line in said.splitlines() if line.startswith("start ")]
    expect(start in " ".join(line) if start else not line, f"{what}: check says {line} of the start, not {start!r}\n{said}")
    console = place.train(run, ranks, *SAVES, *settings, code=code)
    for words in says:
        for who, text in (("check", said), ("train", console)):
            expect(words in text, f"{what}: {who} does not say {words!r}, but\n{text}")
    say(f"{what}: {code}")
    return console


def damage(folder):
    """Cuts a shard short, which shows at once."""
    shard = next(folder.glob("shard-*.h5"))
    with open(shard, "r+b") as file:
        file.truncate(shard.stat().st_size // 2)


def copy(place, run, name):
    shutil.copytree(place.folder / run, place.folder / name)
    return place.folder / name


def own_checkpoints(chosen):
    place = Place(chosen, "own")
    both("nothing is there", place, "run", "train.steps=4")
    both("nothing is left", place, "run", "train.steps=4", start="no steps remain: step 4 of 4 is done")
    both("longer", place, "run", "train.steps=6", start="after step 4 of 6, from ")
    both("another model", place, "run", "train.steps=8", "model.layers=3", code=DECK,
         says=["the checkpoint is of another model", "model.layers"])
    both("afresh beside checkpoints", place, "run", "run.resume=never", code=DECK, says=["cannot start from scratch"])
    both("one is needed", place, "none", "run.resume=must", code=CHECKPOINT, says=["there is no checkpoint in"])

    cut = copy(place, "run", "cut")
    damage(checkpoint(cut, 6))
    (cut / "DONE").unlink()
    both("the newest is damaged", place, "cut", "train.steps=8", start="after step 4 of 8, from ",
         says=["warning: resumes from step 4, although step 6 was saved: 2 steps are trained again", "skips step-"])
    expect(step_numbers(cut) == list(range(1, 9)), "each step has one row")
    lost = copy(place, "run", "lost")
    for step in (4, 6):
        shutil.rmtree(checkpoint(lost, step))
    both("the newest are removed", place, "lost", "train.steps=8", start="after step 2 of 8, from ",
         says=["resumes from step 2, although step 6 was saved: 4 steps are trained again", "LATEST names"])
    bad = copy(place, "run", "bad")
    for step in complete_steps(bad):
        damage(checkpoint(bad, step))
    both("all are damaged", place, "bad", "train.steps=8", code=CHECKPOINT, says=["no checkpoint in"])
    text = (place.folder / "text.txt").read_text()
    (place.folder / "text.txt").write_text(text.upper())
    both("the data has changed", place, "run", "train.steps=8", code=DECK, says=["text.txt"])
    (place.folder / "text.txt").write_text(text)


def all_gone(chosen):
    place = Place(chosen, "gone")
    place.train("run", 1, *SAVES, "train.steps=4")
    gone = copy(place, "run", "gone")
    for step in complete_steps(gone):
        shutil.rmtree(checkpoint(gone, step))
    both("LATEST alone is left", place, "gone", "train.steps=4", code=CHECKPOINT,
         says=["LATEST names step-000000004, but no checkpoint exists", "run.resume=never"])
    (gone / "ckpt" / "LATEST").unlink()
    both("metrics are left", place, "gone", "train.steps=4", code=RESOURCE, says=["metrics.jsonl records them", "run.resume=never"])
    (gone / "metrics.jsonl").unlink()
    both("DONE alone is left", place, "gone", "train.steps=4", code=RESOURCE,
         says=["DONE shows that the run has finished, and its deck saves", "run.resume=never"])
    both("which never begins afresh", place, "gone", "train.steps=4", "run.resume=never")
    expect(complete_steps(gone) == [2, 4] and (gone / "#DONE.1#").exists(), "as said, and the old files are kept")
    for step in complete_steps(gone):
        shutil.rmtree(checkpoint(gone, step))
    both("again", place, "gone", "train.steps=2", "run.resume=never", "checkpoint.every=none")
    both("what was set aside is no evidence", place, "gone", "train.steps=4")


def named(chosen):
    place = Place(chosen, "named")
    for run, steps in (("first", 4), ("second", 6)):
        place.train(run, 1, *SAVES, f"train.steps={steps}")
    both("begins with the one named", place, "run", "train.steps=8", "run.resume=first",
         start="after step 4 of 8, from first/")
    both("the same command goes on", place, "run", "train.steps=10", "run.resume=first",
         start="after step 8 of 10, from run/", ranks=2)
    both("another name is no note", place, "run", "train.steps=12", "run.resume=second", code=DECK,
         says=["cannot start from 'second' in 'run'", "run.resume=auto"])
    both("nor a first one later", place, "first", "train.steps=12", "run.resume=second", code=DECK,
         says=["cannot start from 'second' in 'first'"])
    answer = json.loads(check(place, "first", "train.steps=12", "run.resume=second", "--json")[0])
    expect(answer["exit_code"] == DECK and answer["errors"] == 1 and answer["start"] is None, "so says its JSON")


def initial_weights(chosen):
    place = Place(chosen, "weights")
    place.train("run", 1, *SAVES, "train.steps=4")
    begin = ["train.steps=2", "model.init.from=checkpoint", "model.init.path=run"]
    both("with weights", place, "fits", *begin, start="with the weights of run/ckpt/step-000000004, of step 4")
    both("of another model", place, "misfit", *begin, "model.layers=3", code=DECK, says=["is of another model"])
    both("of nobody", place, "nobody", *begin[:-1], "model.init.path=nowhere", code=DECK, says=["nowhere"])
    rounded = "frozen tensors are kept in bf16 (precision.compute): 'embedding.token', "
    frozen = [*begin, "train.only=['layers.*']", "precision.compute=bf16"]
    both("of which some are frozen", place, "frozen", *frozen, start="with the weights of", says=[rounded])
    console = both("as frozen ones are saved", place, "frozen", *frozen, "train.steps=4", start="after step 2 of 4")
    expect("rounded" not in console, f"they are in bf16 already\n{console}")
    both("which are trained again", place, "frozen", *begin, "precision.compute=bf16", "train.steps=6",
         start="after step 4 of 6", says=["were frozen in the checkpoint: their moments begin at zero"])
    exact = both("frozen and exact", place, "exact", *frozen, "precision.compute=fp32", start="with the weights of")
    expect("rounded" not in exact, f"nothing is rounded\n{exact}")
    for step in complete_steps(place.folder / "run"):
        damage(checkpoint(place.folder / "run", step))
    both("damaged ones", place, "damaged", *begin, code=CHECKPOINT, says=["no checkpoint in"])


def killed(chosen):
    """The next start says what was lost with a job that was killed."""
    place = Place(chosen, "killed")
    with place.start("run", 1, *SAVES, "train.steps=1000000", "checkpoint.every=5 steps", "checkpoint.async=false") as job:
        job.wait_until(lambda: len(step_numbers(place.folder / "run")) >= 8, "some steps")
        job.process.kill()
        job.wait()
    run = place.folder / "run"
    last, saved = step_numbers(run)[-1], complete_steps(run)[-1]
    console = place.train("run", 1, *SAVES, f"train.steps={last + 1}", "checkpoint.every=5 steps")
    wanted = {0: ""}.get(last - saved, f"the run had reached step {last}: ")
    expect(wanted in console, f"does not say {wanted!r}\n{console}")
    resumed = [event["step"] for event in events(run) if event["event"] == "resume"]
    expect(resumed == [saved], f"went on from {resumed}, not {saved}")
    say(f"killed at step {last}, of which {saved} was saved")


def without_session_directory(chosen):
    """A process without a launcher needs no directory of MPI, which others of the same user could remove meanwhile."""
    place = Place(chosen, "session")
    (place.folder / "file").write_text("no directory can be made here")
    with place.start("run", 1, "train.steps=1", "schedule.warmup=0 steps", environment={"TMPDIR": str(place.folder / "file")}) as training:
        expect(training.wait() == 0, training.tail())
    say("no session directory")


if __name__ == "__main__":
    run_script(__doc__, without_session_directory, own_checkpoints, all_gone, named, initial_weights, killed)
