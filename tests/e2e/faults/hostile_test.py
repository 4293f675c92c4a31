#!/usr/bin/env python3
"""Folders and files from elsewhere: secrets stay out of files, runs do not write through links, odd types and names are
refused with their place, and a checkpoint does not lead out of its folder.

  hostile_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  hostile_test.py --long ...     also the time and memory of large headers and lines
"""

import gzip
import json
import os
import pathlib
import shutil
import sys

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import hostile_folder
import trainings
from hostile_folder import HostileFolder
from trainings import Place, expect, say

# ---------------------------------------------------------------- secrets

SECRETS = {name: f"v4lue-{k}-of" for k, name in enumerate(
    ("DB_PASS", "GITHUB_PAT", "WANDB_KEY", "MY_PWD", "ROOT_PW_2", "SESSION_COOKIE", "API_BEARER", "NCCL_PASS", "SLURM_STEP_KEY"))}


def secrets(chosen):
    place = Place(chosen, "secrets")
    first, *others = SECRETS
    used = "-".join(f"${{env:{name}}}" for name in others)
    with place.start("run", 1, "train.steps=2", "checkpoint.every=2 steps", "schedule.warmup=0 steps", "data.held_out=10%",
                     f"run.name=run-${{env:{first}}}",
                     f"validate={{every: 2 steps, batches: 1, sample: {{prompt: '{used}', tokens: 2}}}}",
                     "logging.tensorboard=true", environment={**SECRETS, "OMP_DISPLAY_ENV": "false"}) as training:
        expect(training.wait() == 0, training.tail())
    for path in sorted(place.folder.joinpath("run").rglob("*")):
        found = [name for name, value in SECRETS.items() if path.is_file() and value.encode() in path.read_bytes()]
        expect(not found, f"{path.relative_to(place.folder)} has the values of {found}")
    environment = (place.folder / "run" / "env.txt").read_text()
    expect("NCCL_PASS=***" in environment and "SLURM_STEP_KEY=***" in environment and "OMP_DISPLAY_ENV=false" in environment,
           environment)
    effective = (place.folder / "run" / "deck.effective.yaml").read_text()
    expect(f"run-${{env:{first}}}" in effective, effective)

    for text in ("user: me\npassword: 's3cr3t\n", "login s3cr3t\n", "password: s3cr3t\n"):
        (place.folder / "notes").write_text(text)
        (place.folder / "deck.yaml").write_text("include: [notes]\n" + (place.folder / place.deck).read_text())
        found = hostile_folder.refuses(place.binary, place.folder, 2, "the included file is not", "check", "deck.yaml")
        expect("s3cr3t" not in found.text, found.text)
    say("values of variables with names of secrets are in no file; messages show no line of an include that is no deck")


# ---------------------------------------------------------------- links


