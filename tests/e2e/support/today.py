"""Exported folders in the transformers of today, without PyTorch (read_by_transformers_5.py)."""

import json
import pathlib
import subprocess

import peers
from trainings import expect

READER = pathlib.Path(__file__).with_name("read_by_transformers_5.py")
PATIENCE_S = 240
# Names in config.json that the classes of transformers 5 have in another form.
RENAMED = {"torch_dtype", "model_type", "architectures", "rope_scaling", "rope_theta", "rotary_pct", "rotary_emb_base",
           "partial_rotary_factor", "rope_local_base_freq", "sliding_window_pattern"}
ALWAYS_SLIDING = ("Gemma2Config", "Gemma3TextConfig")  # their models make a mask of sliding windows in any case


def read_all(place, folders, *options):
    """What transformers 5 finds in each folder; `options` of the reader."""
    done = subprocess.run(["/usr/bin/python3", "-I", "-S", str(READER), str(peers.need_transformers_5()), *options, *folders],
                          cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    found = {each["folder"]: each for each in map(json.loads, done.stdout.splitlines())}
    expect(list(found) == list(folders), f"transformers 5 has read {list(found)}: {done.stderr[-2000:]}")
    print(f"  transformers {found[folders[0]]['version']} has read {len(found)} folders")
    return found


def expect_usable(place, folder, read):
    """The class has each value of config.json, with its type; special tokens are in the vocabulary, except those of a class
    whose key the imported model did not have."""
    expect("error" not in read, f"{folder}: {read.get('error')}")
    written, config = json.loads((place / folder / "config.json").read_text()), read["config"]
    for key, value in written.items():
        if key in config and key not in RENAMED and not (key == "sliding_window" and config[key] is None):
            expect(type(config[key]) is type(value) and config[key] == value, f"{folder}: {key} = {value} is read as {config[key]}")
    expect(read["class"] not in ALWAYS_SLIDING or config["sliding_window"], f"{folder}: no sliding_window")
    for source in (config, read["generation"]):
        for key in {"bos_token_id", "eos_token_id", "pad_token_id"} & {*written, "pad_token_id"}:
            ids = source.get(key)
            for token in ids if isinstance(ids, list) else [ids]:
                expect(token is None or 0 <= token < config["vocab_size"], f"{folder}: {key} = {ids}")


def exports_are_read(place):
    """Every folder below `place` that a test has exported: *_out and *_back."""
    folders = sorted(path.name for path in place.iterdir() if path.name.endswith(("_out", "_back")) and (path / "config.json").exists())
    for folder, read in read_all(place, folders).items():
        expect_usable(place, folder, read)
