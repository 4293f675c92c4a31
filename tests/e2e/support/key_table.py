"""The table of DeepSpeed's and Megatron-LM's keys beside ours in docs/howto.md: ours exist, and take the values."""

import concurrent.futures
import json
import re
import shlex
import subprocess
import sys

HEADING = "## DeepSpeed and Megatron-LM keys in Ziggurat"
FEWEST_ROWS = 40
CORES = 2
# A key of a row that takes the place of one of the deck below.
INSTEAD = {"train.tokens": "train.steps", "sharding.parameters": "sharding.zero"}
RANKS = ["--ranks", "16", "--machine", "dgx-h100"]
SAYS = re.compile(r"(error|warning): .*")


def base_deck():
    """Llama 3 8B with fewer layers, which takes less planning, of which each row changes something."""
    return {
        "deck_version": 1,
        "model": {"preset": "llama-8b", "layers": 4},
        "data": {"tokenizer": "none", "seq": 8192, "train": [{"format": "megatron", "path": "data/text"}], "held_out": "1%"},
        "train": {"steps": 10000, "global_batch": 16, "micro_batch": 1},
        "validate": {"every": "100 steps"},
        "sharding": {"zero": 2},
    }


def rows_of(page):
    """The cells of each row of the table: DeepSpeed's, Megatron-LM's, ours, a note."""
    lines = page.partition(HEADING)[2].partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")]
    if not table or [cell.strip() for cell in table[0].split("|")[1:4]] != ["DeepSpeed", "Megatron-LM", "Ziggurat"]:
        sys.exit(f"FAILED: docs/howto.md has no table below '{HEADING}'")
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[2:]]


def overrides_of(cell):
    """The `key=value` words of our cell, as a shell takes them."""
    code = re.fullmatch(r"`(.*)`", cell)
    words = shlex.split(code[1]) if code else []
    if not words or not all(re.match(r"[a-z_.]+=.", word) for word in words):
        sys.exit(f"FAILED: docs/howto.md: '{cell}' is no key=value in one pair of backquotes")
    return words


def has_key(schema, path):
    """Whether a JSON schema of decks knows the key; maps lie below `properties`, some within an `anyOf`."""
    for name in path.split("."):
        options = [schema, *schema.get("anyOf", [])]
        schema = next((option["properties"][name] for option in options if name in option.get("properties", {})), None)
        if schema is None:
            return False
    return True


def without(deck, key):
    section, _, name = key.partition(".")
    if name:
        deck.get(section, {}).pop(name, None)
    else:
        deck.pop(section, None)


def complaint(number, words, binary, folder):
    """What `ziggurat check` has against the values of a row; empty: nothing."""
    deck = base_deck()
    for word in words:
        key = word.partition("=")[0]
        if key in INSTEAD:
            without(deck, INSTEAD[key])
        if key.startswith("parallel.pipeline"):
            without(deck, "model.layers")  # all 32
        if key == "train.micro_batch":
            deck["train"]["global_batch"] = 64  # of which 16 ranks take so many at once
    deck_name = f"row-{number}.json"
    (folder / deck_name).write_text(json.dumps(deck))
    done = subprocess.run([binary, "check", deck_name, *words, *RANKS], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    said = SAYS.search(done.stdout)
    if said or done.returncode not in (0, 3):  # 3: with that alone it may not fit
        return f"{' '.join(words)}: {said[0] if said else done.stdout[-500:]}"
    return ""


def check(page, schema_path, binary, folder):
    """The number of rows, each of which holds; else the program ends."""
    schema = json.loads(schema_path.read_text())
    rows = rows_of(page)
    if len(rows) < FEWEST_ROWS:
        sys.exit(f"FAILED: docs/howto.md has {len(rows)} rows of keys, not {FEWEST_ROWS}")
    problems, wanted = [], []
    for row in rows:
        if len(row) != 4 or not (row[0] or row[1]):
            sys.exit(f"FAILED: docs/howto.md: {row} has not DeepSpeed's or Megatron-LM's, ours and a note")
        if row[1] and not re.match(r"`--[a-z]", row[1]):
            problems.append(f"{row[1]} is no flag of Megatron-LM")
        words = overrides_of(row[2])
        unknown = [key for key in (word.partition("=")[0] for word in words) if not has_key(schema, key)]
        problems += [f"decks/schema.json has no {key}" for key in unknown]
        wanted += [] if unknown else [words]
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        problems += filter(None, pool.map(lambda at: complaint(at, wanted[at], binary, folder), range(len(wanted))))
    if problems:
        sys.exit("FAILED: docs/howto.md, keys beside ours:\n" + "\n".join(problems))
    return len(rows)
