#!/usr/bin/env python3
"""Times the step that saves a checkpoint beside training, and the steps while it is written.

  perf/saving.py [--rounds 3] [--every 4]

GPT-2 124M on two ranks of one thread, ZeRO 3, sequence 1024, four sequences (perf/sharding.yaml), with
checkpoint.async: 1.5 GB every few steps, into build/perf. `step_that_saves` is the longest of the steps that follow a
save's beginning, and what training stood still for the copy before them, over the median of the steps during which
nothing is written; `while_writing` the same of all steps that a save is under way in. A ratio is the median of those of
the rounds. Results go to build/perf/saving.jsonl.
"""

import argparse
import json
import statistics
import sys

import training


def events_of(name):
    with open(training.RESULTS / "runs" / name / "metrics.jsonl") as lines:
        return [json.loads(line) for line in lines]


def steps_of(events):
    """Seconds of each step from the third on, with what training stood still before it for a save; those that a save
    begins before; those that one is under way in."""
    seconds, begin, under_way = {}, set(), set()
    last, is_writing = 0, False
    for event in events:
        if event["event"] == "step":
            last = event["step"]
            if last > 2:
                seconds[last] = seconds.get(last, 0) + event["step_s"]
                if is_writing:
                    under_way.add(last)
        elif event["event"] == "checkpoint_begin" and event["async"]:
            is_writing = True
            begin.add(last + 1)
        elif event["event"] == "checkpoint_end":
            is_writing = False
            if not event["ok"]:
                raise training.TrainingFailed(f"a save has failed: {event}")
            following = event["step"] + 1
            if following in seconds:
                seconds[following] += event["stood_still_s"]
    return seconds, begin & set(seconds), under_way


def ratios_of(events):
    seconds, begin, under_way = steps_of(events)
    plain = [of_step for step, of_step in seconds.items() if step not in under_way]
    saves = [event for event in events if event["event"] == "checkpoint_end"]
    if not plain or not begin:
        raise training.TrainingFailed("no step in which nothing is written, or none that saves; ask for --every more steps")
    usual = statistics.median(plain)
    return {"step_seconds": usual, "step_that_saves": max(seconds[step] for step in begin) / usual,
            "while_writing": max(seconds[step] for step in under_way) / usual,
            "bytes": saves[0]["bytes"], "write_GB_s": max(save["GB_s"] for save in saves)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=4, help="steps between two saves")
    parser.add_argument("--saves", type=int, default=2)
    chosen = parser.parse_args()

    settings = {"sharding.zero": 3, "checkpoint.every": f"{chosen.every} steps", "checkpoint.keep.last": 1}
    rounds = []
    training.RESULTS.mkdir(parents=True, exist_ok=True)
    with open(training.RESULTS / "saving.jsonl", "w") as log:
        for number in range(1, chosen.rounds + 1):
            training.train(chosen.binary, 2, 1, settings, chosen.every * (chosen.saves + 1), "saving")
            found = ratios_of(events_of("saving"))
            rounds.append(found)
            log.write(json.dumps({"measurement": "saving_round", "round": number} | found) + "\n")
            print(f"  round {number}: {found['step_seconds']:.3f} s a step; times {found['step_that_saves']:.3f} where it "
                  f"saves, {found['while_writing']:.3f} while it writes {found['bytes'] / 1e9:.2f} GB",
                  file=sys.stderr, flush=True)
        for figure in ("step_that_saves", "while_writing"):
            ratio = statistics.median(found[figure] for found in rounds)
            line = json.dumps({"measurement": "saving", "figure": figure, "ratio": ratio})
            log.write(line + "\n")
            print(line)


if __name__ == "__main__":
    main()
