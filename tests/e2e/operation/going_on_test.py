#!/usr/bin/env python3
"""What a run says when it goes on with another deck is so, and nothing else is said.

A table of changes between two starts. Each names the warnings and notes that must come, in which the figures are those
that metrics.jsonl then shows: learning rates, steps, and, by the losses of a model that does not learn (lr 0), which
windows of which source are trained. Whatever else is said as a warning or note fails.

  going_on_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import dataclasses
import pathlib
import re
import shutil
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import equivalence
from trainings import Place, checkpoint, complete_steps, events, expect, run_script, say, step_numbers

DECK = 2
RANKS = 3
STOP = 8  # the step of the checkpoint that everything goes on from
TOKENS = 385  # of a source: 12 windows of 32, or 6 of 64, too few to be shifted
SAID = re.compile(r"^ziggurat: (warning|note): (.*)$", re.MULTILINE)


# ---------------------------------------------------------------- starting and listening


def sources(*named, **more):
    """The setting of data.train for files and weights."""
    listed = ", ".join(f"{{format: text, path: {name}.txt, weight: {weight}}}" for name, weight in named)
    return f"data.train=[{listed}]"


AB = sources(("a", 1), ("b", 1))
LEARNS = ["data.train=[{format: text, path: text.txt}]", "train.global_batch=6", "train.micro_batch=1",
          "model.dropout=0"]
STANDS = [AB, "train.global_batch=1", "train.micro_batch=1", "model.dropout=0", "optimizer.lr=0", "schedule=constant",
          "model.max_seq=64", "data.seq=32"]


def go(place, run, ranks, *settings, code=0):
    return place.train(run, ranks, f"checkpoint.every={STOP} steps", "checkpoint.keep=4", *settings, code=code)


def base(place, name, ranks, *settings):
    """A run of which only the checkpoint of STOP is left."""
    go(place, name, ranks, *settings)
    run = place.folder / name
    for step in complete_steps(run):
        if step != STOP:
            shutil.rmtree(checkpoint(run, step))
    (run / "ckpt" / "LATEST").unlink()
    (run / "DONE").unlink()
    return name


def go_on(place, begun, ranks, *settings, code=0):
    """Goes on from a copy of a base. Returns the new run's folder, and what was said as (kind, text)."""
    place.copies = getattr(place, "copies", 0) + 1
    name = f"{begun}-{place.copies}"
    shutil.copytree(place.folder / begun, place.folder / name)
    console = go(place, name, ranks, *settings, code=code)
    return place.folder / name, console, SAID.findall(console)


# What copies of a base bring about, and machines with few cores.
COPIED = re.compile(r"'.*/LATEST' is missing$|(the run had reached .* again\. )?metrics.jsonl continues after step \d+; |"
                    r"changed since the checkpoint, with the same training: run.dir \S+ -> \S+(, run.accept_data_change false -> true)?$|"
                    r"\S+: oversubscribed, \d+ threads? on \d+ cores?|\S+: \d+ ranks? uses? \d+ of \d+ cores")


def expect_said(what, said, wanted):
    """Each pattern (`warning: ...`) is found in one line of its own, and no line is left. Returns the matches."""
    left = [f"{kind}: {text}" for kind, text in said if not COPIED.match(text)]
    found = []
    for pattern in wanted:
        hits = [(line, hit) for line in left if (hit := re.search(pattern, line))]
        expect(hits, f"{what}: nobody says {pattern!r}, but\n  " + "\n  ".join(left or ["nothing"]))
        left.remove(hits[0][0])
        found.append(hits[0][1])
    expect(not left, f"{what}: also said:\n  " + "\n  ".join(left))
    return found


def number(text):
    return int(text.replace(",", ""))


def rates(run):
    return {event["step"]: float(event["lr"]) for event in events(run) if event["event"] == "step"}


# ---------------------------------------------------------------- windows, by their losses