def link(path, target):
    path.unlink(missing_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def links(chosen):
    place = HostileFolder(chosen, "links")
    more = [*place.SETTINGS, "train.steps=6"]
    target = place.folder / "of_somebody"
    for name in ("run.log", "env.txt", "metrics.jsonl", "errors/rank00000.log", "errors", "deck.effective.yaml.tmp"):
        run = place.copy("whole", "hostile")
        content = (run / name).read_bytes() if (run / name).is_file() else b"kept\n"
        shutil.rmtree(target, ignore_errors=True)
        target.unlink(missing_ok=True)
        if name == "errors":
            target.mkdir()
        else:
            target.write_bytes(content)
        link(run / name, target)
        console = place.train("hostile", 1, *more, code=3)
        expect(f"{name}' is a symbolic link" in console, f"{name}: the link is not named\n{console}")
        expect(not any(target.iterdir()) if name == "errors" else target.read_bytes() == content, f"{name} was followed")

    place.copy("whole", "victim")
    before = trainings.complete_steps(place.folder / "victim")
    run = place.copy("whole", "hostile")
    shutil.rmtree(run / "ckpt")
    (run / "ckpt").symlink_to("../victim/ckpt")
    place.train("hostile", 1, *more, "train.steps=8", "checkpoint.keep.last=1")
    after = trainings.complete_steps(place.folder / "victim")
    expect(set(before) < set(after) and 8 in after and 6 not in after, f"checkpoints {before} became {after}")
    place.expect_whole(place.folder / "victim")

    with place.start("victim", 1, *more, "train.steps=1000000", "checkpoint.every=1000000 steps") as running:
        expect(running.wait_until(lambda: max(trainings.step_numbers(place.folder / "victim"), default=0) > 8, "steps"),
               running.tail())
        console = place.train("hostile", 1, *more, code=3)
        expect("hostile/ckpt' (another job writes checkpoints there)" in console, console)
    say("runs write through no link, and remove no checkpoint of another run")


# ---------------------------------------------------------------- types and words


def changed_config(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    config.update(values)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    return folder


def types(chosen):
    place = HostileFolder(chosen, "types")
    for key, value in {"head_dim": "x", "rope_parameters": True, "rope_scaling": [1],
                       "layer_types": ["sliding_attention", "full_attention"], "num_attention_heads": [4],
                       "rms_norm_eps": "1e-5", "tie_word_embeddings": "yes", "hidden_act": 3}.items():
        changed_config(place.copy("model", "odd"), **{key: value})
        found = place.refuses(2, "odd/config.json:", "import", "odd", "--dry-run")
        expect(key in found.text, found.text)
        place.refuses(2, "odd/config.json:", "check", place.deck, "model={init: {from: hf, path: odd}}")
    for metadata in (["pt"], {"format": 1}, {"format": {"a": "b"}}, None, "pt"):
        odd = place.copy("model", "odd")
        header, data = hostile_folder.read_safetensors(odd / "model.safetensors")
        hostile_folder.write_safetensors(odd / "model.safetensors", {**header, "__metadata__": metadata}, data)
        place.refuses(4, "its __metadata__ is not a map of texts", "import", "odd", "new")
    deck = (place.folder / place.deck).read_text()
    for extra, part in (('run.dir="a\\0b"', "run.dir has the character NUL"),
                        ('model.init={from: hf, path: "model\\0/x"}', "model.init.path has the character NUL"),
                        ('tiers={home: {optimizer: nvme}, nvme: {paths: [".\\0/x"]}}', "tiers.nvme.paths has the character NUL"),
                        ("data.tokenizer={kind: bytes, path: yes}", "data.tokenizer.path = 'yes' is not a path"),
                        ("run={dir: on}", "run.dir = 'on' is not a path")):
        place.refuses(2, part, "check", place.deck, extra)
    (place.folder / "odd.yaml").write_text('include: ["a\\0b"]\n' + deck)
    place.refuses(2, "odd.yaml:1:11: include has the character NUL", "check", "odd.yaml")
    say("values of other types, and NUL in names of files, are refused with their place")


def words(chosen):
    place = HostileFolder(chosen, "words")
    odd = place.copy("model", "odd")
    (odd / "config.json").unlink()
    os.mkfifo(odd / "config.json")
    place.refuses(2, "it is a pipe, not a file", "import", "odd", "--dry-run")
    (odd / "config.json").unlink()
    (odd / "config.json").mkdir()
    place.refuses(2, "it is a folder, not a file", "import", "odd", "--dry-run")
    place.refuses(2, "it is a folder", "check", place.deck, "model={init: {from: hf, path: odd}}")
    (odd / "config.json").rmdir()
    place.refuses(2, "no such file", "import", "odd", "--dry-run")

    shutil.rmtree(place.folder / "sharded", ignore_errors=True)
    place.call("export", "whole", "sharded", "--dtype", "f32", "--shard", "40KB")
    shard = sorted((place.folder / "sharded").glob("*.safetensors"))[1].name
    train = ["train", place.deck, "model={init: {from: hf, path: odd}}", "run.dir=none", *place.SETTINGS]
    for damage in ("missing", "a folder", "a pipe", "a dangling link"):
        odd = place.copy("sharded", "odd")
        (odd / shard).unlink()
        if damage == "a folder":
            (odd / shard).mkdir()
        elif damage == "a pipe":
            os.mkfifo(odd / shard)
        elif damage == "a dangling link":
            (odd / shard).symlink_to("none")
        for call in (["import", "odd", "new"], train):
            found = place.refuses(4, shard, *call)
            expect(damage not in ("a folder", "a pipe") or f"it is {damage}" in found.text, found.text)
    say("a missing shard has exit code 4 everywhere, and a folder or pipe is called one")


# ---------------------------------------------------------------- checkpoints


def with_master(place, change):
    """A copy of the run whose newest master.h5 is changed, with its hash set right."""
    step = trainings.checkpoint(place.copy("whole", "odd"), 4)
    with h5py.File(step / "master.h5", "r+") as file:
        change(file)
    hostile_folder.accept_master(step)
    return step


def nested_groups(file):
    group = file["weights"]
    for _ in range(2000):
        group = group.create_group("g")


def checkpoints(chosen):
    place = HostileFolder(chosen, "checkpoints")
    os.mkfifo(place.folder / "pipe")

    def unlimited_sources(file):
        layout = h5py.VirtualLayout(shape=(1,), dtype="f4", maxshape=(None,))
        layout[:h5py.h5s.UNLIMITED] = h5py.VirtualSource(
            str(place.folder / "pipe"), "x", shape=(1,), maxshape=(None,))[:h5py.h5s.UNLIMITED]
        file.create_virtual_dataset("weights/more", layout)

    cases = {
        "external link": (lambda file: file["weights"].__setitem__("out", h5py.ExternalLink(str(place.folder / "pipe"), "/a")),
                          "is a soft or external link"),
        "soft link": (lambda file: file["weights"].__setitem__("out", h5py.SoftLink("/none")), "is a soft or external link"),
        "nested groups": (nested_groups, "it has groups below"),
        "group in itself": (lambda file: file["weights"].__setitem__("out", file["weights"]), "it has groups below"),
        "unlimited sources": (unlimited_sources, "has no fixed size"),
        "many groups": (lambda file: [file.create_group(f"weights/g{k}") for k in range(20000)], "objects"),
    }
    for name, (change, part) in cases.items():
        with_master(place, change)
        found = place.refuses(4, part, "inspect", "odd", "--verify", seconds=20)
        say(f"inspect --verify refuses a checkpoint with {name} in {found.seconds:.2f} s")
    with_master(place, lambda file: None)
    found = hostile_folder.call(place.binary, place.folder, "inspect", "odd", "--verify")
    expect(found.code == 0, f"an unchanged master.h5\n{found.text}")


# ---------------------------------------------------------------- time and memory


def headers(chosen):
    """Large headers, indexes and lines: their time is linear, and their memory bounded."""
    if not chosen.long:
        return
    place = HostileFolder(chosen, "headers")
    seconds = {}
    for count in (25_000, 50_000, 100_000):
        odd = place.copy("model", "odd")
        hostile_folder.write_safetensors(odd / "model.safetensors", *hostile_folder.many_tensors(count))
        found = place.refuses(4, "lacks a tensor", "import", "odd", "new")
        seconds[count] = found.seconds
        say(f"{count} tensors: {found.seconds:.2f} s, {found.kib / 1024:.0f} MiB")
    expect(found.seconds < 1 and found.kib < 300 * 1024, "100,000 tensors: 1 s and 300 MiB")

    # Written in parts: the largest memory of a process counts that of the one that starts it.
    for name, (begin, unit, count, end) in {
            "index": ('{"weight_map":{"":"a"', ',"%d":"a"', 6_000_000, "}}"),
            "texts": ('{"__metadata__":{"":""', ',"%d":""', 7_000_000, "}}"),
            "tensors": ('{"__metadata__":{}', ',"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}', 1_600_000, "}"),
            "lists": ('{"__metadata__":{}', ',"%d":[[[]]]', 5_000_000, "}"),
            "fields": ('{"a":{"shape":[', "0,", 45_000_000, "0]}}")}.items():
        odd = place.copy("model", "odd")
        path = odd / ("model.safetensors.index.json" if name == "index" else "model.safetensors")
        (odd / "model.safetensors").unlink()
        with open(path, "wb") as file:
            file.write(b"" if name == "index" else bytes(8))
            file.write(begin.encode())
            for first in range(0, count, 100_000):
                last = min(first + 100_000, count)
                file.write("".join(unit % k if "%" in unit else unit for k in range(first, last)).encode())
            file.write(end.encode())
            size = file.tell()
            if name != "index":
                file.seek(0)
                file.write((size - 8).to_bytes(8, "little"))
        found = hostile_folder.call(place.binary, place.folder, "import", "odd", "new")
        expect(found.code == 4 and found.seconds < 10 and found.kib < 1 << 20, f"{name} of {size} bytes: {found}"[:2000])
        expect("is not" in found.text or "more than" in found.text, found.text[-2000:])
        say(f"{name} of {size >> 20} MiB: {found.seconds:.2f} s, {found.kib / 1024:.0f} MiB: {found.text[:150].strip()}")
    with gzip.open(place.folder / "line.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(b'{"text": "')
        for _ in range(4 << 6):
            file.write(b"x" * (1 << 24))
    found = place.refuses(2, "a line of more than", "tokenize", "line.jsonl.gz", "--tokenizer", "bytes", "--out", "new",
                          "--format", "llmc")
    expect(found.kib < 1 << 20, f"{found.kib} KiB")
    say(f"a line of 4 GiB: {found.seconds:.2f} s, {found.kib / 1024:.0f} MiB")


if __name__ == "__main__":
    trainings.run_script(__doc__, secrets, links, types, words, checkpoints, headers)
