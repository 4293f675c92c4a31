#!/usr/bin/env python3
"""Kept results belong to the content that they were computed from, not to a path: files are replaced, and moved.

  field3_caches_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

The first loss of DPO is ln 2 if the policy has the weights of the reference: then it shows scores of other weights.
"""

import json
import math
import pathlib
import shutil
import sys
from functools import partial

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from byte_tokenizer import write_byte_tokenizer
from pair_folder import PairFolder, concurrently
from trainings import expect, run_script, say

SAME = 1e-6  # losses of equal weights
DPO = {"kind": "dpo", "beta": 0.1}
AGAIN = "reference.scores is computed again"
LOADED = "the reference has the weights"


def train(place, run, reference, *settings, code=0, steps=1, ranks=1):
    """Losses of the steps of a training that starts from scratch, and its output."""
    objective = json.dumps(DPO | {"reference": reference})
    said = "".join(place.call("train", "deck.yaml", f"run.dir={run}", f"train.objective={objective}", f"train.steps={steps}",
                              *settings, code=code, ranks=ranks))
    return [step["loss"] for step in place.steps(run)] if code == 0 else [], said


def expect_start(what, losses):
    expect(abs(losses[0] - math.log(2)) <= SAME, f"{what}: the first loss is {losses[0]}, not ln 2")


def replace_weights(place, folder, other):
    shutil.copy(place.folder / other / "model.safetensors", place.folder / folder / "model.safetensors")


def trained_further(place):
    """A run whose checkpoint is the reference is trained further, and named again."""
    settings = ("model.init={from: checkpoint, path: sft}",)
    sft = ("optimizer.lr=0.02", "checkpoint.every=2 steps", "run.resume=auto")
    train(place, "sft", "start", *sft, steps=2)
    losses, _ = train(place, "dpo", "start", *settings)
    expect_start("first start", losses)
    losses, said = train(place, "dpo", "start", *settings)
    expect_start("the same checkpoint", losses)
    expect(AGAIN not in said, said)
    train(place, "sft", "start", *sft, steps=4)
    losses, said = train(place, "dpo", "start", *settings, ranks=2)
    expect_start("a checkpoint that was trained further", losses)
    expect(f"{AGAIN}: it belongs to other weights of the reference" in said, said)
    losses, said = train(place, "dpo", "start", *settings, "sharding.zero=3", ranks=2)
    expect(AGAIN not in said, f"the layout is not content\n{said}")


def replaced_and_moved(place):
    """A Hugging Face folder as the reference: replaced, then moved, then under an older key."""
    shutil.copytree(place.folder / "models/reference", place.folder / "models/kept")
    before, said = train(place, "named", "models/reference")
    expect(LOADED in said, said)
    shutil.copytree(place.folder / "models/reference", place.folder / "models/moved")
    losses, said = train(place, "named", "models/moved")
    expect(losses == before and LOADED not in said and AGAIN not in said, f"the folder was moved: {losses}\n{said}")
    replace_weights(place, "models/reference", "models/policy")
    losses, said = train(place, "named", "models/reference")
    expect_start("a replaced folder", losses)
    expect(f"{AGAIN}: it belongs to other weights of the reference" in said, said)
    fresh, _ = train(place, "fresh", "models/reference")
    expect(losses == fresh, f"{losses} with a kept file, {fresh} in a new folder")
    replace_weights(place, "models/reference", "models/kept")
    scores = place.folder / "named" / "reference.scores"
    scores.write_bytes(b"ZGREFLOG" + scores.read_bytes()[8:])
    losses, said = train(place, "named", "models/reference")
    expect(losses == before and f"{AGAIN}: an earlier version of the program wrote it" in said, said)
    settings = ("model.rope_theta=20000.0", "model.init.accept_change=[model.rope_theta]")
    losses, said = train(place, "named", "models/reference", *settings)
    fresh, _ = train(place, "fresh_theta", "models/reference", *settings)
    expect(losses == fresh and losses != before and f"{AGAIN}: it was made from other pairs, with other settings" in said,
           f"another model value: {losses} and {fresh}\n{said}")


