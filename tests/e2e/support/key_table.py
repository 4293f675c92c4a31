"""The tables of other programs' keys beside ours in docs/howto.md: ours exist, and take the values."""

import concurrent.futures
import dataclasses
import json
import re
import shlex
import subprocess
import sys

CORES = 2
# A key of a row that takes the place of one of the deck below.
INSTEAD = {"train.tokens": "train.steps", "sharding.parameters": "sharding.zero"}
RANKS = ["--ranks", "16", "--machine", "dgx-h100"]
SAYS = re.compile(r"(error|warning): .*")


@dataclasses.dataclass(frozen=True)
class Table:
    heading: str
    programs: tuple
    fewest_rows: int
    source: dict  # of data.train, of the deck that each row changes
    lr: float
    flags: dict = dataclasses.field(default_factory=dict)  # program: pattern of its keys

    def base_deck(self):
        """Llama 3 8B with fewer layers, which takes less planning, of which each row changes something."""
        return {
            "deck_version": 1,
            "model": {"preset": "llama-8b", "layers": 4},
            "data": {"tokenizer": "none", "seq": 8192, "train": [self.source], "held_out": "1%"},
            "train": {"steps": 10000, "global_batch": 16, "micro_batch": 1},
            "optimizer": {"lr": self.lr},
            "validate": {"every": "100 steps"},
            "sharding": {"zero": 2},
        }

    def rows(self, page):
        """The cells of each row: one of each program, ours, a note."""
        lines = page.partition(self.heading + "\n")[2].partition("\n## ")[0].splitlines()
        table = [line for line in lines if line.startswith("|")]
        columns = [*self.programs, "Ziggurat"]
        if not table or [cell.strip() for cell in table[0].split("|")[1:len(columns) + 1]] != columns:
            sys.exit(f"FAILED: docs/howto.md has no table below '{self.heading}'")
        return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[2:]]


TABLES = (
    Table("## DeepSpeed and Megatron-LM keys in Ziggurat", ("DeepSpeed", "Megatron-LM"), 40,
          {"format": "megatron", "path": "data/text"}, 3e-4, {"Megatron-LM": r"`--[a-z]"}),
    Table("## TRL, LLaMA-Factory and Axolotl keys in Ziggurat", ("TRL", "LLaMA-Factory", "Axolotl"), 30,
          {"format": "chat", "path": "data/chats.jsonl"}, 2e-5,
          {"TRL": r"`[a-z_0-9]+: ", "LLaMA-Factory": r"`[a-z_0-9]+: ", "Axolotl": r"`[a-z_0-9]+: "}),
)


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


def complaint(table, number, words, binary, folder):
    """What `ziggurat check` has against the values of a row; empty: nothing."""
    deck = table.base_deck()
    for word in words:
        key = word.partition("=")[0]
        if key in INSTEAD:
            without(deck, INSTEAD[key])
        if key.startswith("parallel.pipeline"):
            without(deck, "model.layers")  # all 32
        if key == "train.micro_batch":
            deck["train"]["global_batch"] = 64  # of which 16 ranks take so many at once
    deck_name = f"row-{len(table.programs)}-{number}.json"
    (folder / deck_name).write_text(json.dumps(deck))
    done = subprocess.run([binary, "check", deck_name, *words, *RANKS], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    said = SAYS.search(done.stdout)
    if said or done.returncode not in (0, 3):  # 3: with that alone it may not fit
        return f"{' '.join(words)}: {said[0] if said else done.stdout[-500:]}"
    return ""


def check_table(table, page, schema, binary, folder):
    """The number of rows, and problems."""
    rows = table.rows(page)
    if len(rows) < table.fewest_rows:
        sys.exit(f"FAILED: docs/howto.md has {len(rows)} rows of keys below '{table.heading}', not {table.fewest_rows}")
    problems, wanted = [], []
    for row in rows:
        *theirs, ours, _ = row
        if len(theirs) != len(table.programs) or not any(theirs):
            sys.exit(f"FAILED: docs/howto.md: {row} has not one cell of each program, ours and a note")
        for program, cell in zip(table.programs, theirs):
            if cell and program in table.flags and not re.match(table.flags[program], cell):
                problems.append(f"{cell} is no key of {program}")
        words = overrides_of(ours)
        unknown = [key for key in (word.partition("=")[0] for word in words) if not has_key(schema, key)]
        problems += [f"decks/schema.json has no {key}" for key in unknown]
        wanted += [] if unknown else [words]
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        problems += filter(None, pool.map(lambda at: complaint(table, at, wanted[at], binary, folder), range(len(wanted))))
    return len(rows), problems


def check(page, schema_path, binary, folder):
    """The number of rows, each of which holds; else the program ends."""
    schema = json.loads(schema_path.read_text())
    counts, problems = zip(*(check_table(table, page, schema, binary, folder) for table in TABLES))
    if any(problems):
        sys.exit("FAILED: docs/howto.md, keys beside ours:\n" + "\n".join(sum(problems, [])))
    return sum(counts)
