#!/usr/bin/env python3
"""Pairs of layouts drawn at random: one saves, the other goes on, and nobody could tell from the losses.

  resume_pairs_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_PAIRS=100 resume_pairs_test.py ...     so many pairs (default 3); ZIGGURAT_SEED=N repeats them

The first layout trains to the end and saves on its way; the second starts in a folder of its own, from a random one of these
checkpoints: named as run.resume, or found by auto in a copy. Class B: its losses are within 1e-5 of the first's,
and both ends have consumed the same samples exactly.
"""

import os
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Failure, Place, expect, say

STEPS = 20
GLOBAL_BATCH = 60  # for 1 to 6 ranks
SAME = [f"train.global_batch={GLOBAL_BATCH}", f"train.steps={STEPS}", "precision.compute=fp32", "model.vocab=300"]


def divisors(number):
    return [n for n in range(1, number + 1) if number % n == 0]


def some_sharding(chance, ranks):
    """A ZeRO stage, or spans: parameters in gradients in optimizer in all, gradients equal to a neighbour."""
    if chance.random() < 0.5:
        return [f"sharding.zero={chance.randrange(4)}"]
    optimizer = chance.choice(divisors(ranks))
    parameters = chance.choice(divisors(optimizer))
    gradients = chance.choice((parameters, optimizer))
    return [f"sharding.parameters={parameters}", f"sharding.gradients={gradients}", f"sharding.optimizer={optimizer}"]


def some_layout(chance):
    """(ranks, settings) of which no two need to be alike."""
    ranks = chance.randint(1, 6)
    settings = some_sharding(chance, ranks)
    settings += [f"train.micro_batch={chance.choice([n for n in divisors(GLOBAL_BATCH // ranks) if n > 1])}",
                 f"sharding.reduce={chance.choice(('auto', 'at_end', 'each_microbatch', 'by_span'))}",
                 f"sharding.sum_group={chance.choice([*divisors(ranks), 'flat'])}",
                 f"checkpoint.async={chance.choice(('true', 'false'))}"]
    return ranks, settings


def described(layout):
    ranks, settings = layout
    return f"{ranks} ranks " + " ".join(setting.split(".", 1)[1] for setting in settings)


def pair(place, number, chance):
    first, second = some_layout(chance), some_layout(chance)
    saved = chance.randrange(1, STEPS)
    of_model = [] if chance.random() < 0.7 else ["train.only=[layers.1.*]"]
    what = f"pair {number}, step {saved} ({place.deck}{' frozen in part' if of_model else ''}): " \
           f"{described(first)} -> {described(second)}"
    whole, rest = place.folder / f"whole{number}", place.folder / f"rest{number}"
    all_kept = ["checkpoint.keep.last=1000"]
    try:
        place.train(whole.name, first[0], *SAME, *of_model, *first[1], *all_kept, f"checkpoint.every={saved} steps")
        curve = trainings.losses(whole, 1, STEPS)
        source = trainings.checkpoint(whole, saved)
        if chance.random() < 0.5:
            resume = f"run.resume={source}"
        else:
            resume = "run.resume=must"
            shutil.copytree(source, trainings.checkpoint(rest, saved))
        place.train(rest.name, second[0], *SAME, *of_model, *second[1], *all_kept, f"checkpoint.every={STEPS} steps",
                    resume)
        gap = trainings.expect_same_curve("the rest", trainings.losses(rest, saved + 1, STEPS), curve[saved:])
        ends = [trainings.manifest(trainings.checkpoint(run, STEPS))["progress"] for run in (whole, rest)]
        for field in ("step", "tokens", "next_sample", "skipped"):
            expect(ends[0][field] == ends[1][field], f"{field} at the end: {ends}")
        expect(ends[1]["next_sample"] == STEPS * GLOBAL_BATCH, f"samples consumed at the end: {ends[1]}")
    except Failure as failure:
        raise Failure(f"{what}\n{failure}") from None
    shutil.rmtree(whole)
    shutil.rmtree(rest)
    say(f"{what}: losses within {gap:.1e}")
    return gap


def pairs(chosen):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    count = int(os.environ.get("ZIGGURAT_PAIRS", "3"))
    print(f"{count} pairs, seed {seed}", flush=True)
    chance = random.Random(seed)
    places = [Place(chosen, family, family) for family in ("gpt2", "llama")]
    worst = max(pair(places[number % 2], number, chance) for number in range(1, count + 1))
    say(f"{count} pairs, losses within {worst:.1e}")


if __name__ == "__main__":
    trainings.run_script(__doc__, pairs)
