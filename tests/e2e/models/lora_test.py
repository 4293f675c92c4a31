#!/usr/bin/env python3
"""Adapters of low rank, held against PEFT: the same start, the same training, its layout out, and merged weights.

  lora_test.py --binary ZIGGURAT --logits PRINT_LOGITS --work FOLDER --mpiexec COMMAND

Runs by a Python with transformers, PEFT and PyTorch, as hf_test.py does.
"""

import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "torch", "transformers", "peft")

import numpy
import peft
import torch
import transformers

from hf_test import SEQ, Place, logits_there, make_model, write_deck
from trainings import Failure, expect

MOST_APART = 1e-5  # of losses, relatively; of logits, of the largest
STEPS = 20
BATCH = 4
LORA = ("train.lora.rank=4", "train.lora.alpha=6")
OPTIMIZER = {"lr": 2e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
TUNING = ("optimizer.lr=2e-3", "optimizer.weight_decay=0.1", "data.shuffle=false", f"train.steps={STEPS}")


def losses_of(place, run):
    lines = [json.loads(line) for line in (place.folder / "runs" / run / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["event"] == "step"]


def expect_logits(what, ours, theirs):
    apart = numpy.abs(ours - theirs).max() / numpy.abs(theirs).max()
    expect(apart <= MOST_APART, f"{what}: logits {apart} of the largest apart")
    print(f"    {what}: logits {apart:.1e} of the largest apart")


def from_run(run):
    return "model.init.from=checkpoint", f"model.init.path=runs/{run}"


def logits_of_run(place, run, vocab, ranks, *settings):
    return place.logits_here(f"runs/{run}/deck.effective.yaml", vocab, ranks, *from_run(run), *settings)


def peft_model(place, name, folder, trains=False):
    base = transformers.AutoModelForCausalLM.from_pretrained(place.folder / name).eval()
    return peft.PeftModel.from_pretrained(base, place.folder / folder, is_trainable=trains).eval()


def windows(place, vocab):
    """Batches of the first STEPS steps, as data.shuffle=false takes them in turn."""
    tokens = numpy.frombuffer((place.folder / "tokens.bin").read_bytes()[1024:], numpy.uint16).astype(numpy.int64)
    count = (len(tokens) - 1) // SEQ
    for step in range(STEPS):
        starts = [(step * BATCH + k) % count * SEQ for k in range(BATCH)]
        yield (torch.tensor(numpy.stack([tokens[s + shift:s + shift + SEQ] for s in starts])) for shift in (0, 1))


def train_there(place, model, vocab):
    """Losses of STEPS steps of AdamW with clipping, as the deck has them."""
    trained = [tensor for tensor in model.parameters() if tensor.requires_grad]
    optimizer = torch.optim.AdamW(trained, **OPTIMIZER)
    losses = []
    for inputs, targets in windows(place, vocab):
        loss = torch.nn.functional.cross_entropy(model(inputs).logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def twenty_steps_are_those_of_peft(place):
    name = "llama"
    vocab = make_model(place, name).config.vocab_size
    deck, tokens = write_deck(place, name, vocab)
    base = place.logits_here(deck, vocab, 1)

    # Nothing is learnt at a rate of zero: the adapters are those that every run begins with.
    place.ziggurat("train", deck, *LORA, *TUNING, "optimizer.lr=0", "train.steps=1", "run.dir=runs/start")
    at_first = logits_of_run(place, "start", vocab, 1)
    expect((at_first == base).all(), "step 0 is not the base")
    place.ziggurat("export", "runs/start", "start", "--dtype", "f32")
    theirs = peft_model(place, name, "start", trains=True)
    factors = {name: tensor for name, tensor in theirs.named_parameters() if tensor.requires_grad}
    expect(len(factors) == 3 * 2 * 2, f"{list(factors)}")
    for tensor_name, tensor in factors.items():
        is_zero = not tensor.detach().numpy().any()
        expect(is_zero == ("lora_B" in tensor_name), f"{tensor_name} of step 0")
    losses = train_there(place, theirs, vocab)
    expect(losses[0] - losses[-1] > 1000 * MOST_APART, f"PEFT learns nothing: {losses}")

    place.run(*place.mpiexec, "-n", 2, place.binary, "train", deck, *LORA, *TUNING, "logging.every=1 steps", "sharding.zero=3",
              "run.dir=runs/tuned")
    ours = losses_of(place, "tuned")
    expect(len(ours) == STEPS, f"{len(ours)} losses")
    apart = max(abs(a / b - 1) for a, b in zip(ours, losses))
    expect(apart <= MOST_APART, f"losses {apart} apart: {ours} and {losses}")
    print(f"    {STEPS} steps from {losses[0]:.4f} to {losses[-1]:.4f}: losses {apart:.1e} apart")
    expect_logits("after them", logits_of_run(place, "tuned", vocab, 2), logits_there(theirs.eval(), tokens))
    return deck, vocab, tokens


def peft_and_transformers_read_what_is_exported(place, name, targets):
    vocab = make_model(place, name).config.vocab_size
    deck, tokens = write_deck(place, name, vocab)
    run = f"{name}_lora"
    settings = (*LORA, f"train.lora.targets=[{targets}]")
    place.run(*place.mpiexec, "-n", 2, place.binary, "train", deck, *settings, *TUNING, "optimizer.lr=1e-2", "sharding.zero=2",
              f"run.dir=runs/{run}")
    base = place.logits_here(deck, vocab, 1)
    ours = logits_of_run(place, run, vocab, 2, "sharding.zero=3")
    expect(numpy.abs(ours - base).max() > 100 * MOST_APART * numpy.abs(base).max(), f"{name}: nothing was learnt")

    place.ziggurat("export", f"runs/{run}", f"{run}_peft", "--dtype", "f32")
    unmerged = peft_model(place, name, f"{run}_peft")
    expect_logits(f"{name}, by PEFT", ours, logits_there(unmerged, tokens))
    said = place.ziggurat("export", f"runs/{run}", f"{run}_merged", "--dtype", "f32", "--merge")
    merged, report = transformers.AutoModelForCausalLM.from_pretrained(place.folder / f"{run}_merged", output_loading_info=True)
    expect(not any(report.values()), f"{name}: transformers reports {report}\n{said}")
    expect_logits(f"{name}, merged", logits_there(merged.eval(), tokens), logits_there(unmerged, tokens))
    theirs = unmerged.merge_and_unload().state_dict()
    for tensor_name, tensor in merged.state_dict().items():
        apart = (tensor - theirs[tensor_name]).abs().max().item()
        expect(apart <= 1e-6, f"{name}: {tensor_name} is {apart} from what PEFT merges")

    place.ziggurat("train", deck, f"model.init.path={run}_merged", "optimizer.lr=0", "train.steps=1", f"run.dir=runs/{run}_merged")
    losses = [json.loads(place.ziggurat("eval", f"runs/{of}", "--data", "tokens.bin", "--json"))["loss"]
              for of in (run, f"{run}_merged")]
    expect(abs(losses[0] / losses[1] - 1) <= MOST_APART, f"{name}: eval says {losses}")


def what_does_not_fit_is_refused(place):
    deck, _ = write_deck(place, "llama", 66)
    place.ziggurat("train", deck, "run.dir=runs/plain")
    plain, tuned = (f"runs/{run}/deck.effective.yaml" for run in ("plain", "tuned"))
    for words, code, said_of_it in (
            (("export", "runs/plain", "plain_out", "--merge"), 2, "has no adapters to merge"),
            (("train", plain, *from_run("tuned"), "run.dir=runs/other"), 2, "export --merge"),
            (("train", tuned, "parallel.data=auto", "sharding.sum_group=1", "train.lora.alpha=7", *from_run("tuned"), "run.dir=runs/other"), 2, "train.lora.alpha is 6"),
            (("train", deck, *LORA, "train.lora.rank=5", *TUNING, "run.dir=runs/tuned"), 2, "train.lora.rank is 4"),
            (("train", deck, *TUNING, "run.dir=runs/tuned"), 2, "train.lora.rank is 4"),
            (("export", "runs/tuned", "start"), 2, "already holds a model")):
        said = place.ziggurat(*words, code=code)
        expect(said_of_it in re.sub(r"\s+", " ", said), f"{words}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "logits", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    torch.set_num_threads(1)
    twenty_steps_are_those_of_peft(place)
    print("  twenty steps are those of peft: ok", flush=True)
    for name, targets in (("gpt2", "attention.q, attention.v, mlp.*"), ("gpt_neox", "attention.*"), ("llama_tied", "'*'")):
        peft_and_transformers_read_what_is_exported(place, name, targets)
    print("  peft and transformers read what is exported: ok", flush=True)
    what_does_not_fit_is_refused(place)
    print("  what does not fit is refused: ok", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