class Windows:
    """Which window a step of one sequence trained, by its loss under weights that stay."""

    def __init__(self, place, names, seqs):
        self.by_loss = {}
        for seq in seqs:
            for name in names:
                run = f"look-{name}-{seq}"
                place.train(run, 1, *STANDS, sources((name, 1)), f"data.seq={seq}", "data.shuffle=false",
                            f"train.steps={(TOKENS - 1) // seq}")
                for event in self.steps(place.folder / run):
                    key = (event["loss"], seq)
                    expect(key not in self.by_loss, f"two windows have the loss {key}")
                    self.by_loss[key] = (name, (event["step"] - 1) * seq)

    @staticmethod
    def steps(run):
        return [event for event in events(run) if event["event"] == "step"]

    def trained(self, run, seq, first=1):
        """(source, first token) of each step from `first` on."""
        rows = [event for event in self.steps(run) if event["step"] >= first]
        unknown = [event["step"] for event in rows if (event["loss"], seq) not in self.by_loss]
        expect(not unknown, f"{run}: steps {unknown} trained on no window of {seq} that anybody knows")
        return [self.by_loss[event["loss"], seq] for event in rows]


def of(source, windows):
    return [first for name, first in windows if name == source]


def tokens_of(firsts, seq):
    return {first + i for first in firsts for i in range(seq)}


# ---------------------------------------------------------------- the data