def replaced_base(place):
    """The base of adapters as the reference: new adapters add nothing, so the policy has its weights."""
    shutil.copytree(place.folder / "models/policy", place.folder / "models/base")
    settings = ("train.lora={rank: 2, alpha: 4}", "model.init={from: hf, path: models/base}")
    losses, _ = train(place, "adapted", "adapters_off", *settings)
    expect_start("adapters off", losses)
    replace_weights(place, "models/base", "models/reference")
    losses, said = train(place, "adapted", "adapters_off", *settings)
    expect_start("adapters off, of a replaced base", losses)
    expect(AGAIN in said, said)
    losses, said = train(place, "adapted", "adapters_off", *settings, "run.seed=9")
    expect(AGAIN not in said, f"random adapters are not the base\n{said}")


def resumed_after_a_change(place):
    """The reference of a resumed run is that of its start, and no other one can complete its scores."""
    shutil.copytree(place.folder / "models/policy", place.folder / "models/begun")
    settings = ("model.init={from: hf, path: models/begun}", "checkpoint.every=2 steps", "run.resume=auto")
    whole, _ = train(place, "whole", "start", *settings, steps=4)
    train(place, "resumed", "start", *settings, steps=2)
    replace_weights(place, "models/begun", "models/reference")
    _, said = train(place, "resumed", "start", *settings, steps=4, code=2)
    expect("are not those that this run started from" in said, said)
    moved = ("model.init={from: hf, path: models/policy}", *settings[1:])
    losses, said = train(place, "resumed", "start", *moved, steps=4)
    expect(losses == whole and AGAIN not in said, f"{losses}, not {whole}\n{said}")
    # A checkpoint has the base of its adapters, so a change is seen without kept scores too.
    settings = ("train.lora={rank: 2, alpha: 4}", *settings)
    replace_weights(place, "models/begun", "models/policy")
    train(place, "adapted", "adapters_off", *settings, steps=2)
    (place.folder / "adapted" / "reference.scores").unlink()
    replace_weights(place, "models/begun", "models/reference")
    _, said = train(place, "adapted", "adapters_off", *settings, steps=4)
    expect("are not those under the adapters of this run" in said, said)


def replaced_tokenizer(place):
    """Encoded records belong to the tokenizer's files, whatever their path is."""
    folder = place.folder / "tokenizer"
    write_byte_tokenizer(folder)
    (place.folder / "records.jsonl").write_text("".join(json.dumps({"text": "word " * 20}) + "\n" for _ in range(8)))

    deck = json.loads((place.folder / "deck.yaml").read_text())
    del deck["model"]["init"]
    deck["model"]["vocab"] = 258
    (place.folder / "texts.yaml").write_text(json.dumps(deck))

    def encode(tokenizer, end):
        (place.folder / tokenizer / "tokenizer_config.json").write_text(json.dumps({"eos_token": end}))
        before = set(place.folder.glob("records.jsonl.*.samples"))
        said = "".join(place.call("train", "texts.yaml", "data.seq=40", "run.dir=texts", "train.steps=1",
                                  f"data.tokenizer={{kind: hf, path: {tokenizer}}}",
                                  "data.train=[{format: chat, path: records.jsonl}]"))
        return set(place.folder.glob("records.jsonl.*.samples")) - before, said

    made, said = encode("tokenizer", "<a>")
    expect(len(made) == 1 and "is encoded to" in said and "Other samples exist" not in said, said)
    first = made.pop().read_bytes()
    shutil.copytree(folder, place.folder / "moved_tokenizer")
    made, said = encode("moved_tokenizer", "<a>")
    expect(not made and "is encoded to" not in said, f"a tokenizer that was moved: {said}")
    made, said = encode("tokenizer", "<b>")
    expect(len(made) == 1 and "Other samples exist" in said and made.pop().read_bytes() != first,
           f"another end of a text, in the same tokenizer.json: {said}")


def kept_results_belong_to_content(chosen):
    cases = (trained_further, replaced_and_moved, replaced_base, resumed_after_a_change, replaced_tokenizer)
    concurrently(*(partial(case, PairFolder(chosen, case.__name__)) for case in cases))
    say("kept results belong to the content that they were computed from")


if __name__ == "__main__":
    run_script(__doc__, kept_results_belong_to_content)
