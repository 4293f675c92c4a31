#!/usr/bin/env python3
"""Data that changes is never trained on in silence: between two starts of a run, and while a run reads it.

  data_change_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import Place, complete_steps, expect, run_script, say, step_numbers

DECK, RESOURCE = 2, 3


def between_two_starts(chosen):
    """A text that grew is refused with its sizes, gone on with when that is said, and right again when put back."""
    place = Place(chosen, "between")
    run, text = place.folder / "run", place.folder / "text.txt"
    before = text.read_bytes()
    place.train("run", 2, "train.steps=8", "checkpoint.every=4 steps")
    recorded = place.inspect("run", "--tensors")
    expect(f"data.train[0].path: text.txt, {len(before):,} bytes, xxh3 " in recorded, f"inspect says:\n{recorded}")

    text.write_bytes(before + b"some more")
    refused = place.train("run", 2, "train.steps=12", "checkpoint.every=4 steps", code=DECK)
    expect(f"'text.txt' had {len(before):,} bytes and has {len(before) + 9:,} now" in refused, refused)
    text.write_bytes(b"X" + before[1:])
    refused = place.train("run", 2, "train.steps=12", "checkpoint.every=4 steps", code=DECK)
    expect(f"'text.txt' has different content (still {len(before):,} bytes)" in refused, refused)
    expect(complete_steps(run)[-1] == 8, "a refused start leaves the checkpoints alone")

    accepted = place.train("run", 2, "train.steps=12", "checkpoint.every=4 steps", "run.accept_data_change=true")
    expect("the run continues with the present data, after the same number of tokens" in accepted, accepted)
    expect(step_numbers(run) == list(range(1, 13)), "every step is there once")
    other = place.train("run", 2, "train.steps=16", "checkpoint.every=4 steps")
    expect("training data has changed" not in other, "what was accepted is what the next checkpoint records")
    place.inspect("run", "--diff", "run")
    say("data that has changed between two starts is refused, or gone on with as the deck says")


def while_it_is_read(chosen):
    """Bytes that change under a run end it before it saves; its last checkpoint stays."""
    place = Place(chosen, "under_way")
    run, text = place.folder / "run", place.folder / "text.txt"
    with place.start("run", 2, "train.steps=1000000", "checkpoint.every=50 steps") as training:
        expect(training.wait_until(lambda: complete_steps(run), "a checkpoint"), training.tail())
        with open(text, "r+b") as file:
            file.write(b"XXXX")
        expect(training.wait() == RESOURCE, f"it ended with {training.process.returncode}\n{training.tail()}")
        expect("data.train[0].path: 'text.txt' has been rewritten" in training.output(), training.tail())
    expect(complete_steps(run), "a checkpoint of the time before is there")
    say("a file that is rewritten while it is read ends the run")


if __name__ == "__main__":
    run_script(__doc__, between_two_starts, while_it_is_read)