def the_data(chosen):
    """Sources go on where they were, and what comes twice is counted."""
    place = Place(chosen, "data")
    for seed, name in enumerate("abc"):
        equivalence.write_text(place.folder / "all.txt")
        text = (place.folder / "all.txt").read_bytes()
        (place.folder / f"{name}.txt").write_bytes(text[1000 * seed:1000 * seed + TOKENS])
    windows = Windows(place, "abc", (32, 64))
    shuffled = base(place, "shuffled", 1, *STANDS, "train.steps=24")
    in_turn = base(place, "in_turn", 1, *STANDS, "train.steps=24", "data.shuffle=false")
    before = windows.trained(place.folder / shuffled, 32)[:STOP]
    expect(len(of("a", before)) == len(of("b", before)) == 4, f"the first steps took {before}")

    def change(what, *settings, wanted=(), begun=shuffled, seq=32, code=0):
        run, console, said = go_on(place, begun, 1, *STANDS, "train.steps=24",
                                   *(["data.shuffle=false"] if begun == in_turn else []), *settings, code=code)
        found = expect_said(what, said, wanted) if code == 0 else console
        say(what)
        return (windows.trained(run, seq, STOP + 1) if code == 0 else None), found

    # 1: nothing
    same, _ = change("a run as it was says nothing")
    for name in "ab":
        expect(sorted(of(name, before + same)) == list(range(0, 12 * 32, 32)), f"an epoch of {name} is {before + same}")

    # 2: other weights
    shares = r"warning: data.train: the mix of sources changes from step 9 on: "
    later, _ = change("weights 1:3", sources(("a", 1), ("b", 3)),
                      wanted=[shares + r"'a.txt' gives 25 % instead of 50 %.*'b.txt' gives 75 % instead of 50 %"])
    expect(len(of("a", later)) == 4 and len(of("b", later)) == 12, f"shares are {later}")
    expect(not set(of("a", later)) & set(of("a", before)), "a goes on where it was")
    expect(set(of("b", later)[:8]) | set(of("b", before)) == set(range(0, 12 * 32, 32)), "b ends its epoch first")

    # 3: another order of the list
    later, _ = change("sources in another order of the list", sources(("b", 1), ("a", 1)),
                      wanted=["note: data.train lists its sources in another order"])
    for name in "ab":
        expect(of(name, later) == of(name, same), f"{name} goes on as if nobody had moved it")

    # 4, 5: one more, one less
    later, _ = change("a source is added", sources(("a", 1), ("b", 1), ("c", 2)),
                      wanted=[shares + r"'a.txt' gives 25 %.*'b.txt' gives 25 %.*'c.txt' is new with 50 %"])
    expect(len(of("c", later)) == 8 and len(set(of("c", later))) == 8, f"of c, {of('c', later)}")
    expect(of("a", later) == of("a", same)[:4], "a goes on where it was")
    later, _ = change("a source is taken away", sources(("b", 1)),
                      wanted=[shares + r"'b.txt' gives 100 %.*'a.txt', which gave 50 %, is removed after epoch 0.3325"])
    expect(of("b", later)[:8] == of("b", same) and not of("a", later), f"b alone: {later}")

    # 6 to 9: other names, other bytes
    (place.folder / "staged").mkdir()
    for name in "ab":
        shutil.copy(place.folder / f"{name}.txt", place.folder / "staged" / f"{name}.txt")
    later, _ = change("the same bytes elsewhere", sources(("staged/a", 1), ("staged/b", 1)),
                      wanted=[r"note: data.train uses new names for the same data: 'staged/a.txt' has the bytes of 'a.txt'"])
    expect(later == same, "the same data, the same order")
    shutil.copy(place.folder / "c.txt", place.folder / "staged" / "a.txt")
    _, refused = change("other bytes elsewhere are refused", sources(("staged/a", 1), ("b", 1)), code=DECK)
    expect(f"'staged/a.txt' ({TOKENS} bytes) replaces 'a.txt' ({TOKENS} bytes), which has different content" in refused,
           refused)
    later, _ = change("and taken where the deck says so", sources(("staged/a", 1), ("b", 1)),
                      "run.accept_data_change=true",
                      wanted=[r"warning: data.train\[0\].path: the training data has changed.*from its start"])
    expect(of("b", later) == of("b", same) and len(of("c", later)) == 8, f"b goes on: {later}")
    shutil.copy(place.folder / "a.txt", place.folder / "staged" / "a.txt")

    # 10 to 13: other sequences of the same tokens
    twice = r"(\d+) tokens of '%s.txt' are read a second time in its epoch 1, and about the same number are skipped"
    for what, settings, seq in (("longer sequences", ["data.seq=64"], 64), ("another seed", ["run.seed=5"], 32),
                                ("in turn", ["data.shuffle=false"], 32)):
        later, (found,) = change(
            f"{what}: what comes twice is counted", *settings, seq=seq,
            wanted=[r"warning: (data.seq is 64 instead of 32|run.seed is 5 instead of 4321|data.shuffle is false): "
                    r"sequences differ from step 9 on; (.*)"])
        for name in "ab":
            told = re.search(twice % name, found[2])
            rest = of(name, later)[:(TOKENS - 1) // seq - 4 * 32 // seq]
            again = len(tokens_of(rest, seq) & tokens_of(of(name, before), 32))
            expect((int(told[1]) if told else 0) == again, f"{what}: {again} tokens of {name} twice, said {found[0]!r}")
    later, _ = change("longer sequences in turn go on at the same token", "data.seq=64", seq=64, begun=in_turn,
                      wanted=["warning: data.seq is 64 instead of 32: .* none of their tokens is read a second time"])
    for name in "ab":
        expect(of(name, later) == [128, 192, 256, 320, 0, 64, 128, 192], f"in turn: {later}")

    # 14, 15: the held-out share
    held = base(place, "held", 1, *STANDS, "train.steps=24", "data.held_out=25%")
    _, found = change("less is held out", begun=held, wanted=[
        r"warning: data.held_out keeps another part: ", r"warning: data.held_out: (\d+) tokens of 'a.txt' that were held "
        r"out are trained on from here; (\d+) tokens of 'b.txt'.* Validation losses before and after are not comparable"])
    expect([number(found[1][1]), number(found[1][2])] == [96, 96], f"a quarter of {TOKENS}: {found[1][0]!r}")
    _, found = change("more is held out", "data.held_out=25%", wanted=[
        r"warning: data.held_out keeps another part: ",
        r"warning: data.held_out: 96 tokens of 'a.txt' that were training data are held out from here",
        r"warning: .*validation data that is never used"])

    # 16: a file that grew
    with open(place.folder / "b.txt", "ab") as file:
        file.write((place.folder / "c.txt").read_bytes()[:64])
    _, refused = change("a file that grew is refused", code=DECK)
    expect("'b.txt' had 385 bytes and has 449 now" in refused, refused)


# ---------------------------------------------------------------- length and learning rate


@dataclasses.dataclass
class Course:
    """A change of length, batch or learning rate, and what it must say."""

    what: str
    settings: list
    wanted: list
    holds: typing.Callable = lambda run, found: None  # of the new run and the matches
    begun: str = "cosine"


def rate_at_seam(run, found):
    """The warning's rates are the one that step 9 took and the one that a run as it was takes there."""
    hit = next(hit for hit in found if "would have taken" in hit.re.pattern)
    took, would = float(hit[1]), float(hit[2].rstrip("."))
    expect(abs(rates(run)[STOP + 1] - took) <= 6e-4 * took, f"step 9 took {rates(run)[STOP + 1]}, said {took}")
    untouched = rates(run.parent / "untouched")[STOP + 1]
    expect(abs(untouched - would) <= 6e-4 * would, f"it would have taken {untouched}, said {would}")


SEAM = r"warning: .*: step 9 takes a learning rate of ([\d.e-]+), and would have taken ([\d.e-]+)\."


def goes_to(step):
    return lambda run, found: expect(step_numbers(run) == list(range(1, step + 1)), f"steps {step_numbers(run)}")


def holds_rate(run, found):
    expect(rates(run)[13] == rates(run)[24], f"rates {rates(run)}")
    for step in range(9, 13):
        expect(rates(run)[step] == rates(run.parent / "untouched")[step], f"step {step} takes {rates(run)[step]}")


def restarts(run, found):
    rate_at_seam(run, found)
    afresh = rates(run.parent / "sixteen")
    for step in range(1, 17):
        expect(rates(run)[STOP + step] == afresh[step], f"step {step} of the new schedule: {rates(run)[STOP + step]}")


COURSES = [
    Course("a run as it was", [], [], goes_to(12)),
    Course("more steps under a cosine", ["train.steps=24"],
           [r"note: train.steps 12 -> 24: 16 steps are left", SEAM + r" schedule.when_extended=hold"], rate_at_seam),
    Course("more steps, held", ["train.steps=24", "schedule.when_extended=hold"],
           [r"note: train.steps 12 -> 24: 16 steps are left", r"note: .*the learning rate continues at"], holds_rate),
    Course("more steps, restarted", ["train.steps=24", "schedule.when_extended=restart"],
           [r"note: train.steps 12 -> 24: 16 steps are left", SEAM + "$"], restarts),
    Course("more steps under a constant rate", ["train.steps=16", "schedule=constant"],
           [r"note: train.steps 12 -> 16: 8 steps are left$"], goes_to(16), "constant"),
    Course("fewer steps under a constant rate", ["train.steps=10", "schedule=constant"],
           [r"note: train.steps 12 -> 10: 2 steps are left$"], goes_to(10), "constant"),
    Course("a later way down", ["train.steps=24", "schedule={kind: wsd, decay: 3 steps}"],
           [r"note: train.steps 12 -> 24: 16 steps are left",
            r"note: train.steps 12 -> 24: the learning rate continues at 0.003 and reaches 0.0003 in step 24"],
           goes_to(24), "wsd"),
    Course("a higher rate", ["optimizer.lr=6.0e-3"], [SEAM + "$"], rate_at_seam),
    Course("a warm-up that is over", ["schedule={kind: constant, warmup: 2 steps}"],
           [r"note: schedule.warmup 5 steps -> 2 steps: the learning rate continues at 0.003 and reaches 0.003"],
           goes_to(12), "constant"),
    Course("larger batches", ["train.global_batch=12", "schedule=constant"],
           [r"warning: train.global_batch is 6 .* and 12 .*: from step 9 on, steps take 384 tokens; 4 steps are left"],
           goes_to(12), "constant"),
    Course("other moments", ["optimizer.betas=[0.9, 0.99]"],
           [r"warning: optimizer.betas is .*: from here on the moments are kept and decay with the new factors"]),
    Course("another decay", ["optimizer.weight_decay=0.2"],
           [r"warning: optimizer.weight_decay is .*: from here on weights decay by the new factor"]),
    Course("another clip", ["optimizer.clip_norm=0.5"],
           [r"warning: optimizer.clip.norm is .*: from here on gradients are clipped at the new norm"]),
    Course("another compute type", ["precision.compute=fp32"],
           [r"warning: precision.compute is bf16 .* and fp32 .*: from here on parameters, activations and products"]),
    Course("dropout", ["model.dropout=0.2"], [r"warning: model.dropout is 0 .*: from here on dropout has the new rate"]),
    Course("some tensors", ["train.only=['layers.*']"],
           [r"warning: train.only is .*: from here on other tensors",
            r"note: frozen tensors are kept in bf16 .*: 'embedding.token', .* are rounded to it"]),
    Course("a key without meaning", ["train.spikes.z=9"],
           [r"note: changed since the checkpoint, with the same training: .*train.spikes.z 6 -> 9",
            r"warning: .*train.spikes.z has no effect"]),
    Course("another layout", ["sharding.zero=3", "recompute=full"],
           [r"note: changed since the checkpoint, with the same training: .*recompute.kind"]),
]


def course_settings(name):
    return {"cosine": ["schedule=cosine"], "constant": ["schedule=constant"],
            "wsd": ["schedule={kind: wsd, decay: 3 steps}"]}[name]


def the_course(chosen):
    """Lengths and rates that are told are those that the steps take, on one rank and on three."""
    place = Place(chosen, "course")
    for name in ("cosine", "constant", "wsd"):
        base(place, name, 1, *LEARNS, "train.steps=12", *course_settings(name))
    place.train("untouched", 1, *LEARNS, "train.steps=12", "schedule=cosine")
    place.train("sixteen", 1, *LEARNS, "train.steps=16", "schedule=cosine")
    for number_of, course in enumerate(COURSES):
        for ranks in (1, RANKS) if number_of in (0, 1, 9) else (1,):
            run, _, said = go_on(place, course.begun, ranks, *LEARNS, "train.steps=12", *course_settings(course.begun),
                                 *course.settings)
            if ranks > 1:  # of ranks other things are noted as well
                said = [(kind, text) for kind, text in said if "with the same training" not in text]
            course.holds(run, expect_said(course.what, said, course.wanted))
            say(f"{course.what}, {ranks} ranks")


def by_tokens(chosen):
    """A run in tokens ends with its tokens whatever its batches were; DONE goes when there is more to do."""

    def settings(tokens, batch):
        return [f"train={{tokens: {tokens}, global_batch: {batch}, micro_batch: 1}}", "schedule={kind: cosine, warmup: 2 steps}",
                "model.dropout=0"]

    place = Place(chosen, "tokens")
    go(place, "afresh", 1, *settings(3072, 12))
    for ranks in (1, RANKS):
        name = f"run{ranks}"
        run = place.folder / name
        go(place, name, ranks, *settings(1536, 6))
        expect(step_numbers(run) == list(range(1, 9)) and (run / "DONE").exists(), "eight steps of 192 tokens")
        console = go(place, name, ranks, *settings(1536, 12))
        expect("finished before" in console and "train.tokens, 1,536" in console, console)

        console = go(place, name, ranks, *settings(3072, 12))
        expect(step_numbers(run) == list(range(1, 13)), f"four larger steps: {step_numbers(run)}")
        steps = [event for event in events(run) if event["event"] == "step"]
        expect(steps[-1]["tokens"] == 3072, f"the last step is {steps[-1]}")
        expect("train.tokens 1536 -> 3072: 4 steps are left" in console, console)
        expect((run / "DONE").exists(), "done again")
        # In tokens, step 9 stands where the fifth of eight steps of 384 tokens does.
        for step in range(5, 9):
            expect(rates(run)[step + 4] == rates(place.folder / "afresh")[step], f"rate of step {step + 4}")
    say("a run in tokens ends with its tokens")


# ---------------------------------------------------------------- saved first


def saved_first(chosen):
    """What is due at a step is saved before it is validated: a job that is killed in a long validation loses nothing."""
    place = Place(chosen, "saved_first")
    text = (place.folder / "text.txt").read_bytes()
    (place.folder / "text.txt").write_bytes(text * (24_000_000 // len(text)))  # a long validation
    settings = [*LEARNS, "train.steps=8", "schedule=constant", "data.held_out=90%"]
    for ranks, every in ((1, "4 steps"), (2, "4 steps"), (2, "none")):  # beside a validation, or before the last one
        name = f"run-{ranks}-{every[0]}"
        run = place.folder / name
        step = 4 if every != "none" else 8
        more = [f"checkpoint.every={every if every != 'none' else '1h'}", f"validate.every={step} steps"]
        with place.start(name, ranks, *settings, *more) as training:
            expect(training.wait_until(lambda: step in complete_steps(run), "a checkpoint"), training.tail())
            validated = [event for event in events(run) if event["event"] == "validate"]
            expect(not validated, f"{name} was validated first: {validated}")
        with place.start(name, ranks, *settings, *more, "validate.every=none") as training:
            expect(training.wait() == 0, training.tail())
            word = "finished before" if step == 8 else "resumed after step 4 of 8"
            expect(word in training.output(), training.tail())
    say("what is due is saved before it is validated")


if __name__ == "__main__":
    run_script(__doc__, the_data, the_course, by_tokens, saved_first)
